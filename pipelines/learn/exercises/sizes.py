"""Exercises 2, 6 and 12: parameters of layers and models, counted by Keras."""

import random

import keras
import numpy as np

from pipelines.learn.questions import Question
from pipelines.learn.steps import Lesson, Step, Values


def exercise_2(generator: random.Random | None = None) -> Lesson:
    """Returns what a language model's hidden size costs.

    Args:
        generator: of other numbers than the first ones.
    """
    vocabulary, embedding, size = 10_000, 128, 256
    if generator:
        vocabulary, embedding = generator.choice((5_000, 8_000, 20_000)), generator.choice((64, 100, 200))
        size = generator.choice((100, 128, 200, 300))
    sizes = (size, 2 * size)
    counts = np.array([_language_model(vocabulary, embedding, each) for each in sizes])
    rows = tuple(f"d={each}" for each in sizes)
    recurrent = counts[:, 1]
    return Lesson(
        "exercise 2: what a hidden size costs",
        f"A simple recurrent language model has {vocabulary:,} words, embeddings of {embedding} and d units. What does "
        f"it cost to double d from {size} to {2 * size}, and what does it buy?",
        (
            Step(
                "The parameters",
                "E: V e     W, U and b: d (e + d + 1)     output: V (d + 1)",
                (Values("count", counts, rows, ("E", "W, U, b", "output")),),
                "keras.layers.Embedding, SimpleRNN, Dense",
            ),
            Step(
                "The cost of a step",
                "multiplications per word: d (e + d) + V d",
                (
                    Values(
                        "multiplications",
                        np.array([each * (embedding + each) + vocabulary * each for each in sizes]),
                        columns=rows,
                    ),
                ),
                text="With a large vocabulary the output costs most, and it doubles; U takes four times the work. The "
                "state can hold more: whether that helps is measured, with `tune char-lm --grid "
                "hidden_size=64,128,256`.",
            ),
        ),
        (
            Question(
                f"How many parameters does the recurrent layer (W, U and b) have with d = {size}?",
                int(recurrent[0]),
                "d (e + d + 1): step 1.",
            ),
            Question(f"And with d = {2 * size}?", int(recurrent[1]), "d (e + d + 1): step 1."),
            Question(
                "By which factor does the number of parameters of the output grow?",
                float(counts[1, 2] / counts[0, 2]),
                "V (d + 1) is nearly proportional to d: step 1.",
            ),
        ),
    )


def _language_model(vocabulary: int, embedding: int, size: int) -> list[int]:
    """Returns the numbers of parameters of embeddings, recurrent layer and output."""
    layers = keras.layers.Embedding(vocabulary, embedding), keras.layers.SimpleRNN(size), keras.layers.Dense(vocabulary)
    for layer, shape in zip(layers, ((None, None), (None, None, embedding), (None, size)), strict=True):
        with keras.StatelessScope():  # counts shapes, and makes no numbers
            layer.build(shape)
    return [sum(int(np.prod(weight.shape)) for weight in layer.weights) for layer in layers]


def exercise_6(generator: random.Random | None = None) -> Lesson:
    """Returns the numbers of parameters of a simple RNN, a GRU and an LSTM of the same size; see `exercise_2`."""
    n, d = 128, 256
    if generator:
        n, d = generator.choice((32, 50, 64, 100, 200)), generator.choice((64, 100, 128, 200, 300))
    simple, lstm = keras.layers.SimpleRNN(d), keras.layers.LSTM(d)
    gru, keras_gru = keras.layers.GRU(d, reset_after=False), keras.layers.GRU(d)
    counts = []
    for layer in (simple, gru, lstm, keras_gru):
        layer.build((None, None, n))
        counts.append([*(int(np.prod(weight.shape)) for weight in layer.weights), layer.count_params()])
    total = [row[-1] for row in counts[:3]]
    names = ("SimpleRNN", "GRU", "LSTM")
    layer = "keras.layers.SimpleRNN, GRU, LSTM"
    return Lesson(
        "exercise 6: the parameters of a simple RNN, a GRU and an LSTM",
        f"How many parameters do the three layers have for inputs of size {n} and {d} units?",
        (
            Step(
                "One set of weights: W, U and b",
                f"W: d * n     U: d * d     b: d     together d (n + d + 1), with n = {n} and d = {d}",
                (Values("d (n + d + 1)", np.array(d * (n + d + 1))),),
                text="A simple RNN has one set. A GRU has three: update gate, reset gate, candidate. An LSTM has four: "
                "input, forget and output gate, candidate.",
            ),
            Step(
                "The weights of the layers",
                "SimpleRNN: d (n + d + 1)     GRU: 3 d (n + d + 1)     LSTM: 4 d (n + d + 1)",
                (Values("count", np.array(counts[:3]), rows=names, columns=("W", "U", "b", "all")),),
                layer,
            ),
            Step(
                "Answer",
                values=(
                    Values("parameters", np.array(total), columns=names),
                    Values("% of the LSTM", np.array(total) / total[-1] * 100, columns=names, digits=0),
                ),
                text="A GRU has 25 % fewer parameters than an LSTM, whatever the sizes are. Keras's GRU has by default "
                f"(reset_after=True) a second bias for each unit and set: {counts[-1][-1]:,}.",
            ),
        ),
        (
            *(
                Question(f"How many parameters does the {name} have?", int(count), f"{formula} (n + d + 1): step 2.")
                for name, count, formula in zip(("simple RNN", "GRU", "LSTM"), total, ("d", "3 d", "4 d"), strict=True)
            ),
            Question("How many percent of the LSTM's parameters does the GRU have?", 75, "Three sets of four: step 3."),
        ),
    )


def exercise_12(generator: random.Random | None = None) -> Lesson:
    """Returns how wide two layers are that have the parameters of one; for the argument see `exercise_2`."""
    n, d = 128, 256
    if generator:
        n, d = generator.choice((50, 64, 100, 200)), generator.choice((128, 200, 300, 400))
    budget = _stack(n, d, 1)
    width = int((np.sqrt((n + 2) ** 2 + 3 * budget) - (n + 2)) / 6)  # 12 w^2 + 4 (n + 2) w = budget
    return Lesson(
        "exercise 12: deeper or wider, at equal parameters",
        f"A language model has one LSTM layer of {d} units on inputs of size {n}. How wide may two layers be that have "
        "no more parameters, and which is better?",
        (
            Step(
                "One layer",
                "4 d (n + d + 1)",
                (Values("parameters", np.array(budget)),),
                "keras.layers.LSTM",
            ),
            Step(
                "Two layers of w units",
                "4 w (n + w + 1) + 4 w (w + w + 1) = 4 w (n + 3 w + 2)",
                (
                    Values(
                        "parameters",
                        np.array([_stack(n, width + more, 2) for more in (0, 1)]),
                        columns=tuple(f"w={width + more}" for more in (0, 1)),
                    ),
                ),
                "keras.layers.LSTM",
                text=f"{width} units are the most that fit. Which network is better depends on the text, and is "
                "measured: `tune char-lm --grid num_layers=1,2 --equal-parameters`.",
            ),
        ),
        (
            Question(f"How many parameters does the one layer of {d} units have?", int(budget), "Step 1."),
            Question("How wide may two layers be at most?", int(width), "The equation of step 2, solved for w."),
        ),
    )


def _stack(n: int, d: int, num_layers: int) -> int:
    """Returns the number of parameters of a stack of LSTM layers, counted by Keras."""
    total = 0
    for inputs in (n, *[d] * (num_layers - 1)):
        layer = keras.layers.LSTM(d)
        with keras.StatelessScope():
            layer.build((None, None, inputs))
        total += sum(int(np.prod(weight.shape)) for weight in layer.weights)
    return total
