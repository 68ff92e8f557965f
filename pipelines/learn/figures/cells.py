"""Figures 5.5, 5.10 and 5.17: one step of a simple recurrent cell, an LSTM and a GRU, drawn with its numbers."""

from collections.abc import Callable
from typing import NamedTuple

import keras
import numpy as np

from layers import RecurrentTrace
from pipelines.learn.figures.svg import WIDTH, Part, Point, arrow, box, circle, drawn, joint, numbers
from pipelines.learn.steps import Lesson, Step, Values

X = np.array([1.0, -0.5])
H = np.array([0.4, -0.2])
C = np.array([0.8, -0.3])
_UNITS = 2
_SEED = 4
_HALF = WIDTH / 2
_EDGE = WIDTH + 4  # right edge of the boxes on the left

Numbers = dict[str, np.ndarray]


def weights(layer) -> list[np.ndarray]:
    """Returns the weights of the drawn step: with one decimal, from N(0, 0.36), drawn from a fixed seed."""
    random = np.random.default_rng(_SEED)
    return [random.normal(0, 0.6, each.shape).round(1) for each in layer.weights]


def layer_of(name: str):
    """Returns a built layer of two units with the weights of the drawing."""
    made = {
        "cell-simple": lambda: keras.layers.SimpleRNN(_UNITS, dtype="float64"),
        "cell-lstm": lambda: keras.layers.LSTM(_UNITS, dtype="float64"),
        "cell-gru": lambda: keras.layers.GRU(_UNITS, reset_after=False, dtype="float64"),
    }[name]()
    made.build((1, 1, _UNITS))
    made.set_weights(weights(made))
    return made


def compute(layer) -> Numbers:
    """Returns every number of one step, each [2]: states and gates by `RecurrentTrace`, which runs the layer's cell."""
    states = [H[None], C[None]][: len(keras.tree.flatten(layer.cell.state_size))]
    found = RecurrentTrace(layer)(X[None, None], states)
    v = {name: keras.ops.convert_to_numpy(value)[0, 0] for name, value in found.items()}
    given: Numbers = {"x": X, "h'": H}
    if isinstance(layer, keras.layers.LSTM):
        f, i, o, g = (v[name] for name in ("forget_gate", "input_gate", "output_gate", "candidate"))
        gates = {"f": f, "i": i, "o": o, "g": g, "f * c'": f * C, "i * g": i * g}
        return given | {"c'": C} | gates | {"c": v["cell"], "tanh(c)": np.tanh(v["cell"]), "h": v["hidden"]}
    if isinstance(layer, keras.layers.GRU):
        z, r, g = (v[name] for name in ("update_gate", "reset_gate", "candidate"))
        new = {"r * h'": r * H, "g": g, "1 - z": 1 - z, "z * h'": z * H, "(1-z) * g": (1 - z) * g}
        return given | {"z": z, "r": r} | new | {"h": v["hidden"]}
    kernel, recurrent, bias = layer.get_weights()
    products = {"W x": X @ kernel, "U h'": H @ recurrent, "b": bias}
    return given | products | {"sum": X @ kernel + H @ recurrent + bias, "h": v["hidden"]}


def _draw_simple(v: Numbers) -> list[Part]:
    middle, bias, weigh, low = 150, 50, 240, 320
    u, plus, tanh, last = 234, 380, 590, 760
    return [
        *box(0, (_EDGE - _HALF, middle), "h' state before", v["h'"], "state"),
        *box(0, (plus, low), "x input", v["x"], "input"),
        *box(1, (u, middle), "U h'", v["U h'"]),
        *box(1, (plus, weigh), "W x", v["W x"]),
        *box(2, (plus, bias), "b bias", v["b"]),
        *circle(2, (plus, middle), "+"),
        *numbers(2, (plus + 80, middle - 12), v["sum"], label="sum"),
        *box(3, (tanh, middle), "tanh"),
        *box(3, (last, middle), "h new state", v["h"], "state"),
        *arrow(1, (_EDGE, middle), (u - _HALF, middle)),
        *arrow(1, (plus, low - 23), (plus, weigh + 23)),
        *arrow(2, (u + _HALF, middle), (plus - 13, middle)),
        *arrow(2, (plus, weigh - 23), (plus, middle + 13)),
        *arrow(2, (plus, bias + 23), (plus, middle - 13)),
        *arrow(3, (plus + 13, middle), (tanh - _HALF, middle)),
        *arrow(3, (tanh + _HALF, middle), (last - _HALF, middle)),
    ]


def _draw_lstm(v: Numbers) -> list[Part]:
    belt, gate, bus = 60, 220, 300
    f, i, g, o, end, last = 204, 342, 480, 618, 744, 890
    gates = [("f forget", f, "f", 1), ("i input", i, "i", 1), ("o output", o, "o", 1), ("g content", g, "g", 2)]
    parts = [
        *box(0, (_EDGE - _HALF, belt), "c' cell before", v["c'"], "memory"),
        *box(0, (_EDGE - _HALF, 270), "h' state before", v["h'"], "state"),
        *box(0, (_EDGE - _HALF, 330), "x input", v["x"], "input"),
        *arrow(1, (_EDGE, 270), (142, 270), (142, bus), head=False),
        *arrow(1, (_EDGE, 330), (142, 330), (142, bus), head=False),
        *joint(1, (142, bus)),
        *arrow(1, (142, bus), (o, bus), (o, gate + 23)),
        *arrow(3, (_EDGE, belt), (f - 13, belt)),
        *circle(3, (f, belt), "\u00d7"),
        *arrow(3, (f, gate - 23), (f, belt + 13)),
        *arrow(3, (f + 13, belt), (i + 56, belt)),
        *numbers(3, (i - 34, belt - 12), v["f * c'"], label="f * c'"),
        *circle(3, (i + 69, 140), "\u00d7"),
        *arrow(3, (i, gate - 23), (i, 140), (i + 56, 140)),
        *arrow(3, (g, gate - 23), (g, 140), (i + 82, 140)),
        *arrow(3, (i + 69, 127), (i + 69, belt + 13)),
        *numbers(3, (i + 132, 112), v["i * g"], label="i * g"),
        *circle(3, (i + 69, belt), "+"),
        *box(3, (last, belt), "c new cell", v["c"], "memory"),
        *arrow(3, (i + 82, belt), (last - _HALF, belt)),
        *joint(4, (end, belt)),
        *box(4, (end, 140), "tanh(c)", v["tanh(c)"]),
        *arrow(4, (end, belt), (end, 117)),
        *circle(4, (end, gate), "\u00d7"),
        *arrow(4, (end, 163), (end, gate - 13)),
        *arrow(4, (o + _HALF, gate), (end - 13, gate)),
        *arrow(4, (end + 13, gate), (last - _HALF, gate)),
        *box(4, (last, gate), "h new state", v["h"], "state"),
    ]
    for label, x, name, step in gates:
        parts += box(step, (x, gate), label, v[name], "gate" if step == 1 else "")
        if x != o:
            parts += [*joint(step, (x, bus)), *arrow(step, (x, bus), (x, gate + 23))]
    return parts


def _draw_gru(v: Numbers) -> list[Part]:
    belt, middle, gate, low, bus = 60, 140, 220, 300, 350
    z, r, times, g, last = 220, 372, 498, 624, 800
    parts = [
        *box(0, (_EDGE - _HALF, belt), "h' state before", v["h'"], "state"),
        *box(0, (_EDGE - _HALF, bus), "x input", v["x"], "input"),
        *joint(1, (144, belt)),
        *arrow(1, (144, belt), (144, low), (r - 16, low), (r - 16, gate + 23)),
        *joint(1, (z - 16, low)),
        *arrow(1, (z - 16, low), (z - 16, gate + 23)),
        *arrow(1, (_EDGE, bus), (r + 16, bus), (r + 16, gate + 23)),
        *joint(1, (z + 16, bus)),
        *arrow(1, (z + 16, bus), (z + 16, gate + 23)),
        *box(1, (z, gate), "z update", v["z"], "gate"),
        *box(1, (r, gate), "r reset", v["r"], "gate"),
        *circle(2, (times, gate), "\u00d7"),
        *joint(2, (r - 16, low)),
        *arrow(2, (r - 16, low), (times, low), (times, gate + 13)),
        *arrow(2, (r + _HALF, gate), (times - 13, gate)),
        *numbers(2, (times, gate - 22), v["r * h'"], label="r * h'"),
        *joint(2, (r + 16, bus)),
        *arrow(2, (r + 16, bus), (g, bus), (g, gate + 23)),
        *arrow(2, (times + 13, gate), (g - _HALF, gate)),
        *box(2, (g, gate), "g content", v["g"]),
        *arrow(3, (_EDGE, belt), (z - 13, belt)),
        *circle(3, (z, belt), "\u00d7"),
        *arrow(3, (z, gate - 23), (z, belt + 13)),
        *joint(3, (z, middle)),
        *box(3, (r, middle), "1 - z", v["1 - z"]),
        *arrow(3, (z, middle), (r - _HALF, middle)),
        *arrow(3, (r + _HALF, middle), (g - 13, middle)),
        *circle(3, (g, middle), "\u00d7"),
        *arrow(3, (g, gate - 23), (g, middle + 13)),
        *arrow(3, (g, middle - 13), (g, belt + 13)),
        *arrow(3, (z + 13, belt), (g - 13, belt)),
        *numbers(3, (r, belt - 12), v["z * h'"], label="z * h'"),
        *numbers(3, (g + 70, middle - 22), v["(1-z) * g"], label="(1-z) * g"),
        *circle(3, (g, belt), "+"),
        *arrow(3, (g + 13, belt), (last - _HALF, belt)),
        *box(3, (last, belt), "h new state", v["h"], "state"),
    ]
    return parts


class _Cell(NamedTuple):
    title: str
    figure: str
    draw: Callable[[Numbers], list[Part]]
    size: Point
    steps: tuple[tuple[str, str, str, str], ...]
    """Of each step: title, equation, names of its values, what to see."""
    remembers: str


CELLS = {
    "cell-simple": _Cell(
        "a simple recurrent cell",
        "5.5",
        _draw_simple,
        (828, 350),
        (
            ("Input and state", "", "x|h'", "The cell reads the input x and the state h' of the step before."),
            ("Two products", "W x     U h'", "W x|U h'", "W weighs the input, U the state: its only memory."),
            ("Their sum", "sum = W x + U h' + b", "b|sum", "The same W, U and b serve each step."),
            ("The new state", "h = tanh(W x + U h' + b)", "h", "All of h is written anew: nothing is kept as it was."),
        ),
        "its state, which each step writes anew",
    ),
    "cell-lstm": _Cell(
        "an LSTM cell",
        "5.10",
        _draw_lstm,
        (958, 370),
        (
            ("Input, state and cell", "", "x|h'|c'", "Two states come from the step before: h', and the cell c'."),
            (
                "The gates",
                "f = sigmoid(Wf x + Uf h' + bf)\ni = sigmoid(Wi x + Ui h' + bi)\no = sigmoid(Wo x + Uo h' + bo)",
                "f|i|o",
                "A number from 0 to 1 for each unit: how much passes.",
            ),
            ("The new content", "g = tanh(Wg x + Ug h' + bg)", "g", "What could be written into the cell."),
            (
                "The cell",
                "c = f * c' + i * g",
                "f * c'|i * g|c",
                "The forget gate keeps, the input gate writes. Between c' and c there is no matrix and no tanh: so "
                "an LSTM can keep a number over many steps.",
            ),
            ("The output", "h = o * tanh(c)", "tanh(c)|h", "The output gate decides what of the cell others see."),
        ),
        "its cell, multiplied by the forget gate at each step",
    ),
    "cell-gru": _Cell(
        "a GRU cell",
        "5.17",
        _draw_gru,
        (868, 385),
        (
            ("Input and state", "", "x|h'", "A GRU has one state, as a simple cell, and gates, as an LSTM."),
            (
                "The gates",
                "z = sigmoid(Wz x + Uz h' + bz)\nr = sigmoid(Wr x + Ur h' + br)",
                "z|r",
                "z: how much is kept. r: how much of h' the new content sees.",
            ),
            ("The new content", "g = tanh(Wg x + Ug (r * h') + bg)", "r * h'|g", "With r near 0 it forgets what was."),
            (
                "The new state",
                "h = z * h' + (1-z) * g",
                "1 - z|z * h'|(1-z) * g|h",
                "One gate does what two do in an LSTM: what is not kept is written. In Keras z keeps; in the figure of "
                "the book z writes, and 1 - z keeps.",
            ),
        ),
        "its state, of which the update gate keeps a part",
    ),
}
"""Name of the figure -> the cell."""


def lesson(name: str) -> Lesson:
    """Returns the steps of one cell, with the drawing built up, and the weights.

    Args:
        name: key of `CELLS`.
    """
    cell, layer = CELLS[name], layer_of(name)
    values = compute(layer)
    made = f"keras.layers.{type(layer).__name__}"
    steps = [
        Step(title, equation, tuple(Values(each, values[each]) for each in names.split("|")), made if i else "", text)
        for i, (title, equation, names, text) in enumerate(cell.steps)
    ]
    matrices = zip(("W", "U", "b"), layer.get_weights(), strict=True)
    columns = {"cell-simple": "h", "cell-lstm": "ifgo", "cell-gru": "zrg"}[name]
    labels = tuple(f"{gate}{unit}" for gate in columns for unit in range(_UNITS))
    last = Step(
        "The weights, to compute it again",
        values=tuple(Values(each, numbers, columns=labels, digits=1) for each, numbers in matrices),
        layer=made,
        text="Keras multiplies a row x by a matrix, x W, and keeps the matrices of all gates side by side: of each "
        "gate two columns, one for each unit.",
    )
    return Lesson(
        f"figures {name}: {cell.title} with the numbers of one step",
        "How does the cell compute its new state from an input and the state before? Two units, small random weights.",
        (*drawn(steps, cell.title.capitalize(), cell.size, cell.draw(values)), last),
        sources=("layers/recurrent_trace.py:RecurrentTrace",),
    )
