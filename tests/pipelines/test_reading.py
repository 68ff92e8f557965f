"""Every task reads the same data from a plain file, a compressed one, a zip archive and in other encodings."""

import bz2
import dataclasses
import gzip
import io
import lzma
import zipfile

import numpy as np
import pytest

from pipelines.support.errors import UserError
from pipelines.task import TASKS
from tests.pipelines.distributed import small_data

WRITE = {
    "labelled texts": (small_data.write_labelled_texts, "reviews.csv"),
    "text": (small_data.write_text, "text.txt"),
    "pairs": (small_data.write_pairs, "pairs.tsv"),
    "tagged sentences": (small_data.write_tagged_sentences, "tokens.tsv"),
}
KINDS = {
    "classification": "labelled texts", "tagging": "tagged sentences", "language-model": "text",
    "translation": "pairs", "encoder": "text",
}  # fmt: skip


def zipped(content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("inside", content)
    return file.getvalue()


FORMS = {
    "gz": (".gz", gzip.compress),
    "bz2": (".bz2", bz2.compress),
    "xz": (".xz", lzma.compress),
    "zip": (".zip", zipped),
    "UTF-8 with BOM": ("", lambda content: content.decode().encode("utf-8-sig")),
    "UTF-16": ("", lambda content: content.decode().encode("utf-16")),
    "UTF-32": ("", lambda content: content.decode().encode("utf-32")),
    "UTF-16 in gz": (".gz", lambda content: gzip.compress(content.decode().encode("utf-16"))),
    "lines of Windows": ("", lambda content: content.replace(b"\n", b"\r\n")),
    "lines of old Macs": ("", lambda content: content.replace(b"\n", b"\r")),
}


def values(data):
    """The content of loaded data, without the names of files."""
    if hasattr(data, "pieces"):  # a text that is read again for each use
        return "".join(data.pieces())
    if dataclasses.is_dataclass(data):
        return {field.name: values(getattr(data, field.name)) for field in dataclasses.fields(data)}
    if isinstance(data, dict):
        return {key: values(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [values(value) for value in data]
    if isinstance(data, np.ndarray):
        return [values(value) for value in data.tolist()]
    return data if isinstance(data, str | int | float | None) else type(data).__name__


def load(task, path):
    entry = TASKS[task]
    flags = {"pair": "en-de"} if task == "translation" else {}
    return values(entry.load(entry.config_class()(data=str(path), **flags).resolve()))


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Task -> (file, what is loaded from it)."""
    folder = tmp_path_factory.mktemp("plain")
    files = {task: WRITE[kind][0](folder / WRITE[kind][1]) for task, kind in KINDS.items()}
    for path in files.values():
        path.write_text(path.read_text().replace("film", "caf\u00e9 \u2014 \U0001f600"), "utf-8", newline="\n")
    return {task: (path, load(task, path)) for task, path in files.items()}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("task", KINDS)
def test_a_file_in_another_form_has_the_same_data(plain, tmp_path, task, form):
    path, expected = plain[task]
    suffix, convert = FORMS[form]
    file = tmp_path / (path.name + suffix)
    file.write_bytes(convert(path.read_bytes()))
    assert load(task, file) == expected


@pytest.mark.parametrize("form", [form for form, (suffix, _) in FORMS.items() if suffix])
@pytest.mark.parametrize("task", KINDS)
def test_a_damaged_file_is_named(plain, tmp_path, task, form):
    path, _ = plain[task]
    suffix, convert = FORMS[form]
    file = tmp_path / (path.name + suffix)
    file.write_bytes(convert(path.read_bytes())[:-20])
    with pytest.raises(UserError, match=f"{file.name} is damaged"):
        load(task, file)
