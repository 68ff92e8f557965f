import collections

import pytest

from pipelines.inspect import sentences
from pipelines.inspect.sentences import NOUNS, AgreementSentence, training_text
from pipelines.support.errors import UserError

PLURALS = set(NOUNS.values())
ALL_NOUNS = {*NOUNS, *PLURALS}


def main_verb(line: str) -> int:
    """Index of the verb that is followed by the last word."""
    return len(line.split()) - 2


@pytest.fixture(scope="module")
def text():
    return training_text(5000, seed=1)


@pytest.fixture(scope="module")
def tests():
    return sentences.test_sentences(100, seed=1)


def test_the_vocabulary_has_about_sixty_words_and_no_word_has_two_roles(text):
    words = sentences.vocabulary()
    assert 55 <= len(words) <= 70
    assert set(text.split()) == set(words)
    groups = (sentences.ADJECTIVES, sentences.PARTICIPLES, sentences.PAST_VERBS, sentences.PROGRESSIVE_VERBS)
    groups += (sentences.PREPOSITIONS, sentences.ADVERBS, sentences.OPENERS, sentences.VERBS, NOUNS, PLURALS)
    assert sum(map(len, groups)) + len(["the", "that", "over", "there"]) == len(words)


def test_the_verb_agrees_with_the_first_noun(text):
    for line in text.splitlines():
        words = line.split()
        subject = next(word for word in words if word in ALL_NOUNS)
        assert words[main_verb(line)] == ("were" if subject in PLURALS else "was")


def test_test_sentences_count_distance_and_attractors(tests):
    for sentence in tests:
        words = sentence.prefix.split(" ")
        subject, between = words[sentence.subject], words[sentence.subject + 1 :]
        assert subject == next(word for word in words if word in ALL_NOUNS)
        plural = subject in PLURALS
        assert (sentence.right, sentence.wrong) == (("were", "was") if plural else ("was", "were"))
        assert len(between) == sentence.distance
        assert sum(word in ALL_NOUNS and (word in PLURALS) != plural for word in between) == sentence.attractors


def test_no_test_sentence_begins_a_training_sentence(tests):
    lines = training_text(20_000, seed=1).splitlines()
    beginnings = {tuple(line.split()[: main_verb(line)]) for line in lines}
    assert not beginnings & {tuple(sentence.prefix.split()) for sentence in tests}
    assert all(sentences._is_for_test(sentence.prefix) for sentence in tests)
    assert not any(sentences._is_for_test(" ".join(words)) for words in beginnings)


def test_cells_are_balanced(tests):
    counts = collections.Counter((sentence.distance, sentence.right) for sentence in tests)
    assert set(counts.values()) == {50}
    assert {sentence.distance for sentence in tests} == set(range(25))
    assert len({sentence.prefix for sentence in tests}) == len(tests)


def last_noun_agrees(subject: str, between: list[str]) -> bool | None:
    nouns = [word for word in between if word in ALL_NOUNS]
    return (nouns[-1] in PLURALS) == (subject in PLURALS) if nouns else None


def test_the_last_noun_is_a_good_guess_in_training_and_none_in_the_tests(text, tests):
    training = []
    for line in text.splitlines():
        words = line.split()[: main_verb(line)]
        nouns = [word for word in words if word in ALL_NOUNS]
        training.append((nouns[-1] in PLURALS) == (nouns[0] in PLURALS))
    assert 0.78 < sum(training) / len(training) < 0.83
    tested = []
    for sentence in tests:
        words = sentence.prefix.split(" ")
        tested.append(last_noun_agrees(words[sentence.subject], words[sentence.subject + 1 :]))
    tested = [each for each in tested if each is not None]
    assert 0.45 < sum(tested) / len(tested) < 0.55


def test_distances_of_the_training_text(text):
    distances = []
    for line in text.splitlines():
        words = line.split()[: main_verb(line)]
        distances.append(len(words) - 1 - next(i for i, word in enumerate(words) if word in ALL_NOUNS))
    assert max(distances) == 24
    assert 7 < sum(distances) / len(distances) < 9
    assert 0.12 < distances.count(0) / len(distances) < 0.18


def test_the_same_seed_gives_the_same_text():
    assert training_text(50, seed=3) == training_text(50, seed=3) != training_text(50, seed=4)
    assert sentences.test_sentences(4, 3, [5]) == sentences.test_sentences(4, 3, [5])


def test_distances_beyond_the_training_text():
    made = sentences.test_sentences(4, seed=0, distances=[40])
    assert {sentence.distance for sentence in made} == {40}


def test_the_sentences_of_the_chapters_are_of_this_vocabulary():
    words = set(sentences.vocabulary())
    for text in ("the flights the airline was canceling were full", "the trophy that the athletes won was large"):
        assert set(text.split()) <= words


def test_subject_is_an_index():
    assert AgreementSentence("once the key near the tables", "was", "were", 3, 1).subject == 2


def test_impossible_sizes_are_refused():
    with pytest.raises(UserError, match="at least 1"):
        training_text(0, seed=1)
    with pytest.raises(UserError, match="at least 2"):
        sentences.test_sentences(1, seed=1)
    with pytest.raises(UserError, match="distance -1"):
        sentences.test_sentences(2, seed=1, distances=[-1])
