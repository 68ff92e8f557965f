"""Named corpora: downloaded once, verified against a checksum, unpacked safely, kept in `UNROLL_CACHE`."""

import dataclasses
import logging
import os
import re
import shutil
import tarfile
import zlib
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from pipelines.errors import UserError, is_disk_full
from pipelines.files import folder_written_beside


@dataclasses.dataclass(frozen=True)
class Corpus:
    """A corpus that comes as a tar archive or as a file.

    Attributes:
        holds: "reviews" or "text".
        url: where the archive or the file is.
        sha256: of it.
        licence: what one may do with it.
        root: the folder in the archive that holds it all; None for a file, which is kept as it is.
        keep: pattern of the members (their path below `root`) that are unpacked.
        most_bytes: what the kept members may hold in all; an archive that unpacks to more is refused.
    """

    holds: str
    url: str
    sha256: str
    licence: str
    root: str | None = None
    keep: str = ""
    most_bytes: int = 0


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
    folder = cache_folder() / f"{name}-{corpus.sha256[:8]}"
    if folder.is_dir():
        return folder
    archive = _download(name, corpus)
    if corpus.root is None:
        return archive
    with folder_written_beside(folder) as part:
        _unpack(archive, corpus, part)
    archive.unlink()
    return folder


def _download(name: str, corpus: Corpus) -> Path:
    import pooch  # here, since it takes half a second that most commands do not need
    import requests

    pooch.get_logger().setLevel(logging.WARNING)
    file = PurePosixPath(urlsplit(corpus.url).path).name
    file = f"{name}-{file}" if corpus.root is None else file
    unpacked = "give the file" if corpus.root is None else "unpack it and give the folder"
    by_hand = f"or download {corpus.url} yourself, {unpacked} with --data"
    try:
        path = pooch.retrieve(corpus.url, f"sha256:{corpus.sha256}", fname=file, path=cache_folder(), progressbar=True)
    except requests.exceptions.HTTPError as error:
        raise UserError(f"{name}: the server answered {error.response.status_code}: try again later, {by_hand}") from error
    except requests.exceptions.RequestException as error:
        host = urlsplit(corpus.url).hostname
        raise UserError(f"{name}: no connection to {host}: go online and run this again, {by_hand}") from error
    except ValueError as error:
        raise UserError(f"{name}: {corpus.url} is not the file whose checksum is known: run this again, {by_hand}") from error
    return Path(path)


def _unpack(archive: Path, corpus: Corpus, folder: Path) -> None:
    """Unpacks the members of `archive` that match `corpus.keep`, the root folder cut off, to `folder`.

    Raises:
        UserError: damaged; a member outside the folder or one that is no plain file; more than `corpus.most_bytes`; nothing.
    """
    size = 0
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                path = PurePosixPath(member.name)
                if path.is_absolute() or ".." in path.parts or not (member.isfile() or member.isdir()):
                    raise UserError(f"{archive} was not unpacked: {member.name!r} in it is not a file below {corpus.root}")
                if not (member.isfile() and path.parts[0] == corpus.root):
                    continue
                inside = PurePosixPath(*path.parts[1:])
                if not re.fullmatch(corpus.keep, str(inside)):
                    continue
                size += member.size
                if size > corpus.most_bytes:
                    raise UserError(f"{archive} was not unpacked: it holds more than {corpus.most_bytes >> 20} MiB")
                target = folder / inside
                target.parent.mkdir(parents=True, exist_ok=True)
                with tar.extractfile(member) as source, open(target, "wb") as file:
                    shutil.copyfileobj(source, file)
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        if is_disk_full(error):
            raise
        raise UserError(f"{archive} is damaged ({error}): delete it and run this again") from error
    if not size:
        raise UserError(f"{archive} holds no reviews below {corpus.root}")
