"""`inspect training`: a figure over the epochs of a run, with a slider."""

import dataclasses

import pandas as pd

from pipelines.inspect.figure import Figure

_INDEX = "checkpoint"  # column and parameter: number of the epoch among those that were kept


@dataclasses.dataclass(frozen=True)
class _Specification:
    """A Vega-Lite specification that is a dict already; the figure asks its chart for one."""

    values: dict

    def to_dict(self) -> dict:
        """Returns the specification."""
        return self.values


def over_epochs(figures: list[Figure], epochs: list[int], losses: list[float | None]) -> Figure:
    """Returns one figure with a slider from figures of the same kind, one for each epoch.

    Each dataset gets the column `checkpoint`, and each chart shows the rows of the chosen one alone. The scales are
    those of all epochs.

    Args:
        epochs: of the figures, in ascending order.
        losses: validation loss of each; None where there is none.
    """
    last = figures[-1]
    data = {
        name: pd.concat([each.data[name].assign(**{_INDEX: i}) for i, each in enumerate(figures)], ignore_index=True)
        for name in last.data
    }
    specification = _filtered(last.chart.to_dict())
    slider = {"input": "range", "min": 0, "max": len(epochs) - 1, "step": 1, "name": "epoch "}
    labels = [
        f"after epoch {epoch}, validation loss {loss:.3f}" if loss is not None else "before the training"
        for epoch, loss in zip(epochs, losses, strict=True)
    ]
    specification["params"] = [
        *specification.get("params", []),
        {"name": _INDEX, "value": len(epochs) - 1, "bind": slider},
        {"name": "epochs", "value": labels},
    ]
    specification["title"] = {"text": {"expr": f"epochs[{_INDEX}]"}, "fontSize": 15, "offset": 12}
    title = f"{last.title}, over the training"
    return dataclasses.replace(last, title=title, chart=_Specification(specification), data=data)


def _filtered(node):
    """Returns a specification in which every chart with named data shows the chosen checkpoint alone."""
    if isinstance(node, list):
        return [_filtered(each) for each in node]
    if not isinstance(node, dict):
        return node
    node = {key: _filtered(value) for key, value in node.items()}
    if set(node.get("data", {})) == {"name"}:
        node["transform"] = [{"filter": f"datum.{_INDEX} == {_INDEX}"}, *node.get("transform", [])]
    return node
