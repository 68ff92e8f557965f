import gzip
import pickle
import zipfile

import pytest

from pipelines.data import encodings, tables
from pipelines.support.errors import UserError

GERMAN = "Das Café ist schön, aber die Bedienung war träge. Müde Füße und naïve Gäste.\n" * 30


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("name", "suffix"), [("a.CSV", ".csv"), ("a.b.tsv.gz", ".tsv"), ("a.gz", ""), ("a", ""), ("a.jsonl.zip", ".jsonl")]
)
def test_the_suffix_is_that_of_the_unpacked_file(tmp_path, name, suffix):
    assert encodings.suffix(tmp_path / name) == suffix


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_gives_the_encoding(tmp_path, encoding):
    file, found = encodings.open_text(write(tmp_path, "a.csv", GERMAN.encode(encoding)))
    with file:
        assert file.read().decode(found) == GERMAN
    assert found == encoding


def test_a_zip_archive_has_one_file(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("folder/a.csv", "text")
    with encodings.open_text(tmp_path / "a.zip")[0] as file:
        assert file.read() == b"text"
    with zipfile.ZipFile(tmp_path / "a.zip", "a") as archive:
        archive.writestr("b.csv", "text")
    with pytest.raises(UserError, match="has 2 files: pack one file only"):
        encodings.open_text(tmp_path / "a.zip")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"PK\x03\x04 and so on", "an Excel file"),
        (b"PAR1", "a Parquet file"),
        (gzip.compress(b"text", mtime=0), "compressed with gzip"),
    ],
)
def test_the_first_bytes_tell_what_a_renamed_file_is(tmp_path, content, what):
    with pytest.raises(UserError, match=f"a.csv is {what}.*right suffix"):
        encodings.open_text(write(tmp_path, "a.csv", content))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"%PDF-1.7", "is a PDF file: copy its text"),
        (b"\x89PNG\r\n\x1a\n" + bytes(20), "is a PNG picture, not text: give another file"),
        (b"\xff\xd8\xff\xe0", "is a JPEG picture, not text"),
        (b"SQLite format 3\0" + bytes(20), "is an SQLite database: write its table to a .csv file"),
        (b"\xd0\xcf\x11\xe0", "is an old Excel file .*: save it as .xlsx or .csv"),
    ],
)
def test_a_file_that_no_suffix_makes_readable_says_what_it_is(tmp_path, content, message):
    with pytest.raises(UserError, match=f"a.csv {message}"):
        encodings.open_text(write(tmp_path, "a.csv", content))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text,label\n".encode("utf-16-le"), "is probably UTF-16: give --encoding utf-16-le"),
        ("text,label\n".encode("utf-16-be"), "is probably UTF-16: give --encoding utf-16-be"),
        (b"a" * 100_000 + b"\0", r"a.csv has bytes of zero, so it is not text: remove them, .*`tr -d '\\000' < "),
    ],
)
def test_zero_bytes_without_a_byte_order_mark_are_refused(tmp_path, content, message):
    with (
        pytest.raises(UserError, match=message),
        encodings.open_text(write(tmp_path, "a.csv", content))[0] as file,
    ):
        file.read()


def test_a_line_may_be_long_but_not_endless(tmp_path, monkeypatch):
    monkeypatch.setattr(encodings, "MAX_LINE_BYTES", 2**20)
    with encodings.open_text(write(tmp_path, "a.csv", (b"a" * 2**19 + b"\n") * 4))[0] as file:
        assert len(file.read()) == 4 * (2**19 + 1)
    with (
        pytest.raises(UserError, match="a line of more than 1 MiB"),
        encodings.open_text(write(tmp_path, "a.csv", b"a\n" + b"a" * (2**20 + 1)))[0] as file,
    ):
        file.read()


@pytest.mark.parametrize(
    ("text", "encoding"),
    [(GERMAN, "cp1252"), ("这部电影很好看，我非常喜欢它的故事。\n" * 30, "gb18030")],
)
def test_the_likely_encoding_of_other_text_is_named(tmp_path, text, encoding):
    data = text.encode(encoding)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = str(encodings.not_decodable(tmp_path / "a.csv", error))
    assert "a.csv is not UTF-8 (byte 0x" in message
    assert f"probably {encoding}" in message and f"--encoding {encoding}" in message


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_whole_text_is_read_with_its_line_ends_as_newlines(tmp_path, encoding, end):
    path = write(tmp_path, "a.conll.gz", gzip.compress(GERMAN.replace("\n", end).encode(encoding), mtime=0))
    assert encodings.read_text(path) == GERMAN


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", GERMAN.encode("cp1252"), "not UTF-8 .*: convert it to UTF-8, .*`iconv -f cp1252 -t utf-8`$"),
        ("a.txt", GERMAN.encode("utf-16-be"), "probably UTF-16: convert it to UTF-8, .*`iconv -f utf-16-be -t utf-8`$"),
        ("a.txt.gz", b"text", "a.txt.gz is damaged, or its name has the wrong suffix"),
        ("a.txt.xz", b"text", "a.txt.xz is damaged, or its name has the wrong suffix"),
        ("a.txt", GERMAN.encode("utf-16")[:-1], "a.txt is not UTF-16"),
    ],
)
def test_a_text_of_a_command_without_the_option_encoding_is_refused_without_naming_it(tmp_path, name, content, message):
    with pytest.raises(UserError, match=message) as error:
        encodings.read_text(write(tmp_path, name, content))
    assert "--encoding" not in str(error.value)


def test_a_file_that_must_not_be_read_keeps_the_error_of_the_system(tmp_path):
    with pytest.raises(IsADirectoryError):
        encodings.read_text(tmp_path)


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\r\n\r\nb\r", "\u2028a\x0cb\n\n"])
def test_lines_are_those_of_the_text(tmp_path, text):
    path = write(tmp_path, "a.txt", text.encode())
    lines = encodings.read_text(path).split("\n")
    assert list(encodings.read_lines(path)) == (lines if lines[-1] else lines[:-1])


def test_an_error_in_the_middle_of_the_lines_names_the_file(tmp_path):
    lines = encodings.read_lines(write(tmp_path, "a.txt", b"a good line\n" * 10_000 + b"caf\xe9 cr\xe8me\n"))
    assert next(lines) == "a good line"
    with pytest.raises(UserError, match=r"a.txt is not UTF-8 \(byte 0xe9"):
        list(lines)
    cut = gzip.compress("\n".join(map(str, range(50_000))).encode())[:-5000]
    with pytest.raises(UserError, match="b.txt.gz is damaged"):
        list(encodings.read_lines(write(tmp_path, "b.txt.gz", cut)))


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (b"PK\x01\x02", (10, b"\x63"), "cannot be unpacked .*: unpack it, and give the file in it"),  # of the method
        (b"PK\x01\x02", (8, b"\x01"), "cannot be unpacked .*password required"),  # of the flags
        (b"PK\x05\x06", (16, b"\xff\xff"), "is damaged, or its name has the wrong suffix"),  # the place of the list
    ],
)
def test_an_archive_that_cannot_be_unpacked_is_one_line(tmp_path, place, value, message):
    with zipfile.ZipFile(tmp_path / "a.csv.zip", "w") as archive:
        archive.writestr("a.csv", "text,label\na,b\n")
    content = bytearray((tmp_path / "a.csv.zip").read_bytes())
    start = content.index(place) + value[0]
    content[start : start + len(value[1])] = value[1]
    (tmp_path / "a.csv.zip").write_bytes(content)
    with pytest.raises(UserError, match=message) as error:
        list(tables.chunks(tmp_path / "a.csv.zip", 10))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("first_bytes", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG picture"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "a JPEG picture"),
        (b"GIF89a\1\0\1\0", "a GIF picture"),
        (b"SQLite format 3\0\x10\0", "an SQLite database"),
        (b"\x89HDF\r\n\x1a\n\0\0", "an HDF5 file"),
        (b"\x93NUMPY\1\0", "a NumPy array (.npy)"),
        (pickle.dumps({"a": [1] * 10}, protocol=4), "a Python pickle"),
        (pickle.dumps(["a", "b"], protocol=5), "a Python pickle"),
        (b"7z\xbc\xaf'\x1c\0\4", "a 7z archive"),
        (b"Rar!\x1a\x07\1\0", "a RAR archive"),
        (b"\x28\xb5\x2f\xfd\4\0", "compressed with zstd"),
    ],
)
def test_a_binary_file_with_the_name_of_a_table_is_named(tmp_path, first_bytes, kind):
    path = tmp_path / "reviews.csv"
    path.write_bytes(first_bytes)

    with pytest.raises(UserError) as error:
        encodings.read_text(path)

    assert str(error.value).startswith(f"{path} is {kind}")
