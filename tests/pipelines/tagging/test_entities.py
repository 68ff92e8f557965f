import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.tagging.entities import entities_of, with_entities
from pipelines.tagging.spans import spans_of

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
TEXT = "Ann 😀\r\n\tNew York"


def tagged(tags, **others):
    columns = {"start": [0, 4, 8, 12], "end": [3, 5, 11, 16], "scores": [0.9, 0.8, 0.7, 0.6]}
    return {"text": TEXT, "tokens": ["Ann", "😀", "New", "York"], "tags": tags, **columns, **others}


def test_an_entity_has_its_text_and_the_lowest_probability_of_its_tokens():
    found = entities_of(tagged(["B-PER", "O", "B-LOC", "I-LOC"]))
    assert found == [
        {"text": "Ann", "label": "PER", "start": 0, "end": 3, "score": 0.9},
        {"text": "New York", "label": "LOC", "start": 8, "end": 16, "score": 0.6},
    ]


def test_an_entity_is_in_one_sentence():
    tags = ["B-PER", "I-PER", "I-PER", "B-LOC"]
    assert [each["text"] for each in entities_of(tagged(tags, sentence=[0, 0, 1, 1]))] == ["Ann 😀", "York"]
    assert [each["text"] for each in entities_of(tagged(tags, sentence=[0] * 4))] == ["Ann 😀\r\n\tNew", "York"]


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(TAGS), max_size=12), st.sampled_from([" ", "  ", "\t"]))
def test_given_tokens_are_one_sentence_with_spaces_between(tags, space):
    tokens = [f"😀{'a' * (i % 3)}" for i in range(len(tags))]
    result = {"text": space.join(tokens), "tokens": tokens, "tags": tags, "scores": [0.5] * len(tags)}
    expected = [(space.join(tokens[start:end]), label) for start, end, label in spans_of(tags)]
    found = entities_of(result)
    assert [(each["text"], each["label"]) for each in found] == expected
    assert all(result["text"][each["start"] : each["end"]] == each["text"] for each in found)


def test_only_taggers_of_spans_have_entities():
    words = [tagged(["NOUN", "SYM", "NOUN", "NOUN"])]
    assert with_entities(words, {"NOUN", "SYM"}) == words == with_entities(words)
    outside = [tagged(["O"] * 4), {"text": "", "tokens": [], "tags": [], "scores": []}]
    # The tags of a model on a server are those of its answers.
    assert [each["entities"] for each in with_entities(outside)] == [[], []]
    names = with_entities([tagged(["B-PER", "O", "O", "O"]), *outside], TAGS)
    assert [len(each["entities"]) for each in names] == [1, 0, 0]


def test_scores_are_numbers_of_python():
    result = tagged(["B-PER", "I-PER", "O", "O"], scores=np.array([0.5, 0.25, 0.1, 0.1]).tolist())
    assert [type(each["score"]) for each in entities_of(result)] == [float]
