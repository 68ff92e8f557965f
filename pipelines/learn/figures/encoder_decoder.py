"""An encoder and a decoder unrolled: the context at the first step, at every step, and attention, with numbers."""

from typing import NamedTuple

import keras
import numpy as np

from layers import AttentionDecoder, AttentionDecoderCell, BahdanauAttention
from pipelines.learn.figures.svg import HEIGHT, Part, arrow, box, drawing, numbers
from pipelines.learn.steps import Lesson, Step, Values

SOURCE = ("The", "green", "witch", "arrived")
TARGET = ("Lleg\u00f3", "la", "bruja", "verde")
_READ = ("<start>", *TARGET[:-1])
_UNITS = 2
_SEED = 3
_WIDTH, _PITCH = 152, 200
_ROWS = {"word": 30, "decoder": 120, "encoder": 350, "source": 430}


class Computed(NamedTuple):
    """What the untrained networks compute."""

    encoder: np.ndarray
    """h_t, [4, 2]; the last one is the context c."""
    first: np.ndarray
    """States of a decoder that gets c as its first state, [4, 2]."""
    every: np.ndarray
    """States of a decoder that also reads c at every step, [4, 2]."""
    attention: np.ndarray
    """States of a decoder with attention, [4, 2]."""
    weights: np.ndarray
    """A row for each step of the decoder, [4, 4]."""


def compute() -> Computed:
    """Runs an encoder, `keras.layers.GRU`, and three decoders of two units, with random weights of a fixed seed."""
    random = np.random.default_rng(_SEED)
    source, target = random.normal(size=(2, 1, len(SOURCE), _UNITS)).astype("float32")  # [1, 4, 2]
    encoder, first, every = (keras.layers.GRU(_UNITS, return_sequences=True) for _ in range(3))
    cell = AttentionDecoderCell(keras.layers.GRUCell(_UNITS), BahdanauAttention(_UNITS), memory_size=_UNITS)
    attending = AttentionDecoder(cell, return_weights=True)

    def run(layer, *arguments, **options):
        layer(*arguments, **options)  # builds it
        layer.set_weights([random.normal(size=each.shape) for each in layer.weights])
        return layer(*arguments, **options)

    memory = run(encoder, source)  # [1, 4, 2]
    context = memory[:, -1]  # [1, 2]
    repeated = keras.ops.repeat(memory[:, -1:], len(TARGET), axis=1)  # [1, 4, 2]
    states, weights = run(attending, target, memory, initial_state=[context])  # [1, 4, 2], [1, 4, 4]
    found = (
        memory,
        run(first, target, initial_state=context),
        run(every, keras.ops.concatenate([target, repeated], -1), initial_state=context),
        *(states, weights),
    )
    return Computed(*(keras.ops.convert_to_numpy(each)[0] for each in found))


def encoder_decoder() -> Lesson:
    """Returns the steps."""
    found = compute()
    last = len(SOURCE)
    layer = "keras.layers.GRU"
    rows = tuple(f"h{t}" for t in range(1, last + 1))
    columns = tuple(f"s{t}" for t in range(1, last + 1))
    variants = (
        ("The context at the first step alone", "s0 = c     s_t = GRU(y_(t-1), s_(t-1))", found.first, None, layer),
        ("The context at every step", "s0 = c     s_t = GRU([y_(t-1) ; c], s_(t-1))", found.every, None, layer),
        (
            "Attention: a context for each step",
            "c_t = sum over j of weight_tj h_j     s_t = GRU([y_(t-1) ; c_t], s_(t-1))",
            *(found.attention, found.weights, "layers.AttentionDecoder, layers.BahdanauAttention"),
        ),
    )
    texts = (
        "The first state of the decoder is c. What it does not carry along is lost for the later words.",
        "c is an input of each step, so it cannot be forgotten; it is still one vector for the whole sentence.",
        "Each step weighs all states of the encoder anew; the lines are as thick as the weights, and each row of "
        "weights sums to 1. Trained, the weights show which words belong together (lesson 8).",
    )
    steps = [
        Step(
            "The encoder reads the sentence",
            "h_t = GRU(x_t, h_(t-1))     c = h4",
            (Values("h", found.encoder, rows=rows),),
            layer,
            text="The last state c = h4 has seen every word. The network is untrained: its weights are random, and it "
            "is only the way of the numbers that counts.",
            drawing=_drawing("The encoder", _draw(found.encoder, found.first, "first"), 0),
        )
    ]
    for (title, equation, states, weights, made), text, kind in zip(
        variants, texts, ("first", "every", "attention"), strict=True
    ):
        values = [Values("s", states, rows=columns)]
        if weights is not None:
            values.append(Values("weight", weights, rows=columns, columns=SOURCE, digits=2))
        image = _drawing(title, _draw(found.encoder, states, kind, weights), 1)
        steps.append(Step(title, equation, tuple(values), made, text=text, drawing=image))
    return Lesson(
        "figures encoder-decoder: a sentence becomes another one",
        f'How does the decoder see "{" ".join(SOURCE)}" while it writes "{" ".join(TARGET)}"? Three ways, in a network '
        "of two units with random weights.",
        tuple(steps),
        sources=("layers/attention_decoder.py:AttentionDecoder",),
    )


def _drawing(title: str, parts: list[Part], step: int) -> str:
    description = f'Below, the encoder over "{" ".join(SOURCE)}"; above, the decoder over "{" ".join(TARGET)}".'
    return drawing(title, description, (_PITCH * len(SOURCE), 460), parts, step)


def _draw(encoder, states, kind: str, weights=None) -> list[Part]:
    """Returns the parts: step 0 is the encoder, step 1 the decoder."""
    half, last = HEIGHT / 2, len(SOURCE) - 1
    parts = []
    for t, (word, read, written) in enumerate(zip(SOURCE, _READ, TARGET, strict=True)):
        x = _x(t)
        label = f"h{t + 1}" + (" = c" if t == last else "")
        parts += [
            *box(0, (x, _ROWS["source"]), word, None, "input", _WIDTH),
            *box(0, (x, _ROWS["encoder"]), label, encoder[t], "state", _WIDTH),
            *arrow(0, (x, _ROWS["source"] - half), (x, _ROWS["encoder"] + half)),
            *box(1, (x, _ROWS["word"]), written, None, "gate", _WIDTH),
            *box(1, (x, _ROWS["decoder"]), f"s{t + 1} reads {read}", states[t], "memory", _WIDTH),
            *arrow(1, (x, _ROWS["decoder"] - half), (x, _ROWS["word"] + half)),
        ]
        if t:
            for step, row in ((0, "encoder"), (1, "decoder")):
                parts += arrow(step, (x - _PITCH + _WIDTH / 2, _ROWS[row]), (x - _WIDTH / 2, _ROWS[row]))
        if weights is not None:
            parts += _attention(t, weights[t])
        elif t == 0 or kind == "every":
            parts += arrow(1, (_x(last), _ROWS["encoder"] - half), (x, _ROWS["decoder"] + half), kind="state")
    return parts


def _attention(t: int, weights) -> list[Part]:
    """Returns the lines from each state of the encoder to the decoder's step t, with the weights at their ends."""
    parts, below = [], _ROWS["decoder"] + HEIGHT / 2 + 16
    for j, weight in enumerate(weights):
        x = _x(t) + (j - (len(weights) - 1) / 2) * 37
        style = f'style="stroke-width:{0.4 + 5 * weight:.2f}" stroke-opacity="{0.25 + 0.75 * weight:.2f}"'
        parts += [
            *arrow(1, (_x(j), _ROWS["encoder"] - HEIGHT / 2), (x, below + 5), kind="state", head=False, style=style),
            *numbers(1, (x, below), weight, 2),
        ]
    return parts


def _x(t: int) -> float:
    return _PITCH * (t + 0.5)
