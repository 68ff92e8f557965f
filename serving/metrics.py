"""Metrics for Prometheus, under the names that TF Serving uses where it has them."""

import collections
import threading
from collections.abc import Callable, Iterator

import prometheus_client
from prometheus_client.core import Metric

_PREFIX = ":tensorflow:serving:"
_MICROSECONDS = (500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 3e7, 6e7)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Metrics:
    """The metrics of one server."""

    def __init__(self):
        self.registry = prometheus_client.CollectorRegistry()
        prometheus_client.ProcessCollector(registry=self.registry)
        self._lock = threading.Lock()
        self._num_requests: collections.Counter = collections.Counter()
        self._num_events: collections.Counter = collections.Counter()
        self._latency = prometheus_client.Histogram(
            f"{_PREFIX}request_latency",
            "Time from a request to its answer, in microseconds.",
            ["model_name", "API", "entrypoint"],
            buckets=_MICROSECONDS,
            registry=self.registry,
        )
        self._batch_rows = prometheus_client.Histogram(
            f"{_PREFIX}batch_rows",
            "Rows of the batches that were run.",
            ["model_name"],
            buckets=_ROWS,
            registry=self.registry,
        )
        self.registry.register(self)

    def count(self, model: str, version: str, api: str, entrypoint: str, status: str, seconds: float) -> None:
        """Counts a request that has its answer.

        Args:
            model: name of the model, "" if the request names none.
            version: the version that answered, "" if none did.
            api: the method, such as Predict.
            entrypoint: GRPC or REST.
            status: name of the status code.
            seconds: time from the request to its answer.
        """
        with self._lock:
            self._num_requests[model, version, api, entrypoint, status] += 1
        self._latency.labels(model, api, entrypoint).observe(1e6 * seconds)

    def count_load(self, model: str, succeeded: bool) -> None:
        """Counts an attempt to load a version."""
        with self._lock:
            self._num_events["model_loads", model, "OK" if succeeded else "FAILED"] += 1

    def count_closed_connection(self, reason: str) -> None:
        """Counts a REST connection that the server closed early."""
        with self._lock:
            self._num_events["connections_closed", "", reason] += 1

    def observe_batch(self, model: str, num_rows: int) -> None:
        """Records a batch before it runs."""
        self._batch_rows.labels(model).observe(num_rows)

    def watch(self, name: str, description: str, value: Callable[[], float]) -> None:
        """Adds a gauge whose value is read whenever the metrics are.

        Args:
            name: name of the metric without prefix.
            description: what it measures.
            value: returns the value.
        """
        prometheus_client.Gauge(f"{_PREFIX}{name}", description, registry=self.registry).set_function(value)

    def page(self) -> bytes:
        """All metrics in Prometheus's text format."""
        return prometheus_client.generate_latest(self.registry)

    def collect(self) -> Iterator[Metric]:
        """The counters, for the registry. Prometheus's own counter class would add _total to their names."""
        requests = Metric(f"{_PREFIX}request_count", "Requests by model, version, method and status.", "counter")
        loads = Metric(f"{_PREFIX}model_loads", "Attempts to load a version.", "counter")
        closed = Metric(f"{_PREFIX}connections_closed", "REST connections that the server closed early.", "counter")
        with self._lock:
            for labels, count in sorted(self._num_requests.items()):
                names = ("model_name", "version", "API", "entrypoint", "status")
                requests.add_sample(requests.name, dict(zip(names, labels, strict=True)), count)
            for (event, model, label), count in sorted(self._num_events.items()):
                if event == "model_loads":
                    loads.add_sample(loads.name, {"model_name": model, "status": label}, count)
                else:
                    closed.add_sample(closed.name, {"reason": label}, count)
        yield from (requests, loads, closed)
