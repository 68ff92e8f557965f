"""`inspect size`: every matrix of a model, with its shape, its formula and its number of parameters."""

import math

import altair as alt
import pandas as pd

from pipelines.inspect.figure import Figure

_GATES = {"lstm_cell": 4, "peephole_lstm_cell": 4, "gru_cell": 3, "simple_rnn_cell": 1}  # cell -> products per kernel
_WITHOUT_PARAMETERS = ("seed_generator",)  # states of random generators


def figures(title: str, variables: list[tuple[str, tuple[int, ...]]]) -> list[Figure]:
    """Returns the figure of one model.

    Args:
        title: name and version of the export.
        variables: name, such as "recurrent_1/lstm_cell/kernel", and shape of each.
    """
    rows = size_rows(variables)
    layers = rows.groupby("layer", sort=False)["parameters"].sum().reset_index()
    chart = (
        alt.Chart(alt.NamedData("layers"))
        .mark_bar()
        .encode(
            x=alt.X("parameters:Q", title="parameters"),
            y=alt.Y("layer:N", sort="-x", title=None),
            tooltip=["layer:N", alt.Tooltip("parameters:Q", format=",")],
        )
        .properties(width=600)
    )
    total = int(rows["parameters"].sum())
    return [
        Figure(
            "size",
            f"Size of {title}: {total:,} parameters",
            "The parameters of each layer. The table has each matrix, with the formula of its size: n inputs, h units, "
            "V tokens.",
            chart,
            {"layers": layers},
            table=rows,
            table_is_open=True,
        )
    ]


def size_rows(variables: list[tuple[str, tuple[int, ...]]]) -> pd.DataFrame:
    """Returns layer, matrix, shape, formula and parameters of each variable."""
    rows = []
    for name, shape in variables:
        if any(part.startswith(_WITHOUT_PARAMETERS) for part in name.split("/")):
            continue
        layer, _, matrix = name.removesuffix(":0").rpartition("/")
        rows.append(
            {
                "layer": layer,
                "matrix": matrix,
                "shape": " x ".join(map(str, shape)),
                "formula": formula(name.removesuffix(":0"), shape),
                "parameters": math.prod(shape),
            }
        )
    return pd.DataFrame(rows)


def formula(name: str, shape: tuple[int, ...]) -> str:
    """Returns how the size of a variable follows from the sizes of its layer, such as "n x 4 h = 64 x 4 x 256"."""
    *path, matrix = name.split("/")
    cell = next((each for part in reversed(path) for each in _GATES if part.startswith(each)), None)
    if cell and shape[-1] % _GATES[cell] == 0 and matrix in ("kernel", "recurrent_kernel", "bias"):
        gates, units = _GATES[cell], shape[-1] // _GATES[cell]
        times = "" if gates == 1 else f"{gates} "
        product = f"{units}" if gates == 1 else f"{gates} x {units}"
        if matrix == "bias":
            return f"2 x {times}h = 2 x {product}" if len(shape) == 2 else f"{times}h = {product}"
        rows = "n" if matrix == "kernel" else "h"
        return f"{rows} x {times}h = {shape[0]} x {product}"
    if matrix == "embeddings":
        return f"V x n = {shape[0]} x {shape[1]}"
    if matrix == "kernel" and len(shape) == 2:
        return f"inputs x outputs = {shape[0]} x {shape[1]}"
    return " x ".join(map(str, shape))


def text(rows: pd.DataFrame) -> list[str]:
    """Returns the table for the terminal."""
    lines = rows.assign(parameters=rows["parameters"].map("{:,}".format)).to_string(index=False).splitlines()
    return [*lines, f"total: {int(rows['parameters'].sum()):,} parameters"]
