"""Exercises 1 and 5: a step of a recurrent network and of an LSTM, by hand and by Keras's layers."""

import random

import keras
import numpy as np

from pipelines.learn import backward
from pipelines.learn.questions import Question
from pipelines.learn.steps import Lesson, Step, Values

_ROUNDED = 0.0051  # of an answer with two correct digits after the point


def exercise_1(generator: random.Random | None = None) -> Lesson:
    """Returns the forward pass of a recurrent network with two units over three inputs.

    Args:
        generator: of other numbers than the material's.
    """
    w, u, inputs = backward.W, backward.U, backward.INPUTS
    if generator:
        w, u = (np.array([[generator.randint(1, 9) / 10 for _ in range(2)] for _ in range(2)]) for _ in range(2))
        inputs = np.array(generator.sample([[1, 0], [0, 1], [1, 1], [1, -1], [-1, 1]], 3))
    layer = keras.layers.SimpleRNN(2, activation="tanh", return_sequences=True)
    layer.build((1, 3, 2))
    layer.set_weights([w.T, u.T, np.zeros(2)])  # Keras multiplies rows: x W^T
    states = keras.ops.convert_to_numpy(layer(inputs[None].astype("float32")))[0]

    steps = [
        Step(
            "The weights, the inputs and the first state",
            "h = tanh(W x + U h' + b)     h' is the state of the step before",
            (
                *(Values("W", w, digits=1), Values("U", u, digits=1), Values("b", np.zeros(2), digits=1)),
                *(Values(f"x{time + 1}", x) for time, x in enumerate(inputs)),
                Values("h0", np.zeros(2), digits=1),
            ),
        )
    ]
    before = np.zeros(2)
    for time, (x, state) in enumerate(zip(inputs, states, strict=True), 1):
        products = [keras.ops.convert_to_numpy(keras.ops.matmul(matrix, v)) for matrix, v in ((w, x), (u, before))]
        steps.append(
            Step(
                f"The state h{time}",
                f"h{time} = tanh(W x{time} + U h{time - 1} + b)",
                (
                    Values(f"W x{time}", products[0], digits=4),
                    Values(f"U h{time - 1}", products[1], digits=4),
                    Values("sum", products[0] + products[1], digits=4),
                    Values(f"h{time}", state, digits=4),
                ),
                "keras.layers.SimpleRNN",
            )
        )
        before = state
    steps.append(
        Step(
            "Answer",
            values=(Values("h", states, rows=("h1", "h2", "h3"), digits=4),),
            text="The same W, U and b serve each step. x1 reaches h3 only through U, twice.",
        )
    )
    return Lesson(
        "exercise 1: the states of a small recurrent network",
        "Which states does a recurrent network with two units pass through when it reads three vectors?",
        tuple(steps),
        tuple(
            Question(
                f"What is the {place} number of h{time + 1}?",
                float(states[time, unit]),
                f"h{time + 1} = tanh(W x{time + 1} + U h{time}): step {time + 2}.",
                _ROUNDED,
            )
            for time in range(3)
            for unit, place in enumerate(("first", "second"))
        ),
        given=1,
    )


def exercise_5(generator: random.Random | None = None) -> Lesson:
    """Returns the update of an LSTM's cell from given gates; for the argument see `exercise_1`."""
    forget, write = np.array([0.9, 0.3]), np.array([0.2, 0.8])
    candidate, before = np.array([0.0, 1.0]), np.array([1.0, 0.5])
    if generator:
        forget, write, candidate, before = (
            np.array([generator.randint(1, 9) / 10 for _ in range(2)]) for _ in range(4)
        )
    output = np.array([0.5, 0.5])  # not given: c does not depend on it
    # The exercise gives the gates themselves. A cell with zero weights whose biases are their logits has these gates.
    cell = keras.layers.LSTMCell(2, unit_forget_bias=False)
    cell.build((1, 1))
    logits = [np.log(gate / (1 - gate)) for gate in (write, forget, output)]
    before_tanh = np.arctanh(np.minimum(candidate, 1 - 1e-16))  # finite, and its tanh in float32 is the candidate
    bias = np.concatenate([logits[0], logits[1], before_tanh, logits[2]])  # Keras's order: i, f, g, o
    cell.set_weights([np.zeros((1, 8)), np.zeros((2, 8)), bias])
    _, (_, state) = cell(np.zeros((1, 1)), [np.zeros((1, 2)), before[None]])
    state = keras.ops.convert_to_numpy(state)[0]

    return Lesson(
        "exercise 5: the update of an LSTM's cell",
        "What does an LSTM's cell hold after a step, if its gates and its former content are known?",
        (
            Step(
                "What is known",
                "c = f * c' + i * g     * multiplies number by number, c' is the cell of the step before",
                (
                    Values("c'", before, digits=2),
                    *(Values("f", forget, digits=2), Values("i", write, digits=2), Values("g", candidate, digits=2)),
                ),
                text="f is the forget gate (1 keeps), i the input gate (1 writes), g the new content.",
            ),
            Step(
                "What is kept, what is written, and their sum",
                "c = f * c' + i * g",
                (
                    Values("f * c'", forget * before, digits=2),
                    *(Values("i * g", write * candidate, digits=2), Values("c", state, digits=2)),
                ),
                "keras.layers.LSTMCell",
            ),
            Step(
                "Answer",
                values=(Values("c", state, digits=2),),
                text=f"The first unit keeps {forget[0]:.0%} of what it held and adds {write[0] * candidate[0]:.2g}, "
                f"the second keeps {forget[1]:.0%} and adds {write[1] * candidate[1]:.2g}. A new content of 0 adds "
                "nothing, whatever the input gate is. Nothing is multiplied by a matrix on the way from c' to c: the "
                "factor is f, so a gate near 1 lets content and gradient pass many steps.",
            ),
        ),
        tuple(
            Question(
                f"What does the {place} unit hold after the step?", float(c), "c = f * c' + i * g: step 2.", _ROUNDED
            )
            for place, c in zip(("first", "second"), state, strict=True)
        ),
        given=1,
    )
