"""Which tags a tagger confuses: the most frequent confusions, and a picture of them."""

import numpy as np
from matplotlib.figure import Figure

MAX_DRAWN = 20  # tags: more rows cannot be read
_MAX_NAME = 60  # characters of a tag in the picture


def most_frequent(confusion: dict[str, dict[str, int]], maximum: int) -> list[tuple[str, str, int]]:
    """Returns the most frequent confusions: (expected tag, predicted tag, number of tokens).

    Args:
        confusion: as in `metrics.score`.
    """
    found = [
        (right, tag, count) for right, counts in confusion.items() for tag, count in counts.items() if tag != right
    ]
    return sorted(found, key=lambda each: -each[2])[:maximum]


def draw(confusion: dict[str, dict[str, int]]) -> Figure:
    """Draws the predicted tags of each expected tag, in percent of its tokens.

    Args:
        confusion: as in `metrics.score`, with the most frequent tag first. Of more than MAX_DRAWN tags, only the first
            ones are drawn.
    """
    names = list(confusion)[:MAX_DRAWN]
    totals = [sum(confusion[name].values()) for name in names]
    percentages = np.array(
        [[100 * confusion[row].get(column, 0) / total for column in names] for row, total in zip(names, totals)]
    )
    shown = [name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}\N{HORIZONTAL ELLIPSIS}" for name in names]
    size = 1.4 + 0.36 * len(names) + 0.08 * max(map(len, shown))
    figure = Figure(figsize=(size, size), layout="constrained")
    axes = figure.subplots()
    axes.imshow(np.sqrt(percentages), cmap="Blues", vmin=0, vmax=10)  # the root makes rare confusions visible
    for row, column in np.argwhere(percentages >= 0.5):
        value = percentages[row, column]
        color = "white" if value > 25 else "black"
        axes.text(column, row, f"{value:.0f}", ha="center", va="center", fontsize=7, color=color)
    axes.set_xticks(range(len(names)), shown, rotation=90, fontsize=8, parse_math=False)
    axes.set_yticks(range(len(names)), shown, fontsize=8, parse_math=False)
    axes.set(xlabel="predicted tag", ylabel="true tag")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return figure
