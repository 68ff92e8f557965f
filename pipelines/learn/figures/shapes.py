"""The shapes along a Transformer that translates, and how many parts of each kind it has."""

from typing import NamedTuple

import keras
import numpy as np

from pipelines.learn.figures.svg import HEIGHT, Part, arrow, box, drawn, text
from pipelines.learn.steps import Lesson, Step, Values

BATCH, SOURCE, TARGET = 2, 7, 5  # texts, and tokens of each
NUM_LAYERS, HIDDEN_SIZE, VOCABULARY = 6, 512, 1000
_COUNTED = {
    "skip connections": "norm/gamma",
    "feed-forward networks": "feed_forward/output/kernel",
    "attentions": "query/kernel",
}
"""What a block has -> the end of the path of a variable of each. Each skip connection has a normalization."""
_BOX, _ENCODER, _DECODER = 280, 160, 590


class Computed(NamedTuple):
    """What a network of the size of Vaswani et al. 2017 computes for random ids."""

    shapes: dict[str, tuple[int, ...]]
    """Name of a layer -> shape of its output."""
    counts: dict[str, tuple[int, int]]
    """What -> how many in the encoder and in the decoder."""
    parameters: int


def compute() -> Computed:
    """Builds the network as `train nmt --model transformer` does, and runs it."""
    from pipelines.translation.config import TranslationConfig
    from pipelines.translation.networks import build

    config = TranslationConfig(model="transformer", num_layers=NUM_LAYERS, hidden_size=HIDDEN_SIZE, num_heads=8)
    network = build(config.resolve(), VOCABULARY, VOCABULARY)
    blocks = [f"{side}_{number + 1}" for side in ("encoder", "decoder") for number in range(NUM_LAYERS)]
    outputs = {"logits": network.output} | {name: network.get_layer(name).output for name in blocks}
    random = np.random.default_rng(1)
    ids = {name: random.integers(4, VOCABULARY, (BATCH, n)) for name, n in (("source", SOURCE), ("target", TARGET))}
    computed = keras.Model(network.input, outputs)(ids)
    embedded = network.get_layer("target_tokens")(ids["source"])
    shapes = {name: tuple(value.shape) for name, value in ({**ids, "embedded": embedded} | computed).items()}
    paths = {name: [each.path for each in network.get_layer(name).variables] for name in blocks}

    def count(side: str, end: str) -> int:
        return sum(path.endswith(end) for name in blocks if name.startswith(side) for path in paths[name])

    counts = {what: (count("encoder", end), count("decoder", end)) for what, end in _COUNTED.items()}
    return Computed(shapes, counts, network.count_params())


def transformer_shapes() -> Lesson:
    """Returns the steps."""
    found = compute()
    shapes, layer = found.shapes, "layers.TransformerEncoderBlock"
    last = f"encoder_{NUM_LAYERS}", f"decoder_{NUM_LAYERS}"
    steps = [
        Step(
            "Ids become vectors",
            "x = E[id] sqrt(d) + position",
            (_shape("ids", shapes["source"]), _shape("vectors", shapes["embedded"])),
            "keras.layers.ReversibleEmbedding, layers.SinusoidalPositionalEncoding",
            text=f"[batch, length] becomes [batch, length, d], here d = {HIDDEN_SIZE}.",
        ),
        Step(
            f"{NUM_LAYERS} blocks of the encoder",
            "h = x + attention(x)     y = h + ffn(h)",
            (_shape("after the first", shapes["encoder_1"]), _shape("after the last", shapes[last[0]])),
            layer,
            text="No block changes the shape. So blocks can be stacked, and each adds to what it gets.",
        ),
        Step(
            f"{NUM_LAYERS} blocks of the decoder",
            "h = x + attention(x)     g = h + attention(h, encoder)     y = g + ffn(g)",
            (_shape("after the first", shapes["decoder_1"]), _shape("after the last", shapes[last[1]])),
            "layers.TransformerDecoderBlock",
            text="The length is that of the translation. Only the attention to the encoder sees both lengths: its "
            f"weights have the shape [batch, heads, {TARGET}, {SOURCE}].",
        ),
        Step(
            "A score for each token of the vocabulary",
            "logits = y E^T",
            (_shape("logits", shapes["logits"]),),
            "keras.layers.ReversibleEmbedding",
            text=f"[batch, length, vocabulary], here {VOCABULARY:,} tokens.",
        ),
    ]
    columns = ("encoder", "decoder", "both")
    table = np.array([[*counts, sum(counts)] for counts in found.counts.values()])
    totals = dict(zip(found.counts, table[:, -1], strict=True))
    count = Step(
        "Counted in the network",
        "",
        (Values("count", table, tuple(found.counts), columns), Values("parameters", np.int64(found.parameters))),
        text=f"With N = {NUM_LAYERS}: {totals['skip connections'] // NUM_LAYERS} N skip connections, "
        f"{totals['feed-forward networks'] // NUM_LAYERS} N feed-forward networks and "
        f"{totals['attentions'] // NUM_LAYERS} N attentions. Each skip connection has a normalization.",
    )
    return Lesson(
        "figures transformer-shapes: the shapes along a Transformer",
        f"Which shape has a batch of {BATCH} sentences of {SOURCE} tokens on its way to a translation of {TARGET}?",
        (*drawn(steps, "Shapes along a Transformer", (_DECODER + 150, 420), _draw(shapes, last)), count),
        sources=("pipelines/translation/networks.py:build", "layers/transformer.py:TransformerDecoderBlock"),
    )


def _shape(name: str, shape: tuple[int, ...]) -> Values:
    return Values(name, np.array(shape, np.int64))


def _draw(shapes: dict, last: tuple[str, str]) -> list[Part]:
    """Returns the parts: the embedding, the encoder, the decoder, the logits; data flow upwards."""
    low, embedded, blocks, top = 385, 290, 170, 50
    source, target = (f"[{', '.join(map(str, shapes[name]))}]" for name in ("source", "target"))
    parts = [
        *box(0, (_ENCODER, low), f"source ids {source}", None, "input", _BOX),
        *box(0, (_ENCODER, embedded), "embedding + position", None, "", _BOX),
        *_up(0, _ENCODER, low, embedded, shapes["source"]),
        *box(1, (_ENCODER, blocks), f"{NUM_LAYERS} \u00d7 (attention, feed-forward)", None, "state", _BOX),
        *_up(1, _ENCODER, embedded, blocks, shapes["embedded"]),
        *box(2, (_DECODER, low), f"target ids {target}", None, "input", _BOX),
        *box(2, (_DECODER, embedded), "embedding + position", None, "", _BOX),
        *_up(2, _DECODER, low, embedded, shapes["target"]),
        *box(2, (_DECODER, blocks), f"{NUM_LAYERS} \u00d7 (two attentions, feed-forward)", None, "memory", _BOX),
        *_up(2, _DECODER, embedded, blocks, shapes["decoder_1"]),
        *arrow(2, (_ENCODER + _BOX / 2, blocks), (_DECODER - _BOX / 2, blocks), kind="state"),
        *text(2, ((_ENCODER + _DECODER) / 2, blocks - 12), _label(shapes[last[0]]), "number"),
        *box(3, (_DECODER, top), f"logits {_label(shapes['logits'])}", None, "gate", _BOX),
        *_up(3, _DECODER, blocks, top, shapes[last[1]]),
    ]
    return parts


def _up(step: int, x: float, below: float, above: float, shape: tuple[int, ...]) -> list[Part]:
    """Returns an arrow upwards between two boxes, with the shape beside it."""
    start, end = below - HEIGHT / 2, above + HEIGHT / 2
    return [*arrow(step, (x, start), (x, end)), *text(step, (x + 62, (start + end) / 2 + 4), _label(shape), "number")]


def _label(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"
