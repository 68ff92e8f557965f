"""Tags texts with an exported tagger: texts of the command line, and files of any size."""

import functools
import io
from collections.abc import Sequence

import numpy as np

from pipelines.data.table_options import TableOptions
from pipelines.data.tag_schemes import is_spans
from pipelines.export.exported import Exported
from pipelines.predicting.doccano import LABELS, doccano_steps
from pipelines.predicting.file_steps import FileSteps, Predicted, add_counts, table_steps
from pipelines.predicting.row_files import RowTask
from pipelines.support.errors import UserError
from pipelines.tagging import entity_files
from pipelines.tagging.entities import with_entities
from pipelines.tagging.item_files import item_steps, token_items

_CHUNK_LINES = 1000  # a file is read in chunks, so that it may be larger than memory


def predict_texts(exported: Exported, texts: list[str], pretokenized: bool, loaded=None) -> list[dict]:
    """Tags texts.

    Args:
        pretokenized: the tokens of each text have spaces between them.
        loaded: `exported`, if it is loaded already.

    Returns:
        One dict per text: "text", "tokens", "tags", "scores" and, for raw texts, "start", "end" and "sentence": lists
        with one value per token (see `Tagger.tag_text`). If the tags mark spans also "entities"; see `entities_of`.
    """
    results = _tagger(loaded or exported.load(), pretokenized)(texts)
    return with_entities(results, exported.card()["classes"])


def file_steps(
    exported: Exported,
    options: TableOptions,
    suffix: str,
    pretokenized: bool = False,
    sort: bool = False,
    tool: str | None = None,
) -> FileSteps:
    """Returns the steps that tag the texts of files. Counts have "tokens", and "empty": texts without a token.

    A poisoned row has no tokens. With --ray, texts are numbered within their file.

    Args:
        options: how to read a table.
        suffix: one of `Predict.suffixes`; all but .conllu and .jsonl are tables of tokens.
        pretokenized: as in `predict_texts`.
        sort: write the texts with the least certain tags first; see `uncertainty`.
        tool: for what the entities are written, one of `Predict.tools`; None writes the tokens.

    Raises:
        UserError: the tags describe no spans, which every tool needs.
    """
    card = exported.card()
    tags = tuple(card["classes"])
    # CoNLL-U and tables of tokens have no entities.
    load = functools.partial(_load, pretokenized, sort, tags if tool or suffix == ".jsonl" else ())
    given = {"pretokenized": pretokenized, "max_lines": _CHUNK_LINES} | ({"tool": tool} if tool else {})
    uncertainties = _uncertainties if sort else None
    if tool and not is_spans(tags):
        raise UserError(f"--for {tool}: the tags of {exported.title} are no spans (B-..., I-...): leave it out")
    if tool == "doccano":
        task = RowTask((LABELS,), load, _for_doccano, _count, uncertainties, given)
        return doccano_steps(task, options)
    if tool == "spacy":
        steps = entity_files.spacy_steps(options, load, _count_tokens, given)
    elif tool == "entities":
        steps = entity_files.entity_steps(options, suffix, load, _count_tokens, given, uncertainties)
    elif suffix in (".conllu", ".jsonl"):
        write = functools.partial(_write_part, suffix, card["config"]["column"], tags)
        steps = table_steps(options, suffix, 5, load, write, **given)
    else:
        steps = item_steps(token_items(sort), options, suffix, load, _count_tokens, given, uncertainties)
    return steps._replace(uncertainty=uncertainties)


def uncertainty(scores: Sequence[float]) -> float:
    """Returns how unsure the model is of a text, from 0 to 1.

    It is 1 - min p, where p is the probability of a token's tag: that of the least sure token. The mean over the tokens
    would choose short texts, from which a tagger learns little.

    Args:
        scores: the probability of each token's tag; an empty text has none.
    """
    return 1 - min(scores, default=1)


def _uncertainties(results: list[dict]) -> np.ndarray:
    """See `FileSteps.uncertainty`."""
    return np.array([result["uncertainty"] for result in results])


def _load(pretokenized: bool, sort: bool, tags: tuple[str, ...], exported: Exported):
    loaded = exported.load()
    tag = _tagger(loaded, pretokenized)

    def tag_texts(texts: list[str]) -> list[dict]:
        results = with_entities(tag(texts), tags) if tags else tag(texts)
        return [each | {"uncertainty": round(uncertainty(each["scores"]), 6)} for each in results] if sort else results

    return lambda texts: (loaded, tag_texts(texts))[1]  # the model is kept as long as the function


def _for_doccano(results: list[dict]) -> dict[str, Sequence]:
    """See `RowTask.columns`."""
    return {LABELS: [entity_files.spans(result) for result in results]}


def _write_part(
    suffix: str, column: str | None, tags: tuple[str, ...], predicted: list[Predicted], num_before: int
) -> tuple[bytes, dict]:
    """See `FileSteps.write`."""
    from pipelines.tagging import output

    file = io.StringIO(newline="")
    write = output.writer(file, suffix, column, tags, num_before + 1)
    counts = {"rows": 0, "skipped": 0}
    for chunk, results, _ in predicted:
        results = [result | {"text": text} for result, text in zip(results, chunk.rows[chunk.column], strict=True)]
        write(results)
        add_counts(counts, {"rows": len(results), "skipped": chunk.num_skipped} | _count_tokens(results))
    return file.getvalue().encode(), counts


def _count(texts: list[str], results: list[dict], is_read) -> dict:
    """See `RowTask.count`."""
    return _count_tokens(results)


def _count_tokens(results: list[dict]) -> dict:
    """Returns the number of tokens, and that of texts without one."""
    tokens = [len(result["tokens"]) for result in results]
    return {"tokens": sum(tokens), "empty": tokens.count(0)}


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
