"""Named corpora: downloaded once, verified against a checksum, unpacked safely, kept in `UNROLL_CACHE`."""

import dataclasses
import hashlib
import logging
import os
import re
import shutil
import stat
import tarfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from pipelines import console
from pipelines.errors import UserError, is_disk_full
from pipelines.files import folder_written_beside, sha256_of


@dataclasses.dataclass(frozen=True)
class Corpus:
    """A corpus that comes as an archive (tar or zip), as a file, or as several files.

    Attributes:
        holds: "reviews", "text" or "pairs".
        url: where the archive or the file is; of several files, what their names are put behind.
        sha256: of it, or of the sums of the files; None where it is not known: then the first download's is kept.
        licence: what one may do with it.
        root: the folder in the archive that holds it all; None for files, which are kept as they are.
        keep: pattern of the members (their path below `root`) that are unpacked.
        most_bytes: what the kept members may hold in all; an archive that unpacks to more is refused.
        files: name -> sha256, of several files.
    """

    holds: str
    url: str
    sha256: str | None
    licence: str
    root: str | None = None
    keep: str = ""
    most_bytes: int = 0
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

CORPORA = {
    "imdb": Corpus(
        holds="reviews",
        url="https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
        sha256="c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
        root="aclImdb",
        keep=r"(train|test)/((pos|neg)/\d+_\d+\.txt|urls_(pos|neg)\.txt)",
        most_bytes=2**28,
        licence="Large Movie Review Dataset v1.0, for research; cite Maas et al. 2011, "
        "Learning Word Vectors for Sentiment Analysis",
    ),
    "tiny-shakespeare": Corpus(
        holds="text",
        url="https://raw.githubusercontent.com/karpathy/char-rnn/6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e/data/tinyshakespeare/input.txt",
        sha256="86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
        licence="plays by Shakespeare, in the public domain; put together by Andrej Karpathy",
    ),
    "multi30k": Corpus(
        holds="pairs",
        url="https://raw.githubusercontent.com/multi30k/dataset/a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw/",
        sha256=hashlib.sha256("".join(_MULTI30K.values()).encode()).hexdigest(),
        files=_MULTI30K,
        licence="descriptions of Flickr30k's pictures and their translations, for research: see the Multi30k repository; cite "
        "Elliott et al. 2016, Multi30K: Multilingual English-German Image Descriptions",
    ),
    "tatoeba-spa-eng": Corpus(
        holds="pairs",
        url="https://storage.googleapis.com/download.tensorflow.org/data/spa-eng.zip",
        sha256=None,
        root="spa-eng",
        keep=r"spa\.txt|_about\.txt",
        most_bytes=2**26,
        licence="sentences of Tatoeba by way of ManyThings.org, CC BY 2.0 FR",
    ),
}


def cache_folder() -> Path:
    return Path(os.environ.get("UNROLL_CACHE") or "~/.cache/unroll").expanduser()


def named(data: str | None, holds: str) -> bool:
    """Is `data` the name of a corpus of such a kind?"""
    return data in CORPORA and CORPORA[data].holds == holds


def existing(data: str, holds: str) -> Path:
    """The path `data`.

    Raises:
        UserError: there is nothing; the message names the corpora of this kind.
    """
    path = Path(data).expanduser()
    if not path.exists():
        names = ", ".join(name for name in CORPORA if named(name, holds))
        raise UserError(f"no such file or folder: {data} (a path, or a corpus that can be downloaded: {names})")
    return path


def fetch(name: str) -> Path:
    """The folder of corpus `name`, downloaded and unpacked if it is not in the cache yet; the path of a corpus that is a file.

    Raises:
        UserError: no connection, a file with another checksum, or an archive that must not be unpacked.
    """
    corpus = CORPORA[name]
    folder = cache_folder() / f"{name}-{corpus.sha256[:8] if corpus.sha256 else 'pinned'}"
    if folder.is_dir():
        return folder
    if corpus.files:
        with folder_written_beside(folder) as part:
            for file, sha256 in corpus.files.items():
                _download(name, corpus.url + file, sha256, part, file, "put all of them into a folder and give that")
        return folder
    file = PurePosixPath(urlsplit(corpus.url).path).name
    if corpus.root is None:
        return _download(name, corpus.url, corpus.sha256, cache_folder(), f"{name}-{file}", "give the file")
    archive = _download(name, corpus.url, corpus.sha256, cache_folder(), file, "unpack it and give the folder or file")
    with folder_written_beside(folder) as part:
        _unpack(archive, corpus, part)
        if corpus.sha256 is None:
            sha256 = sha256_of(archive)
            (part / "SHA256").write_text(f"{sha256}  {corpus.url}\n")
            console.say(f"{name}: nobody has published a checksum of {corpus.url}; what came has sha256 {sha256}")
    archive.unlink()
    return folder


def _download(name: str, url: str, sha256: str | None, folder: Path, file: str, else_do: str) -> Path:
    import pooch  # here, since it takes half a second that most commands do not need
    import requests

    pooch.get_logger().setLevel(logging.WARNING)
    by_hand = f"or download {url} yourself, {else_do} with --data"
    try:
        path = pooch.retrieve(url, sha256 and f"sha256:{sha256}", fname=file, path=folder, progressbar=True)
    except requests.exceptions.HTTPError as error:
        raise UserError(f"{name}: the server answered {error.response.status_code}: try again later, {by_hand}") from error
    except requests.exceptions.RequestException as error:
        host = urlsplit(url).hostname
        raise UserError(f"{name}: no connection to {host}: go online and run this again, {by_hand}") from error
    except ValueError as error:
        raise UserError(f"{name}: {url} is not the file whose checksum is known: run this again, {by_hand}") from error
    return Path(path)


def _unpack(archive: Path, corpus: Corpus, folder: Path) -> None:
    """Unpacks the members of `archive` that match `corpus.keep`, the root folder cut off, to `folder`.

    Raises:
        UserError: damaged; a member outside the folder or one that is no plain file; more than `corpus.most_bytes`; nothing.
    """
    size = 0
    try:
        for member, plain, bytes_, source in _members(archive):
            path = PurePosixPath(member)
            if path.is_absolute() or ".." in path.parts or not plain:
                raise UserError(f"{archive} was not unpacked: {member!r} in it is not a file below {corpus.root}")
            inside = PurePosixPath(*path.parts[1:])
            if source is None or path.parts[0] != corpus.root or not re.fullmatch(corpus.keep, str(inside)):
                continue
            size += bytes_
            if size > corpus.most_bytes:
                raise UserError(f"{archive} was not unpacked: it holds more than {corpus.most_bytes >> 20} MiB")
            target = folder / inside
            target.parent.mkdir(parents=True, exist_ok=True)
            with source() as file, open(target, "wb") as copy:
                shutil.copyfileobj(file, copy)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, zlib.error) as error:
        if is_disk_full(error):
            raise
        raise UserError(f"{archive} is damaged ({error}): delete it and run this again") from error
    if not size:
        raise UserError(f"{archive} holds no {corpus.holds} below {corpus.root}")


def _members(archive: Path):
    """(name, whether it is a plain file or a folder, bytes, how to open it or None for a folder) for each member."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            for member in opened.infolist():
                kind = stat.S_IFMT(member.external_attr >> 16)  # 0 where the archive was made on a system without such kinds
                plain = kind in (0, stat.S_IFREG, stat.S_IFDIR)
                yield member.filename, plain, member.file_size, None if member.is_dir() else lambda m=member: opened.open(m)
        return
    with tarfile.open(archive) as opened:
        for member in opened:
            plain = member.isfile() or member.isdir()
            yield member.name, plain, member.size, (lambda m=member: opened.extractfile(m)) if member.isfile() else None
