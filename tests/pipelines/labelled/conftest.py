"""An exported classifier that needs no training: it counts words."""

import numpy as np
import pytest
import tensorflow as tf

from pipelines.export.card import CARD
from pipelines.export.exported import Exported
from pipelines.support.files import write_json

CLASSES = ["negative", "positive"]
TOPICS = ["food", "sport"]
TRAINED = {"task": "classification", "data": {"name": "reviews", "fingerprint": "unknown"}}


class CountingClassifier(tf.Module):
    """positive with 0.9 for a text with the letter g, else negative with 0.7."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def classify(self, text):
        positive = tf.strings.regex_full_match(text, "(?s).*g.*")
        probability = tf.where(positive, 0.9, 0.3)
        probabilities = tf.stack([1 - probability, probability], axis=1)
        label = tf.gather(tf.constant(CLASSES), tf.cast(positive, tf.int32))
        return {"label": label, "score": tf.reduce_max(probabilities, axis=1), "probabilities": probabilities}


class TopicClassifier(tf.Module):
    """The labels food and sport with 0.8 for a text with these words, else with 0.1."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def classify(self, text):
        has_label = [tf.strings.regex_full_match(text, f"(?s).*{name}.*") for name in TOPICS]
        probabilities = tf.where(tf.stack(has_label, axis=1), 0.8, 0.1)
        first = tf.where(has_label[0], "food", tf.where(has_label[1], "sport", ""))
        second = tf.where(has_label[0] & has_label[1], "sport", "")
        return {"labels": tf.stack([first, second], axis=1), "probabilities": probabilities}


def write_topics(root) -> Exported:
    """Writes an export that gives a text several labels."""
    path = root / "topics" / "1"
    module = TopicClassifier()
    tf.saved_model.save(module, str(path), signatures={"serving_default": module.classify.get_concrete_function()})
    config = {"polarity": False, "labels_separator": "|", "label_columns": None}
    card = {"sample": False, "classes": TOPICS, "window": {"max_bytes": 1000}, "config": config}
    write_json(path / CARD, TRAINED | card)
    return Exported("topics", 1, path)


def write_export(root, name="sentiment", sample=False, polarity=True, **changes) -> Exported:
    path = root / name / "1"
    module = CountingClassifier()
    tf.saved_model.save(module, str(path), signatures={"serving_default": module.classify.get_concrete_function()})
    card = {"sample": sample, "classes": CLASSES, "window": {"max_bytes": 1000}, "config": {"polarity": polarity}}
    write_json(path / CARD, TRAINED | card | changes)
    return Exported(name, 1, path)


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    return write_export(tmp_path_factory.mktemp("saved"))


@pytest.fixture(scope="session")
def topics(tmp_path_factory):
    return write_topics(tmp_path_factory.mktemp("saved"))


@pytest.fixture
def probabilities():
    return np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.7, 0.3]])
