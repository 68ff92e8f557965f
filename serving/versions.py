"""A version of a model, and the states that it goes through."""

import dataclasses
import enum
from pathlib import Path

from serving.batching import Batcher
from serving.servable import Servable
from serving.streams import Streams


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
        error: why the version is not served, "" if it has no error. A version whose load will be retried is LOADING,
            with the error of the last attempt.
        stamp: names, times and sizes of its files before it was loaded. A version that failed is loaded again when they
            change.
        num_failures: failed attempts to load these files.
        retry_time: time of the next attempt; infinite if there is none.
        is_gone: whether it is served although its folder has disappeared.
    """

    model: str
    number: int
    stamp: tuple = ()
    state: State = State.START
    error: str = ""
    num_failures: int = 0
    retry_time: float = float("inf")
    is_gone: bool = False
    servable: Servable | None = None
    batchers: dict[tuple[str, bool], Batcher] = dataclasses.field(default_factory=dict)
    streams: Streams | None = None

    def loaded(self) -> Servable:
        """The model of a version that is available: `Manager.hold` gives such versions."""
        assert self.servable is not None, "the version is not loaded"
        return self.servable

    @property
    def time(self) -> int:
        """When the newest of its files was written, in seconds since 1970; 0 if it has none."""
        return max((nanoseconds for _, nanoseconds, _ in self.stamp), default=0) // 10**9


def stamp_of(path: Path) -> tuple:
    """Name, time and size of all files of a version, of which `Version.stamp` is made; () if it cannot be read."""
    try:
        files = [(file, file.stat()) for file in sorted(path.rglob("*")) if file.is_file()]
        return tuple((str(file), status.st_mtime_ns, status.st_size) for file, status in files)
    except OSError:  # the folder is being removed
        return ()
