import numpy as np
import pytest

import unroll
from pipelines.python import tagger as module

SENTENCES = [["Anna", "lives", "in", "Oslo"], ["Oslo", "is", "cold"], ["She", "left", "."]] * 10
TAGS = [["B-PER", "O", "O", "B-LOC"], ["B-LOC", "O", "O"], ["O", "O", "O"]] * 10
SMALL = {"preset": "quick", "hidden_size": 16, "embedding_size": 8, "character_size": 4, "verbose": False}


@pytest.fixture(scope="module")
def fitted():
    tagger = unroll.Tagger(**SMALL, epochs=6, batch_size=4, no_baseline=True)
    return tagger.fit(SENTENCES, TAGS, validation_data=(SENTENCES[:3], TAGS[:3]))


@pytest.mark.long
def test_predicts_the_tags_of_tokens(fitted):
    tags = fitted.predict([("Anna", "is", "cold"), [], np.array(["Oslo"], object)])
    assert [len(each) for each in tags] == [3, 0, 1]
    assert fitted.predict([]) == []


@pytest.mark.long
def test_tags_texts(fitted):
    text = "Anna lives in Oslo."
    result = fitted.tag(text)
    assert [text[a:b] for a, b in zip(result["start"], result["end"], strict=True)] == result["tokens"]
    assert fitted([text, ""])[0]["tags"] == result["tags"] and fitted([text, ""])[1]["tokens"] == []
    assert fitted.tag([]) == []


@pytest.mark.long
def test_finds_the_entities_of_texts(fitted):
    text = "Anna lives in Oslo."
    found = fitted.entities(text)
    assert [set(each) for each in found] == [{"text", "label", "start", "end", "score"}] * len(found) and found
    assert all(text[each["start"] : each["end"]] == each["text"] and 0 < each["score"] <= 1 for each in found)
    assert fitted.entities([text, ""]) == [found, []] and fitted.entities([]) == []


@pytest.mark.long
def test_learns_and_scores_spans(fitted):
    assert fitted.score(SENTENCES, TAGS) == fitted.scores_["validation"]["span_f1"] > 0.5


@pytest.mark.long
def test_a_linear_model_learns_in_seconds():
    tagger = unroll.Tagger(model="linear", no_baseline=True, verbose=False)
    tagger.fit(SENTENCES, TAGS, validation_data=(SENTENCES[:3], TAGS[:3]))
    assert tagger.predict([*SENTENCES[:3], ["Anna", "left", "Oslo"]]) == [*TAGS[:3], ["B-PER", "O", "B-LOC"]]
    tags = [["NOUN"] * (len(sentence) - 1) + ["X"] for sentence in SENTENCES]
    tagger.fit(SENTENCES, tags, validation_data=(SENTENCES[:3], tags[:3]))
    with pytest.raises(unroll.UserError, match="mark no spans"):
        tagger.entities("Anna")


@pytest.mark.long
def test_is_the_same_after_export_and_load(fitted, tmp_path, without_verification):
    loaded = unroll.load(fitted.export(tmp_path / "ner"))
    assert isinstance(loaded, unroll.Tagger)
    assert loaded.predict(SENTENCES) == fitted.predict(SENTENCES)


@pytest.mark.parametrize(
    ("sentences", "tags", "message"),
    [
        ("absent.conllu", [["X"]], "the tags are in the file"),
        (SENTENCES, None, "y is missing"),
        (SENTENCES, TAGS[:-1], "30 sentences and 29 lists of tags"),
        ([["a", "b"]], [["X"]], "sentence 0 has 2 tokens and 1 tags"),
        (["a b"], [["X"]], "X 0 is 'a b': give a list of str; raw texts are for `tag`"),
        ([["a", ""]], [["X", "X"]], "X 0 has '': give str that are not empty"),
        ([["a", "b\tc"]], [["X", "X"]], "have no tab or line end"),
        ([["a", None]], [["X", "X"]], "X 0 has None"),
        ([], [], "there are no sentences"),
        (3, [["X"]], "X is of the type int"),
    ],
)
def test_what_cannot_be_used_is_refused(sentences, tags, message):
    with pytest.raises(unroll.UserError, match=message.replace("(", r"\(")):
        module._checked(sentences, tags)


def test_a_missing_file_is_named():
    with pytest.raises(unroll.UserError, match=r"no such file or folder: absent\.conllu"):
        unroll.Tagger(**SMALL).fit("absent.conllu")
