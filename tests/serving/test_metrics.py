import sys
import threading

import pytest

from serving.metrics import Metrics

SERIES = ':tensorflow:serving:request_count{API="Predict",entrypoint="GRPC",model_name="upper",'


def test_requests_are_counted_by_model_version_method_and_status():
    metrics = Metrics()
    for status in ("OK", "OK", "NOT_FOUND"):
        metrics.count("upper", "1", "Predict", "GRPC", status, 0.001)
    page = metrics.page().decode()
    assert f'{SERIES}status="OK",version="1"}} 2.0' in page
    assert f'{SERIES}status="NOT_FOUND",version="1"}} 1.0' in page


@pytest.mark.parametrize(("seconds", "bucket"), [(0.0004, "500.0"), (0.0007, "1000.0"), (100.0, "+Inf")])
def test_the_latency_is_in_microseconds(seconds, bucket):
    metrics = Metrics()
    metrics.count("upper", "1", "Predict", "REST", "OK", seconds)
    rows = [line for line in metrics.page().decode().splitlines() if "request_latency_bucket" in line]
    counts = {row.split('le="')[1].split('"')[0]: float(row.rsplit(" ", 1)[1]) for row in rows}
    assert next(limit for limit, count in counts.items() if count == 1) == bucket


def test_two_servers_in_one_process_count_for_themselves():
    first, second = Metrics(), Metrics()
    first.count("upper", "1", "Predict", "GRPC", "OK", 0.001)
    assert "upper" not in second.page().decode()


def test_no_count_is_lost_with_several_threads():
    metrics = Metrics()

    def count():
        for _ in range(1000):
            metrics.count("upper", "1", "Predict", "GRPC", "OK", 0.001)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert f'{SERIES}status="OK",version="1"}} 4000.0' in metrics.page().decode()


def test_loads_batches_and_closed_connections_are_counted():
    metrics = Metrics()
    for succeeded in (True, False, False):
        metrics.count_load("upper", succeeded)
    metrics.count_closed_connection("timeout of header")
    metrics.observe_batch("upper", 3)
    page = metrics.page().decode()
    assert ':tensorflow:serving:model_loads{model_name="upper",status="OK"} 1.0' in page
    assert ':tensorflow:serving:model_loads{model_name="upper",status="FAILED"} 2.0' in page
    assert ':tensorflow:serving:connections_closed{reason="timeout of header"} 1.0' in page
    assert ':tensorflow:serving:batch_rows_bucket{le="2.0",model_name="upper"} 0.0' in page
    assert ':tensorflow:serving:batch_rows_bucket{le="4.0",model_name="upper"} 1.0' in page


def test_gauges_are_read_with_the_page():
    metrics, values = Metrics(), [1.0]
    metrics.watch("things", "Number of things.", lambda: values[0])
    values[0] = 7.0
    assert ":tensorflow:serving:things 7.0" in metrics.page().decode()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_the_process_has_metrics():
    page = Metrics().page().decode()
    for name in ("process_resident_memory_bytes", "process_open_fds", "process_max_fds", "process_cpu_seconds_total"):
        assert f"\n{name} " in page
