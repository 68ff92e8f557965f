"""The worked example "so long and": a recurrent language model of five words, computed by Keras."""

from typing import NamedTuple

import keras
import numpy as np

from pipelines.learn.settings import WORDS, Changes, changed
from pipelines.learn.steps import Lesson, Step, Values

_INPUTS = (WORDS.index("so"), WORDS.index("long"))
_TARGETS = (WORDS.index("long"), WORDS.index("and"))


class Forward(NamedTuple):
    """Every number of the forward pass. The first axis is the time step: 0 reads "so", 1 reads "long"."""

    inputs: np.ndarray
    """E x: the embeddings of the inputs, [2, 2]."""
    products: np.ndarray
    """W e, [2, 2]."""
    recurrent: np.ndarray
    """U h of the step before, [2, 2]."""
    states: np.ndarray
    """h, [2, 2]."""
    logits: np.ndarray
    """V h, [2, 5]."""
    probabilities: np.ndarray
    """y, [2, 5]."""
    losses: np.ndarray
    """-log y[next word], [2]."""
    loss: float
    """Their mean."""
    perplexity: float


def forward(matrices: dict, read: tuple[int, ...] = _INPUTS, targets: tuple[int, ...] = _TARGETS) -> Forward:
    """Computes the network of the worked example with Keras's layers.

    Args:
        matrices: E, W, U and V, as in `WORKED_EXAMPLE`, also with more words. The material writes W x with a column x,
            Keras x W with a row x: therefore Keras gets the transposed matrices.
        read: rows of E, one at each time.
        targets: rows of V, whose probabilities the loss takes at the first times.
    """
    weights = {name: np.array(rows, "float32") for name, rows in matrices.items()}
    num_words = len(weights["E"])
    embedding = keras.layers.Embedding(num_words, 2)
    recurrent = keras.layers.SimpleRNN(2, activation="relu", use_bias=False, return_sequences=True)
    output = keras.layers.Dense(num_words, use_bias=False)
    inputs = keras.Input((len(read),), dtype="int32")
    embedded = embedding(inputs)
    states = recurrent(embedded)
    logits = output(states)
    model = keras.Model(inputs, (embedded, states, logits, keras.layers.Softmax()(logits)))
    embedding.set_weights([weights["E"]])
    recurrent.set_weights([weights["W"].T, weights["U"].T])
    output.set_weights([weights["V"].T])

    embedded, states, logits, probabilities = (keras.ops.convert_to_numpy(x)[0] for x in model(np.array([read])))
    products = keras.ops.convert_to_numpy(keras.ops.matmul(embedded, recurrent.cell.kernel))
    before = np.vstack([np.zeros(2, "float32"), states[:-1]])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=None)
    losses = keras.ops.convert_to_numpy(loss(np.array(targets), logits[: len(targets)]))
    mean = float(losses.mean())
    with np.errstate(over="ignore"):
        perplexity = float(np.exp(mean))
    from_before = keras.ops.convert_to_numpy(keras.ops.matmul(before, recurrent.cell.recurrent_kernel))
    return Forward(embedded, products, from_before, states, logits, probabilities, losses, mean, perplexity)


def so_long_and(changes: Changes | None = None) -> Lesson:
    """Returns the steps of the worked example.

    Args:
        changes: numbers of the matrices that differ from the material's. Each step then also has the former numbers.
    """
    matrices = changed(changes or {})
    now, before = forward(matrices), forward(changed({}))

    def values(name, field, time=None, columns=(), digits=3):
        numbers, former = getattr(now, field), getattr(before, field)
        if time is not None:
            numbers, former = numbers[time], former[time]
        return Values(name, numbers, columns=columns, digits=digits, before=former if changes else None)

    def matrix(name, rows=()):
        numbers = np.array(matrices[name])
        return Values(name, numbers, rows=rows, before=np.array(changed({})[name]) if changes else None)

    steps = [
        Step(
            "The weights",
            "e = E[word]     h = ReLU(U h' + W e)     y = softmax(V h)",
            (matrix("E", WORDS), matrix("W"), matrix("U"), matrix("V", WORDS)),
            text="E has the embedding of each word, a vector. W weighs the input, U the state h' of the step before. "
            "V has "
            "a row for each word: the word's row times h is its score. ReLU(x) is x, or 0 if x is negative. softmax "
            "turns "
            "scores into probabilities: exp of each, divided by their sum.",
        )
    ]
    for time, (word, target) in enumerate(zip(_INPUTS, _TARGETS, strict=True)):
        steps += _time_step(time, word, target, values)
    steps += [
        Step(
            "The loss: the mean over the two times",
            f"L = 1/2 (-log y0[{WORDS[_TARGETS[0]]}] - log y1[{WORDS[_TARGETS[1]]}])",
            (values("-log y0[long]", "losses", 0), values("-log y1[and]", "losses", 1), values("L", "loss")),
            "keras.losses.SparseCategoricalCrossentropy",
        ),
        Step(
            "The perplexity",
            "perplexity = exp(L)",
            (values("perplexity", "perplexity", digits=2),),
            text=_about(now.perplexity) + ("" if changes else _by_hand(now)),
        ),
    ]
    return Lesson(
        'so-long-and: a recurrent language model reads "so long and"',
        'How does a recurrent network predict the next word, and how is its prediction scored? It reads "so" and '
        'should predict "long"; it reads "long" and should predict "and".',
        tuple(steps),
    )


def _time_step(time: int, word: int, target: int, values) -> list[Step]:
    previous = f"h{time - 1}" if time else "h(-1)"
    start = "Before the first word the state is zero, so only the input counts." if time == 0 else ""
    remembered = f"U {previous} carries what was read before: without it, h{time} would be ReLU(W e{time})."
    return [
        Step(
            f'Time {time}: the input "{WORDS[word]}" is looked up',
            f"e{time} = E[{WORDS[word]}]",
            (values(f"e{time}", "inputs", time),),
            "keras.layers.Embedding",
        ),
        Step(
            f"Time {time}: the hidden state",
            f"h{time} = ReLU(U {previous} + W e{time})",
            (
                values(f"U {previous}", "recurrent", time),
                values(f"W e{time}", "products", time),
                values(f"h{time}", "states", time),
            ),
            "keras.layers.SimpleRNN",
            text=start or remembered,
        ),
        Step(
            f"Time {time}: the probability of each next word",
            f"y{time} = softmax(V h{time})",
            (
                values(f"V h{time}", "logits", time, columns=WORDS),
                values(f"y{time}", "probabilities", time, columns=WORDS),
            ),
            "keras.layers.Dense, keras.layers.Softmax",
            text=f'In the text "{WORDS[target]}" follows. Its probability counts, also where another word has a '
            "larger one.",
        ),
    ]


def _by_hand(now: Forward) -> str:
    rounded = [round(float(y[target]), 3) for y, target in zip(now.probabilities, _TARGETS, strict=True)]
    loss = -np.mean(np.log(rounded))
    return (
        f" By hand, from the rounded {rounded[0]:.3f} and {rounded[1]:.3f}, one gets L = {loss:.3f} and the perplexity "
        f"{np.exp(loss):.2f}."
    )


def _about(perplexity: float) -> str:
    if perplexity > len(WORDS):
        return (
            f"A network that finds all {len(WORDS)} words equally likely has the perplexity {len(WORDS)}. This one is "
            "worse: it is surer of other words than of those that follow."
        )
    return (
        f"The network is as unsure as if it chose among {perplexity:.2f} equally likely words. A network that finds "
        f"all {len(WORDS)} words equally likely has the perplexity {len(WORDS)}."
    )
