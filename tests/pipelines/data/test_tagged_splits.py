import numpy as np
import pytest

from pipelines.data import tagged_splits
from pipelines.data.tagged_sentences import TaggedSentences
from pipelines.support.errors import UserError


def sentences(texts, documents=None, dropped=None, tags=None):
    tokens = [text.split() for text in texts]
    tags = tags or [["X"] * len(words) for words in tokens]
    return TaggedSentences(tokens, tags, list(texts), documents or [0] * len(tokens), dropped or {})


MANY = [f"sentence {i}" for i in range(100)]


def test_the_validation_and_the_test_of_the_source_are_used():
    data = {"train": sentences(MANY), "valid": sentences(["a b"]), "test": sentences(["c"])}
    train, valid, test, notes = tagged_splits.split(data, None, 0.1)
    assert (train, valid, test, notes) == (data["train"], data["valid"], data["test"], {})


def test_the_users_own_validation_comes_before_that_of_the_source():
    own = sentences(["own words"])
    _, valid, test, _ = tagged_splits.split({"train": sentences(MANY), "valid": sentences(["a b"])}, own, 0.1)
    assert valid is own and test is None


def test_few_documents_are_split_into_groups_of_equal_sentences():
    texts = [*MANY, *(text.upper() for text in MANY)]
    train, valid, _, notes = tagged_splits.split({"train": sentences(texts)}, None, 0.1)
    assert (len(train), len(valid), notes) == (180, 20, {})
    assert not {text.lower() for text in train.texts} & {text.lower() for text in valid.texts}


def test_many_documents_are_split_whole():
    documents = [i // 5 for i in range(100)]
    train, valid, _, _ = tagged_splits.split({"train": sentences(MANY, documents)}, None, 0.2)
    assert len(set(valid.documents)) == 4 and len(valid) == 20
    assert not set(train.documents) & set(valid.documents)
    few = [i // 20 for i in range(100)]
    assert len(set(tagged_splits.split({"train": sentences(MANY, few)}, None, 0.2)[1].documents)) > 1


@pytest.mark.parametrize("per_document", [5, 50])
def test_the_order_of_the_documents_and_sentences_does_not_matter(per_document):
    order = np.random.default_rng(0).permutation(100 // per_document)
    shuffled = [MANY[document * per_document + i] for document in order for i in range(per_document)]
    documents = [i // per_document for i in range(100)]
    first, second = (
        set(tagged_splits.split({"train": sentences(texts, documents)}, None, 0.2)[1].texts)
        for texts in (MANY, shuffled)
    )
    assert first == second


def test_validation_sentences_that_are_in_training_stay_and_are_counted():
    data = {"train": sentences(["Thanks !", "a b"]), "valid": sentences(["thanks  !", "c d"])}
    train, valid, _, notes = tagged_splits.split(data, None, 0.1)
    assert (len(train), len(valid)) == (2, 2)
    assert notes == {"sentences of validation that are also in training": 1}


@pytest.mark.parametrize(("num_other", "num_found"), [(0, 20), (19, 20), (21, 0)])
def test_sentences_from_templates_are_counted_where_they_are_at_least_half(num_other, num_found):
    def booked(names):
        tags = [["O", "O", "B-NAME", *["I-NAME"] * name.count(" "), "O"] for name in names]
        return [f"Please call {name} now" for name in names], tags

    def made(names, num_other=0):
        texts, tags = booked(names)
        others = [f"we met {i} of them at {i + 1}" for i in range(num_other)]
        of_others = [["O", "O", "B-NUM", "O", "O", "O", "B-NUM"] for _ in others]
        return sentences([*texts, *(f"{other} once" for other in others)], tags=tags + [[*t, "O"] for t in of_others])

    valid = made([f"Bob {i}" for i in range(20)], num_other)
    *_, notes = tagged_splits.split({"train": made(["Ann", "Eve", "Mr X Y"]), "valid": valid}, None, 0.1)
    assert notes.get(tagged_splits.FROM_TEMPLATES, 0) == num_found


def test_tags_that_training_does_not_have_are_named():
    data = {"train": sentences(["a"], tags=[["N"]]), "valid": sentences(["b c d"], tags=[["V", "N", "SYM"]])}
    notes = tagged_splits.split(data, None, 0.1)[3]
    assert notes == {"tokens of validation with tags that training does not have (SYM, V)": 2}
    data["valid"] = sentences(["b c d"], tags=[["V", "V", "N"]])
    data["test"] = sentences([" ".join("abcdefghijkl")], tags=[list("abcdefghijkl")])
    assert tagged_splits.split(data, None, 0.1)[3] == {
        "tokens of validation with tags that training does not have (V)": 2,
        "tokens of test with tags that training does not have (a, b, c, d, e, f, g, h, i, j and 2 more)": 12,
    }


@pytest.mark.parametrize("num_words", [1, 11])
def test_more_tags_than_tokens_are_most_probably_the_tokens(num_words):
    with pytest.raises(UserError) as error:
        tagged_splits.check_number_of_tags("a.tsv", 12, num_words)
    assert str(error.value).startswith(
        f"a.tsv: 12 different tags, but {num_words} different token{'s' * (num_words > 1)}: is the tag the first "
        "column? Then give --token-column 2 --column 1"
    )
    tagged_splits.check_number_of_tags("a.tsv", 12, 12)
    tagged_splits.check_number_of_tags("a.tsv", 10, 1)


def test_too_many_tags_are_refused():
    with pytest.raises(UserError, match="a.tsv: 2,001 different tags, and 2,000 are the most: name the right column"):
        tagged_splits.check_number_of_tags("a.tsv", 2001, 10**6)


def test_what_was_left_out_while_reading_is_in_the_notes():
    data = {"train": sentences(MANY, dropped={"lines without a token": 2})}
    assert tagged_splits.split(data, None, 0.1)[3] == {"lines without a token": 2}
    own = sentences(["own words"], dropped={"lines without a token": 3})
    expected = {"lines without a token": 2, "in validation, lines without a token": 3}
    assert tagged_splits.split(data, own, 0.1)[3] == expected


def test_data_without_training_sentences_or_of_one_sentence_is_refused():
    with pytest.raises(UserError, match="the data has no training sentences, only valid and test: give files"):
        tagged_splits.split({"valid": sentences(["a"]), "test": sentences(["b"])}, None, 0.1)
    with pytest.raises(UserError, match="none can be split off for validation: give some with --valid"):
        tagged_splits.split({"train": sentences(["a", "A"])}, None, 0.1)
