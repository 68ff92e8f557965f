import gzip
import io
import tarfile

import pytest

from layers import hub_archive


def member(name, data=b"x", kind=tarfile.REGTYPE, **fields):
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, len(data) if kind == tarfile.REGTYPE else 0
    for field, value in fields.items():
        setattr(info, field, value)
    return info, io.BytesIO(data)


def extract_file(path, folder):
    with open(path, "rb") as file:
        hub_archive.extract(file, str(path), folder)


@pytest.fixture
def extract(tmp_path):
    """Extracts an archive of `members` to a folder; returns that folder's files: name -> bytes."""

    def extract(*members):
        path, folder = tmp_path / "module.tar.gz", tmp_path / "inside" / "folder"
        with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
            for info, data in members:
                archive.addfile(info, data)
        extract_file(path, folder)
        return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}

    yield extract
    outside = [path for path in tmp_path.rglob("*") if path.is_file() and "inside" not in path.parts]
    assert outside == [tmp_path / "module.tar.gz"]


def test_files_and_folders_are_extracted(extract):
    folders = [member(name, kind=tarfile.DIRTYPE) for name in ("./", "./variables", "variables")]
    files = [member("./saved_model.pb", b"graph"), member("variables/data", b"weights")]
    assert extract(*folders, *files) == {"saved_model.pb": b"graph", "variables/data": b"weights"}


@pytest.mark.parametrize(
    "hostile",
    [
        member("../outside"),
        member("/tmp/outside-of-the-folder"),
        member("variables/../../outside"),
        member("variables/..", kind=tarfile.DIRTYPE),
        member(""),
        member("a", pax_headers={"path": "a\0b"}),
        member("link", kind=tarfile.SYMTYPE, linkname="/etc/passwd"),
        member("link", kind=tarfile.LNKTYPE, linkname="saved_model.pb"),
        member("pipe", kind=tarfile.FIFOTYPE),
        member("device", kind=tarfile.CHRTYPE),
        member("device", kind=tarfile.BLKTYPE),
        member("sparse", kind=tarfile.GNUTYPE_SPARSE),
    ],
    ids=lambda pair: f"{pair[0].name!r} {pair[0].type}",
)
def test_a_member_that_is_not_a_plain_file_below_the_folder_is_refused(extract, hostile):
    with pytest.raises(ValueError, match="was not extracted: .* is not a plain file below its folder"):
        extract(member("saved_model.pb"), hostile)


@pytest.mark.parametrize("name", ["saved_model.pb", "./saved_model.pb", "Saved_Model.pb"])
def test_a_name_that_comes_twice_is_refused(extract, name):
    with pytest.raises(ValueError, match="was not extracted: it has .* twice"):
        extract(member("saved_model.pb", b"1"), member(name, b"2"))


def test_an_archive_that_grows_too_much_is_refused_before_it_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(hub_archive, "_SMALL", 2**20)
    path = tmp_path / "module.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.addfile(*member("zeros", bytes(2**22)))
    assert path.stat().st_size < 2**14
    with pytest.raises(ValueError, match="was not extracted: it has more than 1 MiB"):
        extract_file(path, tmp_path / "folder")
    assert sum(file.stat().st_size for file in (tmp_path / "folder").rglob("*")) <= 2**20


def test_an_archive_that_was_compressed_twice_is_refused(tmp_path):
    path = tmp_path / "module.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.addfile(*member("a"))
    path.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(ValueError, match="cannot be read as an archive"):
        extract_file(path, tmp_path / "folder")


def test_a_huge_header_is_refused(tmp_path, monkeypatch):
    """tarfile reads the header of a long name into memory."""
    monkeypatch.setattr(hub_archive, "_SMALL", 2**20)
    path = tmp_path / "module.tar.gz"
    header = tarfile.TarInfo("header")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 2**22
    with gzip.open(path, "wb") as file:
        file.write(header.tobuf(tarfile.GNU_FORMAT) + b"a" * 2**22)
    with pytest.raises(ValueError, match="was not extracted: it has more than 1 MiB"):
        extract_file(path, tmp_path / "folder")


def test_many_members_are_refused(extract, monkeypatch):
    monkeypatch.setattr(hub_archive, "MAX_MEMBERS", 3)
    with pytest.raises(ValueError, match="was not extracted: it has more than 3 members"):
        extract(*(member(str(i)) for i in range(4)))


def test_a_damaged_archive_is_one_error(tmp_path):
    path = tmp_path / "module.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.addfile(*member("a", b"text " * 1000))
    whole = path.read_bytes()
    for content in (b"nonsense", whole[:-20], b"", gzip.compress(b"no archive" * 100), whole[:40] + b"x" + whole[41:]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="cannot be read as an archive"):
            extract_file(path, tmp_path / "folder")
        for file in (tmp_path / "folder").glob("*"):
            file.unlink()


def test_a_header_that_tarfile_does_not_understand_is_one_error(extract):
    sparse = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "9"}
    with pytest.raises(ValueError, match="cannot be read as an archive"):
        extract(member("sparse", pax_headers=sparse))


def test_a_file_that_is_also_a_folder_cannot_be_written(extract):
    with pytest.raises(OSError):
        extract(member("a"), member("a/b"))
