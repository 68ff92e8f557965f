import json

import pytest

from pipelines.data import tagged_sentences, token_lists
from pipelines.data.token_options import TokenOptions
from pipelines.support.errors import UserError

CONLL_2003 = {
    "id": "0",
    "tokens": ["EU", "rejects", "German", "call"],
    "pos_tags": [22, 42, 16, 21],
    "chunk_tags": [11, 21, 11, 12],
    "ner_tags": [3, 0, 7, 0],
}
NAMES = "O,B-PER,I-PER,B-ORG,I-ORG,B-LOC,I-LOC,B-MISC,I-MISC"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(*records, **options):
    with open("a.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    return tagged_sentences.read("a.jsonl", TokenOptions(**options))["train"]


def test_numbers_of_tags_have_the_names_that_are_given():
    found = read(CONLL_2003, CONLL_2003, tag_names=NAMES)
    assert found.tokens[1] == CONLL_2003["tokens"] and found.documents == [0, 1]
    assert found.tags[0] == ["B-ORG", "O", "B-MISC", "O"] and found.texts[0] == "EU rejects German call"
    with pytest.raises(UserError, match="a.jsonl: the tags are numbers: name them .* with --tag-names"):
        read(CONLL_2003)
    with pytest.raises(
        UserError, match="a.jsonl has the tag 7, but --tag-names has 4 names, for 0 to 3: add the others"
    ):
        read(CONLL_2003, tag_names="O,B-PER,I-PER,B-ORG")


def test_the_field_of_the_tags_is_the_last_one_with_a_usual_name():
    record = {"tokens": ["a", "b"], "upos": ["X", "Y"], "xpos": ["x", "y"], "langs": ["en", "en"]}
    assert read(record).tags == [["X", "Y"]]
    assert read(record, column="xpos").tags == [["x", "y"]]
    assert read({"words": ["a", "b"], "langs": ["en", "fr"]}).tags == [["en", "fr"]]
    assert read({"lemmas": ["A", "B"], "form": ["a", "b"], "tag": ["X", "Y"]}, token_column="lemmas").tokens == [
        ["A", "B"]
    ]
    for options in ({"column": "ner"}, {"token_column": "ner"}):
        with pytest.raises(UserError, match="ner: a.jsonl has no such field: give one of "):
            read(record, **options)


def test_what_is_left_out_or_damaged():
    found = read({"tokens": ["a", "", "b"], "tags": ["X", "Y", None]}, {"tokens": [], "tags": []})
    assert found.tokens == [["a", "b"]] and found.tags == [["X", "_"]] and found.dropped == {"empty tokens": 1}
    good = {"tokens": ["a"], "tags": ["X"]}
    for bad in ({"tokens": ["a"], "tags": ["X", "Y"]}, {"tokens": ["a"]}, [1]):
        with pytest.raises(UserError, match="a.jsonl, record 2: tokens and tags must be lists of the same length"):
            read(good, bad)
    with pytest.raises(UserError, match="--tag-names has no effect: a.jsonl has the names of tags, such as X"):
        read(good, tag_names="O,X")


def test_fields_with_tags_are_lists_as_long_as_the_tokens():
    record = {"tokens": ["a", "b"], "tags": ["X", "Y"], "spans": ["a b"], "flags": [True, False], "text": "a b"}
    assert token_lists.tag_fields(record) == ["tags"] and token_lists.token_field(record) == "tokens"
    assert token_lists.tag_fields({"tags": ["X"]}) == []
