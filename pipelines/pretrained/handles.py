"""Handles of pretrained encoders: a name, a URL or a folder -> the folder of a SavedModel.

    hf://ORG/NAME[@REVISION]                                  a repository of Hugging Face
    kaggle://OWNER/MODEL/FRAMEWORK/VARIATION[/VERSION]        a model of Kaggle
    https://...                                               what tensorflow_hub takes: tfhub.dev, kaggle.com, .tar.gz
    a folder or an archive                                    a SavedModel, or a checkpoint of Hugging Face

A checkpoint becomes a SavedModel here. No program of a repository is run, and nothing pickled is read.
"""

import atexit
import contextlib
import functools
import importlib
import logging
import os
import re
import shutil
import sys
import tempfile
from http import HTTPStatus
from pathlib import Path

from layers.hub_module import RESOLVERS, resolve
from pipelines.checkpoints.files import CONFIG
from pipelines.checkpoints.pooling import MODULES
from pipelines.support import console
from pipelines.support.errors import UserError, is_disk_full, shortened
from pipelines.support.installation import installation

HUGGING_FACE, KAGGLE = "hf://", "kaggle://"
# Of a repository: the weights as safetensors, never those that are pickled, and no program. `*` also matches folders.
_FILES = ("*.json", "*.safetensors", "vocab.txt", "*.model")
_NAME = re.compile(r"[\w.-]+/[\w.-]+(@[\w./-]+)?")
_SAVED_MODEL = ("saved_model.pb", "saved_model.pbtxt")
_CACHE_VARIABLES = {"huggingface_hub": "HF_HOME", "kagglehub": "KAGGLEHUB_CACHE"}
_SECRETS = re.compile(r"(?<=://)[^/@\s]+@|(?<=\S)\?[^\s'\")]*")  # of URLs: a password, and the signature of a download
_MAX_REASON = 300  # characters


def module_folder(handle: str, flag: str = "--encoder") -> Path:
    """Returns the folder of the SavedModel of a handle; downloads, extracts or converts it if necessary.

    Args:
        flag: where the user gave the handle, for messages.

    Raises:
        UserError: it cannot be reached, is no encoder, or a package for it is missing.
    """
    folder = checkpoint_folder(handle, flag)
    if folder is None:
        try:
            return resolve(handle)
        except ValueError as error:
            raise UserError(f"{flag} {error}") from error
    if any((folder / name).is_file() for name in _SAVED_MODEL):
        return folder
    try:
        return _converted(folder.resolve(), handle, _modified(folder))
    except UserError as error:
        raise UserError(f"{flag} {handle}: {error}") from error


def _folder_for_layer(handle: str) -> Path:
    """Returns as `module_folder` the folder of a handle of `HubEncoder`, whose errors are ValueErrors."""
    try:
        return module_folder(handle, "HubEncoder:")
    except UserError as error:
        raise ValueError(str(error)) from error


RESOLVERS |= {"hf": _folder_for_layer, "kaggle": _folder_for_layer}


def checkpoint_folder(handle: str, flag: str = "--encoder") -> Path | None:
    """Returns the folder of a checkpoint of Hugging Face or a model of Kaggle; None of any other handle.

    Raises:
        UserError: it cannot be reached, or a package for it is missing.
    """
    if handle.startswith(HUGGING_FACE):
        return _of_hugging_face(handle.removeprefix(HUGGING_FACE), f"{flag} {handle}")
    if handle.startswith(KAGGLE):
        return _of_kaggle(handle.removeprefix(KAGGLE), f"{flag} {handle}")
    folder = Path(handle)
    has_checkpoint = any((folder / name).is_file() for name in (CONFIG, MODULES))
    return folder if has_checkpoint and not any((folder / name).is_file() for name in _SAVED_MODEL) else None


def _of_hugging_face(name: str, what: str) -> Path:
    """Returns the folder of a repository.

    Args:
        what: how messages call it.
    """
    if not _NAME.fullmatch(name):
        raise UserError(f"{what}: write hf://ORG/NAME or hf://ORG/NAME@REVISION")
    repository, _, revision = name.partition("@")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    _imported(what, "safetensors")  # before much is downloaded that needs it
    hub = _imported(what, "huggingface_hub")
    errors, constants = (_imported(what, f"huggingface_hub.{name}") for name in ("errors", "constants"))
    try:
        folder = Path(hub.snapshot_download(repository, revision=revision or None, allow_patterns=list(_FILES)))
    except errors.GatedRepoError as error:
        raise UserError(f"{what} asks for its terms to be accepted: do so on its page, and set HF_TOKEN") from error
    except errors.RevisionNotFoundError as error:
        raise UserError(f"{what}: the repository has no revision {revision!r}: see the names on its page") from error
    except errors.RepositoryNotFoundError as error:
        raise UserError(
            f"{what}: there is no such repository, or it is private and HF_TOKEN is not set: check the name on its page"
        ) from error
    except errors.HFValidationError as error:
        raise UserError(f"{what}: {shortened(error)}: write hf://ORG/NAME") from error
    except errors.LocalEntryNotFoundError as error:
        if constants.HF_HUB_OFFLINE:
            raise UserError(
                f"{what} is not, or not completely, among the downloaded ones in {constants.HF_HUB_CACHE}, and "
                "HF_HUB_OFFLINE forbids to download it: unset it, or give a folder"
            ) from error
        raise _not_downloaded(what, "huggingface_hub", error) from error
    except Exception as error:  # the package has errors of several others
        if _status(error) == HTTPStatus.UNAUTHORIZED:
            raise UserError(f"{what}: its token is not accepted: correct or unset HF_TOKEN") from error
        raise _not_downloaded(what, "huggingface_hub", error) from error
    if not any(folder.rglob("*.safetensors")):
        raise UserError(
            f"{what} has no weights in the format safetensors; pytorch_model.bin and others are not read, because a "
            "pickle can run any program when it is read: take a repository or @REVISION with model.safetensors, or "
            "write it with save_pretrained of transformers where you trust the file, and give its folder"
        )
    return folder


def _of_kaggle(name: str, what: str) -> Path:
    """Returns the folder of a model.

    Args:
        what: how messages call it.
    """
    if not 4 <= len(name.split("/")) <= 5 or not all(re.fullmatch(r"\w[\w.-]*", part) for part in name.split("/")):
        raise UserError(f"{what}: write kaggle://OWNER/MODEL/FRAMEWORK/VARIATION, then /VERSION if you like")
    hub = _imported(what, "kagglehub")
    logging.getLogger("kagglehub").setLevel(logging.ERROR)  # it says on standard output what it downloads
    try:
        with contextlib.redirect_stdout(sys.stderr):  # it prints that there is a later version of itself
            return Path(hub.model_download(name))
    except Exception as error:  # the package has errors of several others
        status = _status(error)
        if status == HTTPStatus.NOT_FOUND:
            raise UserError(f"{what}: there is no such model, variation or version: check them on its page") from error
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise UserError(
                f"{what} does not exist, is private or asks for its terms to be accepted: see its page, do so there, "
                "and set KAGGLE_USERNAME and KAGGLE_KEY"
            ) from error
        raise _not_downloaded(what, "kagglehub", error) from error


def _imported(what: str, package: str):
    try:
        return importlib.import_module(package)
    except ImportError as error:
        name = package.partition(".")[0]
        raise UserError(
            f"{what} needs the package {name}, which is not installed: `{installation('encoders')}`"
        ) from error


def _status(error: Exception) -> int | None:
    """Returns the status of the server's answer that is an error; None of other errors."""
    return getattr(getattr(error, "response", None), "status_code", None)


def _not_downloaded(what: str, package: str, error: Exception) -> UserError:
    """Returns the error of a download, without what is secret in its URLs."""
    if is_disk_full(error):
        variable = _CACHE_VARIABLES[package]
        return UserError(
            f"{what} cannot be kept, because the disk is full: free some space, or set {variable} to a folder"
        )
    reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    reason = _SECRETS.sub("", reason)[:_MAX_REASON]
    return UserError(f"{what} cannot be reached ({reason}): try again, or download it elsewhere, and give its folder")


def _modified(folder: Path) -> tuple:
    return tuple(sorted((str(path), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()))


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
