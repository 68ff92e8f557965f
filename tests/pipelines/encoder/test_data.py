import pytest

from pipelines.encoder import data
from pipelines.encoder.config import EncoderConfig
from pipelines.support.errors import UserError

LINES = [f"text number {i} of the cat and the dog" for i in range(100)]


def resolve(**flags):
    return EncoderConfig(**({"vocabulary_size": 60, "window": 8, "batch_size": 4} | flags)).resolve()


def test_a_text_file_is_split_at_its_end(tmp_path):
    (tmp_path / "a.txt").write_text("\n".join(LINES))
    splits = data.load(resolve(data=str(tmp_path / "a.txt")))
    text = "\n".join(LINES)
    assert "".join(splits.train()) + "".join(splits.valid()) == text and splits.unit == "characters"
    assert splits.rows["train"] == int(len(text) * 0.9)


def test_a_table_is_split_by_its_groups(tmp_path):
    rows = "\n".join(f"{line},film{i // 10}" for i, line in enumerate(LINES))
    (tmp_path / "a.csv").write_text(f"text,url\n{rows}\n ,film3\n")
    splits = data.load(resolve(data=str(tmp_path / "a.csv")))
    valid = {LINES.index(text) // 10 for text in splits.valid()}
    train = {LINES.index(text) // 10 for text in splits.train()}
    assert valid and train and not valid & train
    assert splits.notes == {"left out, empty text": 1} and splits.unit == "texts"


def test_a_column_of_a_text_file_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("\n".join(LINES))
    with pytest.raises(UserError, match="--text-column has no effect: .*a.txt is not a table"):
        data.load(resolve(data=str(tmp_path / "a.txt"), text_column="text"))


def test_several_tables_or_several_text_files(tmp_path):
    (tmp_path / "a.csv").write_text("text\n" + "\n".join(LINES[:50]))
    (tmp_path / "b.csv").write_text("text\n" + "\n".join(LINES[50:]))
    (tmp_path / "c.txt").write_text("other text")
    files = tuple(str(tmp_path / name) for name in ("a.csv", "b.csv", "c.txt"))
    splits = data.load(resolve(data=files[:2]))
    assert sorted([*splits.train(), *splits.valid()]) == sorted(LINES)
    assert data.load(resolve(data=(files[2], files[2]))).unit == "characters"
    with pytest.raises(UserError, match="c.txt and .*a.csv: one is a table and the other is not"):
        data.load(resolve(data=files))


@pytest.mark.parametrize("name", ["a.txt", "a.csv"])
def test_files_in_another_encoding(tmp_path, name):
    lines = ["text"] * (name == "a.csv") + [f"{line} caf\u00e9" for line in LINES]
    (tmp_path / name).write_bytes("\n".join(lines).encode("cp1252"))
    splits = data.load(resolve(data=str(tmp_path / name), encoding="cp1252"))
    assert "number 3 of the cat and the dog caf\u00e9" in "".join([*splits.train(), *splits.valid()])
    with pytest.raises(UserError, match="is not UTF-8 .*: give its encoding with --encoding cp1252"):
        data.load(resolve(data=str(tmp_path / name)))
    with pytest.raises(UserError, match="--encoding has no effect: .* is no file of text"):
        data.load(resolve(data=str(tmp_path), encoding="cp1252"))
