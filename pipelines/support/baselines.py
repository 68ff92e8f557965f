"""Finds the baselines that are better than a model beyond chance: `train` warns of them, and needs --force then."""

from collections.abc import Callable

# Intervals of the difference between the model and a baseline, the measure that decides first.
_INTERVALS = ("difference_interval", "span_f1_difference_interval", "accuracy_difference_interval")
REMEDY = "Another model, more epochs or `tune` may be better."


def better(scores: dict) -> list[str]:
    """Returns the names of the baselines that are better than the model with the whole 95 % interval.

    Args:
        scores: of one split, with "baselines" if there are any: dicts with a "name" or "features", and the interval of
            the difference of the model's score minus that of the baseline, unless it is left out.
    """
    found = []
    for each in scores.get("baselines", ()):
        interval = _interval(each)
        if interval is not None and interval[1] < 0:
            found.append(each.get("name") or each["features"])
    return found


def comparison(scores: dict) -> str:
    """Returns a sentence on the baselines that a model is better or worse than, beyond chance; "" without any.

    Args:
        scores: see `better`.
    """
    better, worse, equal = "better than {}, beyond chance", "worse than {}, beyond chance", "about as good as {}"
    found: dict[str, list[str]] = {better: [], equal: [], worse: []}
    for each in scores.get("baselines", ()):
        interval = _interval(each)
        if interval is not None:
            low, high = interval
            found[better if low > 0 else worse if high < 0 else equal].append(
                f"*{each.get('name') or each['features']}*"
            )
    parts = [kind.format(" and ".join(names)) for kind, names in found.items() if names]
    return f"Compared with the baselines, it is {'; '.join(parts)}." if parts else ""


def _interval(baseline: dict) -> tuple[float, float] | None:
    """Returns the interval of the difference, of the measure that decides; None if it is not known."""
    return next((baseline[name] for name in _INTERVALS if name in baseline), None)


def warning_lines(scores: dict) -> list[str]:
    """Returns the line of the terminal on such baselines; [] if there are none."""
    names = better(scores)
    return [f"  {'warning':<12}below its baseline, beyond chance: {'; '.join(names)}. {REMEDY}"] if names else []


def summary_lines(scores: dict, describe: Callable[[dict], str]) -> list[str]:
    """Returns the lines of the terminal on the baselines of a split, and on those that are better beyond chance.

    Args:
        scores: see `better`.
        describe: the scores of a baseline -> text.
    """
    lines = []
    for each in scores.get("baselines", ()):
        found = f"left out, {each['left_out']}" if "left_out" in each else describe(each)
        lines.append(f"  {'baseline':<12}{each['name']}: {found}")
    return lines + warning_lines(scores)


def report_lines(scores: dict[str, dict]) -> list[str]:
    """Returns the paragraphs of the report on such baselines of each split; [] if there are none."""
    lines = []
    for split, of_split in scores.items():
        if names := better(of_split):
            lines += [
                "",
                f"**On {split}, this model is below its baseline, beyond chance: {'; '.join(names)}. {REMEDY}**",
            ]
    return lines
