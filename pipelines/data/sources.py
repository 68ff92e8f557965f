"""What is behind the `--data` of a run: a name for it, and a sum that changes when it does."""

from pathlib import Path

from pipelines.data import corpora, sample_pairs, sample_reviews, texts
from pipelines.files import fingerprint as fingerprint_of_files

def _sample_reviews() -> str:
    return f"embedded sample {sample_reviews.VERSION}"


_SAMPLES = {
    "sentiment": _sample_reviews,
    "transfer": _sample_reviews,
    "encoder": _sample_reviews,
    "char-lm": texts.sample_version,
    "nmt": lambda: f"embedded sample {sample_pairs.VERSION}",
}
_HOLD = {"sentiment": "reviews", "transfer": "reviews", "encoder": "text", "char-lm": "text", "nmt": "pairs"}


def name(data: str | None) -> str:
    """A short name for `data`, good as part of a folder's name: `sample`, `imdb`, or the file's own name."""
    if data is None:
        return "sample"
    stem = Path(data).resolve().name.split(".")[0]
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in stem) or "data"


def fingerprint(pipeline: str, data: str | None) -> str:
    """Changes when the data behind the name `data` does.

    Raises:
        UserError: there is no such file or folder.
    """
    if data is None:
        return _SAMPLES[pipeline]()
    if data in corpora.CORPORA:
        return corpora.CORPORA[data].sha256 or corpora.CORPORA[data].url
    return fingerprint_of_files(corpora.existing(data, _HOLD[pipeline]))


def modules(handles: dict[str, str | None]) -> dict[str, str]:
    """name -> a sum that changes when the module does, of those that are on this machine."""
    return {name: fingerprint_of_files(Path(handle)) for name, handle in handles.items() if handle and Path(handle).exists()}
