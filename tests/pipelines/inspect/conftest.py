"""Exports that the tests of this folder look into."""

import dataclasses
import functools
import json

import pytest

from pipelines.export import saved_model
from pipelines.inspect.figure import Figure
from pipelines.labelled.outputs import with_number_of_classes
from pipelines.networks.interventions import example_request
from tests.pipelines.classification import conftest as classifiers
from tests.pipelines.inspect.exports import export_language_model
from tests.pipelines.inspect.letters import unreadable
from tests.pipelines.inspect.marks import empty_panels
from tests.pipelines.tagging.conftest import make_small  # noqa: F401 (a fixture)
from tests.pipelines.tagging.small import WORD_TAGS

REVIEW = "the plot was not at all dull"
CLASSIFIERS = {
    "gru": {"model": "gru", "num_classes": 3},
    "with n-grams": {"model": "lstm", "max_ngrams": 50},
    "several": {"model": "transformer", "labels_separator": "|", "num_heads": 2},
}
_CHECKED: set[str] = set()  # specifications of the figures that were rendered


def pytest_collection_modifyitems(items):
    """Marks the tests of the exports as long: the first one waits half a minute for them."""
    for item in items:
        if "exports" in item.fixturenames and "inspect" in item.path.parts:
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session")
def exports(tmp_path_factory):
    """A folder with small language models: "small" (LSTM), "attentive" (transformer), and "counts" without a trace."""
    root = tmp_path_factory.mktemp("saved")
    export_language_model(root)
    export_language_model(root, "transformer", name="attentive")
    export_language_model(root, "feedforward", name="counts")
    return root


@pytest.fixture(scope="session")
def saved(exports, make_small, tmp_path_factory):  # noqa: F811 (the fixture)
    """Returns name -> folder with that export: `exports`, or one for the classifiers and "tagger"."""
    root = tmp_path_factory.mktemp("classifiers")

    @functools.cache
    def export(name):
        if name == "tagger":
            small = make_small("lstm")
            servable, task, classes = small.tagger, "tagging", WORD_TAGS
        elif name in CLASSIFIERS:
            small = classifiers.make(data="a.csv", scale=0.5, **CLASSIFIERS[name])
            servable, task, classes = small.servable, "classification", small.splits.classes
        else:
            return exports
        requests = {each: {"text": [REVIEW]} for each in servable.signatures()}
        requests["intervene"] = example_request([REVIEW])
        requests = with_number_of_classes(requests)
        if "tokens" in requests:
            requests["tokens"] = {"tokens": [["a"]]}
        card = {"task": task, "classes": list(classes), "config": dataclasses.asdict(small.config)}
        if task == "classification":
            card["scores"] = {"validation": {"temperature": 1 / servable.decision.scale}}
        saved_model.export(servable, name, root, card, requests, verify=False)
        return root

    return export


@pytest.fixture(autouse=True)
def every_figure_has_marks(monkeypatch):
    """Renders the figures that a test makes, one of each specification: no panel is empty, all texts can be read."""
    made, init = [], Figure.__init__

    def record(self, *arguments, **values):
        init(self, *arguments, **values)
        made.append(self)

    monkeypatch.setattr(Figure, "__init__", record)
    yield made
    for figure in made:
        if (specification := json.dumps(figure.specification())) not in _CHECKED:
            _CHECKED.add(specification)
            assert empty_panels(figure) == [], figure.name
            assert unreadable(figure) == [], figure.name
