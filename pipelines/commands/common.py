"""What the commands of all pipelines share: the places of runs and models, and how results are told."""

import dataclasses
import importlib
import json
import sys
from pathlib import Path
from typing import Annotated

import tyro

from pipelines.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
PathFlag = tyro.conf.arg(metavar="PATH")
NameFlag = tyro.conf.arg(metavar="NAME")
Runs = Annotated[Path, tyro.conf.arg(metavar="PATH", help_behavior_hint="(default: runs beside main.py)")]
SavedModels = Annotated[Path, tyro.conf.arg(metavar="PATH", help_behavior_hint="(default: saved_models beside main.py)")]
ServerFlag = Annotated[str | None, tyro.conf.arg(metavar="ADDRESS")]
RUNS, SAVED_MODELS = ROOT / "runs", ROOT / "saved_models"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Training:
    """The flags of every `train`."""

    run: Annotated[str | None, NameFlag] = None
    """Name of the run's folder. By default made from the data's name and the settings."""
    name: Annotated[str | None, NameFlag] = None
    """Name of the exported model. By default that of the pipeline, with -sample behind it for the embedded sample."""
    runs: Runs = RUNS
    """Folder of the runs."""
    saved_models: SavedModels = SAVED_MODELS
    """Folder of the exported models."""
    json: bool = False
    """Print the result as one JSON object."""

    def train(self, pipeline: str, config, report: str, name: str | None = None) -> None:
        """Trains, and prints what `report`, a module of pipelines, says of it in short."""
        from pipelines import run

        result = run.train(pipeline, config, run.Place(self.runs, self.saved_models, self.run, name or self.name))
        if self.json:
            print_json(result)
        else:
            print(importlib.import_module(f"pipelines.{report}").summary(result))


def tell(message: str) -> None:
    print(message, file=sys.stderr)


def print_json(value) -> None:
    print(json.dumps(value, ensure_ascii=False))


def ask(server: str, model: str, version: int | None, inputs: dict[str, list], signature: str = "") -> dict[str, list]:
    """The answer of a server: output -> values.

    Args:
        server: host:port for gRPC, http://host:port for REST.
        version: what the user asked for.

    Raises:
        UserError: there is none, or a version was asked for.
    """
    if version is not None:
        raise UserError(f"--version {version}: a server answers with the newest that it has: leave it out")
    from pipelines.quiet import import_tensorflow

    if not server.startswith(("http://", "https://")):
        import_tensorflow()
    from serving import client

    tell(f"model {model} at {server}")
    try:
        return client.predict(server, model, inputs, signature)
    except client.Unanswered as error:
        raise UserError(f"--server {server}: {error}") from error
