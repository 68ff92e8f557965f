import pytest
from sklearn.exceptions import NotFittedError

import unroll

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
