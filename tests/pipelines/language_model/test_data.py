import dataclasses

import pytest

from pipelines.language_model import data
from pipelines.language_model.config import LanguageModelConfig
from pipelines.support.errors import UserError


def test_the_end_of_the_text_is_for_validation(tmp_path):
    (tmp_path / "a.txt").write_text("abcdefghij")
    splits = data.load(LanguageModelConfig(data=str(tmp_path / "a.txt"), valid_fraction=0.2))
    assert ["".join(part.pieces()) for part in (splits.train, splits.valid)] == ["abcdefgh", "ij"]


def test_a_text_that_cannot_be_split_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("a")
    with pytest.raises(UserError, match="too short to split: give validation text with --valid"):
        data.load(LanguageModelConfig(data=str(tmp_path / "a.txt")))


@pytest.mark.parametrize("load", [data.load, data.survey])
def test_a_folder_has_a_document_in_each_file(tmp_path, load):
    (tmp_path / "books").mkdir()
    for i in range(4):
        (tmp_path / "books" / f"{i}.txt").write_text(f"book {i}\nend\n")
    config = LanguageModelConfig(data=str(tmp_path / "books"), documents="file", valid_fraction=0.25)
    splits = load(config)
    assert list(splits.valid.pieces()) == ["book 3\nend\n"] and len(list(splits.train.pieces())) == 3
    for documents in (None, "line"):
        with pytest.raises(UserError, match=r"books is a folder: add --documents file, .*books/\*\.txt'"):
            load(dataclasses.replace(config, documents=documents))


@pytest.mark.parametrize("load", [data.load, data.survey])
@pytest.mark.parametrize("documents", [None, "line", "file", "row"])
def test_files_in_another_encoding_and_any_column_of_a_table(tmp_path, load, documents):
    lines = [f"caf\u00e9 {i}" for i in range(50)]
    text, name, column = "\n".join(lines) + "\n", "a.txt", None
    if documents == "row":
        text, name, column = "id,words\n" + "".join(f"{i},{line}\n" for i, line in enumerate(lines)), "a.csv", "words"
    for each in (name, f"2{name}"):
        (tmp_path / each).write_bytes(text.encode("cp1252"))
    files = (str(tmp_path / name), str(tmp_path / f"2{name}"))
    config = LanguageModelConfig(data=files, documents=documents, encoding="cp1252", text_column=column).resolve()
    config.check()
    splits = load(config)
    found = "\n".join([*splits.train.pieces(), *splits.valid.pieces()])
    assert [line for line in found.split("\n") if line].count("caf\u00e9 7") == 2 and "id" not in found
    with pytest.raises(UserError, match="is not UTF-8 .*: give its encoding with --encoding"):
        load(dataclasses.replace(config, encoding=None))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"data": "a.csv", "text_column": "x"}, "--text-column has no effect here: it needs --documents row"),
        ({"encoding": "cp1252"}, "--encoding has no effect here: the embedded sample is no file"),
        ({"data": "a.csv", "encoding": "x"}, "--encoding x is unknown"),
    ],
)
def test_options_of_files_that_cannot_be_used_are_refused(values, message):
    with pytest.raises(UserError, match=message):
        LanguageModelConfig(**values).resolve().check()
