import contextlib
import io
import json

import pytest

from pipelines.data import tagged_files, tagged_sentences
from pipelines.data.token_options import TokenOptions
from pipelines.support.errors import UserError
from tests.pipelines.data.test_dataset_folders import write as write_split

TAGS = {"feature": {"names": ["O", "B-PER", "I-PER"], "_type": "ClassLabel"}, "_type": "Sequence"}
ROWS = [{"tokens": ["Jim", "Bo", "sings"], "ner_tags": [1, 2, 0]}, {"tokens": ["a"], "ner_tags": [0]}]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_folder_of_a_dataset_has_its_splits(folder):
    for split in ("train", "validation", "test"):
        write_split(folder / "conll" / split, ROWS, {"ner_tags": TAGS}, files=1)
    (folder / "conll" / "dataset_dict.json").write_text('{"splits": ["train", "validation", "test"]}')
    found = tagged_sentences.read("conll")
    assert list(found) == ["train", "valid", "test"]
    assert all(part.tags == [["B-PER", "I-PER", "O"], ["O"]] for part in found.values())
    assert tagged_sentences.read("conll/test")["train"].tokens == found["test"].tokens
    with pytest.raises(UserError, match="--encoding cp1252 has no effect: conll/test is no text"):
        tagged_sentences.read("conll/test", TokenOptions(encoding="cp1252"))


def test_a_folder_of_json_has_splits_by_the_names_of_its_files(folder):
    (folder / "train.jsonl").write_text('{"text": "Jim", "label": [[0, 3, "PER"]]}\n')
    (folder / "dev.json").write_text('[{"text": "Ann", "label": [[0, 3, "PER"]]}]')
    (folder / "notes.txt").write_text("notes")
    assert tagged_files.of(".").keys() == {"train", "valid"}
    assert {name: part.tokens for name, part in tagged_sentences.read(".").items()} == {
        "train": [["Jim"]],
        "valid": [["Ann"]],
    }


@pytest.mark.parametrize(("separator", "sign"), [("|", "|"), (",", ","), ("tab", "\t")])
def test_a_separator_divides_the_columns(folder, separator, sign):
    (folder / "a.txt").write_text(f"New York{sign}B-LOC\nis{sign}O\n\nbig{sign}O\n")
    found = tagged_sentences.read("a.txt", TokenOptions(separator=separator))["train"]
    assert found.tokens == [["New York", "is"], ["big"]] and found.tags == [["B-LOC", "O"], ["O"]]


def test_tags_in_columns_may_be_numbers(folder):
    (folder / "a.txt").write_text("Jim\t1\nsings\t0\n")
    assert tagged_sentences.read("a.txt", TokenOptions(tag_names="O,B-PER"))["train"].tags == [["B-PER", "O"]]


def test_conllu_has_no_separator(folder):
    (folder / "a.conllu").write_text("1\tJim\tJim\tPROPN\t_\t_\t_\t_\t_\t_\n")
    with pytest.raises(UserError, match="--separator , has no effect: a.conllu is CoNLL-U"):
        tagged_sentences.read("a.conllu", TokenOptions(separator=","))


def test_a_file_of_spacy_names_its_conversion_which_is_what_spacy_writes(folder):
    (folder / "a.spacy").write_bytes(b"x\x9c")
    with pytest.raises(UserError, match="a.spacy has spaCy's own format: write it as a.jsonl in Python, with import "):
        tagged_sentences.read("a.spacy")
    spacy = pytest.importorskip("spacy")
    from spacy.tokens import DocBin

    doc = spacy.blank("en")("Jim lives in Oslo.")
    doc.set_ents([doc.char_span(0, 3, "PERSON"), doc.char_span(13, 17, "GPE")])
    DocBin(docs=[doc]).to_disk("a.spacy")
    lines = io.StringIO()
    with contextlib.redirect_stdout(lines):
        exec(tagged_files.FROM_DOC_BIN.replace("FILE", "'a.spacy'"), {})
    (folder / "a.jsonl").write_text(lines.getvalue())
    found = tagged_sentences.read("a.jsonl")["train"]
    assert found.tags == [["B-PERSON", "O", "O", "B-GPE", "O"]]


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        (5, "has the tag 5, but --tag-names has 2 names, for 0 to 1: add"),
        (-1, "has the tag -1, and --tag-names has names"),
    ],
)
def test_numbers_of_tags_without_a_name_are_one_line(folder, tag, message):
    (folder / "a.jsonl").write_text(json.dumps({"tokens": ["Jim", "sings"], "ner_tags": [1, tag]}))
    with pytest.raises(UserError, match=message) as error:
        tagged_sentences.read("a.jsonl", TokenOptions(tag_names="O,B-PER"))
    assert "\n" not in str(error.value)
