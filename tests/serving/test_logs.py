import json
import logging
import threading

import pytest

from serving.logs import JsonFormatter, log_event, log_to_stderr, logger


@pytest.fixture
def restored_loggers(monkeypatch):
    logs = [logging.getLogger(name) for name in (logger.name, "uvicorn", "grpc", "asyncio", "concurrent.futures")]
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    states = [(log.handlers, log.propagate, log.level) for log in logs]
    yield
    for log, (handlers, propagate, level) in zip(logs, states, strict=True):
        log.handlers, log.propagate = handlers, propagate
        log.setLevel(level)


def lines(capsys):
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_an_event_is_one_line_of_json_with_its_fields(capsys, restored_loggers):
    log_to_stderr()
    log_event("not loaded", model='a "name"', version=3, error="line 1\nline 2")
    (line,) = lines(capsys)
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "info",
        "event": "not loaded",
        "model": 'a "name"',
        "version": 3,
        "error": "line 1\nline 2",
    }


def test_an_exception_is_part_of_its_line(capsys, restored_loggers):
    log_to_stderr()
    try:
        raise KeyError("missing")
    except KeyError:
        logger.exception("unexpected exception")
    (line,) = lines(capsys)
    assert line["level"] == "error" and line["exception"].splitlines()[-1] == "KeyError: 'missing'"


def test_warnings_of_the_libraries_have_the_same_format(capsys, restored_loggers):
    log_to_stderr()
    logging.getLogger("uvicorn.error").warning('Invalid "%s" received.', "request")
    logging.getLogger("uvicorn.error").info("Started")
    (line,) = lines(capsys)
    assert line["event"] == 'Invalid "request" received.' and line["level"] == "warning"


def test_an_exception_of_a_thread_is_one_line(capsys, restored_loggers):
    log_to_stderr()
    thread = threading.Thread(target=lambda: 1 / 0, name="versions")
    thread.start()
    thread.join()
    (line,) = lines(capsys)
    assert line["level"] == "error" and line["thread"] == "versions" and "ZeroDivisionError" in line["exception"]


def test_the_time_is_utc_with_milliseconds():
    record = logging.LogRecord("x", logging.INFO, "x", 1, "event", (), None)
    record.created, record.msecs = 0.9996, 999.6
    assert json.loads(JsonFormatter().format(record))["time"] == "1970-01-01T00:00:00.999Z"
