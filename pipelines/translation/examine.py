"""What `doctor` says about pairs of sentences. Imports no TensorFlow."""

import collections
import itertools
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pipelines.data import pair_tables, pairs, scripts, text_flaws
from pipelines.data.pairs import Pairs
from pipelines.data.sides import Sides
from pipelines.data.splits import comparable
from pipelines.data.text_flaws import Flaws
from pipelines.support.errors import UserError
from pipelines.support.findings import Examined, Finding, examples, fact_lines, is_worth, percent
from pipelines.support.numbers import counted, listed
from pipelines.translation.config import TranslationConfig
from pipelines.translation.data import find, load

_MAX_RATIO, _MIN_DIFFERENCE = 3, 20  # of the lengths in characters, to what is usual, of pairs that do not belong
_WORDS_OF_COPY = 3  # "Taxi!" is the same in many languages
_MIN_REPEATED, _MIN_LEAKED = 0.01, 0.005  # of the pairs
# Of the logarithms of the lengths of both sides; of fewer pairs, or of equally long ones, it says little.
_MIN_CORRELATION, _MIN_PAIRS, _MIN_DEVIATION = 0.3, 100, 0.2
_MIN_SCRIPT = 0.05  # of the pairs; a script of fewer of them is another one than usual


def examine(config: TranslationConfig) -> Examined:
    """Reads the pairs and describes them.

    Raises:
        UserError: the data cannot be read at all.
    """
    chunks, pair = find(config)
    parts = {name: pairs.joined(part()) for name, part in chunks.items()}
    train = parts["train"]
    places = _places(config, train)
    lengths = np.array([[len(source), len(target)] for source, target in _rows(train)])
    several = collections.Counter(source for source, _ in {tuple(map(comparable, row)) for row in _rows(train)})
    facts = {
        "rows": {name: len(part) for name, part in parts.items()},
        "languages": pair,
        "left_out": train.dropped,
        "scripts": {side: scripts.fractions(getattr(train, side)) for side in ("source", "target")},
        "characters": dict(zip(("source", "target"), np.median(lengths, axis=0).astype(int).tolist(), strict=True)),
        "several_translations": sum(count > 1 for count in several.values()),
    }
    try:
        splits = load(config)
        facts["training"] = {"train": len(splits.train), "validation": len(splits.valid), "notes": splits.notes}
    except UserError as error:
        facts["refusal"] = str(error)
    found = [*_left_out(train), *_of_lengths(train, places, lengths), *_copies(train, places)]
    found += [*_of_languages(train, places), *_repeated(config, train, places)]
    for name, part in parts.items():
        if part is not train:
            found += _leaks("--valid" if name == "valid" and config.valid else name, part, train)
    texts = ((where, f"{source} | {target}") for where, (source, target) in zip(places, _rows(train), strict=True))
    found += text_flaws.find(texts, Flaws("pair", config.encoding))
    return Examined(facts, _lines(facts), found)


def _rows(part: Pairs) -> Iterator[tuple[str, str]]:
    return zip(part.source, part.target, strict=True)


def _places(config: TranslationConfig, train: Pairs) -> list[str]:
    """Returns where each pair is. The readers count the pairs that they keep, not the lines."""
    name = Path(config.data).name if config.data else "the embedded sample"
    return [f"{name}, pair {number}" for number in range(1, len(train) + 1)]


def _lines(facts: dict) -> list[str]:
    values = {
        "pairs": listed([f"{count:,} {name}" for name, count in facts["rows"].items()]),
        "languages": facts["languages"] or "unknown: --pair names them",
        "left out": listed([f"{reason} {count:,}" for reason, count in facts["left_out"].items()]) or "none",
    }
    for side, fractions in facts["scripts"].items():
        of_letters = listed([f"{name} {100 * part:.1f} %" for name, part in fractions.items() if part >= 0.001])
        values[side] = f"{of_letters}; half have up to {facts['characters'][side]:,} characters"
    values["translations"] = f"{counted(facts['several_translations'], 'sentence')} with several, which is fine"
    if "refusal" in facts:
        values["training"] = f"would be refused: {facts['refusal']}"
    else:
        training = facts["training"]
        values["training"] = f"would learn from {training['train']:,} pairs and validate on {training['validation']:,}"
    return fact_lines(values)


def _left_out(train: Pairs) -> list[Finding]:
    found = []
    for reason, count in train.dropped.items():
        if is_worth(count, len(train) + count):
            remedy = "--separator, if another character divides the sides" if reason == pair_tables.NO_TAB else ""
            found.append(Finding("left-out", f"{counted(count, 'pair')} left out: {reason}", remedy))
    return found


def _of_lengths(train: Pairs, places: list[str], lengths: np.ndarray) -> list[Finding]:
    """Pairs whose sides have very different lengths, and sides whose lengths have nothing to do with each other."""
    logarithms = np.log(lengths)
    if len(train) >= _MIN_PAIRS and (logarithms.std(axis=0) > _MIN_DEVIATION).all():
        correlation = float(np.corrcoef(logarithms.T)[0, 1])
        if correlation < _MIN_CORRELATION:
            text = (
                f"long sentences do not have long translations (the correlation of the lengths is {correlation:.2f}): "
            )
            text += "are the lines of one side moved?"
            return [Finding("unaligned", text, examples=_shown(train, places, range(len(train))))]
    ratio = logarithms[:, 1] - logarithms[:, 0]
    usual = float(np.median(ratio))
    differs = np.abs(lengths[:, 1] - lengths[:, 0] * math.exp(usual)) > _MIN_DIFFERENCE
    rows = np.flatnonzero((np.abs(ratio - usual) > math.log(_MAX_RATIO)) & differs).tolist()
    if not is_worth(len(rows), len(train)):
        return []
    text = (
        f"{counted(len(rows), 'pair')} with a side that is more than {_MAX_RATIO} times longer or shorter than usual: "
    )
    return [Finding("lengths", f"{text}hardly translations", examples=_shown(train, places, rows))]


def _copies(train: Pairs, places: list[str]) -> list[Finding]:
    rows = [
        row
        for row, (source, target) in enumerate(_rows(train))
        if len(source.split()) >= _WORDS_OF_COPY and comparable(source) == comparable(target)
    ]
    if not is_worth(len(rows), len(train)):
        return []
    text = f"{counted(len(rows), 'pair')} with the source as its translation: the model learns to copy"
    return [Finding("copies", text, examples=_shown(train, places, rows))]


def _of_languages(train: Pairs, places: list[str]) -> list[Finding]:
    """Pairs whose sides are exchanged, and sides in another script than usual."""
    found = []
    sides = Sides(train.source, train.target)
    exchanged = [row for row, pair in enumerate(_rows(train)) if sides.are_exchanged(*pair)]
    if is_worth(len(exchanged), len(train)):
        text = f"{counted(len(exchanged), 'pair')} whose sides seem to be exchanged"
        found.append(Finding("exchanged", text, examples=_shown(train, places, exchanged)))
    for side in ("source", "target"):
        of_rows = [scripts.of_text(text) for text in getattr(train, side)]
        counts = collections.Counter(of_rows)
        if 2 * counts[None] > len(train):
            text = f"{counted(counts[None], side)}, {percent(counts[None], len(train))} of them, without a letter"
            found.append(Finding("no-letters", text, f"--{side}-column, if the sentences are in another column"))
        rare = {script for script in counts if script and counts[script] < _MIN_SCRIPT * len(train)}
        rows = [row for row, script in enumerate(of_rows) if script in rare and row not in exchanged]
        if is_worth(len(rows), len(train)):
            text = f"{counted(len(rows), side)} in another script than the others: {listed(sorted(rare))}"
            found.append(Finding("script", text, examples=_shown(train, places, rows)))
    return found


def _repeated(config: TranslationConfig, train: Pairs, places: list[str]) -> list[Finding]:
    seen: set[tuple[str, ...]] = set()
    rows = []
    for row, pair in enumerate(_rows(train)):
        key = tuple(map(comparable, pair))
        if key in seen:
            rows.append(row)
        seen.add(key)
    if not is_worth(len(rows), len(train), _MIN_REPEATED):
        return []
    text = f"{counted(len(rows), 'pair')}, {percent(len(rows), len(train))} of them, are there already"
    in_one_file = not config.target and config.data and Path(config.data).is_file()  # two files would lose their order
    remedy = "awk '!seen[$0]++' FILE > NEW" if in_one_file else ""
    return [Finding("repeated", text, remedy, _shown(train, places, rows))]


def _leaks(name: str, part: Pairs, train: Pairs) -> list[Finding]:
    known = {comparable(source) for source in train.source}
    leaked = [source for source in part.source if comparable(source) in known]
    if not is_worth(len(leaked), len(part), _MIN_LEAKED):
        return []
    text = (
        f"{counted(len(leaked), 'source sentence')} of {name}, {percent(len(leaked), len(part))}, are also in training"
    )
    text += "" if name == "test" else ", which leaves them out"
    return [Finding("leak", text, examples=examples(zip(itertools.repeat(name), leaked)))]


def _shown(train: Pairs, places: list[str], rows) -> tuple[str, ...]:
    return examples((places[row], f"{train.source[row]} | {train.target[row]}") for row in rows)
