import numpy as np
import pytest
import tensorflow as tf
from sklearn.exceptions import NotFittedError

import unroll
from tests.pipelines.inspect.exports import export_language_model

SENTENCE = "the cat sat on the mat and the dog sat on the cat"
SMALL = {"preset": "quick", "epochs": 1, "hidden_size": 16, "batch_size": 4, "verbose": False}


@pytest.mark.long
def test_it_learns_from_texts_and_continues_them():
    model = unroll.LanguageModel(tokenizer="word", **SMALL).fit([SENTENCE] * 40, validation_data=[SENTENCE] * 5)
    assert model.card_["task"] == "language-model"
    assert set(model.generate("the cat", max_length=5).split()) <= set(SENTENCE.split())
    assert model.score([SENTENCE]) > model.score(["mat mat mat mat"])
    assert model.card_["characters"]["valid"] == 5 * len(SENTENCE) + 5


@pytest.mark.parametrize(
    ("X", "part"),
    [([], "no texts"), ("nowhere.txt", "no such file"), (["a"], "the text: "), ([1], "a text is a str")],
)
def test_texts_that_cannot_be_learned_from_are_refused(X, part):
    with pytest.raises(unroll.UserError, match=part):
        unroll.LanguageModel(tokenizer="character", **SMALL).fit(X)


def test_before_fit_it_generates_nothing():
    with pytest.raises(NotFittedError):
        unroll.LanguageModel().generate("a")


@pytest.fixture(scope="module")
def untrained(tmp_path_factory):
    root = export_language_model(tmp_path_factory.mktemp("saved"))
    return unroll.load(root / "small" / "1")


@pytest.mark.long
@pytest.mark.slow
def test_a_trace_is_what_the_signature_returns_and_changes_with_interventions(untrained):
    trace, other = untrained.trace(["ab a", "b"])
    assert trace.tokens_of("layer_1") == ["<start>", "a", "b", " ", "a"] and len(other.tokens_of("layer_1")) == 2
    outputs = untrained._export.loaded.signatures["trace"](tf.constant(["ab a"]))
    for name, values in trace.recurrent["layer_1"].items():
        np.testing.assert_array_equal(values, outputs[f"layer_1_{name}"][0])
    changed = untrained.trace("ab a", intervene=["forget:2:1=1", "hidden:all:0=0.5"])
    assert changed.recurrent["layer_1"]["forget_gate"][2, 1] == 1
    assert (changed.recurrent["layer_1"]["hidden"][:, 0] == 0.5).all()
    assert not np.allclose(changed.outputs["log_probabilities"], trace.outputs["log_probabilities"])
    assert untrained.trace([]) == []


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    ("X", "intervene", "message"),
    [
        ("ab", ["forget"], "forget: expected KIND:STEP:UNIT=VALUE"),
        ("ab", ["forget:9:0=1"], "there is no 9"),
        ("ab", "forget:all:0=1", "intervene a list of interventions"),
        ([3], [], "X must be a text or a list of texts"),
    ],
)
def test_what_cannot_be_traced_is_refused(untrained, X, intervene, message):
    with pytest.raises(unroll.UserError, match=message):
        untrained.trace(X, intervene=intervene)
