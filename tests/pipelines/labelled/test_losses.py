import keras
import numpy as np
import pytest

from pipelines.labelled import losses

LOGITS = np.array([[2.0, -1.0], [-0.5, 0.5]], np.float32)


def evaluate(arguments, labels):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Identity()])
    model.compile(**arguments)
    return model.evaluate(LOGITS, np.array(labels, np.int32), verbose=0, return_dict=True)


def test_one_label_has_cross_entropy_over_the_classes():
    scores = evaluate(losses.one_label(), [0, 0])
    assert scores["loss"] == pytest.approx(np.log1p(np.exp([-3.0, 1.0])).mean(), rel=1e-5)
    assert scores["accuracy"] == 0.5


def test_several_labels_have_cross_entropy_of_each_decision():
    scores = evaluate(losses.several_labels(), [[1, 0], [1, 1]])
    assert scores["loss"] == pytest.approx(np.log1p(np.exp([-2.0, -1.0, 0.5, -0.5])).mean(), rel=1e-5)
    assert scores["accuracy"] == 0.75
