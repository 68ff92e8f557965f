import json
from pathlib import Path

import pytest

import unroll
from pipelines.runs import run

WORDS = {True: ("lovely", "bright", "funny", "warm"), False: ("dull", "grey", "boring", "cold")}
SMALL = {"preset": "quick", "model": "bag", "epochs": 3, "batch_size": 4, "verbose": False}


def labelled(count=40):
    """Texts with True or False as labels, which are easy to learn."""
    labels = [i % 2 == 0 for i in range(count)]
    return [f"a {WORDS[label][i // 2 % 4]} film with scene {i}" for i, label in enumerate(labels)], labels


@pytest.fixture(scope="session")
def fitted():
    """A classifier that is fitted on `labelled()`."""
    texts, labels = labelled()
    return unroll.TextClassifier(**SMALL).fit(texts, labels)


@pytest.fixture
def config_of(monkeypatch):
    """`fit` without a training. Returns "task", and for each config field with a file the lines of the file."""

    def stop(task, config, destination, fit=None):
        files = {"data": config.data, **config.data_files()}
        contents = {field: Path(path).read_text().splitlines() for field, path in files.items()}
        raise unroll.UserError(json.dumps({"task": task, **contents}))

    def fit(estimator, *arguments, **options):
        with pytest.raises(unroll.UserError) as caught:
            estimator.fit(*arguments, **options)
        return json.loads(str(caught.value))

    monkeypatch.setattr(run, "train", stop)
    return fit
