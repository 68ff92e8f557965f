"""Whether a claim on settings holds: the differences of measured numbers, paired by seed, against what is claimed."""

import math
from typing import Any, NamedTuple

from pipelines.learn.claims import TIME, Claim, Prediction
from pipelines.tune import values
from pipelines.tune.grid_report import mean_and_interval
from pipelines.tune.study import FINISHED

HOLDS, FAILS, UNKNOWN = "holds", "does not hold", "cannot be told"


class Judged(NamedTuple):
    """What the trainings say of a prediction.

    Attributes:
        verdict: HOLDS, FAILS or UNKNOWN.
        mean: of the differences; None without any.
        interval: its 95 % interval, Student's t; None with fewer than two differences.
        differences: of the seeds with which both points have a finite number.
    """

    verdict: str
    mean: float | None
    interval: tuple[float, float] | None
    differences: list[float]


def number_of(training: dict[str, Any], measure: str) -> float | None:
    """Returns a number of a training; None if the training has not finished, or has no finite number.

    Args:
        training: of one seed, from the result of a grid.
        measure: as in `Prediction`.
    """
    if training["state"] != FINISHED:
        return None
    kind, _, layer = measure.partition(" of ")
    if layer:
        number = training["layers"].get(layer)
    elif kind == "parameters":
        number = training["parameters"]
    elif kind == TIME:
        number = min(training["epoch_seconds"], default=None)  # the first epoch also traces and compiles
    else:
        number = training["scores"].get(measure)
    return number if number is not None and math.isfinite(number) else None


def differences(prediction: Prediction, points: list[dict]) -> list[float]:
    """Returns the difference of each seed, in their order; seeds without a finite number on both sides are left out."""
    found = []
    for seed, training in points[prediction.point]["seeds"].items():
        one = number_of(training, prediction.measure)
        other = number_of(points[prediction.than]["seeds"][seed], prediction.measure)
        if one is None or other is None or (prediction.relative and not other):
            continue
        found.append(one / other - 1 if prediction.relative else one - other)
    return found


def judge(found: list[float], low: float, high: float) -> Judged:
    """Returns whether the mean of paired differences is between `low` and `high`, both excluded.

    The 95 % interval is mean - t s / sqrt(n) to mean + t s / sqrt(n), with the standard deviation s of the n
    differences, and Student's t with n - 1 degrees of freedom: 4.303 for three seeds. The claim holds if the interval
    is within the claimed range, and does not if it is outside.
    """
    if not found:
        return Judged(UNKNOWN, None, None, found)
    mean, half = mean_and_interval(found)
    if half is None:
        return Judged(UNKNOWN, mean, None, found)
    first, last = mean - half, mean + half
    verdict = HOLDS if low < first and last < high else FAILS if last <= low or first >= high else UNKNOWN
    return Judged(verdict, mean, (first, last), found)


def together(verdicts: list[str]) -> str:
    """Returns the verdict on a claim of several predictions: it holds if all do, and does not if one does not."""
    return FAILS if FAILS in verdicts else UNKNOWN if UNKNOWN in verdicts else HOLDS


def difference(prediction: Prediction, points: list[dict]) -> str:
    """Returns what a prediction is about, such as "loss, num_layers 2 minus num_layers 1"."""
    one, other = (values.shown(points[i]["settings"]) for i in (prediction.point, prediction.than))
    return (
        f"{prediction.measure}, {one} / {other} - 1"
        if prediction.relative
        else (f"{prediction.measure}, {one} minus {other}")
    )


def claimed(prediction: Prediction) -> str:
    """Returns the range of a prediction for people, such as "below 0"."""
    low, high = prediction.low, prediction.high
    return f"below {high:g}" if math.isinf(low) else f"above {low:g}" if math.isinf(high) else f"{low:g} to {high:g}"


def measured(judged: Judged) -> str:
    """Returns the mean and the interval for people."""
    if judged.mean is None:
        return "not measured"
    if judged.interval is None:
        return f"{_signed(judged.mean)}, no interval of one seed"
    first, last = map(_signed, judged.interval)
    return f"{_signed(judged.mean)}, interval {first} to {last} of {len(judged.differences)} seeds"


def _signed(number: float) -> str:
    return f"{number:+,.0f}" if abs(number) >= 1000 else f"{number:+.3g}"


def judged_claim(claim: Claim, points: list[dict]) -> tuple[str, list[Judged]]:
    """Returns the verdict on a claim, and that on each of its predictions.

    Args:
        points: of the result of its grid.
    """
    found = [judge(differences(each, points), each.low, each.high) for each in claim.predictions]
    return together([each.verdict for each in found]), found
