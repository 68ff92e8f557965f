"""Downloads against a real HTTP server on loopback, with small archives made here."""

import dataclasses
import functools
import gzip
import hashlib
import http.server
import io
import lzma
import os
import shutil
import socket
import tarfile
import threading
import zipfile

import pytest

from pipelines.data import corpora, labelled_texts, pairs, tagged_sentences, texts
from pipelines.data.token_options import TokenOptions
from pipelines.support.errors import UserError
from tests.conftest import CORPORA

GOOD = {
    "aclImdb/README": "about",
    "aclImdb/train/pos/0_9.txt": "good",
    "aclImdb/train/neg/0_2.txt": "bad",
    "aclImdb/train/unsup/0_0.txt": "unlabelled",
    "aclImdb/train/urls_pos.txt": "film-a\n",
    "aclImdb/train/urls_neg.txt": "film-b\n",
    "aclImdb/test/pos/0_8.txt": "fine",
    "aclImdb/test/neg/0_1.txt": "awful",
}


def archive(files, extra=()):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
        for member in extra:
            tar.addfile(member)
    return data.getvalue()


def special(name, kind):
    member = tarfile.TarInfo(name)
    member.type = kind
    return member


def link(name, target):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, target
    return member


def test_a_pipe_and_a_device_are_refused_before_they_are_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for name in (str(tmp_path / "pipe.csv"), "/dev/null"):
        with pytest.raises(UserError, match=f"^{name} is a pipe or a device: write its content to a file, and give"):
            corpora.existing(name, "text")


def test_a_home_folder_that_does_not_exist_is_one_line():
    with pytest.raises(UserError, match="^~nobody-has-this-name/a.csv: there is no home folder of this user"):
        corpora.existing("~nobody-has-this-name/a.csv", "text")


@pytest.fixture
def server(tmp_path_factory):
    """Serves a folder; counts its requests."""
    folder = tmp_path_factory.mktemp("www")
    requests = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format, *args):
            requests.append(args[0])

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder)) as http_server:
        threading.Thread(target=http_server.serve_forever, daemon=True).start()
        yield folder, http_server.server_address[1], requests
        http_server.shutdown()


@pytest.fixture
def imdb(server, tmp_path, monkeypatch):
    """Makes `imdb` the given archive on the local server, in an empty cache."""
    folder, port, requests = server
    monkeypatch.setenv("UNROLL_CACHE", str(tmp_path / "cache"))

    def offer(data, sha256=None, **changes):
        (folder / "imdb.tar.gz").write_bytes(data)
        known = {"url": f"http://127.0.0.1:{port}/imdb.tar.gz", "sha256": sha256 or hashlib.sha256(data).hexdigest()}
        monkeypatch.setitem(corpora.CORPORA, "imdb", dataclasses.replace(corpora.CORPORA["imdb"], **known | changes))
        return requests

    return offer


def test_a_corpus_is_downloaded_verified_unpacked_and_cached(imdb, tmp_path):
    requests = imdb(archive(GOOD))
    for _ in range(2):
        found = labelled_texts.read("imdb")
        assert found["train"].texts.tolist() == ["bad", "good"]
        assert found["train"].groups.tolist() == ["film-b", "film-a"]
        assert found["test"].texts.tolist() == ["awful", "fine"]
    assert len(requests) == 1  # the second time, the cache is used
    files = [path.name for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert "0_0.txt" not in files and "imdb.tar.gz" not in files  # files that are not used are not kept


def test_a_file_with_another_checksum_is_refused(imdb, tmp_path):
    imdb(archive(GOOD), sha256="0" * 64)
    with pytest.raises(UserError, match="has another checksum than the published file"):
        labelled_texts.read("imdb")
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    "extra",
    [
        [link("aclImdb/train/pos/1_9.txt", "/etc/passwd")],
        [tarfile.TarInfo("../outside.txt")],
        [tarfile.TarInfo("/tmp/outside.txt")],
        [tarfile.TarInfo("aclImdb/train/pos/../../../../outside.txt")],
        [tarfile.TarInfo("")],
        [special("aclImdb/train/pos/1_9.txt", tarfile.FIFOTYPE)],
        [special("aclImdb/train/pos/1_9.txt", tarfile.CHRTYPE)],
    ],
)
def test_an_archive_with_a_file_outside_its_folder_is_refused(imdb, tmp_path, extra):
    imdb(archive(GOOD, extra))
    with pytest.raises(UserError, match="was not unpacked: .* is not a file below aclImdb"):
        labelled_texts.read("imdb")
    assert not list((tmp_path / "cache").rglob("*.txt"))
    assert not list(tmp_path.rglob("outside*"))


def test_an_archive_that_unpacks_to_more_than_max_bytes_is_refused(imdb):
    imdb(archive(GOOD | {"aclImdb/train/pos/1_9.txt": "x" * 5000}), max_bytes=4096)
    with pytest.raises(UserError, match="was not unpacked: its files have more than"):
        labelled_texts.read("imdb")


@pytest.mark.parametrize("data", [b"no archive at all", archive(GOOD)[:-30], b""], ids=["no archive", "cut", "empty"])
def test_a_damaged_archive_is_refused(imdb, tmp_path, data):
    imdb(data)
    with pytest.raises(UserError, match="is damaged"):
        labelled_texts.read("imdb")
    assert not list((tmp_path / "cache").glob("imdb-*"))


def test_an_archive_without_files_of_the_corpus_is_refused(imdb):
    imdb(archive({"other/file.txt": "x"}))
    with pytest.raises(UserError, match="has no labelled texts"):
        labelled_texts.read("imdb")


def test_without_a_connection_the_message_says_what_to_do(monkeypatch, imdb):
    imdb(b"")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/imdb.tar.gz"
        monkeypatch.setitem(corpora.CORPORA, "imdb", dataclasses.replace(corpora.CORPORA["imdb"], url=url))
        with pytest.raises(UserError, match="no connection to 127.0.0.1: go online .* --data"):
            labelled_texts.read("imdb")


def test_an_error_of_the_server_is_reported(imdb, monkeypatch):
    imdb(b"")
    gone = corpora.CORPORA["imdb"].url + ".old"
    monkeypatch.setitem(corpora.CORPORA, "imdb", dataclasses.replace(corpora.CORPORA["imdb"], url=gone))
    with pytest.raises(UserError, match="the server answered 404"):
        labelled_texts.read("imdb")


def test_a_corpus_that_is_one_file_is_downloaded_once(server, tmp_path, monkeypatch):
    folder, port, requests = server
    (folder / "input.txt").write_text("First Citizen:")
    known = {
        "url": f"http://127.0.0.1:{port}/input.txt",
        "sha256": hashlib.sha256(b"First Citizen:").hexdigest(),
    }
    corpus = dataclasses.replace(corpora.CORPORA["tiny-shakespeare"], **known)
    monkeypatch.setitem(corpora.CORPORA, "tiny-shakespeare", corpus)
    monkeypatch.setenv("UNROLL_CACHE", str(tmp_path / "cache"))
    for _ in range(2):
        assert "".join(texts.pieces("tiny-shakespeare")) == "First Citizen:"
    assert len(requests) == 1


@pytest.mark.parametrize(("read", "name"), [(labelled_texts.read, "tiny-shakespeare"), (texts.characters, "imdb")])
def test_a_corpus_of_another_kind_is_not_found(read, name):
    with pytest.raises(UserError, match=f"no such file or folder: {name}"):
        read(name)


def test_a_corpus_of_several_files_is_downloaded_complete_or_not_at_all(server, tmp_path, monkeypatch):
    folder, port, requests = server
    monkeypatch.setenv("UNROLL_CACHE", str(tmp_path / "cache"))
    sums = {}
    for name in corpora.CORPORA["multi30k"].files:
        language = name.split(".")[1]
        content = gzip.compress(f"a sentence in {language}\n".encode(), mtime=0)
        (folder / name).write_bytes(content)
        sums[name] = hashlib.sha256(content).hexdigest()
    known = dataclasses.replace(corpora.CORPORA["multi30k"], url=f"http://127.0.0.1:{port}/", files=sums)
    monkeypatch.setitem(corpora.CORPORA, "multi30k", known)
    for pair in (None, "fr-en"):
        found = pairs.read("multi30k", None, pair)
        first, second = (pair or "en-de").split("-")
        for part in ("train", "valid", "test"):
            assert found[part].source.tolist() == [f"a sentence in {first}"]
            assert found[part].target.tolist() == [f"a sentence in {second}"]
    assert len(requests) == 9
    with pytest.raises(UserError, match="multi30k.* has no train.en and train.es"):
        pairs.read("multi30k", None, "en-es")

    (folder / "val.de.gz").write_bytes(b"another file")
    monkeypatch.setenv("UNROLL_CACHE", str(tmp_path / "second"))
    with pytest.raises(UserError, match="val.de.gz has another checksum than the published file"):
        pairs.read("multi30k", None, None)
    assert not [path for path in (tmp_path / "second").iterdir() if path.name.startswith("multi30k")]


def test_the_web_treebank_is_downloaded_with_its_splits(server, tmp_path, monkeypatch):
    folder, port, requests = server
    monkeypatch.setenv("UNROLL_CACHE", str(tmp_path / "cache"))
    sums = {}
    for name in corpora.CORPORA["ud-ewt"].files:
        word = name.removesuffix(".conllu").split("-")[-1]
        content = f"1\t{word}\t_\tNOUN\tNN\t_\t_\t_\t_\tSpaceAfter=No\n2\t.\t.\tPUNCT\t.\t_\t_\t_\t_\t_\n\n"
        (folder / name).write_text(content)
        sums[name] = hashlib.sha256(content.encode()).hexdigest()
    known = dataclasses.replace(corpora.CORPORA["ud-ewt"], url=f"http://127.0.0.1:{port}/", files=sums)
    monkeypatch.setitem(corpora.CORPORA, "ud-ewt", known)
    for column, tag in ((None, "NOUN"), ("xpos", "NN")):
        found = tagged_sentences.read("ud-ewt", TokenOptions(column))
        assert {part: sentences.texts for part, sentences in found.items()} == {
            "train": ["train."],
            "valid": ["dev."],
            "test": ["test."],
        }
        assert {sentences.tags[0][0] for sentences in found.values()} == {tag}
    assert len(requests) == 3  # the second time, the cache is used

    (folder / "en_ewt-ud-dev.conllu").write_text("another file")
    monkeypatch.setenv("UNROLL_CACHE", str(tmp_path / "second"))
    with pytest.raises(UserError, match="en_ewt-ud-dev.conllu has another checksum than the published file"):
        tagged_sentences.read("ud-ewt")
    assert not [path for path in (tmp_path / "second").iterdir() if path.name.startswith("ud-ewt")]


def test_the_checksums_of_the_web_treebank_are_those_of_the_real_files():
    for name, sha256 in corpora.CORPORA["ud-ewt"].files.items():
        path = CORPORA / "ud_ewt" / f"{name}.xz"
        if "test" in name:
            continue
        if not path.exists():
            pytest.skip("the corpus is not on this machine")
        assert hashlib.sha256(lzma.decompress(path.read_bytes())).hexdigest() == sha256


def zipped(files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return data.getvalue()


@pytest.fixture
def tatoeba(server, tmp_path, monkeypatch):
    folder, port, _ = server
    monkeypatch.setenv("UNROLL_CACHE", str(tmp_path / "cache"))
    known = dataclasses.replace(corpora.CORPORA["tatoeba-spa-eng"], url=f"http://127.0.0.1:{port}/spa-eng.zip")
    monkeypatch.setitem(corpora.CORPORA, "tatoeba-spa-eng", known)
    return lambda files: (folder / "spa-eng.zip").write_bytes(zipped(files))


def test_the_checksum_of_a_corpus_without_a_published_one_is_recorded(tatoeba, tmp_path, capsys):
    tatoeba(
        {
            "spa-eng/": "",
            "spa-eng/spa.txt": "Go.\tVe.\nHi.\tHola.\n",
            "spa-eng/_about.txt": "about",
            "spa-eng/other": "x",
        }
    )
    assert pairs.read("tatoeba-spa-eng", None, None)["train"].target.tolist() == ["Ve.", "Hola."]
    assert pairs.read("tatoeba-spa-eng", None, "es-en")["train"].target.tolist() == ["Go.", "Hi."]
    assert capsys.readouterr().err.count("the downloaded file has sha256") == 1
    names = {path.name for path in (tmp_path / "cache" / "tatoeba-spa-eng-pinned").iterdir()}
    assert names == {"spa.txt", "_about.txt", "SHA256"}
    with pytest.raises(UserError, match="--pair en-de: .* has the columns en, es"):
        pairs.read("tatoeba-spa-eng", None, "en-de")


def test_a_corpus_that_another_process_has_unpacked_meanwhile_is_used(imdb, tmp_path, monkeypatch):
    imdb(archive(GOOD))
    unpack = corpora._unpack

    def unpack_twice(path, corpus, folder):
        unpack(path, corpus, folder)
        other = tmp_path / "cache" / f"imdb-{corpus.sha256[:8]}"
        shutil.copytree(folder, other)
        (other / "of the other process").write_text("")
        path.unlink()

    monkeypatch.setattr(corpora, "_unpack", unpack_twice)
    assert labelled_texts.read("imdb")["train"].texts.tolist() == ["bad", "good"]
    (folder,) = (tmp_path / "cache").iterdir()
    assert (folder / "of the other process").exists()


@pytest.mark.parametrize("name", ["../outside.txt", "/tmp/outside.txt", "spa-eng/../../outside.txt"])
def test_a_zip_with_a_file_outside_its_folder_is_refused(tatoeba, tmp_path, name):
    tatoeba({"spa-eng/spa.txt": "Go.\tVe.\n", name: "x"})
    with pytest.raises(UserError, match="was not unpacked: .* is not a file below spa-eng"):
        pairs.read("tatoeba-spa-eng", None, None)
    assert not list(tmp_path.rglob("outside*"))
