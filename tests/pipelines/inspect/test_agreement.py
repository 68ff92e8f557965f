import math

import numpy as np
import pytest

from pipelines.inspect.agreement import (
    accuracy,
    agreement,
    documents_before,
    large_bins,
    score_function,
    with_known_verbs,
    word_by_word,
)
from pipelines.inspect.sentences import AgreementSentence
from pipelines.support.errors import UserError
from tests.pipelines.language_model import models

SENTENCES = [
    AgreementSentence("the key", "was", "were", 0, 0),
    AgreementSentence("the keys near the table", "were", "was", 3, 1),
    AgreementSentence("the key near the table", "was", "were", 3, 0),
]


def last_noun(texts):
    """A score that gives the verb the number of the word before it."""
    scores = []
    for text in texts:
        *_, noun, verb = text.split()
        scores.append(-1.0 if noun.endswith("s") == (verb == "were") else -2.0)
    return np.array(scores)


def asked(generator) -> dict:
    """The signatures that are asked: `signatures()` makes all of them, which takes long."""
    # A tf.function does not keep its object alive.
    return {name: getattr(generator, name) for name in ("encode", "token_losses", "score")} | {"of": generator}


def test_a_model_that_reads_the_last_noun():
    results = agreement(last_noun, SENTENCES)
    assert results["correct"].tolist() == [True, False, True]
    assert results["log_p_right"].tolist() == [-1, -2, -1]
    assert results["log_p_wrong"].tolist() == [-2, -1, -2]
    assert not results["tied"].any()
    by_attractors = accuracy(results, "attractors")
    assert by_attractors["accuracy"].tolist() == [1, 0]
    assert by_attractors["sentences"].tolist() == [2, 1]


def test_intervals_are_wilsons():
    row = accuracy(agreement(last_noun, SENTENCES * 4), "distance").iloc[1]
    assert (row["accuracy"], row["sentences"]) == (0.5, 8)
    assert row["low"] == pytest.approx(0.2152, abs=1e-4)  # statsmodels: proportion_confint(4, 8, method="wilson")
    assert row["high"] == pytest.approx(0.7848, abs=1e-4)


def test_bins():
    sentences = [AgreementSentence("the key", "was", "were", d, 0) for d in (0, 1, 4, 5, 30)]
    table = accuracy(agreement(last_noun, sentences), bins=(0, 1, 5, 20))
    assert table["label"].tolist() == ["0", "1-4", "5-19", "20+"]
    assert table["sentences"].tolist() == [1, 2, 1, 1]
    both = accuracy(agreement(last_noun, sentences), ["distance", "attractors"], bins=(0, 5))
    assert both["label"].tolist() == ["0-4 0", "5+ 0"]


def test_ties_do_not_count():
    table = accuracy(agreement(lambda texts: np.zeros(len(texts)), SENTENCES), "attractors")
    assert table["sentences"].tolist() == [0, 0]
    assert table["tied"].tolist() == [2, 1]
    assert table["accuracy"].isna().all()


def test_word_by_word_divides_the_probabilities():
    table = word_by_word(lambda texts: np.array([-float(len(text.split())) for text in texts]), "the key near")
    assert table["prefix"].tolist() == ["the", "the key", "the key near"]
    assert table["word"].tolist() == ["the", "key", "near"]
    np.testing.assert_allclose(table[["was", "were"]], math.exp(-1))


def test_only_character_models_read_a_space_after_the_word():
    seen = []

    def score(texts):
        seen.extend(texts)
        return np.zeros(len(texts))

    word_by_word(score, "the", tokenizer="character")
    agreement(score, SENTENCES[:1], tokenizer="character")
    assert seen == ["the ", "the was ", "the were ", "the key was ", "the key were "]
    seen.clear()
    word_by_word(score, "the", tokenizer="subword")
    assert seen == ["the", "the was", "the were"]


@pytest.mark.parametrize("tokenizer", ["character", "word", "subword"])
def test_scores_of_an_export_are_those_of_its_signature(tokenizer):
    signatures = asked(models.make(tokenizer=tokenizer)[3])
    texts = ["To be, or not", "", "that is the question"]
    expected = signatures["score"](text=models.tf.constant(texts))["log_probability"].numpy()
    np.testing.assert_allclose(score_function(signatures)(texts), expected, rtol=1e-5)


def test_probabilities_of_words_sum_to_one():
    _, tokenizer, _, generator = models.make(tokenizer="word")
    words = tokenizer.vocabulary()[4:]
    table = word_by_word(score_function(asked(generator)), "that is", words)
    sums = table[words].sum(axis=1)
    special = np.exp(-generator.token_losses(models.tf.constant([[4, i] for i in range(4)]))["losses"].numpy()[:, 1])
    assert (sums < 1).all() and (sums > 0.5).all() and special.sum() < 1


def test_verbs_that_a_model_does_not_know_are_left_out():
    generator = models.make(tokenizer="word")[3]
    sentences = [AgreementSentence("To", "be,", "is", 0, 0), AgreementSentence("To", "is", "wasp", 0, 0)]
    assert with_known_verbs(asked(generator), sentences) == sentences[:1]
    assert with_known_verbs(asked(generator), []) == []


def test_a_model_of_documents_is_not_asked_for_the_end():
    signatures = asked(models.make(tokenizer="word", documents="line")[3])
    score = score_function(signatures)
    text = models.tf.constant(["that is"])
    assert score(["that is"])[0] > signatures["score"](text=text)["log_probability"].numpy()[0]


def test_documents_before_are_read_and_not_scored():
    generator = models.make(tokenizer="word", documents="line")[3]
    signatures = asked(generator)
    before = documents_before(signatures, ["To be,", "that"])
    first, second = (
        signatures["encode"](text=models.tf.constant([text]))["ids"].numpy()[0] for text in ("To be,", "that")
    )
    assert before.tolist() == [*first, 3, 2, *second, 3, 2]
    whole = np.concatenate([before, second])[None]
    losses = generator.token_losses(models.tf.constant(whole, models.tf.int32))["losses"].numpy()
    scores = score_function(signatures, before)(["that", ""])
    np.testing.assert_allclose(scores, [-losses[0, -1], 0], rtol=1e-5)
    assert scores[0] != pytest.approx(score_function(signatures)(["that"])[0])


def test_impossible_inputs_are_refused():
    with pytest.raises(UserError, match="no sentences"):
        agreement(last_noun, [])
    with pytest.raises(UserError, match="at least one word"):
        word_by_word(last_noun, " ")
    with pytest.raises(UserError, match="rising"):
        accuracy(agreement(last_noun, SENTENCES), bins=(1, 5))


def test_bins_with_few_sentences_are_joined():
    distances = [0] * 30 + [1] * 5 + [2] * 25 + [5] * 8 + [9] * 15
    assert large_bins(distances, (0, 1, 2, 3, 8)) == (0, 2, 3)
    assert large_bins(distances[:3], (0, 1, 2)) == (0,)
