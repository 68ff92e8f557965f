"""Finds, loads, warms up, replaces and unloads the versions of the models while requests continue."""

import contextlib
import dataclasses
import enum
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from serving import models_config
from serving.batching import Batcher
from serving.errors import invalid, not_found
from serving.models_config import Model
from serving.servable import Servable

_MAX_ERROR_LENGTH = 2000


class State(enum.IntEnum):
    """The states of get_model_status.proto."""

    START = 10
    LOADING = 20
    AVAILABLE = 30
    UNLOADING = 40
    END = 50


@dataclasses.dataclass
class Version:
    """One version of a model.

    Attributes:
        error: why the version is not served, "" if it has no error.
        stamp: times and sizes of its files when it was loaded. A broken version is tried again when they change.
    """

    model: str
    number: int
    stamp: tuple = ()
    state: State = State.START
    error: str = ""
    servable: Servable | None = None
    batchers: dict[str, Batcher] = dataclasses.field(default_factory=dict)


class Manager:
    """Holds the versions of all models.

    Args:
        find_models: returns the models to serve, by name; called at every refresh.
        max_rows: maximum rows in a batch.
        log: called with an event and its fields.
    """

    def __init__(self, find_models: Callable[[], dict[str, Model]], max_rows: int, log: Callable[..., None]):
        self._find_models, self._max_rows, self._log = find_models, max_rows, log
        self._models: dict[str, Model] = {}
        self._versions: dict[str, dict[int, Version]] = {}
        self._lock = threading.Lock()  # for `_models` and `_versions`
        self._refresh_lock = threading.Lock()

    def serve(self, find_models: Callable[[], dict[str, Model]]) -> None:
        """Serves other models from now on. Returns after they are loaded."""
        self._find_models = find_models
        self.refresh()

    def refresh(self) -> None:
        """Reads the folders, loads the new versions, and then unloads those that are no longer wanted.

        If a version does not load, its status contains the error, and the older versions stay.
        """
        with self._refresh_lock:
            models = self._find_models()
            with self._lock:
                self._models = models
            for name in {*models, *self._versions}:
                self._refresh_model(name, models.get(name))

    def close(self) -> None:
        """Answers the requests in progress, and unloads everything."""
        with self._refresh_lock:
            for versions in self._versions.values():
                for version in list(versions.values()):
                    self._unload(version)

    @contextlib.contextmanager
    def hold(self, name: str, number: int | None = None, label: str | None = None) -> Iterator[Version]:
        """An available version, which is not unloaded inside the `with` block.

        Args:
            name: name of the model.
            number: number of the version; the newest version if there is neither number nor label.
            label: label of the version.

        Raises:
            ServingError: there is no such model, version or label.
        """
        with self._lock:
            version = self._available_version(name, number, label)
            version.servable.acquire()
        try:
            yield version
        finally:
            version.servable.release()

    def batcher(self, version: Version, signature: str) -> Batcher:
        """The batcher for a signature of a version; the caller holds the version."""
        with self._lock:
            if signature not in version.batchers:
                version.batchers[signature] = Batcher(version.servable.signature(signature), self._max_rows)
            return version.batchers[signature]

    def versions(self, name: str, number: int | None = None, label: str | None = None) -> list[Version]:
        """Copies of a model's versions, the newest first, or of the one version with this number or label.

        Raises:
            ServingError: there is no such model, version or label.
        """
        with self._lock:
            versions = self._versions.get(name, {})
            if label is not None:
                number = self._labelled_number(name, label)
            if number is not None:
                if number not in versions:
                    raise not_found(f"Could not find version {number} of model {name}")
                return [dataclasses.replace(versions[number])]
            if not versions:
                raise not_found(f"Could not find any versions of model {name}")
            return [dataclasses.replace(versions[number]) for number in sorted(versions, reverse=True)]

    def readiness(self) -> dict[str, bool]:
        """Model -> whether one of its versions is available, for all models to serve."""
        with self._lock:
            return {name: bool(self._available(name)) for name in self._models}

    def _available(self, name: str) -> dict[int, Version]:
        """Number -> version, for the available versions of a model. The caller has the lock."""
        versions = self._versions.get(name, {})
        return {number: version for number, version in versions.items() if version.state == State.AVAILABLE}

    def _available_version(self, name: str, number: int | None, label: str | None) -> Version:
        available = self._available(name)
        if label is not None:
            number = self._labelled_number(name, label)
        if number is not None:
            if number not in available:
                raise not_found(f"Servable not found for request: Specific({name}, {number})")
            return available[number]
        if not available:
            raise not_found(f"Servable not found for request: Latest({name})")
        return available[max(available)]

    def _labelled_number(self, name: str, label: str) -> int:
        labels = self._models[name].assign_labels(list(self._available(name))) if name in self._models else {}
        if label not in labels:
            raise invalid(f"Unrecognized servable version label: {label}")
        return labels[label]

    def _refresh_model(self, name: str, model: Model | None) -> None:
        numbers = models_config.find_versions(model.path) if model else []
        versions = self._versions.setdefault(name, {})
        stamps = {number: _stamp(model.path / str(number)) for number in numbers}
        broken = {n for n, v in versions.items() if v.state == State.END and v.error and v.stamp == stamps.get(n)}
        while True:
            wanted = model.select([n for n in numbers if n not in broken]) if model else []
            new = [n for n in wanted if n not in versions or versions[n].state == State.END]
            if not new:
                break
            if not self._load(model, new[0], stamps[new[0]]):
                broken.add(new[0])
        for number, version in list(versions.items()):
            if version.state == State.AVAILABLE and number not in wanted:
                self._unload(version)
            if version.state == State.END and number not in numbers:
                with self._lock:
                    del versions[number]
        if not model and not versions:
            with self._lock:
                del self._versions[name]

    def _load(self, model: Model, number: int, stamp: tuple) -> bool:
        """Returns whether the version could be loaded and warmed up."""
        version = Version(model.name, number, stamp, State.LOADING)
        with self._lock:
            self._versions[model.name][number] = version
        try:
            servable = Servable(model.path / str(number))
            num_requests = servable.warm_up()
        except Exception as error:  # whatever is wrong with this version, the server continues
            with self._lock:
                version.state, version.error = State.END, f"{type(error).__name__}: {error}"[:_MAX_ERROR_LENGTH]
            self._log("not loaded", model=model.name, version=number, error=version.error)
            return False
        with self._lock:
            version.servable, version.state = servable, State.AVAILABLE
        self._log("loaded", model=model.name, version=number, warm_up_requests=num_requests)
        return True

    def _unload(self, version: Version) -> None:
        """Accepts no new requests, waits for those in progress, and releases the model."""
        with self._lock:
            if version.state != State.AVAILABLE:
                return
            version.state = State.UNLOADING
        version.servable.wait_until_unused()
        with self._lock:
            version.servable, version.batchers, version.state = None, {}, State.END
        self._log("unloaded", model=version.model, version=version.number)


def _stamp(path: Path) -> tuple:
    files = (path / "saved_model.pb", *sorted(path.glob("variables/*")))
    try:
        return tuple((file.stat().st_mtime_ns, file.stat().st_size) for file in files)
    except OSError:  # the folder is being removed
        return ()
