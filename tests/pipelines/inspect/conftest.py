"""Exports that the tests of this folder look into."""

import functools

import pytest

from pipelines.export.exported import Exported
from tests.pipelines.inspect.exports import export_language_model
from tests.pipelines.tagging.conftest import make_small  # noqa: F401 (a fixture)


@pytest.fixture(scope="session")
def exports(tmp_path_factory):
    """A folder with small language models: "small" (LSTM), "attentive" (transformer), and "counts" without a trace."""
    root = tmp_path_factory.mktemp("saved")
    export_language_model(root)
    export_language_model(root, "transformer", name="attentive")
    export_language_model(root, "feedforward", name="counts")
    return root


@pytest.fixture(scope="session", autouse=True)
def load_each_export_once():
    """Loading takes longer than looking."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Exported, "load", functools.cache(Exported.load))
        yield
