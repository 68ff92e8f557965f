"""Finds the baselines that are better than a model beyond chance: `train` warns of them, and needs --force then."""

from collections.abc import Callable

# Intervals of the difference between the model and a baseline, the measure that decides first.
_INTERVALS = ("difference_interval", "span_f1_difference_interval", "accuracy_difference_interval")
_REMEDY = "Another model, more epochs or `tune` may be better."


def better(scores: dict) -> list[str]:
    """Returns the names of the baselines that are better than the model with the whole 95 % interval.

    Args:
        scores: of one split, with "baselines" if there are any: dicts with a "name" or "features", and the interval of
            the difference of the model's score minus that of the baseline, unless it is left out.
    """
    found = []
    for each in scores.get("baselines", ()):
        interval = next((each[name] for name in _INTERVALS if name in each), None)
        if interval is not None and interval[1] < 0:
            found.append(each.get("name") or each["features"])
    return found


def warning_lines(scores: dict) -> list[str]:
    """Returns the line of the terminal on such baselines; [] if there are none."""
    names = better(scores)
    return [f"  {'warning':<12}below its baseline, beyond chance: {'; '.join(names)}. {_REMEDY}"] if names else []


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
                f"**On {split}, this model is below its baseline, beyond chance: {'; '.join(names)}. {_REMEDY}**",
            ]
    return lines
