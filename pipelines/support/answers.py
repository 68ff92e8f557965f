"""The answers of two models to the same questions: by how much the second one is better, and which answers differ.

Each task states its answers (`Evaluate.answers`) and what is measured of them (`TaskEntry.measure_answers`); the
intervals, the sentences and the list of changes are made here.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pipelines.support import paired
from pipelines.support.bootstrap import interval, resampled_sums
from pipelines.support.numbers import listed

PART_END = "\t"  # between the parts of an answer that has one for each token
MIN_ROWS = 10  # a bootstrap over fewer says nothing
BETTER, WORSE, EQUAL, UNKNOWN = "better", "worse", "may be equally good", "too few texts for an interval"


class Answers(NamedTuple):
    """What a model answers.

    Attributes:
        texts: the n texts that it was asked, for people.
        right: the right answers; "" where there is none.
        given: its answers, in the same form.
        scores: the probability of each answer; of a language model -log p of each text in nats. None: unknown.
        tokens: the tokens of each text if an answer has one part for each of them, with PART_END between the parts.
        trained_on: whether the model was trained on these texts.
        note: on the answers, such as labels that the model does not have; "" if there is nothing to note.
        doubt: why its measures cannot be compared with those of a model without this doubt; "" if they can.
    """

    texts: Sequence[str]
    right: Sequence[str]
    given: Sequence[str]
    scores: Sequence[float] | None = None
    tokens: Sequence[Sequence[str]] | None = None
    trained_on: bool = False
    note: str = ""
    doubt: str = ""


class Measure(NamedTuple):
    """A measure of answers.

    Attributes:
        title: for people.
        is_lower_better: as of a loss.
        is_fraction: from 0 to 1, so that differences are in points of 1 %.
    """

    title: str
    is_lower_better: bool = False
    is_fraction: bool = True


class Measured(NamedTuple):
    """What a task measures of n answers.

    Attributes:
        measures: name -> measure; the first one says which model is better.
        counts: what each answer adds to the sums of which the measures are made: [n, columns], an array or sparse.
        of_sums: sums of the columns, float [draws, columns] -> name -> value of each draw; NaN where it is undefined.
        errors: how wrong each answer is, float [n]: the list of changes is in the order of the differences.
        is_right: whether each answer is right, bool [n], if "accuracy" is the fraction of the right ones.
        unit: what is counted, such as "texts".
    """

    measures: Mapping[str, Measure]
    counts: np.ndarray
    of_sums: Callable[[np.ndarray], dict[str, np.ndarray]]
    errors: np.ndarray
    is_right: np.ndarray | None = None
    unit: str = "texts"


class Difference(NamedTuple):
    """A measure of two models on the same texts.

    Attributes:
        first, second: its value for each; None where it is undefined.
        difference: second minus first.
        interval: 95 % interval of the difference; None with fewer than MIN_ROWS texts.
        verdict: what the second model is: BETTER or WORSE if the interval excludes 0, else EQUAL; or UNKNOWN.
    """

    first: float | None
    second: float | None
    difference: float | None
    interval: tuple[float, float] | None
    verdict: str


def compare(first: Measured, second: Measured) -> dict[str, Difference]:
    """Compares two models by the measures that both have, by name.

    The intervals are those of the paired bootstrap over texts; that of the accuracy of whole answers is the adjusted
    Wald interval (see paired.py), which is better where few answers differ.
    """
    found = {}
    values = [each.of_sums((np.ones(len(each.errors)) @ each.counts)[None]) for each in (first, second)]
    # Both are resampled with the same draws.
    draws = [each.of_sums(resampled_sums(each.counts)) for each in (first, second)] if _has_enough(first) else None
    for name, measure in first.measures.items():
        if second.measures.get(name) != measure:
            continue
        a, b = (None if np.isnan(each[name][0]) else float(each[name][0]) for each in values)
        difference = None if a is None or b is None else b - a
        limits = None
        if name == "accuracy" and first.is_right is not None and second.is_right is not None:
            limits = paired.difference_interval(second.is_right, first.is_right) if _has_enough(first) else None
        elif draws and difference is not None:
            limits = interval(draws[1][name] - draws[0][name])
        found[name] = Difference(a, b, difference, limits, _verdict(limits, measure))
    return found


def sentences(letters: tuple[str, str], measured: tuple[Measured, Measured], found: Mapping[str, Difference]) -> list:
    """Returns a sentence for each measure: by how much the second model is better.

    Args:
        letters: of the first and of the second model.
        measured: of the first and of the second model.
        found: of `compare`.
    """
    first, second = letters
    start = f"{second} against {first}, on {len(measured[0].errors):,} {measured[0].unit}: "
    lines = []
    for name, each in found.items():
        text = _difference(measured[0].measures[name], each)
        of_first, of_second = (each.is_right for each in measured)
        if name == "accuracy" and of_first is not None and of_second is not None:
            counts = paired.compare(of_first, of_second)
            text += (
                f"; only {second} is right on {counts.only_second:,}, only {first} on {counts.only_first:,} "
                f"(McNemar p = {counts.p_value:.2g})"
            )
        ends = {EQUAL: "they may be equally good", UNKNOWN: UNKNOWN}
        lines.append(f"{start}{text}: {ends.get(each.verdict, f'{second} is {each.verdict}')}.")
    return lines


def changes(first: Answers, second: Answers, errors: tuple[np.ndarray, np.ndarray]) -> list[dict[str, str]]:
    """Returns the answers that differ, those first by which the second model is worse.

    Args:
        errors: `Measured.errors` of both.

    Returns:
        Dicts of "text", "a" (the answer of the first model), "b" and "right". Of answers with a part for each token,
        they have the tokens whose parts differ, as token/part.
    """
    differ = [i for i, pair in enumerate(zip(first.given, second.given, strict=True)) if pair[0] != pair[1]]
    order = sorted(differ, key=lambda i: float(errors[0][i] - errors[1][i]))
    return [dict(zip(("text", "a", "b", "right"), (first.texts[i], *_shown(first, second, i)))) for i in order]


def unknown_note(kind: str, unknown: Mapping[str, int]) -> str:
    """Returns the note on right answers that a model cannot give.

    Args:
        kind: such as "texts with labels".
        unknown: answer -> how often it is the right one.
    """
    if not unknown:
        return ""
    return f"{sum(unknown.values()):,} {kind} that it does not have ({listed(unknown)}) count as mistakes"


def _shown(first: Answers, second: Answers, row: int) -> tuple[str, str, str]:
    answers = first.given[row], second.given[row], first.right[row]
    if first.tokens is None:
        return answers
    parts = [answer.split(PART_END) for answer in answers]
    places = [i for i, (a, b) in enumerate(zip(*parts[:2], strict=True)) if a != b]
    shown = [" ".join(f"{first.tokens[row][i]}/{part[i]}" for i in places) for part in parts]
    return shown[0], shown[1], shown[2]


def _has_enough(measured: Measured) -> bool:
    return len(measured.errors) >= MIN_ROWS


def _verdict(limits: tuple[float, float] | None, measure: Measure) -> str:
    if limits is None:
        return UNKNOWN
    if limits[0] <= 0 <= limits[1]:
        return EQUAL
    return BETTER if (limits[0] > 0) != measure.is_lower_better else WORSE


def _difference(measure: Measure, found: Difference) -> str:
    """Returns a difference with its interval, such as "+1.2 points of accuracy (95 % interval -0.3 to +2.7)"."""
    if found.difference is None:
        return f"{measure.title} is undefined"
    factor, form = (100, "{:+.1f}") if measure.is_fraction else (1, "{:+.4g}")
    values: Collection[float] = (found.difference, *(found.interval or ()))
    shown = [form.format(factor * value) for value in values]
    limits = f" (95 % interval {shown[1]} to {shown[2]})" if found.interval else ""
    return f"{shown[0]} {'points of ' * measure.is_fraction}{measure.title}{limits}"
