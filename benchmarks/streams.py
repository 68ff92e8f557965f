"""The figures of streams in docs/serving.md: tokens per second of one client and of many, and the time to the first.

    python benchmarks/streams.py --saved-models saved_models --model char-lm [--clients 1 16 64] [--tokens 200]

Starts the embedded server in a process, and clients here that each stream texts from /v1/completions for some
seconds. The time of a prompt is that of `score`, the cheapest request that reads it; that of a step is the time of one
client's token.
With --beside, a client also sends short requests to `score`, alone and beside endless streams. Two idle cores.
"""

import argparse
import http.client
import json
import statistics
import threading
import time
from pathlib import Path

from serving_process import run_threads, start_server

PROMPT = "The "


def stream(connection: http.client.HTTPConnection, model: str, num_tokens: int, seed: int):
    """Yields the time at which each event of one text arrives."""
    body = {
        "model": model,
        "prompt": PROMPT,
        "max_tokens": num_tokens,
        "temperature": 0.8,
        "seed": seed,
        "stream": True,
    }
    connection.request("POST", "/v1/completions", json.dumps(body))
    response = connection.getresponse()
    if response.status != 200:
        raise SystemExit(response.read().decode())
    for line in response:
        if line.startswith(b"data: {"):
            yield time.perf_counter()


def run(port: int, model: str, num_clients: int, num_tokens: int, seconds: float) -> tuple[float, list[float]]:
    """Returns the tokens per second of all clients, and the seconds to each first piece."""
    end, firsts, counts = time.perf_counter() + seconds, [], []

    def client(number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        texts = 0
        while time.perf_counter() < end:
            started = time.perf_counter()
            times = list(stream(connection, model, num_tokens, 1000 * number + texts))
            firsts.append(times[0] - started)
            texts += 1
        counts.append(texts)

    started = time.perf_counter()
    run_threads(client, num_clients)
    return sum(counts) * num_tokens / (time.perf_counter() - started), firsts


def short_requests(port: int, model: str, number: int = 300) -> list[float]:
    """Seconds of each of some requests to `score`."""
    connection, times = http.client.HTTPConnection("127.0.0.1", port, timeout=60), []
    for _ in range(number):
        started = time.perf_counter()
        connection.request(
            "POST", f"/v1/models/{model}:predict", json.dumps({"signature_name": "score", "inputs": [PROMPT]})
        )
        connection.getresponse().read()
        times.append(time.perf_counter() - started)
    return times


def beside(port: int, model: str) -> None:
    """Prints the times of short requests alone, and beside four endless streams."""
    alone = short_requests(port, model)
    is_over = threading.Event()

    def endless(seed: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for _ in stream(connection, model, 10_000, seed):
            if is_over.is_set():
                return

    threads = [threading.Thread(target=endless, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    with_streams = short_requests(port, model)
    is_over.set()
    for thread in threads:
        thread.join()
    for name, times in (("alone", alone), ("beside four endless streams", with_streams)):
        p99 = statistics.quantiles(times, n=100)[98]
        print(f"short requests {name}: median {1000 * statistics.median(times):.1f} ms, p99 {1000 * p99:.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--saved-models", type=Path, default=Path("saved_models"))
    parser.add_argument("--model", required=True)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--beside", action="store_true")
    arguments = parser.parse_args()
    model = arguments.model
    with start_server(arguments.saved_models, "--timeout", "600") as (_, rest, _):
        port = int(rest.rpartition(":")[2])
        run(port, model, 1, 20, 1)  # warm
        prompt = statistics.median(short_requests(port, model, 30))
        one = 0.0
        for num_clients in arguments.clients:
            rate, firsts = run(port, model, num_clients, arguments.tokens, arguments.seconds)
            one = one or rate
            print(
                f"{num_clients:3} clients: {rate:7.0f} tokens per second, {rate / one:.1f} times the first row; "
                f"first piece after {1000 * statistics.median(firsts):.1f} ms (median)"
            )
        print(f"reading the prompt {1000 * prompt:.1f} ms, a token of one client {1000 / one:.2f} ms")
        if arguments.beside:
            beside(port, model)


if __name__ == "__main__":
    main()
