"""Finds, loads, warms up, replaces and unloads the versions of the models while requests continue."""

import contextlib
import dataclasses
import functools
import gc
import threading
import time
from collections.abc import Callable, Iterator

from serving import memory, models_config
from serving.batching import Batcher
from serving.errors import Code, ServingError, invalid, not_found
from serving.logs import printable
from serving.models_config import Model
from serving.servable import Servable
from serving.settings import Limits, LoadRetries
from serving.streams import Streams
from serving.versions import State, Version, stamp_of

_MAX_ERROR_LENGTH = 2000
_UNLOAD_SECONDS = 1.0  # a refresh waits this long for the requests on a version; the next one continues to wait


class Manager:
    """Holds the versions of all models.

    Args:
        find_models: returns the models to serve, by name; called at every refresh.
        limits: limits for the batches.
        retries: when a failed load is retried.
        log: called with an event and its fields.
        clock: returns the time in seconds.
        on_batch: called with the name of the model and the rows of every batch.
    """

    def __init__(
        self,
        find_models: Callable[[], dict[str, Model]],
        limits: Limits,
        retries: LoadRetries,
        log: Callable[..., None],
        clock: Callable[[], float] = time.monotonic,
        on_batch: Callable[[str, int], None] = lambda model, num_rows: None,
    ):
        self._on_batch = on_batch
        self._find_models, self._limits, self._retries = find_models, limits, retries
        self._log, self._clock = log, clock
        self._models: dict[str, Model] = {}
        self._versions: dict[str, dict[int, Version]] = {}
        self._lock = threading.Lock()  # for `_models`, `_versions` and `_once_available`
        self._refresh_lock = threading.Lock()
        self._once_available: set[str] = set()  # the models that count for readiness
        self._unreadable: set[str] = set()
        self._stopping = threading.Event()
        self._has_garbage = False

    def serve(self, models: dict[str, Model]) -> None:
        """Serves other models from now on. Returns after they are loaded.

        Args:
            models: name -> model.

        Raises:
            ServingError: a label has a version that is not available. Then the models stay as they were.
        """
        with self._refresh_lock:
            for i, (name, model) in enumerate(models.items(), 1):
                self._versions.setdefault(name, {})
                self._load_wanted(model, self._find_numbers(model) or [], f"model {i} of {len(models)}")
            try:
                self._check_labels(models)
            except ServingError:
                self._refresh(self._models)  # unloads what has just been loaded
                raise
            self._find_models = lambda: models
            self._refresh(models)

    def refresh(self) -> None:
        """Reads the folders, loads the new versions, and then unloads those that are no longer wanted.

        A version that a long request still uses is unloaded by a later refresh. If a version does not load, its status
        contains the error, and the older versions stay. A model whose versions have all been removed is unloaded. One
        whose folder is missing or cannot be read stays as it is.

        Raises:
            OSError: the models cannot be found. They stay as they are.
        """
        with self._refresh_lock:
            self._collect_garbage()
            self._refresh(self._find_models())

    def stop_loading(self) -> None:
        """Loads nothing more. A load in progress ends before its next warm-up request."""
        self._stopping.set()

    def close(self, seconds: float | None = None) -> None:
        """Answers the requests in progress, and unloads everything.

        Args:
            seconds: versions that are still in use after this time are not unloaded; None waits for all requests.
        """
        self.stop_loading()
        end = None if seconds is None else time.monotonic() + seconds
        if not self._refresh_lock.acquire(timeout=-1 if seconds is None else seconds):
            return
        try:
            for versions in self._versions.values():
                for version in versions.values():
                    self._unload(version, None if end is None else max(0.0, end - time.monotonic()))
        finally:
            self._refresh_lock.release()

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
            servable = version.loaded()
            servable.acquire()
        try:
            yield version
        finally:
            servable.release()

    def batcher(self, version: Version, signature: str, is_long: bool = False) -> Batcher:
        """The batcher for the short or the long requests of a signature; the caller holds the version."""
        limits, lane = self._limits, (signature, is_long)
        with self._lock:
            if lane not in version.batchers:
                function = version.loaded().signature(signature)
                on_batch = functools.partial(self._on_batch, version.model)
                version.batchers[lane] = Batcher(function, limits.max_rows, limits.max_tokens, on_batch=on_batch)
            return version.batchers[lane]

    def streams(self, version: Version) -> Streams:
        """The texts that a version generates for its clients; the caller holds the version."""
        with self._lock:
            if version.streams is None:
                version.streams = Streams(version.loaded(), functools.partial(self._on_batch, version.model))
            return version.streams

    def num_waiting(self) -> int:
        """The number of requests that wait for a batch."""
        with self._lock:
            versions = [version for versions in self._versions.values() for version in versions.values()]
            return sum(batcher.num_waiting() for version in versions for batcher in version.batchers.values())

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

    def is_ready(self) -> bool:
        """Whether every model that has been available still is, and there is one.

        A model that could never be loaded does not count: it must not take the others out of service.
        """
        with self._lock:
            return bool(self._once_available) and all(map(self._available, self._once_available))

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

    def _check_labels(self, models: dict[str, Model]) -> None:
        """Raises a ServingError if a label has a version that is not available, as TF Serving does."""
        for name, model in models.items():
            usable = model.select(list(self._available(name)))
            for label, number in model.labels or ():
                if number not in usable:
                    raise ServingError(
                        Code.FAILED_PRECONDITION,
                        f"Request to assign label {label} to version {number} of model {name}, "
                        "which is not currently available for inference",
                    )

    def _refresh(self, models: dict[str, Model]) -> None:
        with self._lock:
            self._models = models
            self._once_available.intersection_update(models)
        for i, name in enumerate(dict.fromkeys([*models, *self._versions]), 1):
            self._refresh_model(name, models.get(name), f"model {i} of {len(models)}")

    def _refresh_model(self, name: str, model: Model | None, progress: str) -> None:
        versions = self._versions.setdefault(name, {})
        numbers = self._find_numbers(model) if model else []
        if numbers is None:
            self._note_gone(versions, [])
            self._continue_unloading(versions)
            return
        wanted = self._load_wanted(model, numbers, progress) if model else []
        self._note_gone(versions, numbers)
        if wanted or not model or not model.select(numbers):  # else nothing on the disk can replace what is loaded
            self._unload_others(versions, wanted)
        self._continue_unloading(versions)
        for number, version in list(versions.items()):
            if version.servable is None and number not in numbers:
                with self._lock:
                    del versions[number]
        if not model and not versions:
            with self._lock:
                del self._versions[name]

    def _find_numbers(self, model: Model) -> list[int] | None:
        """The versions on the disk; None if the folder of the model is missing or cannot be read."""
        try:
            numbers = models_config.find_versions(model.path) if model.path.is_dir() else None
        except OSError as error:
            if model.name not in self._unreadable:
                self._unreadable.add(model.name)
                self._log("cannot read the folder", model=model.name, error=printable(error))
            return None
        self._unreadable.discard(model.name)
        return numbers

    def _load_wanted(self, model: Model, numbers: list[int], progress: str) -> list[int]:
        """Loads the versions to serve of those on the disk. Returns them without those that could not be loaded."""
        versions = self._versions[model.name]
        failed = {number for number in numbers if number in versions and not self._can_load(model, versions[number])}
        while True:
            wanted = model.select([number for number in numbers if number not in failed])
            new = [n for n in wanted if n not in versions or versions[n].servable is None]
            if not new or self._stopping.is_set():
                return wanted
            self._log("loading", model=model.name, version=new[0], progress=progress)
            if not self._load(model, new[0]):
                failed.add(new[0])

    def _can_load(self, model: Model, version: Version) -> bool:
        """Whether the version has not failed, or can be tried again."""
        if not version.error:
            return True
        return self._clock() >= version.retry_time or version.stamp != stamp_of(model.path / str(version.number))

    def _load(self, model: Model, number: int) -> bool:
        """Returns whether the version could be loaded and warmed up."""
        path, start = model.path / str(number), self._clock()
        version = Version(model.name, number, stamp_of(path), State.LOADING)
        previous = self._versions[model.name].get(number)
        if previous and previous.stamp == version.stamp:
            version.num_failures, version.error = previous.num_failures, previous.error
        with self._lock:
            self._versions[model.name][number] = version
        servable = None
        try:
            servable = Servable(path)
            num_requests = servable.warm_up(self._stopping.is_set)
        except Exception as error:  # whatever is wrong with this version, the server continues
            if servable:
                servable.close()
            self._set_failed(version, error)
            return False
        with self._lock:
            version.servable, version.state, version.error = servable, State.AVAILABLE, ""
            self._once_available.add(model.name)
        memory.return_freed()
        seconds = round(self._clock() - start, 1)
        self._log("loaded", model=model.name, version=number, warm_up_requests=num_requests, seconds=seconds)
        return True

    def _set_failed(self, version: Version, error: Exception) -> None:
        """Records a failed load. As in TF Serving, a version is LOADING until the last attempt has failed."""
        retries = self._retries
        with self._lock:
            version.num_failures += 1
            version.error = printable(f"{type(error).__name__}: {error}")[:_MAX_ERROR_LENGTH]
            will_retry = version.num_failures <= retries.number
            version.retry_time = self._clock() + retries.seconds if will_retry else float("inf")
            version.state = State.LOADING if will_retry else State.END
        self._log(
            "not loaded",
            model=version.model,
            version=version.number,
            error=version.error,
            retry_in_seconds=retries.seconds if will_retry else None,
        )

    def _note_gone(self, versions: dict[int, Version], numbers: list[int]) -> None:
        """Logs once that the folder of a version has disappeared while it is served."""
        for version in versions.values():
            was_gone, version.is_gone = version.is_gone, version.number not in numbers
            if version.state == State.AVAILABLE and version.is_gone and not was_gone:
                self._log("the folder is gone", model=version.model, version=version.number)

    def _unload_others(self, versions: dict[int, Version], wanted: list[int]) -> None:
        if not self._stopping.is_set():
            for version in versions.values():
                if version.state == State.AVAILABLE and version.number not in wanted:
                    with self._lock:
                        version.state = State.UNLOADING

    def _continue_unloading(self, versions: dict[int, Version]) -> None:
        if not self._stopping.is_set():
            for version in versions.values():
                if version.state == State.UNLOADING:
                    self._unload(version, _UNLOAD_SECONDS)

    def _collect_garbage(self) -> None:
        """Frees the graphs of the versions that the previous refresh unloaded.

        A graph has reference cycles: without this, about 100 MiB stay for each version. The threads of the last
        requests refer to it for a moment longer than they use it; so this is not done right after unloading.
        """
        if self._has_garbage:
            gc.collect()
            memory.return_freed()
            self._has_garbage = False

    def _unload(self, version: Version, seconds: float | None = None) -> None:
        """Accepts no new requests, waits for those in progress, and releases the model.

        If they need more than `seconds`, the version stays UNLOADING.
        """
        with self._lock:
            if version.state not in (State.AVAILABLE, State.UNLOADING):
                return
            version.state, servable = State.UNLOADING, version.loaded()
        if not servable.wait_until_unused(seconds):
            return
        servable.close()
        with self._lock:
            version.servable, version.streams, version.batchers, version.state = None, None, {}, State.END
        self._has_garbage = True
        self._log("unloaded", model=version.model, version=version.number)
