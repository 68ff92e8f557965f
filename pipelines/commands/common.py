"""What the commands of all pipelines share: the places of runs and models, and how results are told."""

import json
import sys
from pathlib import Path
from typing import Annotated

import tyro

ROOT = Path(__file__).resolve().parents[2]
PathFlag = tyro.conf.arg(metavar="PATH")
NameFlag = tyro.conf.arg(metavar="NAME")
Runs = Annotated[Path, tyro.conf.arg(metavar="PATH", help_behavior_hint="(default: runs beside main.py)")]
SavedModels = Annotated[Path, tyro.conf.arg(metavar="PATH", help_behavior_hint="(default: saved_models beside main.py)")]
RUNS, SAVED_MODELS = ROOT / "runs", ROOT / "saved_models"


def tell(message: str) -> None:
    print(message, file=sys.stderr)


def print_json(value) -> None:
    print(json.dumps(value, ensure_ascii=False))
