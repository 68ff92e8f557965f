"""Tags texts with an exported tagger: texts of the command line, and files of any size."""

import functools
import io

from pipelines.data.table_options import TableOptions
from pipelines.export.exported import Exported
from pipelines.predicting.file_steps import FileSteps, Predicted, table_steps

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


def file_steps(exported: Exported, options: TableOptions, suffix: str, pretokenized: bool = False) -> FileSteps:
    """Returns the steps that tag the texts of files. Counts have "tokens", and "empty": texts without a token.

    A poisoned row has no tokens. With --ray, texts are numbered within their file.

    Args:
        options: how to read a table.
        suffix: one of `Predict.suffixes`.
        pretokenized: as in `predict_texts`.
    """
    card = exported.card()
    load = functools.partial(_load, pretokenized)
    write = functools.partial(_write_part, suffix, card["config"]["column"], tuple(card["classes"]))
    head = functools.partial(_head, suffix)
    given = {"pretokenized": pretokenized, "max_lines": _CHUNK_LINES}
    return table_steps(options, suffix, 5, load, write, head, **given)


def _load(pretokenized: bool, exported: Exported):
    loaded = exported.load()
    tag = _tagger(loaded, pretokenized)
    return lambda texts: (loaded, tag(texts))[1]  # the model is kept as long as the function


def _head(suffix: str, first: Predicted, num_rows: int) -> bytes:
    """See `FileSteps.head`."""
    from pipelines.tagging import output

    return output.head(suffix).encode()


def _write_part(
    suffix: str, column: str | None, tags: tuple[str, ...], predicted: list[Predicted], num_before: int
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
