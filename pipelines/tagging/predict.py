"""Tags texts with an exported tagger: texts of the command line, and files of any size."""

import contextlib
import functools
import io
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

from pipelines.data import paths, texts
from pipelines.data.table_options import DEFAULTS
from pipelines.distributed.file_steps import FileSteps, Predicted, table_steps
from pipelines.export.exported import Exported
from pipelines.support import console
from pipelines.support.errors import UserError
from pipelines.support.files import check_output, written_beside
from pipelines.tagging.command import OUTPUT_SUFFIXES

_CHUNK_LINES = 1000  # a file is read in chunks, so that it may be larger than memory


def predict_texts(exported: Exported, texts: list[str], pretokenized: bool, loaded=None) -> list[dict]:
    """Tags texts.

    Args:
        pretokenized: the tokens of each text have spaces between them.
        loaded: `exported`, if it is loaded already.

    Returns:
        One dict per text: "text", "tokens", "tags", "scores" and, for raw texts, "start", "end" and "sentence": lists
        with one value per token (see `Tagger.tag_text`).
    """
    return _tagger(loaded or exported.load(), pretokenized)(texts)


def predict_file(exported: Exported, source: str, target: Path | None, pretokenized: bool) -> dict[str, int]:
    """Tags each line of a file, chunk by chunk.

    Args:
        source: a text file with one text per line, also compressed; "-" is stdin.
        target: .conllu, .jsonl or .csv, which must not exist; it appears when all texts are tagged. None writes CoNLL-U
            to stdout.
        pretokenized: as in `predict_texts`.

    Returns:
        {"texts", "tokens", "empty" (texts without a token)}.

    Raises:
        UserError: there is nothing to read, or `target` exists or has another suffix.
    """
    from pipelines.tagging import output

    check_output(target, suffixes=OUTPUT_SUFFIXES)
    chunks = _chunks(source)
    first = next(chunks, None)
    if first is None:
        raise UserError(f"{paths.shown(source)} is empty")
    card = exported.card()
    tag = _tagger(exported.load(), pretokenized)
    counts = {"texts": 0, "tokens": 0, "empty": 0}
    with (
        written_beside(target, newline="") if target else contextlib.nullcontext(sys.stdout) as file,
        console.bar(None, "texts") as progress,
    ):
        write = output.writer(file, target.suffix if target else ".conllu", card["config"]["column"], card["classes"])
        for chunk in itertools.chain([first], chunks):
            results = tag(chunk)
            write(results)
            counts["texts"] += len(results)
            counts["tokens"] += sum(len(result["tokens"]) for result in results)
            counts["empty"] += sum(not result["tokens"] for result in results)
            progress.update(len(chunk))
    return counts


def file_steps(exported: Exported, pretokenized: bool, suffix: str) -> FileSteps:
    """Returns what `predict_file` does, as steps that other processes can do. They also read the texts of tables.

    A poisoned row has no tokens. Texts are numbered within their file.

    Args:
        pretokenized: as in `predict_texts`.
        suffix: one of `OUTPUT_SUFFIXES`.
    """
    card = exported.card()
    load = functools.partial(_load, pretokenized)
    write = functools.partial(_write_part, suffix, card["config"]["column"], card["classes"])
    return table_steps(DEFAULTS, suffix, 5, load, write, pretokenized=pretokenized, max_lines=_CHUNK_LINES)


def _load(pretokenized: bool, exported: Exported):
    loaded = exported.load()
    tag = _tagger(loaded, pretokenized)
    return lambda texts: (loaded, tag(texts))[1]  # the model is kept as long as the function


def _write_part(
    suffix: str, column: str | None, tags: list[str], predicted: list[Predicted], num_before: int
) -> tuple[bytes, dict]:
    """See `FileSteps.write`."""
    from pipelines.tagging import output

    file = io.StringIO(newline="")
    write = output.writer(file, suffix, column, tags, num_before + 1)
    counts = {"rows": 0, "tokens": 0, "empty": 0, "skipped": 0}
    for chunk, results, _ in predicted:
        results = [result | {"text": text} for result, text in zip(results, chunk.rows[chunk.column], strict=True)]
        write(results)
        counts["rows"] += len(results)
        counts["tokens"] += sum(len(result["tokens"]) for result in results)
        counts["empty"] += sum(not result["tokens"] for result in results)
        counts["skipped"] += chunk.num_skipped
    return file.getvalue().encode(), counts


def _tagger(loaded, pretokenized: bool):
    """A function of texts -> results."""
    # after `load`, which imports TensorFlow without its messages
    from pipelines.tagging.tagged import tag_sentences, tag_texts

    if not pretokenized:
        return functools.partial(tag_texts, loaded.signatures["serving_default"])
    signature = loaded.signatures["tokens"]

    def tag_tokens(texts: list[str]) -> list[dict]:
        sentences = [text.split() for text in texts]
        tagged = tag_sentences(signature, sentences)
        columns = zip(texts, sentences, tagged.tags, tagged.scores, strict=True)
        return [
            {"text": text, "tokens": tokens, "tags": tags, "scores": [round(score, 6) for score in scores]}
            for text, tokens, tags, scores in columns
        ]

    return tag_tokens


def _chunks(source: str) -> Iterator[list[str]]:
    """Yields the lines of a file, some at a time."""
    if source != "-" and not Path(source).is_file():
        raise UserError(f"no such file: {source}")
    lines = _lines_of_stdin() if source == "-" else texts.lines(source, has_option=False)
    while chunk := list(itertools.islice(lines, _CHUNK_LINES)):
        yield chunk


def _lines_of_stdin() -> Iterator[str]:
    try:
        for line in sys.stdin.buffer:
            yield line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise UserError("stdin is not UTF-8: convert it, for example with `iconv -f latin1 -t utf-8`") from error
