"""Handles of pretrained encoders: a name, a URL or a folder -> the folder of a SavedModel.

    hf://ORG/NAME[@REVISION]                                  a repository of Hugging Face
    kaggle://OWNER/MODEL/FRAMEWORK/VARIATION[/VERSION]        a model of Kaggle
    https://...                                               what tensorflow_hub takes: tfhub.dev, kaggle.com, .tar.gz
    a folder or an archive                                    a SavedModel, or a checkpoint of Hugging Face

A checkpoint becomes a SavedModel here. No program of a repository is run, and nothing pickled is read.
"""

import atexit
import functools
import os
import re
import shutil
import tempfile
from pathlib import Path

from layers.hub_module import resolve
from pipelines.checkpoints.files import CONFIG
from pipelines.checkpoints.pooling import MODULES
from pipelines.support import console
from pipelines.support.errors import UserError

HUGGING_FACE, KAGGLE = "hf://", "kaggle://"
FORMS = "hf://ORG/NAME, kaggle://OWNER/MODEL/FRAMEWORK/VARIATION, a URL of TF Hub, a folder or a .tar.gz file"
# Of a repository: the weights as safetensors, never those that are pickled, and no program.
_FILES = ("*.json", "*.safetensors", "vocab.txt", "*.model", "*/config.json", "*/*.safetensors")
_NAME = re.compile(r"[\w.-]+/[\w.-]+(@[\w./-]+)?")
_SAVED_MODEL = ("saved_model.pb", "saved_model.pbtxt")


def module_folder(handle: str) -> Path:
    """Returns the folder of the SavedModel of a handle; downloads, extracts or converts it if necessary.

    Raises:
        UserError: it cannot be reached, is no encoder, or a package for it is missing.
    """
    folder = checkpoint_folder(handle)
    if folder is None:
        try:
            return resolve(handle)
        except ValueError as error:
            raise UserError(f"--encoder {error}") from error
    if any((folder / name).is_file() for name in _SAVED_MODEL):
        return folder
    return _converted(folder.resolve(), handle, _modified(folder))


def checkpoint_folder(handle: str) -> Path | None:
    """Returns the folder of a checkpoint of Hugging Face or a model of Kaggle; None of any other handle.

    Raises:
        UserError: it cannot be reached, or a package for it is missing.
    """
    if handle.startswith(HUGGING_FACE):
        return _of_hugging_face(handle)
    if handle.startswith(KAGGLE):
        return _of_kaggle(handle)
    folder = Path(handle)
    has_checkpoint = any((folder / name).is_file() for name in (CONFIG, MODULES))
    return folder if has_checkpoint and not any((folder / name).is_file() for name in _SAVED_MODEL) else None


def _of_hugging_face(handle: str) -> Path:
    name = handle.removeprefix(HUGGING_FACE)
    if not _NAME.fullmatch(name):
        raise UserError(f"--encoder {handle}: write hf://ORG/NAME or hf://ORG/NAME@REVISION")
    repository, _, revision = name.partition("@")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    hub = _imported(handle, "huggingface_hub")
    from huggingface_hub import errors

    def download() -> str:
        return hub.snapshot_download(repository, revision=revision or None, allow_patterns=list(_FILES))

    try:
        return Path(download())
    except errors.GatedRepoError as error:
        raise UserError(
            f"--encoder {handle} asks for its terms to be accepted: do so on its page, and set HF_TOKEN"
        ) from error
    except errors.RevisionNotFoundError as error:
        raise UserError(f"--encoder {handle}: the repository has no revision {revision!r}") from error
    except errors.RepositoryNotFoundError as error:
        raise UserError(
            f"--encoder {handle}: there is no such repository, or it is private and HF_TOKEN is not set"
        ) from error
    except (errors.HfHubHTTPError, errors.LocalEntryNotFoundError, OSError) as error:
        raise _unreachable(handle, error) from error


def _of_kaggle(handle: str) -> Path:
    name = handle.removeprefix(KAGGLE)
    if not 4 <= len(name.split("/")) <= 5 or "" in name.split("/"):
        raise UserError(
            f"--encoder {handle}: write kaggle://OWNER/MODEL/FRAMEWORK/VARIATION, then /VERSION if you like"
        )
    hub = _imported(handle, "kagglehub")
    try:
        return Path(hub.model_download(name))
    except Exception as error:  # kagglehub has errors of several packages
        raise _unreachable(handle, error) from error


def _imported(handle: str, package: str):
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise UserError(
            f"--encoder {handle} needs the package {package}: python -m pip install -r requirements-encoders.txt"
        ) from error


def _unreachable(handle: str, error: Exception) -> UserError:
    reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return UserError(
        f"--encoder {handle} cannot be reached ({reason[:200]}): download it elsewhere, and give its folder"
    )


def _modified(folder: Path) -> tuple:
    return tuple(sorted((path.name, path.stat().st_mtime_ns) for path in folder.iterdir()))


@functools.cache
def _converted(folder: Path, handle: str, modified: tuple) -> Path:
    """Returns a folder with the SavedModel of a checkpoint, which exists until the process ends: a run keeps a copy.

    Args:
        modified: when the files were changed, as a part of the cache's key.
    """
    from pipelines.pretrained import checkpoint

    console.say(f"reading the checkpoint {handle} ...")
    target = Path(tempfile.mkdtemp(prefix="encoder-"))
    atexit.register(shutil.rmtree, target, ignore_errors=True)
    checkpoint.convert(folder, target / "1")
    return target / "1"
