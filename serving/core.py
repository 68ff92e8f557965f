"""What REST and gRPC share: a request for a model becomes arrays, waits for its batch, and gets its answer."""

import contextlib
import dataclasses
import logging
import threading
import time
from collections.abc import Callable

import numpy as np

from serving import work
from serving.errors import Code, ServingError, invalid
from serving.logs import log_event, logger
from serving.manager import Manager
from serving.metrics import Metrics
from serving.servable import Signature
from serving.settings import Limits


@dataclasses.dataclass(frozen=True)
class ModelSpec:
    """The model, version and signature that a request names.

    Attributes:
        name: name of the model.
        number: number of the version; the newest version if there is neither number nor label.
        label: label of the version.
        signature: name of the signature, "" for the default.
    """

    name: str
    number: int | None = None
    label: str | None = None
    signature: str = ""


@dataclasses.dataclass(frozen=True)
class Prediction:
    """The outputs, and the model, version and signature that produced them."""

    outputs: dict[str, np.ndarray]
    model: str
    version: int
    signature: str


class Core:
    """Answers the requests of all APIs.

    Args:
        manager: loads and unloads the versions.
        limits: limits for each request and for all requests together.
        metrics: counts the requests.
    """

    def __init__(self, manager: Manager, limits: Limits, metrics: Metrics):
        self.manager, self.limits, self.metrics = manager, limits, metrics
        self._slots = threading.BoundedSemaphore(limits.max_requests)

    def predict(
        self,
        spec: ModelSpec,
        make_inputs: Callable[[Signature], dict[str, np.ndarray]],
        output_names: tuple[str, ...] = (),
        timeout: float | None = None,
    ) -> Prediction:
        """Runs a signature.

        Args:
            spec: the model, version and signature.
            make_inputs: called with the signature; returns input -> array.
            output_names: the outputs to return; all if empty.
            timeout: seconds that the client waits; None for the server's own limit, which always applies.

        Raises:
            ServingError: the request is invalid, or the server cannot answer it.
        """
        longest = self.limits.timeout
        deadline = time.monotonic() + (longest if timeout is None else min(longest, timeout))
        with self.manager.hold(spec.name, spec.number, spec.label) as version:
            signature = version.servable.signature(spec.signature)
            inputs = make_inputs(signature)
            signature.check(inputs)
            signature.check_shapes(inputs)
            self._check_size(inputs)
            inputs = work.with_max_length(inputs, self.limits.max_length)
            is_long = self._check_work(inputs) > self.limits.long_tokens
            _check_output_names(signature, output_names)
            outputs = self.manager.batcher(version, signature.name, is_long).run(inputs, deadline)
            if output_names:
                outputs = {name: outputs[name] for name in output_names}
            return Prediction(outputs, version.model, version.number, signature.name)

    @contextlib.contextmanager
    def admit(self, spec: ModelSpec, api: str, entrypoint: str):
        """Occupies one of the server's `max_requests` slots while the block runs.

        Counts and logs the request with its time and status. The log never contains its texts.

        Args:
            spec: the model.
            api: the method, such as Predict; named as in TF Serving's metrics, like the next one.
            entrypoint: GRPC or REST.

        Raises:
            ServingError: all slots are occupied, or the block raised an unexpected exception.
        """
        start, status = time.monotonic(), Code.OK
        if not self._slots.acquire(blocking=False):
            self._count(spec, api, entrypoint, Code.RESOURCE_EXHAUSTED, start)
            message = f"{self.limits.max_requests} requests are in progress already: try again later"
            raise ServingError(Code.RESOURCE_EXHAUSTED, message)
        self.metrics.in_flight.inc()
        try:
            yield
        except ServingError as error:
            status = error.code
            raise
        except Exception:
            status = Code.INTERNAL
            logger.exception("unexpected exception")
            raise ServingError(Code.INTERNAL, "internal error: see the server's log") from None
        finally:
            self.metrics.in_flight.dec()
            self._slots.release()
            self._count(spec, api, entrypoint, status, start)

    def _count(self, spec: ModelSpec, api: str, entrypoint: str, status: Code, start: float) -> None:
        seconds = time.monotonic() - start
        # A name that a client makes up must not create a new time series.
        model = spec.name if spec.name in self.manager.readiness() else "unknown"
        self.metrics.count(model, api, entrypoint, status.name, seconds)
        if logger.isEnabledFor(logging.INFO):
            log_event(
                "request",
                model=model,
                api=api,
                entrypoint=entrypoint,
                signature=spec.signature or "default",
                status=status.name,
                milliseconds=round(1000 * seconds, 2),
            )

    def _check_size(self, inputs: dict[str, np.ndarray]) -> None:
        limits = self.limits
        for name, array in inputs.items():
            if array.ndim and len(array) > limits.max_rows:
                raise invalid(f"{name} has {len(array)} rows: a request may have at most {limits.max_rows}")
            if array.dtype == object and max(map(len, array.reshape(-1)), default=0) > limits.max_text_bytes:
                raise invalid(f"{name} has a text of more than {limits.max_text_bytes} bytes")

    def _check_work(self, inputs: dict[str, np.ndarray]) -> int:
        """Returns the work in tokens."""
        num_tokens, maximum = work.measure(inputs).num_tokens, self.limits.max_tokens
        if num_tokens > maximum:
            raise invalid(
                f"the request has {num_tokens} tokens (rows x {work.LENGTH_INPUT}, or bytes of text / "
                f"{work.BYTES_PER_TOKEN}): a request may have at most {maximum}"
            )
        return num_tokens


def _check_output_names(signature: Signature, names: tuple[str, ...]) -> None:
    for name in names:
        if name not in signature.definition.outputs:
            expected = ",".join(sorted(signature.definition.outputs))
            raise invalid(
                f"output tensor alias not found in signature: {name} Outputs expected to be in the set {{{expected}}}."
            )
    if len(set(names)) < len(names):
        raise invalid(f"duplicate output tensor alias: {next(name for name in names if names.count(name) > 1)}")
