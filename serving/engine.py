"""TF Serving itself: its config files, and the command that starts it."""

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
_DOCKER_FOLDER = "/models"


def write_configs(models: Path, folder: Path, served_from: str) -> list[Path]:
    """Writes the three config files of TF Serving for the models in `models`.

    Args:
        models: folder of the models, <name>/<version>/...
        folder: folder to write into.
        served_from: path of the folder of the models as the server sees it.

    Returns:
        The files.

    Raises:
        ValueError: there are no models.
    """
    if not models_config.find_models(models):
        raise ValueError(f"there is no model in {models}: train one first")
    texts = {
        MODELS: models_config.format_config(models, served_from),
        BATCHING: _BATCHING,
        MONITORING: _MONITORING,
    }
    for name, text in texts.items():
        part = folder / f"{name}.part"
        part.write_text(text, encoding="utf-8")
        part.rename(folder / name)
    return [folder / name for name in texts]


def start_command(models: Path, configs: Path, rest_port: int, grpc_port: int, host: str) -> list[str] | None:
    """The command that starts TF Serving: `tensorflow_model_server` if it is on the PATH, else Docker.

    Args:
        models: folder of the models.
        configs: folder of the config files; for Docker they must be in `models`, written for /models.
        rest_port: port of the REST API.
        grpc_port: port of the gRPC API.
        host: address to listen at. Only Docker has this option: `tensorflow_model_server` listens at all addresses.

    Returns:
        The command and its arguments; None if neither program is on the PATH.
    """
    server = shutil.which("tensorflow_model_server")
    if server:
        return [server, f"--port={grpc_port}", f"--rest_api_port={rest_port}", *_flags(str(configs))]
    docker = shutil.which("docker")
    if docker:
        address = f"[{host}]" if ":" in host else host
        ports = ["-p", f"{address}:{rest_port}:8501", "-p", f"{address}:{grpc_port}:8500"]
        volume = ["-v", f"{models.resolve()}:{_DOCKER_FOLDER}:ro"]
        return [docker, "run", "--rm", *ports, *volume, IMAGE, *_flags(_DOCKER_FOLDER)]
    return None


def uses_docker(command: list[str]) -> bool:
    """Whether this command of `start_command` starts Docker."""
    return Path(command[0]).name == "docker"


def _flags(configs: str) -> list[str]:
    return [
        f"--model_config_file={configs}/{MODELS}",
        f"--batching_parameters_file={configs}/{BATCHING}",
        f"--monitoring_config_file={configs}/{MONITORING}",
        "--enable_batching=true",
        "--allow_version_labels_for_unavailable_models=true",
    ]
