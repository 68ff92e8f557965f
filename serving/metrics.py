"""Metrics for Prometheus, under the names that TF Serving uses."""

import collections
import threading
from collections.abc import Iterator

import prometheus_client
from prometheus_client.core import Metric

_PREFIX = ":tensorflow:serving:"
_MICROSECONDS = (500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7)


class Metrics:
    """The metrics of one server."""

    def __init__(self):
        self.registry = prometheus_client.CollectorRegistry()
        self._lock = threading.Lock()
        self._num_requests: collections.Counter = collections.Counter()
        self._latency = prometheus_client.Histogram(
            f"{_PREFIX}request_latency",
            "Time from a request to its answer, in microseconds.",
            ["model_name", "API", "entrypoint"],
            buckets=_MICROSECONDS,
            registry=self.registry,
        )
        self.in_flight = prometheus_client.Gauge(
            f"{_PREFIX}requests_in_flight", "Requests that have no answer yet.", registry=self.registry
        )
        self.registry.register(self)

    def count(self, model: str, api: str, entrypoint: str, status: str, seconds: float) -> None:
        """Counts a request that has its answer.

        Args:
            model: name of the model.
            api: the method, such as Predict.
            entrypoint: GRPC or REST.
            status: name of the status code.
            seconds: time from the request to its answer.
        """
        with self._lock:
            self._num_requests[model, status] += 1
        self._latency.labels(model, api, entrypoint).observe(1e6 * seconds)

    def page(self) -> bytes:
        """All metrics in Prometheus's text format."""
        return prometheus_client.generate_latest(self.registry)

    def collect(self) -> Iterator[Metric]:
        """The request counter, for the registry. Prometheus's own counter class would add _total to its name."""
        metric = Metric(f"{_PREFIX}request_count", "Requests by model and status.", "counter")
        with self._lock:
            for (model, status), count in sorted(self._num_requests.items()):
                metric.add_sample(f"{_PREFIX}request_count", {"model_name": model, "status": status}, count)
        yield metric
