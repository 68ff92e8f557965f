"""The versions that are served: noticed, loaded, warmed up, replaced and unloaded while requests go on."""

import dataclasses
import enum
import threading
from collections.abc import Callable
from pathlib import Path

from serving import models_config
from serving.batching import Batcher
from serving.errors import invalid, not_found
from serving.models_config import Model
from serving.servable import Servable


class State(enum.IntEnum):
    """As in get_model_status.proto."""

    START = 10
    LOADING = 20
    AVAILABLE = 30
    UNLOADING = 40
    END = 50


@dataclasses.dataclass
class Version:
    """One version of a model on its way through the server.

    Attributes:
        error: why it is not served, "" if nothing is wrong.
        stamp: what its files looked like when it was loaded: a broken one is tried again when they have changed.
    """

    model: str
    number: int
    stamp: tuple = ()
    state: State = State.START
    error: str = ""
    servable: Servable | None = None
    batchers: dict[str, Batcher] = dataclasses.field(default_factory=dict)


class Manager:
    """
    Args:
        models: () -> the models that are to be served now.
        most_rows: of a batch.
        tell: (event, facts) -> None, for the log.
    """

    def __init__(self, models: Callable[[], dict[str, Model]], most_rows: int, tell: Callable[..., None]):
        self._models_of, self._most_rows, self._tell = models, most_rows, tell
        self._models: dict[str, Model] = {}
        self._versions: dict[str, dict[int, Version]] = {}
        self._lock = threading.Lock()  # of the two above
        self._refreshing = threading.Lock()

    def use(self, models: Callable[[], dict[str, Model]]) -> None:
        """Serves other models from now on; returns when those that load are there."""
        self._models_of = models
        self.refresh()

    def refresh(self) -> None:
        """Looks at the folders: loads what is new and then unloads what is not wanted any more. A version that does not load is
        reported, and the ones before it go on."""
        with self._refreshing:
            models = self._models_of()
            with self._lock:
                self._models = models
            for name in {*models, *self._versions}:
                self._refresh_model(name, models.get(name))

    def close(self) -> None:
        """Answers what waits, and unloads everything."""
        with self._refreshing:
            for versions in self._versions.values():
                for version in list(versions.values()):
                    self._unload(version)

    def version(self, name: str, number: int | None = None, label: str | None = None) -> Version:
        """An available version that is held for the caller, who gives it back with `version.servable.__exit__`.

        Raises:
            ServingError: there is none.
        """
        with self._lock:
            available = [v for v in self._versions.get(name, {}).values() if v.state == State.AVAILABLE]
            by_number = {version.number: version for version in available}
            if label is not None:
                number = self._models[name].labelled(list(by_number)).get(label) if name in self._models else None
                if number is None:
                    raise invalid(f"Unrecognized servable version label: {label}")
            if number is not None:
                if number not in by_number:
                    raise not_found(f"Servable not found for request: Specific({name}, {number})")
                chosen = by_number[number]
            else:
                if not by_number:
                    raise not_found(f"Servable not found for request: Latest({name})")
                chosen = by_number[max(by_number)]
            chosen.servable.__enter__()
            return chosen

    def batcher(self, version: Version, signature: str) -> Batcher:
        with self._lock:
            if signature not in version.batchers:
                version.batchers[signature] = Batcher(version.servable.signature(signature), self._most_rows)
            return version.batchers[signature]

    def status(self, name: str, number: int | None = None, label: str | None = None) -> list[Version]:
        """The versions of a model, the newest first.

        Raises:
            ServingError: there is no such model or version.
        """
        with self._lock:
            versions = self._versions.get(name, {})
            if label is not None:
                served = [v.number for v in versions.values() if v.state == State.AVAILABLE]
                number = self._models[name].labelled(served).get(label) if name in self._models else None
                if number is None:
                    raise invalid(f"Unrecognized servable version label: {label}")
            if number is not None:
                if number not in versions:
                    raise not_found(f"Could not find version {number} of model {name}")
                return [dataclasses.replace(versions[number])]
            if not versions:
                raise not_found(f"Could not find any versions of model {name}")
            return [dataclasses.replace(versions[number]) for number in sorted(versions, reverse=True)]

    def ready(self) -> dict[str, bool]:
        """Model -> whether one of its versions is available, for the models that are to be served."""
        with self._lock:
            return {
                name: any(v.state == State.AVAILABLE for v in self._versions.get(name, {}).values()) for name in self._models
            }

    def _refresh_model(self, name: str, model: Model | None) -> None:
        there = models_config.versions(model.path) if model else []
        versions = self._versions.setdefault(name, {})
        stamps = {number: _stamp(model.path / str(number)) for number in there}
        broken = {n for n, v in versions.items() if v.state == State.END and v.error and v.stamp == stamps.get(n)}
        while True:
            wanted = model.wanted([n for n in there if n not in broken]) if model else []
            new = [n for n in wanted if n not in versions or versions[n].state == State.END]
            if not new:
                break
            if not self._load(model, new[0], stamps[new[0]]):
                broken.add(new[0])
        for number, version in list(versions.items()):
            if version.state == State.AVAILABLE and number not in wanted:
                self._unload(version)
            if version.state == State.END and number not in there:
                with self._lock:
                    del versions[number]
        if not model and not versions:
            with self._lock:
                del self._versions[name]

    def _load(self, model: Model, number: int, stamp: tuple) -> bool:
        version = Version(model.name, number, stamp, State.LOADING)
        with self._lock:
            self._versions[model.name][number] = version
        try:
            servable = Servable(model.name, number, model.path / str(number))
            requests = servable.warm_up()
        except Exception as error:  # whatever is wrong with it, the server lives on
            with self._lock:
                version.state, version.error = State.END, f"{type(error).__name__}: {error}"[:2000]
            self._tell("not loaded", model=model.name, version=number, error=version.error)
            return False
        with self._lock:
            version.servable, version.state = servable, State.AVAILABLE
        self._tell("loaded", model=model.name, version=number, warm_up_requests=requests)
        return True

    def _unload(self, version: Version) -> None:
        """Takes no new requests, answers those that are held, and lets go of the model."""
        with self._lock:
            if version.state != State.AVAILABLE:
                return
            version.state = State.UNLOADING
        version.servable.wait_until_unused()
        with self._lock:
            version.servable, version.batchers, version.state = None, {}, State.END
        self._tell("unloaded", model=version.model, version=version.number)


def _stamp(path: Path) -> tuple:
    try:
        return tuple((file.stat().st_mtime_ns, file.stat().st_size) for file in (path / "saved_model.pb", *sorted(path.glob("variables/*"))))
    except OSError:  # it is being removed
        return ()
