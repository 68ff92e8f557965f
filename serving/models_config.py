"""The models and versions to serve: all that a folder contains, or those of TF Serving's models.config."""

import dataclasses
import functools
from pathlib import Path

from google.protobuf import text_format
from tensorflow_serving.config import model_server_config_pb2

from serving.logs import log_event, printable

NUM_VERSIONS = 2  # the newest two versions of a model are served: `canary` and `stable`
_PLATFORM = "tensorflow"
_UNSPECIFIED = model_server_config_pb2.MODEL_TYPE_UNSPECIFIED


@dataclasses.dataclass(frozen=True)
class Model:
    """A model to serve.

    Attributes:
        name: name of the model in requests.
        path: the folder of its versions.
        num_latest: serve the newest N versions; None for all.
        specific: serve these versions and no others.
        labels: label -> version. None assigns `canary` to the newest version and `stable` to the previous one; if there
            is only one version, it has both labels.
    """

    name: str
    path: Path
    num_latest: int | None = NUM_VERSIONS
    specific: frozenset[int] = frozenset()
    labels: tuple[tuple[str, int], ...] | None = None

    def select(self, versions: list[int]) -> list[int]:
        """The versions to serve, the newest first."""
        if self.specific:
            return sorted(self.specific.intersection(versions), reverse=True)
        return sorted(versions, reverse=True)[: self.num_latest]

    def assign_labels(self, served: list[int]) -> dict[str, int]:
        """Label -> version, for the versions that are served."""
        if self.labels is not None:
            return {label: version for label, version in self.labels if version in served}
        newest = sorted(served, reverse=True)[:2]
        return {"canary": newest[0], "stable": newest[-1]} if newest else {}


def find_models(root: Path) -> dict[str, Model]:
    """Name -> model, for every folder of `root` that contains a version.

    Names in requests, metrics and messages are UTF-8. A folder with another name is ignored, with one line in the log.
    """
    paths = sorted(root.iterdir()) if root.is_dir() else []
    folders = [path for path in paths if path.is_dir() and not path.name.startswith(".")]
    models = {path.name: Model(path.name, path) for path in folders if _may_have_versions(path)}
    for name in [name for name in models if printable(name) != name]:
        _log_ignored(models.pop(name).path, "the name of a model is UTF-8: rename the folder")
    return models


def _may_have_versions(path: Path) -> bool:
    """Whether a folder has a version, or cannot be read: then what is loaded of it stays."""
    try:
        return bool(find_versions(path))
    except OSError:
        return True


def find_versions(path: Path) -> list[int]:
    """The versions in a model's folder: the folders that have a number for a name and contain a SavedModel.

    TF Serving takes only names that are written as it writes the number, which has 64 bits. Others are ignored, with
    one line in the log.
    """
    if not path.is_dir():
        return []
    numbers = []
    for folder in path.iterdir():
        if not folder.name.isdecimal() or not (folder / "saved_model.pb").is_file():
            continue
        if folder.name == str(int(folder.name)) and int(folder.name) < 2**63:
            numbers.append(int(folder.name))
        else:
            _log_ignored(folder, "a version is a number below 2^63, without leading zeros: rename the folder")
    return sorted(numbers)


@functools.cache
def _log_ignored(folder: Path, reason: str) -> None:
    """Writes one line for each folder, however often it is found."""
    log_event("ignored folder", path=printable(folder), reason=reason)


def format_config(root: Path, served_from: str) -> str:
    """The text of a models.config for the models in `root`, a folder that the server sees as `served_from`."""
    config = model_server_config_pb2.ModelServerConfig()
    for name, model in find_models(root).items():
        base_path = f"{served_from.rstrip('/')}/{name}"
        entry = config.model_config_list.config.add(name=name, base_path=base_path, model_platform=_PLATFORM)
        entry.model_version_policy.latest.num_versions = NUM_VERSIONS
        for label, version in sorted(model.assign_labels(find_versions(model.path)).items()):
            entry.version_labels[label] = version
    return text_format.MessageToString(config)


def parse_config(text: str) -> dict[str, Model]:
    """The models of a models.config.

    Raises:
        ValueError: the text is not a valid models.config.
    """
    config = model_server_config_pb2.ModelServerConfig()
    try:
        text_format.Parse(text, config)
    except text_format.ParseError as error:
        raise ValueError(f"not a models.config: {error}") from error
    return models_from_proto(config)


def models_from_proto(config: model_server_config_pb2.ModelServerConfig) -> dict[str, Model]:
    """Name -> model, for the models of a config.

    Raises:
        ValueError: there is no model_config_list, or TF Serving would refuse it: a model has no name, no absolute path,
            another platform or no version, or two models have the same name.
    """
    if config.WhichOneof("config") != "model_config_list":
        raise ValueError("a ModelServerConfig needs a model_config_list")
    models = {}
    for entry in config.model_config_list.config:
        _check_entry(entry)
        if entry.name in models:
            raise ValueError(f"Illegal to list model {entry.name} multiple times in config list")
        policy = entry.model_version_policy
        choice = policy.WhichOneof("policy_choice")
        num_latest = {"all": None, "specific": None, "latest": policy.latest.num_versions or 1, None: 1}[choice]
        specific = frozenset(policy.specific.versions) if choice == "specific" else frozenset()
        labels = tuple(entry.version_labels.items())
        models[entry.name] = Model(entry.name, Path(entry.base_path), num_latest, specific, labels)
    return models


def check_paths(models: dict[str, Model]) -> None:
    """Checks that the folders of the models exist.

    Raises:
        ValueError: one does not.
    """
    for name, model in models.items():
        if not model.path.is_dir():
            raise ValueError(f"Could not find base path {model.path} for servable {name}")


def _check_entry(entry: model_server_config_pb2.ModelConfig) -> None:
    """Raises a ValueError, with TF Serving's texts where it has them, if a model cannot be served."""
    if not entry.name or not entry.base_path:
        raise ValueError("every model in a model_config_list needs a name and a base_path")
    if not Path(entry.base_path).is_absolute():
        raise ValueError(f"Expected model {entry.name} to have an absolute path; got base_path()={entry.base_path}")
    if entry.model_type and entry.model_platform:
        raise ValueError(f"model {entry.name}: Illegal setting both model_type (deprecated) and model_platform.")
    if entry.model_type not in (_UNSPECIFIED, model_server_config_pb2.TENSORFLOW):
        raise ValueError(f"model {entry.name}: model_type choice {entry.model_type} not supported.")
    if not entry.model_type and not entry.model_platform:
        raise ValueError(f'model {entry.name}: TF Serving needs its platform: add model_platform: "{_PLATFORM}"')
    if entry.model_platform not in ("", _PLATFORM):
        raise ValueError(f"Model {entry.name} requests unsupported platform {entry.model_platform}")
    policy = entry.model_version_policy
    if policy.HasField("specific") and not policy.specific.versions:
        raise ValueError(f"model {entry.name}: its model_version_policy is specific, but names no version")
