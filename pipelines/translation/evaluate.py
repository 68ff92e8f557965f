"""Measures an exported translator on pairs: `evaluate nmt`."""

import dataclasses
from pathlib import Path
from typing import NamedTuple

from pipelines.data import pairs, sample_pairs, sources
from pipelines.data.pair_options import DEFAULTS, PairOptions
from pipelines.data.pairs import Pairs
from pipelines.export.exported import Exported
from pipelines.support.answers import Answers
from pipelines.support.errors import UserError
from pipelines.support.files import check_output, written_beside
from pipelines.support.numbers import counted
from pipelines.task import TASKS

_NUM_SAMPLE_PAIRS = 500
_SAMPLE_SEED = 2  # training has seed 1


class Source(NamedTuple):
    """Where the pairs come from; see data/pairs.py.

    Attributes:
        data: corpus, file or folder; None for a new embedded sample.
        target: file with the translations of `data`.
        pair: languages such as "en-de"; None for the model's.
        split: files of a folder or corpus, such as test_2016_flickr; None for the test set, else the validation set.
        options: how to read a table; without columns, those of the training.
    """

    data: str | None = None
    target: str | None = None
    pair: str | None = None
    split: str | None = None
    options: PairOptions = DEFAULTS


def evaluate(exported: Exported, source: Source, output: Path | None = None) -> dict:
    """Measures a translator with BLEU, chrF and TER.

    Args:
        source: the pairs; without data, for a model that was trained on the embedded sample, new pairs of the sample.
        output: file for the translations; it must not exist.

    Returns:
        `metrics.measures` with "model", "data", "split", "trained_on" (whether the model was trained on these pairs)
        and "left_out" (reason -> pairs).

    Raises:
        UserError: the pairs cannot be read, or `output` exists.
    """
    check_output(output)
    part, split, trained_on = _read(exported, source)
    loaded = exported.load()
    from pipelines.export.signatures import BatchedSignature
    from pipelines.translation import metrics

    translations = BatchedSignature(loaded.signatures["serving_default"])(part.source)["translation"]
    if output is not None:
        with written_beside(output) as file:
            file.writelines(f"{line}\n" for line in translations)
    return {
        "model": exported.title,
        "data": sources.name(source.data),
        "split": split,
        "trained_on": trained_on,
        "left_out": part.dropped,
        **metrics.measures(part.source, translations, part.target),
    }


def answers(exported: Exported, source: Source) -> Answers:
    """Returns the translations of pairs, with the right ones; for `compare`.

    Raises:
        UserError: the pairs cannot be read.
    """
    part, _, trained_on = _read(exported, source)
    loaded = exported.load()
    from pipelines.export.signatures import BatchedSignature

    translations = BatchedSignature(loaded.signatures["serving_default"])(part.source)["translation"]
    return Answers(part.source, part.target, translations.tolist(), trained_on=trained_on)


def _read(exported: Exported, source: Source) -> tuple[Pairs, str | None, bool]:
    """The pairs, the name of their split, and whether the model was trained on them."""
    card = exported.card()
    if source.data is None:
        if not card["sample"]:
            raise UserError(f"{exported.title} was trained on real pairs: give pairs to measure it on with --data")
        if source.split:
            raise UserError(f"--split {source.split}: the embedded sample has no splits")
        return Pairs(*sample_pairs.generate(_NUM_SAMPLE_PAIRS, seed=_SAMPLE_SEED)), None, False
    options = _options(source, card["config"])
    parts = pairs.read(source.data, source.target, source.pair or card.get("pair"), source.split, options)
    name = next(name for name in ("test", "valid", "train") if name in parts)
    is_training_set = not source.split and name == "train"
    trained_on = is_training_set and sources.is_training_data(source.data, card, TASKS[card["task"]])
    return parts[name], source.split or (name if len(parts) > 1 else None), trained_on


def _options(source: Source, config: dict) -> PairOptions:
    """Returns how to read the pairs: as the flags say; without flags on columns, the columns are those of the training.

    Args:
        config: of the training.
    """
    given = source.options
    if given.source_column or given.target_column or given.no_header:
        return given
    trained = {name: config.get(name) for name in ("source_column", "target_column")}
    return pairs.usable_options(source.data, source.target, dataclasses.replace(given, **trained))


def format_table(measures: dict) -> str:
    """Returns the result of `evaluate` as text for a terminal."""
    data = f"{measures['data']} {measures['split'] or ''}".strip()
    lines = [f"{measures['model']} on {data}: {counted(measures['rows'], 'pair')}", ""]
    for name, label in (("bleu", "BLEU"), ("chrf", "chrF"), ("ter", "TER")):
        lines.append(f"  {label:<8}{measures[name]:>7.2f}   {measures[f'{name}_signature']}")
    rouge = "  ".join(f"{name[5:]}: {measures[name]:.2f}" for name in ("rouge1", "rouge2", "rougeL"))
    lines += [f"  ROUGE   {rouge}", f"  equal   {measures['exact_match']:.2f} % of the pairs"]
    lines += ["", f"  {'words of the source':<22}{'pairs':>8}{'BLEU':>9}"]
    for bucket in measures["bleu_by_length"]:
        lines.append(f"  {bucket['words']:<22}{bucket['rows']:>8,}{bucket['bleu']:>9.2f}")
    lines += [f"  left out, {reason}: {rows:,}" for reason, rows in measures["left_out"].items()]
    if measures["trained_on"]:
        lines += ["", "  The model was trained on these pairs: the scores say nothing about other texts."]
    return "\n".join(lines)
