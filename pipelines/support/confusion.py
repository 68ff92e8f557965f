"""Which labels or tags a model confuses: the most frequent confusions, and a picture of them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pipelines.support import markdown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_DRAWN = 20  # names: more rows cannot be read
NUM_LISTED = 10
MAX_TABLE = 14  # names: a table of more, or a matrix on a terminal, cannot be read
_MAX_NAME = 24  # characters of a name in the picture
_DARK = 52  # percent, from which a cell is so dark that its number is white

Confusion = Mapping[str, Mapping[str, int]]  # true name -> (predicted name -> how often)


def count(labels: np.ndarray, predicted: np.ndarray, names: Sequence[str]) -> Confusion:
    """Returns the confusion of classes.

    Args:
        labels, predicted: int [n], ids of classes.
        names: of the classes.
    """
    found: dict[str, dict[str, int]] = {name: {} for name in names}
    pairs, counts = np.unique(np.stack([labels, predicted]), axis=1, return_counts=True)
    for row, column, number in zip(*pairs.tolist(), counts.tolist(), strict=True):
        found[names[row]][names[column]] = number
    return found


def most_frequent(confusion: Confusion, maximum: int = NUM_LISTED) -> list[tuple[str, str, int]]:
    """Returns the most frequent confusions: (true name, predicted name, how often)."""
    found = [(true, name, number) for true, counts in confusion.items() for name, number in counts.items()]
    return sorted((each for each in found if each[0] != each[1] and each[2]), key=lambda each: -each[2])[:maximum]


def report_lines(confusion: Confusion, kind: str, unit: str) -> list[str]:
    """Returns the picture and the most frequent confusions as lines of a report.

    Args:
        kind: what a name is, such as "label".
        unit: what is counted, such as "texts".
    """
    drawn = f"all {kind}s"
    if len(confusion) > MAX_DRAWN:
        drawn = f"the {MAX_DRAWN} of {len(confusion):,} {kind}s that are confused most often"
    lines = [
        f"The picture shows {drawn}. Each row has the percentages of the {unit} of one true {kind} that get each "
        f"predicted {kind}; shares under half a percent have no number.",
        "",
        f"![Predicted {kind}s of the {unit} of each true {kind}](confusion.png)",
        "",
    ]
    found = most_frequent(confusion)
    if not found:
        return [*lines, f"No {kind} is confused with another one.", ""]
    mistakes = sum(sum(counts.values()) - counts.get(true, 0) for true, counts in confusion.items())
    lines += ["The most frequent confusions:", "", f"| true {kind} | predicted {kind} | {unit} | of all mistakes |"]
    lines += ["|---|---|---:|---:|"]
    for true, name, number in found:
        cells = (markdown.text(true), markdown.text(name), f"{number:,}", f"{100 * number / mistakes:.1f} %")
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def draw(confusion: Confusion, kind: str) -> "Figure":
    """Draws the predicted names of each true name, in percent. Of more than MAX_DRAWN names, the most confused ones."""
    from matplotlib.figure import Figure  # takes a second, which `evaluate` does not wait for

    from pipelines.support.charts import CELLS, SMALL

    names = most_confused(confusion)
    totals = [max(1, sum(confusion[name].values())) for name in names]
    percentages = np.array(
        [[100 * confusion[row].get(column, 0) / total for column in names] for row, total in zip(names, totals)]
    )
    shown = [markdown.shorter(name, _MAX_NAME) for name in names]
    size = 1.6 + (0.36 if len(names) > 8 else 0.5) * len(names) + 0.07 * max(map(len, shown))
    figure = Figure(figsize=(size, size), layout="constrained")
    axes = figure.subplots()
    # The root makes rare confusions visible. Cells, not an image: they stay sharp, and a dark page shows through them.
    axes.pcolormesh(np.sqrt(percentages), cmap=CELLS, vmin=0, vmax=10)
    for row, column in np.argwhere(percentages >= 0.5):
        value = percentages[row, column]
        color = "white" if value > _DARK else "black"
        axes.text(column + 0.5, row + 0.5, f"{value:.0f}", ha="center", va="center", fontsize=SMALL, color=color)
    centers = np.arange(len(names)) + 0.5
    axes.set_xticks(centers, shown, rotation=90 if max(map(len, shown)) > 4 else 0, fontsize=SMALL)
    axes.set_yticks(centers, shown, fontsize=SMALL)
    axes.set(xlabel=f"predicted {kind}", ylabel=f"true {kind}")
    axes.invert_yaxis()
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return figure


def most_confused(confusion: Confusion, maximum: int = MAX_DRAWN) -> list[str]:
    """Returns the names with the most mistakes, their own and those of others, in the order of `confusion`."""
    mistakes = dict.fromkeys(confusion, 0)
    for true, counts in confusion.items():
        for name, number in counts.items():
            if name != true:
                mistakes[true] += number
                mistakes[name] = mistakes.get(name, 0) + number
    kept = set(sorted(confusion, key=lambda name: -mistakes[name])[:maximum])
    return [name for name in confusion if name in kept]
