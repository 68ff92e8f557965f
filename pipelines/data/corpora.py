"""Named corpora: downloaded once, verified with a checksum, unpacked safely, and kept in `UNROLL_CACHE`."""

import contextlib
import dataclasses
import functools
import hashlib
import logging
import os
import re
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from pipelines.data import addresses, prepared
from pipelines.support import console, paths
from pipelines.support.errors import UserError, is_disk_full
from pipelines.support.files import folder_written_beside, sha256_of, with_home


@dataclasses.dataclass(frozen=True)
class Corpus:
    """A corpus that is published as an archive (tar or zip), as one file, or as several files.

    Attributes:
        kind: "labelled texts", "text", "pairs" or "tagged sentences".
        url: of the archive or file; of several files, the common start of their URLs.
        sha256: checksum of the archive or file; of several files, of their checksums. None if none is published: then
            the checksum of the first download is recorded.
        licence: the conditions of use.
        root: folder in the archive that contains all its files; None for plain files, which are stored unchanged.
        keep: regular expression of the archive's files to unpack (their paths below `root`).
        max_bytes: maximum size of the unpacked files; a larger archive is refused.
        files: name -> sha256, of several files.
    """

    kind: str
    url: str
    sha256: str | None
    licence: str
    root: str | None = None
    keep: str = ""
    max_bytes: int = 0
    files: dict[str, str] = dataclasses.field(default_factory=dict)


_MULTI30K = {
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.fr.gz": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.fr.gz": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.fr.gz": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
}
_UD_EWT = {
    "en_ewt-ud-train.conllu": "3fb78e2b55482c8ee00caa653af436c88c9e5bc9a73ce26e4ae3ddc79d2b7e7b",
    "en_ewt-ud-dev.conllu": "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6",
    "en_ewt-ud-test.conllu": "e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd",
}

CORPORA = {
    "imdb": Corpus(
        kind="labelled texts",
        url="https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
        sha256="c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
        root="aclImdb",
        keep=r"(train|test)/((pos|neg)/\d+_\d+\.txt|urls_(pos|neg)\.txt)",
        max_bytes=2**28,
        licence="Large Movie Review Dataset v1.0, for research; cite Maas et al. 2011, "
        "Learning Word Vectors for Sentiment Analysis",
    ),
    "tiny-shakespeare": Corpus(
        kind="text",
        url="https://raw.githubusercontent.com/karpathy/char-rnn/"
        "6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e/data/tinyshakespeare/input.txt",
        sha256="86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
        licence="plays by Shakespeare, public domain; collected by Andrej Karpathy",
    ),
    "multi30k": Corpus(
        kind="pairs",
        url="https://raw.githubusercontent.com/multi30k/dataset/a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw/",
        sha256=hashlib.sha256("".join(_MULTI30K.values()).encode()).hexdigest(),
        files=_MULTI30K,
        licence="descriptions of Flickr30k's pictures and their translations, for research: see the Multi30k "
        "repository; cite Elliott et al. 2016, Multi30K: Multilingual English-German Image Descriptions",
    ),
    "tatoeba-spa-eng": Corpus(
        kind="pairs",
        url="https://storage.googleapis.com/download.tensorflow.org/data/spa-eng.zip",
        sha256=None,
        root="spa-eng",
        keep=r"spa\.txt|_about\.txt",
        max_bytes=2**26,
        licence="sentences of Tatoeba by way of ManyThings.org, CC BY 2.0 FR",
    ),
    "ud-ewt": Corpus(
        kind="tagged sentences",
        url="https://raw.githubusercontent.com/UniversalDependencies/UD_English-EWT/"
        "15d613d8447b3478787d4c278730a1e48a945efb/",
        sha256=hashlib.sha256("".join(_UD_EWT.values()).encode()).hexdigest(),
        files=_UD_EWT,
        licence="Universal Dependencies English Web Treebank, CC BY-SA 4.0; cite Silveira et al. 2014, A Gold Standard "
        "Dependency Corpus for English",
    ),
}


def cache_folder() -> Path:
    """Returns the folder of downloaded corpora."""
    return with_home(os.environ.get("UNROLL_CACHE") or "~/.cache/unroll")


def named(data: str | None, kind: str) -> bool:
    """Whether `data` is the name of a corpus of this kind."""
    return data in CORPORA and CORPORA[data].kind == kind


def existing(data: str, kind: str) -> Path:
    """Returns the path `data`, or that of a copy of what is at this address.

    Raises:
        UserError: it does not exist, and the message names the corpora of this kind; or it is a pipe, a device or
            prepared data.
    """
    if paths.is_address(data):
        return addresses.copied(data, cache_folder())
    path = with_home(data)
    if prepared.is_prepared(data):
        raise UserError(f"{data} is prepared data, which only `train {prepared.task_of(data)}` reads")
    if not data or not path.exists():
        names = ", ".join(name for name in CORPORA if named(name, kind))
        raise UserError(
            f"no such file or folder: {data or repr(data)} (a path, or a corpus that can be downloaded: {names})"
            f"{paths.suggested(data)}"
        )
    if not path.is_file() and not path.is_dir():  # data is read several times
        raise UserError(f"{data} is a pipe or a device: write its content to a file, and give that")
    return path


def existing_files(data: tuple[str, ...], kind: str) -> list[Path]:
    """Returns the paths of several files.

    Raises:
        UserError: one does not exist, or is a folder that is no table, a pipe or a device.
    """
    from pipelines.data import tables  # takes half a second that most commands do not need

    files = [existing(each, kind) for each in data]
    for path in files:
        if path.is_dir() and not tables.is_table(path):
            raise UserError(f"{path} is a folder: give one folder, or several files")
    return files


def fetch(name: str) -> Path:
    """Downloads and unpacks a corpus unless it is in the cache.

    Args:
        name: key of CORPORA.

    Returns:
        The corpus's folder, or the path of a corpus that is one file.

    Raises:
        UserError: there is no connection, a file has another checksum, or an archive must not be unpacked.
    """
    corpus = CORPORA[name]
    folder = cache_folder() / f"{name}-{corpus.sha256[:8] if corpus.sha256 else 'pinned'}"
    if folder.is_dir():
        return folder
    if corpus.files:
        with _new_folder(folder) as part:
            for file, sha256 in corpus.files.items():
                _download(name, corpus.url + file, sha256, part, file, "put all of them into a folder and give that")
        return folder
    file = PurePosixPath(urlsplit(corpus.url).path).name
    if corpus.root is None:
        return _download(name, corpus.url, corpus.sha256, cache_folder(), f"{name}-{file}", "give the file")
    archive = _download(name, corpus.url, corpus.sha256, cache_folder(), file, "unpack it and give the folder or file")
    with _new_folder(folder) as part:
        _unpack(archive, corpus, part)
        if corpus.sha256 is None:
            sha256 = sha256_of(archive)
            (part / "SHA256").write_text(f"{sha256}  {corpus.url}\n")
            console.say(f"{name}: no checksum is published for {corpus.url}; the downloaded file has sha256 {sha256}")
    archive.unlink(missing_ok=True)
    return folder


@contextlib.contextmanager
def _new_folder(folder: Path):
    """Yields a folder that is renamed to `folder` at the end, unless another process has made that meanwhile."""
    try:
        with folder_written_beside(folder) as part:
            yield part
    except OSError:
        if not folder.is_dir():
            raise


def _download(name: str, url: str, sha256: str | None, folder: Path, file: str, manual_step: str) -> Path:
    """Downloads `url` to `folder`/`file` unless that exists and has the checksum; returns its path.

    Args:
        manual_step: what to do with a file that the user downloads, for error messages.
    """
    import pooch  # takes half a second that most commands do not need
    import requests

    pooch.get_logger().setLevel(logging.WARNING)
    manual = f"or download {url} yourself, {manual_step} with --data"
    try:
        path = pooch.retrieve(url, sha256 and f"sha256:{sha256}", fname=file, path=folder, progressbar=True)
    except requests.exceptions.HTTPError as error:
        raise UserError(
            f"{name}: the server answered {error.response.status_code}: try again later, {manual}"
        ) from error
    except requests.exceptions.RequestException as error:
        host = urlsplit(url).hostname
        raise UserError(f"{name}: no connection to {host}: go online and run this again, {manual}") from error
    except ValueError as error:
        raise UserError(
            f"{name}: {url} has another checksum than the published file: run this again, {manual}"
        ) from error
    return Path(path)


def _unpack(archive: Path, corpus: Corpus, folder: Path) -> None:
    """Unpacks the files of `archive` that match `corpus.keep` to `folder`, without the root folder.

    Raises:
        UserError: the archive is damaged, has a file outside the root folder or one that is not a plain file, is larger
            than `corpus.max_bytes`, or has no file of the corpus.
    """
    size = 0
    try:
        for member, is_plain, num_bytes, open_member in _members(archive):
            path = PurePosixPath(member)
            is_named = open_member is None or bool(path.parts)
            if path.is_absolute() or ".." in path.parts or not is_plain or not is_named:
                raise UserError(f"{archive} was not unpacked: {member!r} in it is not a file below {corpus.root}")
            inside = PurePosixPath(*path.parts[1:])
            if open_member is None or path.parts[0] != corpus.root or not re.fullmatch(corpus.keep, str(inside)):
                continue
            size += num_bytes
            if size > corpus.max_bytes:
                raise UserError(f"{archive} was not unpacked: its files have more than {corpus.max_bytes >> 20} MiB")
            target = folder / inside
            target.parent.mkdir(parents=True, exist_ok=True)
            with open_member() as file, open(target, "wb") as copy:
                shutil.copyfileobj(file, copy)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, zlib.error) as error:
        if is_disk_full(error):
            raise
        raise UserError(f"{archive} is damaged ({error}): delete it and run this again") from error
    if not size:
        raise UserError(f"{archive} has no {corpus.kind} below {corpus.root}")


def _members(archive: Path) -> Iterator[tuple[str, bool, int, Callable | None]]:
    """Yields (name, whether it is a plain file or a folder, bytes, function that opens it or None for a folder)."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            for member in opened.infolist():
                file_type = stat.S_IFMT(member.external_attr >> 16)  # 0 if the archive's system has no file types
                is_plain = file_type in (0, stat.S_IFREG, stat.S_IFDIR)
                is_folder = member.filename.endswith("/")
                open_member = None if is_folder else functools.partial(opened.open, member)
                yield member.filename, is_plain, member.file_size, open_member
        return
    with tarfile.open(archive) as opened:
        for member in opened:
            open_member = functools.partial(opened.extractfile, member) if member.isfile() else None
            yield member.name, member.isfile() or member.isdir(), member.size, open_member
