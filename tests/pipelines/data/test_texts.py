import pytest

from pipelines.data import encodings, texts
from pipelines.data.sample_text import sample_text
from pipelines.support.errors import UserError

TEXT = "To be, or not to be:\nthat is the question \u2014 caf\u00e9 \U0001f600\n"


@pytest.mark.parametrize("name", ["a.txt", "a.md"])
def test_a_text_is_read_whole(tmp_path, name):
    (tmp_path / name).write_text(TEXT, "utf-8")
    assert "".join(texts.pieces(str(tmp_path / name))) == TEXT
    assert texts.characters(str(tmp_path / name)) == len(TEXT)


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16-le"])
def test_a_text_in_another_encoding(tmp_path, encoding):
    text = "caf\u00e9\n" * 50
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_bytes(text.encode(encoding))
    files = (str(tmp_path / "a.txt"), str(tmp_path / "b.txt"))
    assert "".join(texts.pieces(files, encoding=encoding)) == text * 2
    assert list(texts.lines(files[0], encoding)) == ["caf\u00e9"] * 50
    for valid in (None, files[1]):
        splits = texts.split_text(files[0], valid, 0.2, encoding=encoding)
        assert "".join(splits.train.pieces() if valid else [*splits.train.pieces(), *splits.valid.pieces()]) == text
    with pytest.raises(UserError, match="convert it to UTF-8, for example with `iconv -f"):
        list(texts.lines(files[0], has_option=False))
    with pytest.raises(UserError, match=r"a.txt is not utf-16 \(UTF-16 stream does not start with BOM\): give its enc"):
        list(texts.pieces(files[0], encoding="utf-16"))


def test_a_line_may_be_as_long_as_the_text(tmp_path, monkeypatch):
    monkeypatch.setattr(encodings, "MAX_LINE_BYTES", 2**20)
    (tmp_path / "a.txt").write_text("x" * (3 * 2**20))
    assert texts.characters(str(tmp_path / "a.txt")) == 3 * 2**20


@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
def test_line_ends_become_newlines_and_a_byte_order_mark_is_left_out(tmp_path, line_end):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", line_end).encode())
    assert "".join(texts.pieces(str(tmp_path / "a.txt"))) == TEXT


def test_a_part_of_a_text_in_pieces(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text(TEXT * 10)
    monkeypatch.setattr(texts, "_PIECE", 7)
    for first, last in ((0, None), (0, 5), (3, 4), (5, 300), (14, 21), (100, None), (10, 10)):
        pieces = list(texts.pieces(str(tmp_path / "a.txt"), first, last))
        assert "".join(pieces) == (TEXT * 10)[first:last]
        assert all(0 < len(piece) <= 7 for piece in pieces)


def test_a_large_file_is_not_read_at_once(tmp_path):
    (tmp_path / "a.txt").write_text("x" * (3 * 2**20))
    assert [len(piece) for piece in texts.pieces(str(tmp_path / "a.txt"))] == [2**20] * 3


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"caf\xe9 " * 10, "is not UTF-8 .*: give its encoding with --encoding cp1252, or"),
        ("a.txt", b"ab\x00cd", "has bytes of zero, so it is not text"),
        ("a.txt", "text".encode("utf-16-le"), "it is probably UTF-16: give --encoding utf-16-le"),
        ("a.txt.gz", b"no archive", "damaged"),
        ("a.txt.bz2", b"no archive", "damaged"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        texts.characters(str(tmp_path / name))


def test_the_end_of_the_text_is_split_off_for_validation(tmp_path):
    text = "".join(chr(ord("a") + i % 26) for i in range(1000))
    (tmp_path / "a.txt").write_text(text)
    splits = texts.split_text(str(tmp_path / "a.txt"), None, 0.2)
    assert "".join(splits.train.pieces()) == text[:800] and "".join(splits.valid.pieces()) == text[800:]
    assert (splits.train.characters, splits.valid.characters) == (800, 200)


def test_a_separate_validation_text(tmp_path):
    (tmp_path / "a.txt").write_text("train" * 50)
    (tmp_path / "v.txt").write_text("valid")
    splits = texts.split_text(str(tmp_path / "a.txt"), str(tmp_path / "v.txt"), 0.2)
    assert "".join(splits.train.pieces()) == "train" * 50 and "".join(splits.valid.pieces()) == "valid"


@pytest.mark.parametrize(
    ("train", "valid", "message"),
    [("", None, "a.txt is empty"), ("x", None, "too short to split: .*--valid"), ("x" * 99, "", "v.txt is empty")],
)
def test_texts_that_cannot_be_split(tmp_path, train, valid, message):
    (tmp_path / "a.txt").write_text(train)
    if valid is not None:
        (tmp_path / "v.txt").write_text(valid)
    with pytest.raises(UserError, match=message):
        texts.split_text(str(tmp_path / "a.txt"), None if valid is None else str(tmp_path / "v.txt"), 0.2)


def test_lines_have_no_line_ends(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("one\ntwo\n\nthree")
    monkeypatch.setattr(texts, "_PIECE", 2)
    assert list(texts.lines(str(tmp_path / "a.txt"))) == ["one", "two", "", "three"]


def test_without_data_the_text_is_the_embedded_sample():
    assert "".join(texts.pieces(None)) == sample_text()


def test_chunks_are_the_text():
    pieces = ["word " * 3000, "x" * 9000, "\n".join("line" for _ in range(4000)), "", "end"]
    chunks = list(texts.chunks(pieces))
    assert "".join(chunks) == "".join(pieces)
    assert max(map(len, chunks)) <= 4000
    assert all(chunk[-1] in " \n" for chunk in chunks[:3])
    assert list(texts.chunks([])) == list(texts.chunks([""])) == []


def test_several_texts_are_read_one_after_the_other_each_from_a_new_line(tmp_path):
    for name, text in (("a.txt", "one"), ("b.txt", "two\n"), ("c.txt", "three")):
        (tmp_path / name).write_text(text)
    files = tuple(str(tmp_path / name) for name in ("a.txt", "b.txt", "c.txt"))
    assert "".join(texts.pieces(files)) == "one\ntwo\nthree\n"
    splits = texts.split_text(files, None, 0.5)
    assert ["".join(part.pieces()) for part in (splits.train, splits.valid)] == ["one\ntwo", "\nthree\n"]
