import hashlib

import pytest

from pipelines.data import sample_pairs


@pytest.fixture(scope="module")
def words():
    """(words of the English sentence, words of the Spanish sentence) of many pairs."""
    english, spanish = sample_pairs.generate(6000)
    return [tuple(text.lower().rstrip(".").split() for text in pair) for pair in zip(english, spanish, strict=True)]


def test_the_sample_is_the_same_for_the_same_seed():
    first, second, other = sample_pairs.generate(400), sample_pairs.generate(400), sample_pairs.generate(400, seed=2)
    assert [side.tolist() for side in first] == [side.tolist() for side in second]
    assert first[0].tolist() != other[0].tolist()


def test_no_english_sentence_is_repeated():
    assert len(set(sample_pairs.generate(400)[0])) == 400


def test_a_change_of_the_sentences_needs_another_version():
    text = "\n".join(" | ".join(pair) for pair in zip(*sample_pairs.generate(500), strict=True))
    digests = {"embedded sample 1": "0e6f20c175d55d66"}
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == digests[sample_pairs.version()]


def test_adjectives_follow_and_agree_with_their_noun(words):
    houses = [
        spanish for english, spanish in words if "red" in english and "house" in english[english.index("red") :][:2]
    ]
    assert houses and all("roja" in spanish and spanish.index("casa") < spanish.index("roja") for spanish in houses)


def test_not_is_translated(words):
    assert all(("no" in spanish) == ("not" in english) for english, spanish in words)
    assert any("not" in english for english, _ in words)


@pytest.mark.parametrize(
    ("english", "spanish"), [("dogs", "perros"), ("cows", "vacas"), ("trains", "trenes"), ("women", "mujeres")]
)
def test_plurals_are_plural_in_both_languages(words, english, spanish):
    counts = [(english in source, spanish in target) for source, target in words]
    assert counts.count((True, True)) > 10 and counts.count((True, False)) == 0
