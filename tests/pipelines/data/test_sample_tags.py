import collections
import hashlib

import pytest

from pipelines.data import sample_tags
from pipelines.data.token_positions import character_spans


@pytest.fixture(scope="module")
def sample():
    return sample_tags.generate()


@pytest.fixture(scope="module")
def counts(sample):
    """Token of training -> tag -> count."""
    tokens, tags, _, _ = sample["train"]
    found = collections.defaultdict(collections.Counter)
    for words, labels in zip(tokens, tags, strict=True):
        for word, label in zip(words, labels, strict=True):
            found[word][label] += 1
    return found


def test_the_sample_is_the_same_every_time(sample):
    assert sample_tags.generate() == sample


def test_a_change_of_the_sentences_needs_another_version(sample):
    lines = [" ".join(words) + "|" + " ".join(tags) for part in sample.values() for words, tags in zip(*part[:2])]
    digests = {"embedded sample 1": "f5a8195ce548c98c"}
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16] == digests[sample_tags.version()]


def test_no_sentence_is_repeated(sample):
    texts = [text for part in (*sample.values(), sample_tags.fresh()) for text in part[2]]
    assert len(set(texts)) == len(texts) == 5000


def test_every_token_is_in_its_text(sample):
    tokens, _, texts, _ = sample["valid"]
    assert all(None not in character_spans(words, text) for words, text in zip(tokens, texts, strict=True))
    assert any("doesn't" in text for text in texts) and any("$" in text for text in texts)


def test_documents_have_several_sentences(sample):
    documents = sample["train"][3]
    assert documents == sorted(documents) and set(collections.Counter(documents).values()) == {5}


@pytest.mark.parametrize(
    ("word", "tags"),
    [
        ("saw", {"NOUN", "VERB"}),
        ("can", {"NOUN", "AUX"}),
        ("flies", {"NOUN", "VERB"}),
        ("light", {"NOUN", "VERB", "ADJ"}),
        ("her", {"DET", "PRON"}),
        ("that", {"DET", "PRON", "SCONJ"}),
        ("to", {"ADP", "PART"}),
        ("like", {"ADP", "VERB"}),
        ("Will", {"AUX", "PROPN"}),
        ("May", {"AUX", "PROPN"}),
    ],
)
def test_some_words_have_several_tags(counts, word, tags):
    assert set(counts[word]) == tags and min(counts[word].values()) > 10


def test_the_most_frequent_tag_of_each_word_is_not_enough(sample, counts):
    tokens, tags, _, _ = sample["valid"]
    pairs = [pair for words, labels in zip(tokens, tags, strict=True) for pair in zip(words, labels, strict=True)]
    correct = [counts[word].most_common(1)[0][0] == tag for word, tag in pairs if word in counts]
    assert 0.85 < sum(correct) / len(correct) < 0.95
    assert 0.04 < 1 - len(correct) / len(pairs) < 0.1  # words that only validation has
    assert {tag for _, tag in pairs} == {tag for each in counts.values() for tag in each}


def test_verbs_agree_with_their_subjects(sample):
    texts = " ".join(sample["train"][2])
    assert "she has" in texts.lower() and "they have" in texts.lower()
    for wrong in ("she have", "they has", "he want ", "we wants", "these dog ", "this dogs"):
        assert wrong not in texts.lower()
