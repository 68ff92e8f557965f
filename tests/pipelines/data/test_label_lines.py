import pytest

from pipelines.data import label_lines, labelled_texts, tables
from pipelines.data.table_options import TableOptions
from pipelines.support.errors import UserError

LINES = "__label__good A fine film\n__label__bad dull\n\nno label\n__label__good __label__new Good , and new\n"


@pytest.mark.parametrize("name", ["a.txt", "a.train", "a"])
def test_lines_with_labels_are_a_table(tmp_path, name):
    path = tmp_path / name
    path.write_text(LINES)
    assert tables.is_table(path)
    found = labelled_texts.read(str(path))["train"]
    assert found.texts.tolist() == ["A fine film", "dull", "Good , and new"]
    assert found.labels.tolist() == ["good", "bad", "good|new"] and found.dropped == {label_lines.NO_LABEL: 1}
    found = labelled_texts.read(str(path), TableOptions(labels_separator="|"))["train"]
    assert found.labels.tolist() == [("good",), ("bad",), ("good", "new")]


def test_other_files_of_lines_are_texts(tmp_path):
    path = tmp_path / "a.txt"
    for content in (b"A text\n__label__x y\n", b"", b"\xff\xfe\x00", b"__label"):
        path.write_bytes(content)
        assert not label_lines.is_file(path)
    assert not label_lines.is_file(tmp_path) and not label_lines.is_file(tmp_path / "absent.txt")
    (tmp_path / "a.csv").write_text("__label__x,text\n")
    assert not label_lines.is_file(tmp_path / "a.csv")


def test_other_encodings(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("__label__é Café\n".encode("cp1252") * 5 + b"__label__b x\n")
    with pytest.raises(UserError, match="is not UTF-8"):
        labelled_texts.read(str(path))
    assert set(labelled_texts.read(str(path), TableOptions(encoding="cp1252"))["train"].labels) == {"é", "b"}
    with pytest.raises(UserError, match="--separator , has no effect"):
        labelled_texts.read(str(path), TableOptions(encoding="cp1252", separator=","))
