import bz2
import gzip
import lzma

import pytest

from pipelines.data import sources, texts
from pipelines.errors import UserError

TEXT = "To be, or not to be:\nthat is the question \u2014 caf\u00e9 \U0001f600\n"


@pytest.mark.parametrize(
    ("name", "packed"),
    [("a.txt", bytes), ("a.md", bytes), ("a.txt.gz", gzip.compress), ("a.txt.xz", lzma.compress), ("a.txt.bz2", bz2.compress)],
)
def test_plain_and_compressed(tmp_path, name, packed):
    (tmp_path / name).write_bytes(packed(TEXT.encode()))
    assert "".join(texts.pieces(str(tmp_path / name))) == TEXT
    assert texts.characters(str(tmp_path / name)) == len(TEXT)


@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
def test_one_kind_of_line_end_and_no_byte_order_mark(tmp_path, line_end):
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
    ("name", "content", "said"),
    [
        ("a.txt", b"caf\xe9 " * 10, "not UTF-8"),
        ("a.txt", b"ab\x00cd", "not text .*zero bytes"),
        ("a.txt", "text".encode("utf-16"), "not text"),
        ("a.txt.gz", b"no archive", "damaged"),
        ("a.txt.gz", gzip.compress(TEXT.encode(), mtime=0)[:-9], "damaged"),
        ("a.txt.xz", lzma.compress(TEXT.encode())[:-9], "damaged"),
        ("a.txt.bz2", b"no archive", "damaged"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=said):
        texts.characters(str(tmp_path / name))


def test_the_sample_is_python_s_own_help():
    text = "".join(texts.pieces(None))
    assert len(text) > 300_000 and 'The "assert" statement' in text.replace("\n", " ")
    assert f"{len(text):,} characters" in texts.sample_version()
    assert sources.fingerprint("char-lm", None) == texts.sample_version() != sources.fingerprint("sentiment", None)
