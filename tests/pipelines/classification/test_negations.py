import numpy as np
import pytest

from pipelines.classification import negations
from pipelines.labelled.labelled_splits import Labelled


def labelled(*rows):
    return Labelled(
        np.array([text for text, _ in rows], dtype=object), np.array([label for _, label in rows], np.int32)
    )


@pytest.fixture
def reviews():
    """Reviews of telephones: "sturdy" is praise, "noisy" is blame, "small" is both, and "odd" is too rare."""
    rows = [("It is a very sturdy telephone.", 1), ("It is really noisy, a very noisy telephone!", 0)] * 12
    rows += [("A very small case.", i % 2) for i in range(30)] + [("It was quite odd.", 0)] * 3
    return labelled(*rows)


def test_adjectives_are_those_of_one_class(reviews):
    assert negations.adjectives(reviews) == (["noisy"], ["sturdy"])


def test_where_praise_is_usual_an_adjective_of_both_classes_is_no_praise(reviews):
    """The fraction of a class's texts counts, not their number."""
    more = [("It is a very sturdy telephone.", 1)] * 200 + [("A very small case.", 1)] * 100
    rows = [*zip(reviews.texts, reviews.labels, strict=True), *more]
    assert negations.adjectives(labelled(*rows)) == (["noisy"], ["sturdy"])


def test_a_sentence_with_not_has_the_other_label(reviews):
    generated = negations.sentences(reviews, 400, seed=1)
    assert len(generated) == 400 and np.bincount(generated.labels).tolist() == [200, 200]
    negative_words = ("not", "n't", "hardly", "never", "no means", "far from", "anything but", "nobody")
    for text, label in zip(generated.texts, generated.labels):
        negated = any(word in text for word in negative_words)
        assert ("sturdy" in text) != ("noisy" in text), text
        assert label == (("sturdy" in text) != negated), text
    assert any("a noisy telephone" in text for text in generated.texts), "the nouns are those of the reviews"


def test_the_same_seed_generates_the_same_sentences(reviews):
    first, again, other = (negations.sentences(reviews, 50, seed).texts.tolist() for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize(
    "rows",
    [
        [("Ein sehr gutes Buch.", 1), ("Ein sehr schlechtes Buch.", 0)] * 20,
        [("It is a very sturdy case.", 1), ("It broke.", 0)] * 20,
        [],
    ],
    ids=["another language", "no word of blame", "no text"],
)
def test_no_sentences_without_adjectives_of_both_classes(rows):
    generated = negations.sentences(labelled(*rows), 10, seed=1)
    assert len(generated) == 0 and generated.labels.dtype == np.int32
