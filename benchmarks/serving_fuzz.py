"""Random requests for the server, most of them malformed. No answer may be an internal error.

The requests are made from valid ones: a byte or a value is changed, added or removed. The tests use the same requests.
"""

import contextlib
import gzip
import itertools
import json
import random
import socket
import threading
import time

from benchmarks import serving_process

REST_STATUSES = {200, 400, 403, 404, 405, 408, 413, 415, 429, 501}
ODD_NUMBERS = [-1, 2**31, 2**63, -(2**64), 1e308, 1e400, 0.1, 10**4299]
ODD_STRINGS = ["", "a", "\u0000", "\ud800", "ü" * 50, "x" * 2000]
ODD_COLLECTIONS = [[], {}, [[]], [{}], ["a", 1], {"b64": "YQ=="}, {"b64": "!"}, {"b64": 1}, {"text": "a"}]
ODD_VALUES = [None, True, *ODD_NUMBERS, *ODD_STRINGS, *ODD_COLLECTIONS]
ODD_TEXTS = [
    b"NaN",
    b"-Infinity",
    b"1" * 4301,
    b"[" * 65 + b"]" * 65,
    b"[" * 2000,
    b'{"a":' * 500,
    b"\xff",
    b'"\\ud800"',
]
PATHS = ["", "/versions/1", "/versions/99", "/versions/007", "/versions/" + "9" * 30, "/labels/stable", "/labels/%ff"]
METHODS = [":predict", ":classify", ":regress", "/metadata", "", ":explain", "%0a", "//"]
HEADERS = [
    b"Content-Encoding: gzip",
    b"Content-Encoding: br",
    b"Accept-Encoding: gzip",
    b"Origin: http://x",
    b"Origin: null",
    b"Expect: 100-continue",
    b"Connection: close",
    b"Transfer-Encoding: chunked",
    b"Content-Type: text/plain",
    b"Upgrade: websocket\r\nConnection: upgrade",
    b"X: " + b"a" * 5000,
]
GRPC_METHODS = [
    "/tensorflow.serving.PredictionService/GetModelMetadata",
    "/tensorflow.serving.PredictionService/Classify",
    "/tensorflow.serving.PredictionService/MultiInference",
    "/tensorflow.serving.ModelService/GetModelStatus",
    "/grpc.health.v1.Health/Check",
    "/tensorflow.serving.PredictionService/Nothing",
]
_SHORT_SECONDS, _LONG_SECONDS = 0.05, 60.0  # for an answer
PREDICT = "/tensorflow.serving.PredictionService/Predict"


def change_bytes(source: random.Random, data: bytes) -> bytes:
    """Changes, removes or inserts up to three bytes, or cuts the data."""
    changed = bytearray(data)
    for _ in range(source.randint(1, 3)):
        position = source.randrange(len(changed) + 1)
        kind = source.randrange(4)
        if kind == 0:
            changed[position : position + 1] = bytes([source.randrange(256)])
        elif kind == 1:
            del changed[position : position + source.randint(1, 4)]
        elif kind == 2:
            changed[position:position] = source.choice(ODD_TEXTS)
        else:
            del changed[position:]
    return bytes(changed)


def change_value(source: random.Random, value):
    """Replaces a random part of a JSON value."""
    if source.random() < 0.3 or not isinstance(value, (list, dict)) or not value:
        return source.choice(ODD_VALUES)
    if isinstance(value, list):
        position = source.randrange(len(value))
        return [change_value(source, each) if i == position else each for i, each in enumerate(value)]
    key = source.choice(sorted(value))
    changed = {**value, key: change_value(source, value[key])}
    if source.random() < 0.2:
        changed[source.choice(["inputs", "instances", "signature_name", "x", ""])] = source.choice(ODD_VALUES)
    return changed


def rest_body(source: random.Random) -> bytes:
    """The body of a prediction."""
    document = source.choice(
        [
            {"instances": ["a good film", "b"]},
            {"instances": [{"text": "a"}, {"text": {"b64": "YQ=="}}]},
            {"inputs": {"text": ["a", "b"]}, "signature_name": "serving_default"},
            {"inputs": ["a"]},
        ]
    )
    kind = source.randrange(10)
    if kind == 0:
        return json.dumps(document).encode()
    if kind == 1:
        return source.randbytes(source.randrange(200))
    if kind <= 5:
        return json.dumps(change_value(source, document)).encode("utf-8", "surrogatepass")
    return change_bytes(source, json.dumps(document).encode())


def rest_request(source: random.Random, model: str) -> tuple[bytes, bool]:
    """A request as bytes, and whether the server may wait for more of it. About one in twenty is not HTTP."""
    body, kind = rest_body(source), source.randrange(20)
    path, headers, verb = f"/v1/models/{model}:predict", [], "POST"
    if kind < 4:
        path = f"/v1/models/{source.choice([model, 'x', '%2e%2e', ''])}{source.choice(PATHS)}{source.choice(METHODS)}"
        verb = source.choice(["GET", "POST", "POST", "PUT", "HEAD", "OPTIONS"])
    elif kind < 8:
        headers = [source.choice(HEADERS)]
        if source.random() < 0.5:
            body = gzip.compress(body, mtime=0) if source.random() < 0.7 else change_bytes(source, gzip.compress(body))
    host = b"Host: attacker.example" if source.random() < 0.02 else b"Host: localhost"
    length = b"Content-Length: %d" % len(body)
    lines = [f"{verb} {path} HTTP/1.1".encode(), host, length, *headers]
    head = b"\r\n".join(lines) + b"\r\n\r\n"
    is_changed = source.random() < 0.05
    may_wait = is_changed or any(each.startswith(b"Transfer-Encoding") for each in headers)
    return (change_bytes(source, head) if is_changed else head) + body, may_wait


def send_rest(connection: socket.socket, request: bytes, may_wait: bool) -> tuple[int | None, bool]:
    """Sends a request from `rest_request`.

    Returns:
        The status, None if the server gave no answer; whether the connection can be used again.
    """
    connection.settimeout(_SHORT_SECONDS if may_wait else _LONG_SECONDS)
    try:
        connection.sendall(request)
        with connection.makefile("rb") as file:
            status, headers = 100, {}
            while status == 100:  # Continue
                line = file.readline()
                if not line:
                    return None, False
                status, headers = int(line.split()[1]), {}
                while line := file.readline().strip():
                    name, _, value = line.lower().partition(b":")
                    headers[name] = value.strip()
            if not request.startswith(b"HEAD"):
                file.read(int(headers.get(b"content-length", 0)))
        return status, not may_wait and headers.get(b"connection") != b"close"
    except (ConnectionError, TimeoutError):
        return None, False


def grpc_request(source: random.Random, model: str, message: bytes) -> tuple[str, bytes]:
    """The method and the message of a call.

    Args:
        message: a valid prediction, serialized.
    """
    kind = source.randrange(10)
    if kind == 0:
        return PREDICT, message
    if kind == 1:
        return source.choice([PREDICT, *GRPC_METHODS]), source.randbytes(source.randrange(100))
    if kind == 2:
        return source.choice(GRPC_METHODS), change_bytes(source, message)
    if kind <= 6:
        return PREDICT, change_bytes(source, message)
    return PREDICT, _odd_tensor(source, model)


def _odd_tensor(source: random.Random, model: str) -> bytes:
    from tensorflow_serving.apis import predict_pb2

    request = predict_pb2.PredictRequest()
    request.model_spec.name = model
    tensor = request.inputs["text"]
    tensor.dtype = source.choice([7, 7, 7, 1, 3, 9, 20, 21, 99])
    tensor.tensor_shape.unknown_rank = source.random() < 0.1
    for _ in range(source.choice([1, 1, 1, 0, 2, 40, 300])):
        tensor.tensor_shape.dim.add(size=source.choice([1, 2, 0, -1, 1000, 1025, 2**31, 2**62]))
    values = [b"a", b"", b"\xff", b"x" * 5000]
    tensor.string_val.extend(source.choices(values, k=source.choice([0, 1, 2, 50])))
    if source.random() < 0.2:
        tensor.tensor_content = source.randbytes(8)
    if source.random() < 0.1:
        tensor.float_val.append(1.0)
    return request.SerializeToString()


def run(arguments) -> None:
    """Sends the requests, half of them over each API, and measures the memory of the server."""
    tally: dict[str, int] = {}
    lock, numbers = threading.Lock(), itertools.count()
    memory: dict[str, float] = {}
    with serving_process.start_server(arguments.models) as (process, rest, address):
        start = time.perf_counter()

        def note(outcome: str) -> bool:
            """Counts an answer. Returns whether there is another request to send."""
            with lock:
                tally[outcome] = tally.get(outcome, 0) + 1
                i = next(numbers)
                if i == arguments.requests // 10:
                    memory["first"] = serving_process.resident_mebibytes(process)
                if i % 100_000 == 99_999:
                    print(f"{i + 1:,}: {serving_process.resident_mebibytes(process):.0f} MiB", flush=True)
            return i < arguments.requests

        def client(i: int) -> None:
            source = random.Random(arguments.seed * 1000 + i)
            send = send_all_rest if i % 2 else send_all_grpc
            send(source, arguments.model, rest.removeprefix("http://") if i % 2 else address, note)

        serving_process.run_threads(client, 8)
        seconds = time.perf_counter() - start
        memory["last"] = serving_process.resident_mebibytes(process)
    failures = {outcome: count for outcome, count in tally.items() if is_failure(outcome)}
    total = sum(tally.values())
    print(f"{total:,} requests in {seconds:.0f} s, {total / seconds:.0f} per second: {dict(sorted(tally.items()))}")
    print(f"memory {memory['first']:.0f} MiB after the first 10 %, {memory['last']:.0f} MiB at the end")
    print(f"internal errors: {failures or 'none'}")


def is_failure(outcome: str) -> bool:
    """Whether an outcome such as "REST 400" or "gRPC INTERNAL" must not happen."""
    api, status = outcome.split(" ", 1)
    if api == "REST":
        return status != "closed" and int(status) not in REST_STATUSES
    return status in ("INTERNAL", "UNKNOWN", "UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "DATA_LOSS")


def send_all_rest(source: random.Random, model: str, address: str, note) -> None:
    """Sends requests on a kept connection until `note` returns False."""
    host, port = address.rsplit(":", 1)
    connection = None
    more = True
    while more:
        if connection is None:
            connection = socket.create_connection((host, int(port)))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        status, can_continue = send_rest(connection, *rest_request(source, model))
        more = note(f"REST {status or 'closed'}")
        if not can_continue:
            connection.close()
            connection = None


def send_all_grpc(source: random.Random, model: str, address: str, note) -> None:
    """Sends calls on a connection until `note` returns False. Sixteen calls are in progress at a time."""
    import grpc
    import tensorflow as tf
    from tensorflow_serving.apis import predict_pb2

    request = predict_pb2.PredictRequest()
    request.model_spec.name = model
    request.inputs["text"].CopyFrom(tf.make_tensor_proto(["a good film", "b"]))
    message = request.SerializeToString()
    with grpc.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)]) as channel:
        more = True
        while more:
            calls = []
            for _ in range(16):
                method, data = grpc_request(source, model, message)
                calls.append(channel.unary_unary(method).future(data, timeout=60))
            for call in calls:
                with contextlib.suppress(grpc.RpcError):
                    call.result()
                more = note(f"gRPC {call.code().name}")
