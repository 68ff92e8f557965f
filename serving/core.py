"""What REST and gRPC have in common: a request for a model becomes arrays, waits for its turn, and gets its answer."""

import contextlib
import dataclasses
import json
import logging
import threading
import time
from collections.abc import Callable

import numpy as np

from serving import errors
from serving.errors import Code, ServingError
from serving.manager import Manager
from serving.metrics import Metrics
from serving.servable import Signature
from serving.settings import Limits

_log = logging.getLogger("unroll.serving")


@dataclasses.dataclass(frozen=True)
class Spec:
    """Which model a request is for: the newest version, or one by number or label; and the signature, "" for the default."""

    name: str
    number: int | None = None
    label: str | None = None
    signature: str = ""


@dataclasses.dataclass(frozen=True)
class Answer:
    """The outputs, and which model gave them."""

    outputs: dict[str, np.ndarray]
    name: str
    version: int
    signature: str


class Core:
    """
    Args:
        manager: of the versions.
        limits: for each request and all.
        metrics: where requests are counted.
    """

    def __init__(self, manager: Manager, limits: Limits, metrics: Metrics):
        self.manager, self.limits, self.metrics = manager, limits, metrics
        self._places = threading.BoundedSemaphore(limits.requests)

    def predict(
        self, spec: Spec, inputs_for: Callable[[Signature], dict[str, np.ndarray]], outputs: tuple[str, ...] = (), seconds: float | None = None
    ) -> Answer:
        """
        Args:
            inputs_for: the signature -> input -> array.
            outputs: those that are wanted; all, if none is named.
            seconds: that the client waits.

        Raises:
            ServingError: whatever the client did wrong, or the server cannot do.
        """
        deadline = time.monotonic() + min(self.limits.seconds, self.limits.seconds if seconds is None else seconds)
        version = self.manager.version(spec.name, spec.number, spec.label)
        with contextlib.ExitStack() as held:
            held.push(version.servable.__exit__)
            signature = version.servable.signature(spec.signature)
            inputs = inputs_for(signature)
            signature.check(inputs)
            signature.check_shapes(inputs)
            self._check_size(inputs)
            for name in outputs:
                if name not in signature.definition.outputs:
                    there = ",".join(sorted(signature.definition.outputs))
                    raise errors.invalid(
                        f"output tensor alias not found in signature: {name} Outputs expected to be in the set {{{there}}}."
                    )
            if len(set(outputs)) < len(outputs):
                raise errors.invalid(f"duplicate output tensor alias: {next(n for n in outputs if outputs.count(n) > 1)}")
            found = self.manager.batcher(version, signature.name).run(inputs, deadline)
            chosen = {name: found[name] for name in outputs} if outputs else found
            return Answer(chosen, version.model, version.number, signature.name)

    @contextlib.contextmanager
    def request(self, spec: Spec, api: str, entrypoint: str):
        """One of the places there are, with its time and status counted and logged; the texts never are.

        Raises:
            ServingError: all places are taken.
        """
        started, status = time.monotonic(), Code.OK
        if not self._places.acquire(blocking=False):
            self._count(spec, api, entrypoint, Code.RESOURCE_EXHAUSTED, started)
            raise ServingError(Code.RESOURCE_EXHAUSTED, f"{self.limits.requests} requests are waiting already: come again")
        self.metrics.in_flight.inc()
        try:
            yield
        except ServingError as error:
            status = error.code
            raise
        except Exception:
            status = Code.INTERNAL
            _log.exception("a bug")
            raise ServingError(Code.INTERNAL, "internal error: the server's log says more") from None
        finally:
            self.metrics.in_flight.dec()
            self._places.release()
            self._count(spec, api, entrypoint, status, started)

    def _count(self, spec: Spec, api: str, entrypoint: str, status: Code, started: float) -> None:
        seconds = time.monotonic() - started
        known = spec.name if spec.name in self.manager.ready() else "unknown"  # names that clients make up are no new series
        self.metrics.count(known, api, entrypoint, status.name, seconds)
        if _log.isEnabledFor(logging.INFO):
            tell(
                "request", model=known, api=api, entrypoint=entrypoint, signature=spec.signature or "default", status=status.name,
                milliseconds=round(1000 * seconds, 2),
            )  # fmt: skip

    def _check_size(self, inputs: dict[str, np.ndarray]) -> None:
        for name, array in inputs.items():
            if array.ndim and len(array) > self.limits.rows:
                raise errors.invalid(f"{name} has {len(array)} rows: at most {self.limits.rows} are answered at a time")
            if array.dtype == object and max(map(len, array.reshape(-1)), default=0) > self.limits.text_bytes:
                raise errors.invalid(f"{name} has a text of more than {self.limits.text_bytes} bytes")


def tell(event: str, **facts) -> None:
    """Logs one line of JSON."""
    _log.info(json.dumps({"event": event, **facts}, default=str))
