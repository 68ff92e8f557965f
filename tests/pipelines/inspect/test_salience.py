import dataclasses

import keras
import numpy as np
import pytest

from pipelines.inspect import explained, models, salience
from pipelines.text.special_tokens import START, UNKNOWN
from tests.pipelines.inspect.conftest import REVIEW
from tests.pipelines.inspect.exports import assert_page, assert_refused, run

pytestmark = pytest.mark.long  # they train or load models


def of_sums():
    """Ids -> logits [w . (sum of the vectors so far), 0]: log P(0) is a function of a sum over the tokens."""
    ids = keras.Input((None,), dtype="int32")
    vectors = keras.layers.Embedding(9, 4, name="tokens")(ids)
    summed = keras.ops.cumsum(vectors, axis=1)
    network = keras.Model(ids, keras.layers.Dense(2, name="logits")(summed))
    rng = np.random.default_rng(1)
    kernel = np.stack([rng.normal(size=4), np.zeros(4)], axis=1)
    network.set_weights([rng.normal(size=(9, 4)), kernel, np.zeros(2)])
    return network


def with_names(found):
    return dataclasses.replace(found, tokens=["x"] * found.vectors["tokens"].shape[1])


def test_integrated_gradients_are_those_of_the_closed_form():
    network, ids = of_sums(), np.array([START, 5, 6, 5, 8], np.int32)
    vectors, kernel, _ = network.get_weights()
    parts = vectors[ids] @ kernel[:, 0]  # [time]; log P(0) = log sigmoid(sum of the parts)
    log_sigmoid = lambda x: -np.log1p(np.exp(-x))  # noqa: E731
    unknown = vectors[UNKNOWN] @ kernel[:, 0]
    difference = log_sigmoid(parts.sum()) - log_sigmoid(parts[0] + 4 * unknown)
    expected = np.concatenate([[0], (parts[1:] - unknown) * difference / (parts[1:] - unknown).sum()])
    found = with_names(explained.of_next_token(network, ids, 0))
    scores, of_baseline, gap = salience.integrated_gradients(found, steps=200)
    np.testing.assert_allclose(scores, expected, atol=1e-4)
    assert of_baseline == pytest.approx(difference, abs=1e-5) and abs(gap) < 1e-3
    deleted = [log_sigmoid(parts.sum()) - log_sigmoid(parts.sum() - part) for part in parts[1:]]
    np.testing.assert_allclose(salience.occlusion(found), [0, *deleted], atol=1e-5)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("small", "abc ab"),
        pytest.param("attentive", "abc ab", marks=pytest.mark.exhaustive),
        pytest.param("gru", REVIEW, marks=pytest.mark.exhaustive),
        ("with n-grams", REVIEW),
        ("tagger", "a sea"),
    ],
)
def test_the_scores_of_a_model_sum_to_what_they_explain(saved, name, text):
    found = explained.explain(models.find(saved(name), (name,))[0], text, explained.Wanted())
    rough, (scores, change, gap) = (salience.integrated_gradients(found, steps) for steps in (1, 256))
    assert abs(gap) < 0.01 * np.abs(scores).sum() and abs(gap) <= abs(rough[2])
    assert scores.sum() + gap == pytest.approx(change, abs=1e-5) and np.abs(scores).max() > 1e-3
    if name != "tagger":
        assert scores[0] == 0 and salience.occlusion(found)[0] == 0  # <start> is in the baseline, too


def test_agreement_of_scores():
    first = np.array([4.0, 3, 2, 1])
    assert salience.agreement(first, 2 * first + 1) == (pytest.approx(1), 3)
    assert salience.agreement(first, -first) == (pytest.approx(-1), 2)


def test_the_command(saved, tmp_path, capsys):
    flags = ("--models", "small", "attentive", "--saved-models", saved("small"))
    printed = assert_page(capsys, tmp_path / "page.html", "salience", "ab<b>", "--steps", 8, *flags)
    assert "small/1: rank correlation" in printed and "attentive/1: rank correlation" in printed
    assert_page(capsys, tmp_path / "named.html", "salience", "ab", "--token", "a", *flags)
    assert run(capsys, "salience", "ab", "--output", tmp_path / "picture.png", *flags)[0] == 0
    names = ("gru", "several", "tagger")
    flags = ("--models", *names, "--saved-models", [saved(name) for name in names][0], "--steps", 8)
    printed = assert_page(capsys, tmp_path / "others.html", "salience", "dull <b> film", *flags)
    assert printed.count("rank correlation") == 3 and "tagger/1: the tag " in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a", "--models", "counts"), "salience needs a recurrent model"),
        (("a", "--models", "small", "--steps", "0"), "--steps 0: it must be from 1"),
        (("a", "--models", "small", "--token", "ab"), "--token 'ab': small/1 divides it into 2 tokens"),
        (("a" * 30, "--models", "small"), "the text has 30 tokens for small/1: give one of 1 to 23"),
        (("", "--models", "small"), "the text has 0 tokens"),
        (("a", "--models", "gru", "--label", "odd"), "--label 'odd': gru/1 has the labels bad, fair, good"),
        (("a", "--models", "gru", "--token", "a"), "--token has no effect on gru/1: it takes --label"),
        (("a", "--models", "tagger", "--label", "odd"), "--label 'odd': tagger/1 has the tags NOUN"),
        (("a b", "--models", "tagger", "--word", "c"), "--word 'c': it is not one of the words of the sentence: a b"),
        (("", "--models", "tagger"), "the text has no words"),
    ],
)
def test_mistakes_are_one_line(saved, capsys, arguments, message):
    assert_refused(capsys, message, "salience", *arguments, "--saved-models", saved(arguments[2]))
