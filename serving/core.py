"""What REST and gRPC share: a request for a model becomes arrays, waits for its batch, and gets its answer."""

import contextlib
import dataclasses
import functools
import logging
import time
from collections.abc import Callable, Hashable, Iterator, Sequence

import numpy as np

from serving import generation, work
from serving.cards import Words
from serving.errors import Code, ServingError, invalid
from serving.generation import Piece, Text
from serving.logs import logger
from serving.manager import Manager
from serving.metrics import Metrics
from serving.servable import Signature
from serving.settings import Limits
from serving.streams import Stream

_PROBES = ("Health", "Watch")  # frequent and uninteresting: logged at debug level


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


@dataclasses.dataclass
class Request:
    """What is counted and logged about a request.

    Attributes:
        api: the method, such as Predict.
        entrypoint: GRPC or REST.
        arrival: time of `time.monotonic` at which the request arrived.
        spec: the model that it names; the signature, too, once it is read.
        version: number of the version that answered.
        num_bytes: size of the request.
    """

    api: str
    entrypoint: str
    arrival: float = dataclasses.field(default_factory=time.monotonic)
    spec: ModelSpec = ModelSpec("")
    version: int | None = None
    num_bytes: int = 0
    status: Code = Code.OK


class Core:
    """Answers the requests of all APIs.

    Args:
        manager: loads and unloads the versions.
        limits: limits for each request and for all requests together.
        metrics: counts the requests.

    Attributes:
        is_started: whether the models have been loaded for the first time.
        is_stopping: whether the server is about to stop.
    """

    def __init__(self, manager: Manager, limits: Limits, metrics: Metrics):
        self.manager, self.limits, self.metrics = manager, limits, metrics
        self.is_started = self.is_stopping = False

    def predict(
        self,
        spec: ModelSpec,
        make_inputs: Callable[[Signature], dict[str, np.ndarray]],
        output_names: tuple[str, ...] = (),
        timeout: float | None = None,
        join_lane: Callable[[Hashable], None] = lambda lane: None,
    ) -> Prediction:
        """Runs a signature.

        Args:
            spec: the model, version and signature.
            make_inputs: called with the signature; returns input -> array.
            output_names: the outputs to return; all if empty.
            timeout: seconds that the client waits; None for the server's own limit, which always applies.
            join_lane: called before the request waits for a batch, with what is the same for all requests that wait for
                each other. It may raise a ServingError.

        Raises:
            ServingError: the request is invalid, or the server cannot answer it.
        """
        longest = self.limits.timeout
        deadline = time.monotonic() + (longest if timeout is None else min(longest, timeout))
        with self.manager.hold(spec.name, spec.number, spec.label) as version:
            signature = version.loaded().signature(spec.signature)
            inputs = make_inputs(signature)
            signature.check(inputs)
            signature.check_shapes(inputs)
            self._check_size(inputs)
            inputs = work.with_max_length(inputs, self.limits.max_length)
            is_long = self._check_work(inputs) > self.limits.long_tokens
            _check_output_names(signature, output_names)
            join_lane((version.model, signature.name, is_long))
            outputs = self.manager.batcher(version, signature.name, is_long).run(inputs, deadline)
            if output_names:
                outputs = {name: outputs[name] for name in output_names}
            return Prediction(outputs, version.model, version.number, signature.name)

    def stream(
        self,
        spec: ModelSpec,
        make_inputs: Callable[[Signature, Words], dict[str, np.ndarray]],
        texts: Sequence[Text],
        deliver: Callable[[int, Piece | ServingError], None],
        timeout: float | None = None,
    ) -> tuple[int, list[Stream]]:
        """Starts to generate texts token by token.

        Args:
            spec: the model and version.
            make_inputs: called with the signature and the words of the model's card; returns input -> array, with a row
                for each text.
            texts: one for each row.
            deliver: called in another thread with the row and a piece of its text, or the error that ends it.
            timeout: see `predict`.

        Returns:
            The number of the version, and the texts.

        Raises:
            ServingError: the request is invalid, or the version cannot generate token by token.
        """
        longest = self.limits.timeout
        deadline = time.monotonic() + (longest if timeout is None else min(longest, timeout))
        with self.manager.hold(spec.name, spec.number, spec.label) as version:
            servable = version.loaded()
            if not set(generation.SIGNATURES) <= set(servable.signatures):
                raise invalid(
                    f"{spec.name} has no signature {generation.START}: only language models and translators that were "
                    "exported by version 0.14 or later generate token by token"
                )
            signature = servable.signature(generation.START)
            inputs = make_inputs(signature, servable.words)
            signature.check(inputs)
            signature.check_shapes(inputs)
            self._check_size(inputs)
            inputs = work.with_max_length(inputs, self.limits.max_length)
            self._check_work(inputs)
            streams = [
                Stream(
                    text,
                    {name: array[i : i + 1] for name, array in inputs.items()},
                    deadline,
                    functools.partial(deliver, i),
                )
                for i, text in enumerate(texts)
            ]
            self.manager.streams(version).add(streams)
            return version.number, streams

    @contextlib.contextmanager
    def record(self, api: str, entrypoint: str) -> Iterator[Request]:
        """Counts and logs the request that the block answers, whatever happens. The log never contains its texts.

        Args:
            api: the method, such as Predict; named as in TF Serving's metrics, like the next one.
            entrypoint: GRPC or REST.

        Yields:
            The request, for its model and what else becomes known.

        Raises:
            ServingError: the block raised it, or an unexpected exception.
        """
        request, failure = Request(api, entrypoint), None
        try:
            yield request
        except ServingError as error:
            request.status = error.code
            raise
        except Exception as error:
            request.status, failure = Code.INTERNAL, error
            raise ServingError(Code.INTERNAL, "internal error: see the server's log") from None
        except BaseException:  # the client went away, or the server stops
            request.status = Code.CANCELLED
            raise
        finally:
            self._count(request, failure)

    def check_started(self, spec: ModelSpec) -> None:
        """Refuses requests for models that are being loaded for the first time.

        Raises:
            ServingError: the model is not available yet.
        """
        if not self.is_started and not self.manager.readiness().get(spec.name):
            raise ServingError(Code.UNAVAILABLE, "the models are being loaded: try again later")

    def is_ready(self, model: str = "") -> bool | None:
        """Whether every model, or the named one, has an available version; None if no model has this name.

        A server that stops is not ready.
        """
        readiness = self.manager.readiness()
        if model and model not in readiness:
            return None
        available = readiness[model] if model else self.manager.is_ready()
        return self.is_started and not self.is_stopping and available

    def _count(self, request: Request, failure: Exception | None) -> None:
        seconds = time.monotonic() - request.arrival
        # A name that a client makes up must not create a new time series.
        model = request.spec.name
        if model and model not in self.manager.readiness():
            model = "unknown"
        version = "" if request.version is None else str(request.version)
        self.metrics.count(model, version, request.api, request.entrypoint, request.status.name, seconds)
        level = logging.ERROR if failure else logging.DEBUG if request.api in _PROBES else logging.INFO
        if not logger.isEnabledFor(level):
            return
        fields = {
            "model": model,
            "version": version,
            "api": request.api,
            "entrypoint": request.entrypoint,
            "signature": request.spec.signature or "default",
            "status": request.status.name,
            "milliseconds": round(1000 * seconds, 2),
            "bytes": request.num_bytes,
        }
        logger.log(level, "request", exc_info=failure, extra={"fields": fields})

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
