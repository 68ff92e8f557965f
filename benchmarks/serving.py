"""The figures of the embedded server: what it adds to a call, how much many clients get, and whether it lives through a long day.

    python benchmarks/serving.py latency    --models saved_models --model sentiment --data PATH/TO/imdb/train.csv.xz
    python benchmarks/serving.py throughput ...the same
    python benchmarks/serving.py soak       ...the same [--requests 100000]
    python benchmarks/serving.py swaps      ...the same

The requests are reviews of --data as they come. `latency` asks the server (a process of its own, gRPC) and the SavedModel in this process by
turns, one review each. `throughput` counts answers with one client and with 64 and, where Flask is installed, those of a Flask app that calls
the SavedModel for each request. `soak` sends many requests, one in ten malformed, and watches the server's memory. `swaps` puts
20 new versions there while clients ask. All want an otherwise idle machine.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pipelines.data import tables  # noqa: E402

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
FLASK = """
import sys
import flask, keras
import tensorflow as tf, tensorflow_text
app = flask.Flask("baseline")
folder, port, way = sys.argv[1:]
signature = tf.saved_model.load(folder).signatures["serving_default"]
text = keras.Input((), dtype="string", name="text")
model = keras.Model(text, keras.layers.TFSMLayer(folder, call_endpoint="serving_default")(text))
ways = {
    "the signature": lambda texts: signature(text=tf.constant(texts))["label"].numpy(),
    "model.predict": lambda texts: model.predict(tf.constant(texts), verbose=0)["label"],
}

@app.post("/")
def answer():
    return {"predictions": [label.decode() for label in ways[way](flask.request.get_json()["instances"])]}

app.run(port=int(port), threaded=True)
"""


@contextlib.contextmanager
def served(models: Path):
    """(process, REST's address, gRPC's address) of a server in a process of its own."""
    command = [sys.executable, str(ROOT / "main.py"), "serve", "--saved-models", str(models), "--rest-port", "0", "--grpc-port", "0"]
    with tempfile.TemporaryFile("w+") as log:  # not a pipe: to read it would wake this process with every request
        process = subprocess.Popen(command, stderr=log)
        found = None
        while not found:
            if process.poll() is not None:
                sys.exit("the server did not start")
            time.sleep(0.1)
            log.seek(0)
            found = re.search(r"^serving .*(http://\S+), gRPC (\S+)", log.read(), re.MULTILINE)
    rest, grpc = found.groups()
    try:
        yield process, rest, grpc
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def stub_of(address: str):
    import grpc
    from tensorflow_serving.apis import prediction_service_pb2_grpc

    return prediction_service_pb2_grpc.PredictionServiceStub(grpc.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)]))


def request_of(model: str, text: str):
    import tensorflow as tf
    from tensorflow_serving.apis import predict_pb2

    request = predict_pb2.PredictRequest()
    request.model_spec.name = model
    request.inputs["text"].CopyFrom(tf.make_tensor_proto([text]))
    return request


def newest(arguments) -> Path:
    return max((arguments.models / arguments.model).glob("[0-9]*"), key=lambda path: int(path.name))


def latency(arguments, texts: list[str]) -> None:
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  (registers the tokenizer's ops)

    signature = tf.saved_model.load(str(newest(arguments))).signatures["serving_default"]
    with served(arguments.models) as (_, _, address):
        stub = stub_of(address)
        seconds = {"in process": [], "over gRPC": []}
        ways = {
            "in process": lambda text: signature(text=tf.constant([text]))["label"].numpy(),
            "over gRPC": lambda text: stub.Predict(request_of(arguments.model, text)),
        }
        for first in range(0, 660, 30):  # in turn, for long enough that neither finds the other's data in the processor's caches
            for name, ask in ways.items():
                for text in texts[first : first + 30]:
                    started = time.perf_counter()
                    ask(text)
                    seconds[name].append(time.perf_counter() - started)
    medians = {name: 1000 * statistics.median(values[60:]) for name, values in seconds.items()}
    for name, median in medians.items():
        print(f"{name}: {median:.2f} ms at the median")
    print(f"the server adds {medians['over gRPC'] - medians['in process']:.2f} ms")


def rate(ask, texts: list[str], clients: int, seconds: float) -> float:
    """Answers a second of `clients` that each ask one after the other."""
    counts, end = [0] * clients, time.perf_counter() + seconds

    def run(i):
        call, position = ask(), i
        while time.perf_counter() < end:
            call(texts[position % len(texts)])
            counts[i] += 1
            position += clients

    threads = [threading.Thread(target=run, args=(i,)) for i in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds


def throughput(arguments, texts: list[str]) -> None:
    with served(arguments.models) as (_, _, address):

        def over_grpc():
            stub = stub_of(address)
            return lambda text: stub.Predict(request_of(arguments.model, text))

        rate(over_grpc, texts, 8, 3)
        alone, together = rate(over_grpc, texts, 1, 10), rate(over_grpc, texts, 64, 20)
    print(f"one client: {alone:.0f} answers a second; 64 clients: {together:.0f} ({together / alone:.1f} times)")
    try:
        import flask  # noqa: F401
        import requests  # noqa: F401
    except ImportError:
        print("Flask and requests are not installed: nothing to compare with")
        return
    for way in ("model.predict", "the signature"):
        flask_rate = _flask_rate(arguments, texts, way)
        print(f"Flask with {way}, 64 clients: {flask_rate:.0f} answers a second; the server gives {together / flask_rate:.1f} times as many")


def _flask_rate(arguments, texts: list[str], way: str) -> float:
    import requests

    command = [sys.executable, "-c", FLASK, str(newest(arguments)), "8599", way]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def over_flask():
        session = requests.Session()
        return lambda text: session.post("http://127.0.0.1:8599/", json={"instances": [text]}).raise_for_status()

    try:
        while process.poll() is None:
            with contextlib.suppress(requests.ConnectionError):
                over_flask()("ready?")
                break
            time.sleep(0.2)
        return rate(over_flask, texts, 64, 20)
    finally:
        process.kill()


def soak(arguments, texts: list[str]) -> None:
    """Every answer is compared with that of the first time the text was asked."""
    import grpc

    def resident(process) -> float:
        status = Path(f"/proc/{process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    texts, lock = texts[:500], threading.Lock()
    known, counts = {}, {"right": 0, "refused": 0, "wrong": 0}
    with served(arguments.models) as (process, _, address):
        position, memory = iter(range(arguments.requests)), {}

        def work():
            stub = stub_of(address)
            while True:
                with lock:
                    i = next(position, None)
                    if i is None:
                        return
                    if i % 10_000 == 0:
                        memory[i] = resident(process)
                        print(f"{i:,} requests: {memory[i]:.0f} MiB", flush=True)
                text = texts[i % len(texts)]
                request = request_of(arguments.model, text)
                if i % 10 == 9:
                    ((lambda: request.inputs.clear()), (lambda: setattr(request.model_spec, "name", "x")), (lambda: setattr(request.inputs["text"], "dtype", 1)))[i // 10 % 3]()
                try:
                    label = stub.Predict(request, timeout=60).outputs["label"].string_val[0]
                    outcome = "wrong" if i % 10 == 9 or known.setdefault(text, label) != label else "right"
                except grpc.RpcError as error:
                    expected = i % 10 == 9 and error.code() in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND)
                    outcome = "refused" if expected else "wrong"
                with lock:
                    counts[outcome] += 1

        threads = [threading.Thread(target=work) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        last = resident(process)
    growth = last - memory.get(10_000, memory[0])
    print(f"{counts}, memory {last:.0f} MiB, {growth:+.0f} MiB since the first 10,000")


def swaps(arguments, texts: list[str]) -> None:
    import urllib.request

    source, failures, answers, stop = newest(arguments), [], [0], threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        shutil.copytree(source, root / arguments.model / "1")
        with served(root) as (_, rest, address):

            def work(i):
                stub = stub_of(address)
                while not stop.is_set():
                    try:
                        stub.Predict(request_of(arguments.model, texts[i]), timeout=60)
                        answers[0] += 1
                    except Exception as error:
                        failures.append(error)

            threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
            for thread in threads:
                thread.start()
            for version in range(2, 22):
                shutil.copytree(source, root / arguments.model / f".tmp-{version}")
                (root / arguments.model / f".tmp-{version}").rename(root / arguments.model / str(version))
                state = ""
                while state != "AVAILABLE":
                    time.sleep(0.2)
                    with contextlib.suppress(OSError), urllib.request.urlopen(f"{rest}/v1/models/{arguments.model}/versions/{version}") as response:
                        state = json.load(response)["model_version_status"][0]["state"]
            stop.set()
            for thread in threads:
                thread.join()
    print(f"20 versions, {answers[0]:,} answers, {len(failures)} failures")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["latency", "throughput", "soak", "swaps"])
    parser.add_argument("--models", type=Path, required=True, help="folder of the exported models")
    parser.add_argument("--model", default="sentiment")
    parser.add_argument("--data", required=True, help="reviews as CSV")
    parser.add_argument("--requests", type=int, default=100_000, help="of soak")
    arguments = parser.parse_args()
    texts = list(tables.read_texts(Path(arguments.data), None)[0][::5])  # of all films and both labels
    {"latency": latency, "throughput": throughput, "soak": soak, "swaps": swaps}[arguments.what](arguments, texts)


if __name__ == "__main__":
    main()
