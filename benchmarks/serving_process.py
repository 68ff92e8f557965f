"""What the benchmarks of the server share: the server as a process, its memory, and clients."""

import contextlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@contextlib.contextmanager
def start_server(models: Path, *flags: str):
    """Starts the server in a process. Gives the process, the address of REST and the address of gRPC."""
    flags = ["--saved-models", str(models), "--rest-port", "0", "--grpc-port", "0", *flags]
    command = [sys.executable, str(ROOT / "main.py"), "serve", *flags]
    with tempfile.TemporaryFile("w+") as log:  # a pipe would wake this process with every request
        process = subprocess.Popen(command, stderr=log)
        match = None
        while not match:
            if process.poll() is not None:
                sys.exit("the server did not start")
            time.sleep(0.1)
            log.seek(0)
            match = re.search(r"^serving .*(http://\S+), gRPC (\S+)", log.read(), re.MULTILINE)
    rest, grpc = match.groups()
    try:
        yield process, rest, grpc
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def resident_mebibytes(process) -> float:
    """Memory of a process."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def make_stub(address: str):
    """A gRPC client with a connection of its own."""
    import grpc
    from tensorflow_serving.apis import prediction_service_pb2_grpc

    channel = grpc.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)])
    return prediction_service_pb2_grpc.PredictionServiceStub(channel)


def run_threads(function, num_threads: int) -> None:
    """Runs function(0), function(1), ... in parallel, and waits for all."""
    threads = [threading.Thread(target=function, args=(i,)) for i in range(num_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
