"""A classifier, and a table of many rows with what the plain command predicts for them."""

import json
import shutil

import pytest
import tensorflow as tf

from pipelines.export.card import CARD
from pipelines.export.exported import Exported
from pipelines.support.files import write_json
from tests.pipelines.labelled.conftest import CountingClassifier, exported, write_export
from tests.pipelines.predicting.parts import label_file

__all__ = ["exported"]
MANY = 120_000  # rows: twelve parts


class FailingClassifier(tf.Module):
    """Raises an error for a batch with a text that has the word poison; labels others as `CountingClassifier` does."""

    def __init__(self):
        super().__init__()
        self.counting = CountingClassifier()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def classify(self, text):
        poisoned = tf.strings.regex_full_match(text, "(?s).*poison.*")
        with tf.control_dependencies([tf.debugging.Assert(tf.logical_not(tf.reduce_any(poisoned)), [text])]):
            return self.counting.classify(tf.identity(text))


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """A folder with the export `sentiment`."""
    root = tmp_path_factory.mktemp("saved")
    card = json.loads((write_export(root).path / CARD).read_text())
    shutil.rmtree(root / "sentiment")
    module, path = FailingClassifier(), root / "sentiment" / "1"
    tf.saved_model.save(module, str(path), signatures={"serving_default": module.classify.get_concrete_function()})
    write_json(path / CARD, card | {"task": "sentiment"})
    return root


@pytest.fixture(scope="session")
def many(tmp_path_factory):
    path = tmp_path_factory.mktemp("many") / "many.csv"
    path.write_text("id,text\n" + "".join(f"{i},{'g' * (i % 7 == 0)} text of number {i}\n" for i in range(MANY)))
    return path


@pytest.fixture(scope="session")
def plain(many, saved):
    """What the plain command writes for `many`."""
    target = many.parent / "plain.csv"
    label_file(Exported("sentiment", 1, saved / "sentiment" / "1"), str(many), target)
    return target.read_text()
