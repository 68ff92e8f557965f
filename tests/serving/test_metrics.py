import threading

import pytest

from serving.metrics import Metrics


def test_requests_are_counted_by_model_and_status():
    metrics = Metrics()
    for status in ("OK", "OK", "NOT_FOUND"):
        metrics.count("upper", "Predict", "GRPC", status, 0.001)
    page = metrics.page().decode()
    assert ':tensorflow:serving:request_count{model_name="upper",status="OK"} 2.0' in page
    assert ':tensorflow:serving:request_count{model_name="upper",status="NOT_FOUND"} 1.0' in page


@pytest.mark.parametrize(("seconds", "bucket"), [(0.0004, "500.0"), (0.0007, "1000.0"), (100.0, "+Inf")])
def test_the_latency_is_in_microseconds(seconds, bucket):
    metrics = Metrics()
    metrics.count("upper", "Predict", "REST", "OK", seconds)
    rows = [line for line in metrics.page().decode().splitlines() if "request_latency_bucket" in line]
    counts = {row.split('le="')[1].split('"')[0]: float(row.rsplit(" ", 1)[1]) for row in rows}
    assert next(limit for limit, count in counts.items() if count == 1) == bucket


def test_two_servers_in_one_process_count_for_themselves():
    first, second = Metrics(), Metrics()
    first.count("upper", "Predict", "GRPC", "OK", 0.001)
    assert "upper" not in second.page().decode()


def test_no_count_is_lost_with_several_threads():
    metrics = Metrics()

    def count():
        for _ in range(1000):
            metrics.count("upper", "Predict", "GRPC", "OK", 0.001)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 'request_count{model_name="upper",status="OK"} 4000.0' in metrics.page().decode()
