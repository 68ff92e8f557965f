"""Records of runs and exports, as trainings write them, for tests that need no trained model."""

import json

from pipelines.support import predictions
from pipelines.support.records import write_record
from pipelines.tune import study as studies
from tests.pipelines.results import make_result

TEXTS = [f"text {i}" for i in range(40)]


def write_run(root, name, task="classification", finished=True, **changes):
    """Writes runs/<task>/<name>/ with its records; returns the folder."""
    folder = root / task / name
    folder.mkdir(parents=True)
    result = make_result(task=task, **changes).to_json()
    names = ("schema", "run", "task", "config", "data", "modules", "versions", "machine", "started")
    write_record(folder / "config.json", {field: result[field] for field in names})
    (folder / "lock").touch()
    if finished:
        write_record(folder / "result.json", result)
    return folder


def write_search(root, name, outcomes=(), kind="search", finished=True):
    """Writes runs/tune/<name>/ with its record and the outcomes of its trials; returns the folder."""
    folder = root / "tune" / name
    for number, outcome in enumerate(outcomes):
        (folder / "trials" / f"{number:04d}").mkdir(parents=True)
        studies.write_outcome(folder / "trials" / f"{number:04d}", outcome)
    folder.mkdir(parents=True, exist_ok=True)
    data = {"name": "reviews", "fingerprint": "0123abcd"}
    write_record(folder / "tune.json", {"task": "sentiment", "config": {"model": "lstm"}, "data": data, "kind": kind})
    (folder / "lock").touch()
    if finished:
        (folder / "result.json").write_text("{}")
    return folder


def write_predictions(folder, num_wrong, texts=TEXTS):
    """Writes predictions. The first `num_wrong` are wrong."""
    predicted = ["ham"] * num_wrong + ["spam"] * (len(texts) - num_wrong)
    predictions.write(folder, texts, ["spam"] * len(texts), predicted, [0.75] * len(texts))


def write_export(root, name, version=1, **card):
    """Writes saved_models/<name>/<version>/ with a card; returns the folder."""
    folder = root / name / str(version)
    folder.mkdir(parents=True)
    (folder / "model_card.json").write_text(json.dumps({"task": "classification", **card}))
    return folder
