"""TF Serving itself: its config files, and starting it where it is installed."""

import shutil
from pathlib import Path

from serving import models_config

IMAGE = "tensorflow/serving:2.20.0"
MODELS = "models.config"
BATCHING = "batching.config"
MONITORING = "monitoring.config"
_BATCHING = """max_batch_size { value: 64 }
batch_timeout_micros { value: 0 }
max_enqueued_batches { value: 1000 }
num_batch_threads { value: 2 }
pad_variable_length_inputs: true
"""
_MONITORING = """prometheus_config {
  enable: true
  path: "/monitoring/prometheus/metrics"
}
"""


def write_configs(models: Path, folder: Path, served_from: str) -> list[Path]:
    """Writes the three config files of TF Serving for the models in `models`.

    Args:
        models: <name>/<version>/...
        folder: where to write.
        served_from: what the server will call the folder of the models.

    Returns:
        The files.

    Raises:
        ValueError: there are no models.
    """
    if not models_config.found(models):
        raise ValueError(f"there is no model in {models}: train one first")
    texts = {MODELS: models_config.written(models, served_from), BATCHING: _BATCHING, MONITORING: _MONITORING}
    for name, text in texts.items():
        part = folder / f"{name}.part"
        part.write_text(text, encoding="utf-8")
        part.rename(folder / name)
    return [folder / name for name in texts]


def command(models: Path, configs: Path, rest_port: int, grpc_port: int, host: str) -> list[str] | None:
    """What starts TF Serving: `tensorflow_model_server` if it is on the PATH, else Docker; None where neither is.

    Args:
        configs: folder of the config files; for Docker they must be in `models`, written for /models.
    """
    flags = [f"--{kind}={{}}/{name}" for kind, name in (
        ("model_config_file", MODELS), ("batching_parameters_file", BATCHING), ("monitoring_config_file", MONITORING),
    )]  # fmt: skip
    flags += ["--enable_batching=true", "--allow_version_labels_for_unavailable_models=true"]
    server = shutil.which("tensorflow_model_server")
    if server:
        return [server, f"--port={grpc_port}", f"--rest_api_port={rest_port}", *(flag.format(configs) for flag in flags)]
    docker = shutil.which("docker")
    if docker:
        ports = ["-p", f"{host}:{rest_port}:8501", "-p", f"{host}:{grpc_port}:8500"]
        volume = ["-v", f"{models.resolve()}:/models:ro"]
        return [docker, "run", "--rm", *ports, *volume, IMAGE, *(flag.format("/models") for flag in flags)]
    return None


def in_docker(started: list[str]) -> bool:
    return Path(started[0]).name == "docker"
