"""What Prometheus collects, under the names that TF Serving gives."""

import collections
import threading

import prometheus_client
from prometheus_client.core import Metric

_PREFIX = ":tensorflow:serving:"
_MICROSECONDS = (500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7)


class Metrics:
    """Counts of one server."""

    def __init__(self):
        self.registry = prometheus_client.CollectorRegistry()
        self._lock = threading.Lock()
        self._requests: collections.Counter = collections.Counter()
        self._latency = prometheus_client.Histogram(
            f"{_PREFIX}request_latency", "Time from a request to its answer, in microseconds.", ["model_name", "API", "entrypoint"],
            buckets=_MICROSECONDS, registry=self.registry,
        )  # fmt: skip
        self.in_flight = prometheus_client.Gauge(f"{_PREFIX}requests_in_flight", "Requests that have no answer yet.", registry=self.registry)
        self.registry.register(self)

    def count(self, model: str, api: str, entrypoint: str, status: str, seconds: float) -> None:
        with self._lock:
            self._requests[model, status] += 1
        self._latency.labels(model, api, entrypoint).observe(1e6 * seconds)

    def page(self) -> bytes:
        return prometheus_client.generate_latest(self.registry)

    def collect(self):
        """The counter, whose name Prometheus's own class would not leave as it is."""
        metric = Metric(f"{_PREFIX}request_count", "Requests by model and status.", "counter")
        with self._lock:
            for (model, status), count in sorted(self._requests.items()):
                metric.add_sample(f"{_PREFIX}request_count", {"model_name": model, "status": status}, count)
        yield metric
