"""Figure 5.28: the networks of the chapter beside each other, with their equations and sizes."""

import keras
import numpy as np

from pipelines.learn.figures import cells
from pipelines.learn.figures.svg import Part, drawing, scaled, text
from pipelines.learn.steps import Lesson, Step, Values

UNITS = 128  # of the layers whose weights are counted, with as many inputs
_SCALE, _ROW, _WIDTH = 0.85, 420, 850
_LAYERS = {"cell-simple": keras.layers.SimpleRNN, "cell-lstm": keras.layers.LSTM, "cell-gru": keras.layers.GRU}


def parameters(name: str) -> int:
    """Returns the number of weights of a layer of `UNITS` units and inputs, counted in the layer."""
    options = {"reset_after": False} if name == "cell-gru" else {}
    layer = _LAYERS[name](UNITS, **options)
    layer.build((None, None, UNITS))
    return layer.count_params()


def summary() -> Lesson:
    """Returns the cells as one drawing, and a table of their parts."""
    names = list(cells.CELLS)
    parts: list[Part] = []
    for row, name in enumerate(names):
        cell, top = cells.CELLS[name], row * _ROW
        equations = [line for _, equation, *_ in cell.steps for line in equation.splitlines()]
        parts += [
            *text(0, (_WIDTH / 2, top + 24), cell.title[0].upper() + cell.title[1:]),
            *scaled(cell.draw(cells.compute(cells.layer_of(name))), (10, top + 40), _SCALE),
            *text(0, (_WIDTH / 2, top + _ROW - 22), ",\u00a0 ".join(equations[-2:]), "number"),
        ]
    table = np.array([[len(cells.layer_of(name).weights[0][0]) // 2, parameters(name)] for name in names], np.int64)
    rows = tuple(f"{_LAYERS[name].__name__}" for name in names)
    image = drawing("The cells of the chapter", "A simple cell, an LSTM and a GRU.", (_WIDTH, _ROW * len(names)), parts)
    remembered = "; ".join(f"{row}: {cells.CELLS[name].remembers}" for row, name in zip(rows, names, strict=True))
    return Lesson(
        "figures summary: the networks of the chapter",
        "What does each cell carry to the next step, and what does it cost?",
        (
            Step(
                "The cells",
                values=(Values("size", table, rows, ("products of W", f"weights at {UNITS} units")),),
                layer="keras.layers.SimpleRNN, keras.layers.LSTM, keras.layers.GRU",
                text=f"What is carried to the next step, {remembered}.",
                drawing=image,
            ),
        ),
        sources=("layers/recurrent_trace.py:RecurrentTrace",),
    )
