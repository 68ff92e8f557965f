"""Which models are served, and which of their versions: from the folders there are, or from TF Serving's models.config."""

import dataclasses
from pathlib import Path

from google.protobuf import text_format
from tensorflow_serving.config import model_server_config_pb2

KEPT = 2  # versions of a model, the newest ones: `stable` and `canary`


@dataclasses.dataclass(frozen=True)
class Model:
    """A model to serve.

    Attributes:
        name: in requests.
        path: the folder of its versions.
        latest: serve so many of the newest versions; None for all.
        specific: serve these versions and no others.
        labels: label -> version; None gives `canary` to the newest one and `stable` to the one before it (to both the same where there
            is one alone).
    """

    name: str
    path: Path
    latest: int | None = KEPT
    specific: frozenset[int] = frozenset()
    labels: tuple[tuple[str, int], ...] | None = None

    def wanted(self, versions: list[int]) -> list[int]:
        """Those of the versions that are to be served, the newest first."""
        if self.specific:
            return sorted(self.specific.intersection(versions), reverse=True)
        return sorted(versions, reverse=True)[: self.latest]

    def labelled(self, served: list[int]) -> dict[str, int]:
        """Label -> version, for versions that are served."""
        if self.labels is not None:
            return {label: version for label, version in self.labels if version in served}
        newest = sorted(served, reverse=True)[:2]
        return {"canary": newest[0], "stable": newest[-1]} if newest else {}


def found(root: Path) -> dict[str, Model]:
    """Every folder of `root` that holds a version."""
    folders = sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith(".")) if root.is_dir() else []
    return {path.name: Model(path.name, path) for path in folders if versions(path)}


def versions(path: Path) -> list[int]:
    """The versions in a model's folder: those whose name is a number and that hold a SavedModel."""
    if not path.is_dir():
        return []
    return sorted(int(each.name) for each in path.iterdir() if each.name.isdecimal() and (each / "saved_model.pb").is_file())


def written(root: Path, served_from: str) -> str:
    """The text of a models.config for the models in `root`, which the server will see in the folder `served_from`."""
    config = model_server_config_pb2.ModelServerConfig()
    for name, model in found(root).items():
        entry = config.model_config_list.config.add(name=name, base_path=f"{served_from.rstrip('/')}/{name}", model_platform="tensorflow")
        entry.model_version_policy.latest.num_versions = KEPT
        for label, version in sorted(model.labelled(versions(model.path)).items()):
            entry.version_labels[label] = version
    return text_format.MessageToString(config)


def read(text: str) -> dict[str, Model]:
    """The models of a models.config.

    Raises:
        ValueError: it is none.
    """
    config = model_server_config_pb2.ModelServerConfig()
    try:
        text_format.Parse(text, config)
    except text_format.ParseError as error:
        raise ValueError(f"not a models.config: {error}") from error
    return of_proto(config)


def of_proto(config: model_server_config_pb2.ModelServerConfig) -> dict[str, Model]:
    """
    Raises:
        ValueError: a model without a name or path, two of one name, or a list that is none.
    """
    if config.WhichOneof("config") != "model_config_list":
        raise ValueError("a ModelServerConfig needs a model_config_list")
    models = {}
    for entry in config.model_config_list.config:
        if not entry.name or not entry.base_path:
            raise ValueError("every model in a model_config_list needs a name and a base_path")
        if entry.name in models:
            raise ValueError(f"two models in the model_config_list have the name {entry.name}")
        policy = entry.model_version_policy
        kind = policy.WhichOneof("policy_choice")
        latest = {"all": None, "specific": None, "latest": policy.latest.num_versions or 1, None: 1}[kind]
        specific = frozenset(policy.specific.versions) if kind == "specific" else frozenset()
        models[entry.name] = Model(entry.name, Path(entry.base_path), latest, specific, tuple(entry.version_labels.items()))
    return models
