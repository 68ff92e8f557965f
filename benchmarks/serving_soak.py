"""Half an hour of what a server meets in a month, all at once.

64 clients send short requests to a classifier and to a language model, half of them over each API. One request in ten
is malformed. Meanwhile new versions appear, idle connections are held at the limit, and in every second phase one
client generates long texts, one request after the other.
"""

import http.client
import itertools
import json
import shutil
import socket
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

from benchmarks import serving_process

NUM_CLIENTS, NUM_SWAPS, NUM_PHASES = 64, 20, 10
NUM_VERSIONS = 2  # that the server keeps of a model; each new one replaces the oldest
SETTLE_SECONDS = 3.0  # after a swap, until the memory is measured
NUM_IDLE = 1000
TEXTS = [f"A {mood} film about {what}." for mood in ("gripping", "dull", "strange") for what in ("sea", "war", "love")]
SHORT = {
    "temperature": 0.0,
    "top_k": 0,
    "top_p": 1.0,
    "min_p": 0.0,
    "seed": 1,
    "stop": "",
    "repetition_penalty": 1.0,
    "max_length": 20,
}
LONG = SHORT | {"max_length": 10_000}


class Counts:
    """What the clients have seen, by outcome, and the seconds of the correct answers, by whether a long request ran."""

    def __init__(self):
        self.lock = threading.Lock()
        self.outcomes = dict.fromkeys(("correct", "refused", "wrong", "lost"), 0)
        self.seconds: dict[bool, list[float]] = {False: [], True: []}
        self.expected: dict[str, object] = {}
        self.errors: list[str] = []
        self.is_long_running = False
        self.num_long = 0

    def note(self, key: str, is_malformed: bool, status: int | None, answer, seconds: float, was_long: bool) -> None:
        """Counts an answer. Equal requests must have equal answers."""
        with self.lock:
            if status is None:
                outcome = "lost"
            elif is_malformed:
                outcome = "refused" if status == 400 else "wrong"
            elif status != 200:
                outcome = "lost"
            else:
                outcome = "correct" if self.expected.setdefault(key, answer) == answer else "wrong"
                self.seconds[was_long].append(seconds)
            self.outcomes[outcome] += 1
            if outcome in ("wrong", "lost") and len(self.errors) < 20:
                self.errors.append(f"{key}: {status} {str(answer)[:200]}")


def generate_inputs(text: str, options: dict) -> dict[str, list]:
    """The inputs of a `generate` signature, one row."""
    return {"text": [text]} | {name: [value] for name, value in options.items()}


def run(arguments) -> None:
    """Runs the soak test and prints its figures."""
    seconds, counts, stop = 60 * arguments.minutes, Counts(), threading.Event()
    memory: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        names = (arguments.model, arguments.language_model)
        sources = {name: newest_version(arguments.models / name) for name in names}
        for name, source in sources.items():
            for version in range(1, NUM_VERSIONS + 1):
                shutil.copytree(source, root / name / str(version))
        with serving_process.start_server(root, "--timeout", str(arguments.timeout)) as (process, rest, address):
            threads = [
                threading.Thread(target=client, args=(i, arguments, rest, address, counts, stop))
                for i in range(NUM_CLIENTS)
            ]
            threads.append(threading.Thread(target=hold_idle_connections, args=(rest, stop)))
            threads.append(threading.Thread(target=generate_long, args=(arguments, address, counts, stop, seconds)))
            for thread in threads:
                thread.start()
            start = time.monotonic()
            for swap in range(1, NUM_SWAPS + 1):
                time.sleep(max(0.0, start + swap * seconds / (NUM_SWAPS + 1) - time.monotonic()))
                version = NUM_VERSIONS + swap
                for name, source in sources.items():
                    part = root / name / f".tmp-{version}"
                    shutil.copytree(source, part)
                    part.rename(root / name / str(version))
                state = wait_until_swapped(rest, names, version, start + (swap + 0.9) * seconds / (NUM_SWAPS + 1))
                memory.append(serving_process.resident_mebibytes(process))
                print(f"version {version} {state}: {memory[-1]:.0f} MiB, {counts.outcomes}", flush=True)
            time.sleep(max(0.0, start + seconds - time.monotonic()))
            stop.set()
            for thread in threads:
                thread.join()
            memory.append(serving_process.resident_mebibytes(process))
    report(counts, memory)


def wait_until_swapped(rest: str, names: tuple[str, ...], version: int, end: float) -> str:
    """Waits until the version and the one before it are available and older ones are unloaded, or until `end`."""
    wanted = {str(version - i): "AVAILABLE" for i in range(NUM_VERSIONS)}
    while time.monotonic() < end:
        states = [served_versions(rest, name) for name in names]
        if all(each == wanted for each in states):
            time.sleep(SETTLE_SECONDS)
            return "is loaded"
        time.sleep(1)
    return f"is not loaded yet ({states})"


def served_versions(rest: str, model: str) -> dict[str, str]:
    """Version -> state, without the versions that have ended."""
    with urllib.request.urlopen(f"{rest}/v1/models/{model}", timeout=60) as response:
        versions = json.load(response)["model_version_status"]
    return {each["version"]: each["state"] for each in versions if each["state"] != "END"}


def report(counts: Counts, memory: list[float]) -> None:
    """Prints the figures."""
    print(f"{counts.outcomes}, {counts.num_long} long requests")
    growth = 100 * (memory[-1] / memory[0] - 1)
    print(f"memory {memory[0]:.0f} MiB after the first swap, {memory[-1]:.0f} MiB at the end ({growth:+.1f} %)")
    p99 = {was_long: percentile(seconds, 0.99) for was_long, seconds in counts.seconds.items()}
    ratio = p99[True] / p99[False] if p99[False] else float("nan")
    print(f"p99 {1000 * p99[False]:.0f} ms without long requests, {1000 * p99[True]:.0f} ms with ({ratio:.1f} times)")
    for error in counts.errors:
        print(error)


def percentile(values: list[float], share: float) -> float:
    """The value that this share of the values does not exceed; 0 for no values."""
    return sorted(values)[int(share * (len(values) - 1))] if values else 0.0


def newest_version(folder: Path) -> Path:
    """The newest version of a model."""
    return max(folder.glob("[0-9]*"), key=lambda path: int(path.name))


def client(i: int, arguments, rest: str, address: str, counts: Counts, stop: threading.Event) -> None:
    """Sends short requests, one at a time: clients with an even number over gRPC."""
    send = RestClient(rest).send if i % 2 else GrpcClient(address).send
    for position in itertools.count(i):
        if stop.is_set():
            return
        text, is_malformed = TEXTS[position % len(TEXTS)], position % 10 == 9
        if position // 2 % 2:
            model, signature, inputs = arguments.language_model, "generate", generate_inputs(text, SHORT)
            output = "text"
        else:
            model, signature, inputs, output = arguments.model, "serving_default", {"text": [text]}, "label"
        if is_malformed:
            inputs = {"text": [[text]]} if position % 20 == 9 else {"txt": [text]}
        was_long, start = counts.is_long_running, time.perf_counter()
        status, answer = send(model, signature, inputs, output)
        seconds = time.perf_counter() - start
        counts.note(f"{model} {text}", is_malformed, status, answer, seconds, was_long)


class RestClient:
    """A client with a kept connection. It repeats a request if the server had closed the idle connection, as HTTP
    clients do.
    """

    def __init__(self, address: str):
        self._address = address.removeprefix("http://")
        self._connection = http.client.HTTPConnection(self._address, timeout=120)

    def send(self, model: str, signature: str, inputs: dict, output: str) -> tuple[int | None, object]:
        """Returns the status and the output, or None and the error."""
        body = json.dumps({"signature_name": signature, "inputs": inputs})
        for attempt in range(2):
            try:
                self._connection.request("POST", f"/v1/models/{model}:predict", body)
                response = self._connection.getresponse()
                answer = json.loads(response.read())
                return response.status, answer["outputs"][output] if response.status == 200 else answer
            except (http.client.HTTPException, OSError) as error:
                self._connection.close()
                if attempt:
                    return None, repr(error)
        return None, None


class GrpcClient:
    """A client with a connection of its own."""

    def __init__(self, address: str):
        self._stub = serving_process.make_stub(address)

    def send(self, model: str, signature: str, inputs: dict, output: str, timeout=120) -> tuple[int | None, object]:
        """Returns the HTTP status that REST would have and the output, or None and the error."""
        import grpc
        import numpy as np
        import tensorflow as tf
        from tensorflow_serving.apis import predict_pb2

        request = predict_pb2.PredictRequest()
        request.model_spec.name, request.model_spec.signature_name = model, signature
        for name, values in inputs.items():
            array = np.array(values, object if isinstance(np.ravel(values)[0], str) else None)
            if array.dtype != object:
                array = array.astype(np.int32 if array.dtype.kind == "i" else np.float32)
            request.inputs[name].CopyFrom(tf.make_tensor_proto(array))
        try:
            response = self._stub.Predict(request, timeout=timeout)
        except grpc.RpcError as error:
            return (
                400 if error.code() == grpc.StatusCode.INVALID_ARGUMENT else None
            ), f"{error.code()} {error.details()}"
        return 200, [value.decode() for value in response.outputs[output].string_val]


def hold_idle_connections(rest: str, stop: threading.Event) -> None:
    """Keeps as many idle connections open as the server allows, and a tenth more tries."""
    host, port = rest.removeprefix("http://").rsplit(":", 1)
    idle: list[socket.socket] = []
    while not stop.wait(0.02):
        idle.append(socket.create_connection((host, int(port)), timeout=10))
        if len(idle) > 1.1 * NUM_IDLE:
            idle.pop(0).close()
    for connection in idle:
        connection.close()


def generate_long(arguments, address: str, counts: Counts, stop: threading.Event, seconds: float) -> None:
    """In every second phase, generates long texts, one request at a time."""
    sender, start = GrpcClient(address), time.monotonic()
    while not stop.is_set():
        if int((time.monotonic() - start) / seconds * NUM_PHASES) % 2 == 0:
            stop.wait(0.1)
            continue
        counts.is_long_running = True
        inputs = {name: values * 64 for name, values in generate_inputs("A film", LONG).items()}
        sender.send(arguments.language_model, "generate", inputs, "text", timeout=arguments.timeout)
        counts.num_long += 1
        counts.is_long_running = False
