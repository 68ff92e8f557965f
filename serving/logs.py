"""The log of the server: one JSON object per line."""

import json
import logging
import sys
import threading
import time

_NAME = "unroll.serving"
_LIBRARIES = ("uvicorn", "grpc", "asyncio", "concurrent.futures")  # they log here only what goes wrong
logger = logging.getLogger(_NAME)


def log_event(event: str, **fields) -> None:
    """Logs an event with its fields. `fields` must not contain any text of a request."""
    logger.info(event, extra={"fields": fields})


def printable(value) -> str:
    """The text of a value, with the bytes of a file name that are not UTF-8 as escapes."""
    return str(value).encode("utf-8", "backslashreplace").decode()


class JsonFormatter(logging.Formatter):
    """Formats a record as a JSON object: time, level, event, the fields of `log_event`, an exception's traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns the record as one line of JSON."""
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "time": f"{seconds}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **record.__dict__.get("fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def log_to_stderr() -> None:
    """Writes the server's log, the warnings of the libraries it uses, and exceptions of its threads to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in (_NAME, *_LIBRARIES):
        log = logging.getLogger(name)
        log.handlers, log.propagate = [handler], False
        log.setLevel(logging.INFO if name == _NAME else logging.WARNING)
    threading.excepthook = _log_exception_of_thread


def _log_exception_of_thread(arguments: threading.ExceptHookArgs) -> None:
    name = arguments.thread.name if arguments.thread else ""  # None if the thread object is gone already
    logger.error("unexpected exception", exc_info=arguments.exc_value, extra={"fields": {"thread": name}})
