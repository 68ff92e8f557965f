import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy import special
from sklearn.linear_model import LogisticRegression

from pipelines.data import batching
from pipelines.labelled.labelled_splits import Labelled, LabelledSplits
from pipelines.text.normalization import Cutter
from pipelines.transfer import head
from pipelines.transfer.config import TransferConfig

CLASSES = {2: ("bad", "good"), 3: ("bad", "good", "so so")}
WORDS = ("dull", "gripping", "usual")


@keras.saving.register_keras_serializable("tests")
class Counts(keras.layers.Layer):
    """strings [batch] -> how often each letter of "dulgripnsa" is in them, float32 [batch, 10]; an encoder."""

    def call(self, text):
        letters = tf.strings.unicode_split(text, "UTF-8")
        counts = [tf.reduce_sum(tf.cast(letters == letter, tf.float32), axis=1) for letter in "dulgripnsa"]
        return tf.stack(counts, axis=1)

    def compute_output_shape(self, shape):
        return (*shape, 10)


def labelled(num_classes: int, seed: int, count: int = 60) -> Labelled:
    rng = np.random.default_rng(seed)
    labels = np.arange(count, dtype=np.int32) % num_classes
    noise = rng.integers(6, size=count)
    texts = [f"a {WORDS[label]} film {'s' * n} {WORDS[n % 3]}" for label, n in zip(labels, noise, strict=True)]
    return Labelled(np.array(texts, object), labels)


def network(num_classes: int, run=None, **settings) -> head.Network:
    text = keras.Input((), dtype="string")
    features = keras.layers.Dropout(0.5, name="dropout")(Counts()(text))
    logits = keras.layers.Dense(num_classes, name="logits")(features)
    splits = LabelledSplits(labelled(num_classes, 1), labelled(num_classes, 2), None, CLASSES[num_classes], {})
    config = TransferConfig(encoder="x", solve_head=True, head_epochs=0, top_epochs=0, batch_size=8, **settings)
    return head.Network(config, splits, Cutter(1000), keras.Model(text, logits), run)


@pytest.mark.long
@pytest.mark.parametrize("num_classes", [2, 3])
def test_the_head_is_logistic_regression_on_the_encoders_vectors(num_classes):
    solved = network(num_classes)
    train, valid = solved.splits.train, solved.splits.valid
    head.solve(solved)
    of_valid = special.log_softmax(solved.logits(valid), axis=1)
    vectors, vectors_of_valid = solved.vectors([train]), solved.vectors([valid])
    center = vectors.mean(axis=0)
    scale = np.sqrt(np.square(vectors - center).sum(axis=1).mean())
    expected = []
    for cost in (1.0, 10.0):
        model = LogisticRegression(C=cost, tol=1e-6, max_iter=2000).fit((vectors - center) / scale, train.labels)
        expected.append(model.predict_log_proba((vectors_of_valid - center) / scale))
    # The same labels; the probabilities are those of one of the two, to a factor of the logits.
    assert any((of_valid.argmax(axis=1) == each.argmax(axis=1)).mean() > 0.97 for each in expected)
    loss = -of_valid[np.arange(len(valid)), valid.labels].mean()
    assert loss < min(-each[np.arange(len(valid)), valid.labels].mean() for each in expected) + 0.05


def test_vectors_are_computed_once_and_kept(tmp_path, monkeypatch):
    solved = network(2, tmp_path)
    head.solve(solved)
    weights = solved.model.get_layer("logits").get_weights()
    files = {path: path.stat().st_mtime_ns for path in tmp_path.glob("vectors-*.npy")}
    assert len(files) == 2  # of the training and of the validation texts
    monkeypatch.setattr(batching, "of_texts", lambda function: pytest.fail)
    again = network(2, tmp_path)
    head.solve(again)
    for one, other in zip(again.model.get_layer("logits").get_weights(), weights, strict=True):
        np.testing.assert_array_equal(one, other)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("vectors-*.npy")} == files


@pytest.mark.long
def test_a_head_that_is_solved_for_all_texts_differs():
    solved = network(3)
    head.solve(solved)
    before = solved.model.get_layer("logits").get_weights()[0]
    head.solve(solved, with_valid=True)
    assert np.abs(solved.model.get_layer("logits").get_weights()[0] - before).max() > 1e-3


@pytest.mark.long
@pytest.mark.slow
def test_n_grams_and_head_are_fitted_together_where_the_encoder_is_frozen():
    solved = network(3, ngrams=True)
    beside = head.fit_beside(solved)
    assert beside.weights == (1.0, 1.0) and beside.calibration is None and beside.choice.losses
    logits = solved.logits(solved.splits.valid) + beside.model(tf.constant(solved.splits.valid.texts)).numpy()
    assert (logits.argmax(axis=1) == solved.splits.valid.labels).mean() > 0.9
    before = logits.copy()
    head.fit_beside_again(solved, beside)
    after = solved.logits(solved.splits.valid) + beside.model(tf.constant(solved.splits.valid.texts)).numpy()
    assert np.abs(after - before).max() > 1e-3


@pytest.mark.long
@pytest.mark.slow
def test_beside_a_trained_encoder_n_grams_count_as_far_as_they_help():
    trained = network(3, ngrams=True)
    trained = dataclasses.replace(trained, config=dataclasses.replace(trained.config, top_epochs=1))
    layer = trained.model.get_layer("logits")
    head.solve(trained)
    assert head.fit_beside(trained).calibration.factors[0] > 0
    # A network that knows nothing leaves the answer to them.
    layer.set_weights([0 * values for values in layer.get_weights()])
    weights = head.fit_beside(trained).weights
    assert weights[1] > 0.3 and sum(weights) == pytest.approx(1)
