"""Measures an exported tagger on tagged sentences: `evaluate tagging`."""

import csv
from pathlib import Path

from pipelines.data import sources, tagged_sentences, tagged_splits, token_options
from pipelines.data.tagged_sentences import TaggedSentences
from pipelines.data.token_options import TokenOptions
from pipelines.export.exported import Exported
from pipelines.support.answers import PART_END, Answers, unknown_note
from pipelines.support.errors import UserError
from pipelines.support.files import check_output, written_beside
from pipelines.support.numbers import listed
from pipelines.support.paths import Data
from pipelines.task import TASKS


def evaluate(
    exported: Exported,
    data: Data | None,
    options: TokenOptions = token_options.DEFAULTS,
    mistakes: Path | None = None,
) -> dict:
    """Measures a tagger on sentences whose tokens are given.

    Args:
        data: as in training; its test set, else its validation set, else all of it. None, for a model that was trained
            on the embedded sample: a fresh sample.
        options: how to read the data; what they leave open is as in the training.
        mistakes: CSV file for the tokens with a wrong tag, the highest probability first; it must not exist.

    Returns:
        `metrics.score` with "model", "data", "split", "trained_on" (whether the model was trained on these sentences)
        "unknown_tags" (tag that the model does not have -> number of tokens: all of them count as mistakes) and "notes"
        (what was left out or repaired while reading, and the tokens with unknown tags: reason -> count).

    Raises:
        UserError: the data cannot be read, or `mistakes` exists.
    """
    check_output(mistakes, "--mistakes", (".csv",))
    card = exported.card()
    part, split, trained_on = _read(card, exported.title, data, options)
    loaded = exported.load()
    from pipelines.tagging import metrics
    from pipelines.tagging.tagged import tag_sentences

    tagged = tag_sentences(loaded.signatures["tokens"], part.tokens)
    if mistakes:
        _write_mistakes(mistakes, part, tagged)
    spans = tagged_sentences.is_spans(card["classes"])
    scores = metrics.score(part.tokens, tagged.tags, part.tags, None, spans)
    unknown = tagged_splits.unknown_tags(part, card["classes"])
    notes = dict(part.dropped)
    if unknown:
        named = listed(unknown)
        notes[f"tokens with tags that the model does not have ({named})"] = sum(unknown.values())
    return {
        "model": exported.title,
        "data": sources.name(data),
        "split": split,
        "trained_on": trained_on,
        "unknown_tags": unknown,
        "notes": notes,
        **scores,
    }


def answers(exported: Exported, data: Data, options: TokenOptions) -> Answers:
    """Returns the tags of sentences whose tokens are given, with the right ones; for `compare`.

    Raises:
        UserError: the data cannot be read.
    """
    part, _, trained_on = _read(exported.card(), exported.title, data, options)
    loaded = exported.load()
    from pipelines.tagging.tagged import tag_sentences

    given = tag_sentences(loaded.signatures["tokens"], part.tokens).tags
    right, given = (list(map(PART_END.join, tags)) for tags in (part.tags, given))
    unknown = tagged_splits.unknown_tags(part, exported.card()["classes"])
    note = unknown_note("tokens with tags", unknown)
    return Answers(part.texts, right, given, tokens=part.tokens, trained_on=trained_on, note=note)


def _read(card: dict, title: str, data: Data | None, options: TokenOptions) -> tuple[TaggedSentences, str | None, bool]:
    """The sentences, the name of their split, and whether the model was trained on them."""
    if data is None:
        if not card["sample"]:
            raise UserError(f"{title} was trained on real sentences: give sentences to measure it on with --data")
        return tagged_sentences.fresh_sample(), None, False
    options.check()
    parts = tagged_sentences.read(data, options.after_training(card["config"]))
    name = next(name for name in ("test", "valid", "train") if name in parts)
    trained_on = name == "train" and sources.is_training_data(data, card, TASKS[card["task"]])
    return parts[name], name if len(parts) > 1 else None, trained_on


def _write_mistakes(path: Path, part: TaggedSentences, tagged) -> None:
    """Writes the tokens with a wrong tag as CSV, the highest probability first."""
    rows = [
        (score, token, predicted, expected, text)
        for tokens, tags, scores, truth, text in zip(
            part.tokens, tagged.tags, tagged.scores, part.tags, part.texts, strict=True
        )
        for token, predicted, score, expected in zip(tokens, tags, scores, truth, strict=True)
        if predicted != expected
    ]
    with written_beside(path, newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("token", "predicted", "expected", "probability", "sentence"))
        for score, token, predicted, expected, text in sorted(rows, key=lambda row: -row[0]):
            writer.writerow((token, predicted, expected, f"{score:.6f}", text))
