"""Measures the embedded server: the latency that it adds, its throughput with many clients, and its stability.

    python benchmarks/serving.py latency    --models saved_models --model sentiment --data PATH/TO/imdb/train.csv.xz
    python benchmarks/serving.py throughput ...the same
    python benchmarks/serving.py kept       ...the same
    python benchmarks/serving.py stability  ...the same [--requests 100000]
    python benchmarks/serving.py swaps      ...the same
    python benchmarks/serving.py memory     ...the same
    python benchmarks/serving.py fuzz       --models saved_models [--requests 1000000]
    python benchmarks/serving.py soak       --models saved_models [--language-model char-lm] [--minutes 30]

The requests are the reviews of --data in their order; the server is a process of its own. All benchmarks need an
otherwise idle machine.

latency     alternates between the server (gRPC) and the SavedModel in this process, with one review per request
throughput  counts the answers for one client and for 64 clients and, if Flask is installed, those of a Flask app that
            calls the SavedModel for each request
kept        measures one REST client that keeps its connection, and compares it with a minimal web application
stability   sends many requests, one in ten malformed, and measures the server's memory
swaps       adds 20 new versions while clients send requests
memory      compares the server without a model and with copies of one
fuzz        sends random requests, most of them malformed (serving_fuzz.py)
soak        64 clients, new versions, idle connections and long requests at the same time (serving_soak.py)
"""

import argparse
import contextlib
import http.client
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import serving_fuzz, serving_soak  # noqa: E402
from benchmarks.serving_process import make_stub, resident_mebibytes, run_threads, start_server  # noqa: E402
from benchmarks.serving_soak import newest_version  # noqa: E402
from pipelines.data import tables  # noqa: E402
from pipelines.data.table_options import TableOptions  # noqa: E402

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
FLASK = """
import sys
import flask, keras
import tensorflow as tf, tensorflow_text
app = flask.Flask("baseline")
folder, port, method = sys.argv[1:]
signature = tf.saved_model.load(folder).signatures["serving_default"]
text = keras.Input((), dtype="string", name="text")
model = keras.Model(text, keras.layers.TFSMLayer(folder, call_endpoint="serving_default")(text))
methods = {
    "the signature": lambda texts: signature(text=tf.constant(texts))["label"].numpy(),
    "model.predict": lambda texts: model.predict(tf.constant(texts), verbose=0)["label"],
}

@app.post("/")
def answer():
    return {"predictions": [label.decode() for label in methods[method](flask.request.get_json()["instances"])]}

app.run(port=int(port), threaded=True)
"""


WEB_APPLICATION = """
import json, sys
import tensorflow as tf, tensorflow_text
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse
from starlette.routing import Route
folder, port = sys.argv[1:]
signature = tf.saved_model.load(folder).signatures["serving_default"]

async def answer(request):
    texts = json.loads(await request.body())["instances"]
    labels = await run_in_threadpool(lambda: signature(text=tf.constant(texts))["label"].numpy())
    return JSONResponse({"predictions": [label.decode() for label in labels]})

uvicorn.run(Starlette(routes=[Route("/", answer, methods=["POST"])]), port=int(port), log_level="warning")
"""
FLASK_PORT, BASELINE_PORT = 8599, 8598
MEMORY_INTERVAL = 10_000  # requests between two measurements of the memory


def make_request(model: str, text: str):
    import tensorflow as tf
    from tensorflow_serving.apis import predict_pb2

    request = predict_pb2.PredictRequest()
    request.model_spec.name = model
    request.inputs["text"].CopyFrom(tf.make_tensor_proto([text]))
    return request


def served_version(arguments) -> Path:
    return newest_version(arguments.models / arguments.model)


def latency(arguments, texts: list[str]) -> None:
    """Alternates between the server and the SavedModel in this process."""
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  (registers the tokenizer's ops)

    signature = tf.saved_model.load(str(served_version(arguments))).signatures["serving_default"]
    with start_server(arguments.models) as (_, _, address):
        stub = make_stub(address)
        seconds = {"in process": [], "over gRPC": []}
        calls = {
            "in process": lambda text: signature(text=tf.constant([text]))["label"].numpy(),
            "over gRPC": lambda text: stub.Predict(make_request(arguments.model, text)),
        }
        # 30 calls of one kind, then of the other: long enough that the processor's caches hold its data.
        for first in range(0, 660, 30):
            for name, call in calls.items():
                for text in texts[first : first + 30]:
                    start = time.perf_counter()
                    call(text)
                    seconds[name].append(time.perf_counter() - start)
    medians = {name: 1000 * statistics.median(values[60:]) for name, values in seconds.items()}
    for name, median in medians.items():
        print(f"{name}: median {median:.2f} ms")
    print(f"the server adds {medians['over gRPC'] - medians['in process']:.2f} ms")


def measure_rate(connect, texts: list[str], num_clients: int, seconds: float) -> float:
    """Answers per second.

    Args:
        connect: called once per client; returns a function that sends one text and waits for the answer.
        texts: the texts to send.
        num_clients: clients that send their requests in parallel, each one request at a time.
        seconds: duration of the measurement.
    """
    counts, end = [0] * num_clients, time.perf_counter() + seconds

    def run(i):
        call, position = connect(), i
        while time.perf_counter() < end:
            call(texts[position % len(texts)])
            counts[i] += 1
            position += num_clients

    run_threads(run, num_clients)
    return sum(counts) / seconds


def throughput(arguments, texts: list[str]) -> None:
    """Compares 64 clients with one client, and with Flask."""
    with start_server(arguments.models) as (_, _, address):

        def connect():
            stub = make_stub(address)
            return lambda text: stub.Predict(make_request(arguments.model, text))

        measure_rate(connect, texts, 8, 3)
        rate_1, rate_64 = measure_rate(connect, texts, 1, 10), measure_rate(connect, texts, 64, 20)
    print(f"1 client: {rate_1:.0f} answers per second; 64 clients: {rate_64:.0f} ({rate_64 / rate_1:.1f} times)")
    try:
        import flask  # noqa: F401
        import requests  # noqa: F401
    except ImportError:
        print("Flask and requests are not installed: no comparison with Flask")
        return
    for method in ("model.predict", "the signature"):
        rate = measure_flask_rate(arguments, texts, method)
        print(f"Flask with {method}, 64 clients: {rate:.0f} answers per second; the server: {rate_64 / rate:.1f} times")


def measure_flask_rate(arguments, texts: list[str], method: str) -> float:
    import requests

    command = [
        sys.executable,
        "-c",
        FLASK,
        str(served_version(arguments)),
        str(FLASK_PORT),
        method,
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def connect():
        session, url = requests.Session(), f"http://127.0.0.1:{FLASK_PORT}/"
        return lambda text: session.post(url, json={"instances": [text]}).raise_for_status()

    try:
        while process.poll() is None:
            with contextlib.suppress(requests.ConnectionError):
                connect()("ready?")
                break
            time.sleep(0.2)
        return measure_rate(connect, texts, 64, 20)
    finally:
        process.kill()


def stability(arguments, texts: list[str]) -> None:
    """Sends many requests, one in ten malformed. Every answer must be equal to the first answer for the same text."""
    texts, lock = texts[:500], threading.Lock()
    first_labels, counts, memory = {}, {"correct": 0, "refused": 0, "wrong": 0}, {}
    indices = iter(range(arguments.requests))
    with start_server(arguments.models) as (process, _, address):

        def run(_):
            stub = make_stub(address)
            while True:
                with lock:
                    i = next(indices, None)
                    if i is None:
                        return
                    if i % MEMORY_INTERVAL == 0:
                        memory[i] = resident_mebibytes(process)
                        print(f"{i:,} requests: {memory[i]:.0f} MiB", flush=True)
                outcome = send_stability_request(stub, arguments.model, texts[i % len(texts)], i, first_labels)
                with lock:
                    counts[outcome] += 1

        run_threads(run, 16)
        last = resident_mebibytes(process)
    growth = last - memory.get(MEMORY_INTERVAL, memory[0])
    print(f"{counts}, memory {last:.0f} MiB, {growth:+.0f} MiB since the first {MEMORY_INTERVAL:,} requests")


def send_stability_request(stub, model: str, text: str, i: int, first_labels: dict[str, bytes]) -> str:
    """Sends request number i. Returns correct, refused or wrong."""
    import grpc

    request, is_malformed = make_request(model, text), i % 10 == 9
    if is_malformed:
        fault = i // 10 % 3
        if fault == 0:
            request.inputs.clear()
        elif fault == 1:
            request.model_spec.name = "x"
        else:
            request.inputs["text"].dtype = 1  # float32
    try:
        label = stub.Predict(request, timeout=60).outputs["label"].string_val[0]
    except grpc.RpcError as error:
        expected = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND)
        return "refused" if is_malformed and error.code() in expected else "wrong"
    return "correct" if not is_malformed and first_labels.setdefault(text, label) == label else "wrong"


def swaps(arguments, texts: list[str]) -> None:
    """Adds 20 new versions while 8 clients send requests."""
    source, failures, num_answers, stop = (
        served_version(arguments),
        [],
        [0] * 8,
        threading.Event(),
    )
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        shutil.copytree(source, root / arguments.model / "1")
        with start_server(root) as (_, rest, address):

            def run(i):
                stub = make_stub(address)
                while not stop.is_set():
                    try:
                        stub.Predict(make_request(arguments.model, texts[i]), timeout=60)
                        num_answers[i] += 1
                    except Exception as error:
                        failures.append(error)

            clients = threading.Thread(target=run_threads, args=(run, len(num_answers)))
            clients.start()
            for version in range(2, 22):
                part = root / arguments.model / f".tmp-{version}"
                shutil.copytree(source, part)
                part.rename(root / arguments.model / str(version))
                wait_until_available(f"{rest}/v1/models/{arguments.model}/versions/{version}")
            stop.set()
            clients.join()
    print(f"20 versions, {sum(num_answers):,} answers, {len(failures)} failures")


def memory(arguments, texts: list[str]) -> None:
    """Measures the server with no model and with copies of one, after 200 requests to each."""
    source, empty = served_version(arguments), 0.0
    size = sum(path.stat().st_size for path in (source / "variables").iterdir()) / 2**20
    print(f"the variables of {arguments.model} take {size:.0f} MiB")
    for count in (0, 1, 2, 4):
        with tempfile.TemporaryDirectory() as folder:
            for i in range(count):
                shutil.copytree(source, Path(folder) / f"{arguments.model}-{i}" / "1")
            with start_server(Path(folder)) as (process, _, address):
                stub = make_stub(address)
                for i in range(count):
                    for text in texts[:200]:
                        stub.Predict(make_request(f"{arguments.model}-{i}", text), timeout=60)
                found = resident_mebibytes(process)
        empty = empty or found
        more = f", {(found - empty) / count:.0f} more for each" if count else ""
        print(f"{count} models: {found:.0f} MiB{more}", flush=True)


def wait_until_available(url: str) -> None:
    state = ""
    while state != "AVAILABLE":
        time.sleep(0.2)
        with contextlib.suppress(OSError), urllib.request.urlopen(url) as response:
            state = json.load(response)["model_version_status"][0]["state"]


def kept(arguments, texts: list[str]) -> None:
    """One REST client that keeps its connection, and the same with Starlette and the SavedModel alone."""
    command = [sys.executable, "-c", WEB_APPLICATION, str(served_version(arguments))]
    with start_server(arguments.models) as (_, rest, _):
        path = f"/v1/models/{arguments.model}:predict"
        print(f"the server: {measure_kept(rest.removeprefix('http://'), path, texts)}")
    process = subprocess.Popen([*command, str(BASELINE_PORT)], stderr=subprocess.DEVNULL)
    address = f"127.0.0.1:{BASELINE_PORT}"
    try:
        while process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", BASELINE_PORT)):
                break
            time.sleep(0.2)
        print(f"Starlette with the signature: {measure_kept(address, '/', texts)}")
    finally:
        process.kill()


def measure_kept(address: str, path: str, texts: list[str]) -> str:
    connection, seconds = http.client.HTTPConnection(address), []
    for text in texts[:300]:
        body = json.dumps({"instances": [text]})
        start = time.perf_counter()
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.read()
        seconds.append(time.perf_counter() - start)
        if response.status != 200:
            sys.exit(f"{address} answers with status {response.status}")
    median = statistics.median(seconds[20:])
    return f"median {1000 * median:.2f} ms, {1 / statistics.mean(seconds[20:]):.0f} answers per second"


def main() -> None:
    benchmarks = {each.__name__: each for each in (latency, throughput, kept, stability, swaps, memory)}
    without_texts = {"fuzz": serving_fuzz.run, "soak": serving_soak.run}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmark", choices=[*benchmarks, *without_texts])
    parser.add_argument("--models", type=Path, required=True, help="folder of the exported models")
    parser.add_argument("--model", default="sentiment", help="name of the model (default: sentiment)")
    parser.add_argument("--language-model", default="char-lm", help="name of the language model (default: char-lm)")
    parser.add_argument("--data", help="CSV file of reviews")
    parser.add_argument("--requests", type=int, default=100_000, help="number of requests (default: 100000)")
    parser.add_argument("--minutes", type=float, default=30.0, help="duration of soak (default: 30)")
    parser.add_argument("--timeout", type=float, default=60.0, help="the server's --timeout in soak (default: 60)")
    parser.add_argument("--seed", type=int, default=1, help="seed of fuzz (default: 1)")
    arguments = parser.parse_args()
    if arguments.benchmark in without_texts:
        without_texts[arguments.benchmark](arguments)
        return
    if not arguments.data:
        parser.error(f"{arguments.benchmark} needs --data")
    chunks = tables.read_texts([Path(arguments.data)], TableOptions())
    texts = [text for chunk, _, _ in chunks for text in chunk][::5]  # every fifth: all films and both labels
    benchmarks[arguments.benchmark](arguments, texts)


if __name__ == "__main__":
    main()
