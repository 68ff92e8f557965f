import numpy as np
import pytest

from pipelines.data import negations
from pipelines.data.splits import Labelled


def labelled(*rows):
    return Labelled(np.array([text for text, _ in rows], dtype=object), np.array([label for _, label in rows], np.int32))


@pytest.fixture
def reviews():
    """Reviews of telephones: "sturdy" is praise and "noisy" is blame; "small" is said on both sides, and "odd" too rarely."""
    rows = [("It is a very sturdy telephone.", 1), ("It is really noisy, a very noisy telephone!", 0)] * 12
    rows += [("A very small case.", i % 2) for i in range(30)] + [("It was quite odd.", 0)] * 3
    return labelled(*rows)


def test_adjectives_are_those_that_one_side_uses(reviews):
    assert negations.adjectives(reviews) == (["noisy"], ["sturdy"])


def test_not_turns_the_label_and_its_absence_keeps_it(reviews):
    made = negations.sentences(reviews, 400, seed=1)
    assert len(made) == 400 and np.bincount(made.labels).tolist() == [200, 200]
    negative_words = ("not", "n't", "hardly", "never", "no means", "far from", "anything but", "nobody")
    for text, label in zip(made.texts, made.labels):
        negated = any(word in text for word in negative_words)
        assert ("sturdy" in text) != ("noisy" in text), text
        assert label == (("sturdy" in text) != negated), text
    assert any("a noisy telephone" in text for text in made.texts), "the nouns are those of the reviews"


def test_the_same_seed_makes_the_same_sentences(reviews):
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
def test_no_sentences_without_adjectives_for_both_sides(rows):
    made = negations.sentences(labelled(*rows), 10, seed=1)
    assert len(made) == 0 and made.labels.dtype == np.int32
