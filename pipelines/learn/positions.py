"""Encodings of positions: what attention cannot see, sines and cosines, and rotation."""

import keras
import numpy as np

from layers import CachedMultiHeadAttention, RotaryEmbedding, SinusoidalPositionalEncoding
from pipelines.learn.steps import Lesson, Step, Values

SHADES = " .:-=+*#%@"  # from -1 to 1
_SENTENCES = (("dog", "bites", "man"), ("man", "bites", "dog"))
_STARTS = (0, 5, 20)
_DISTANCES = 8
_QUERY, _KEY = (1, 0, 1, 0), (1, 1, 0, 1)
_PAIRS = ((0, 0), (0, 2), (3, 5), (10, 12), (3, 8), (10, 15))  # positions of query and key


def encoding(length: int, size: int) -> np.ndarray:
    """Returns the sinusoidal encodings of the positions 0 ... length - 1: float32 [length, size]."""
    return keras.ops.convert_to_numpy(SinusoidalPositionalEncoding()(keras.ops.zeros((1, length, size))))[0]


def order_matters(with_positions: bool) -> np.ndarray:
    """Returns self-attention's output for "dog" in "dog bites man" and in "man bites dog": float32 [2, 4]."""
    random = np.random.default_rng(3)
    embeddings = {word: random.standard_normal(4) for word in _SENTENCES[0]}
    sentences = np.array([[embeddings[word] for word in sentence] for sentence in _SENTENCES], "float32")
    if with_positions:
        sentences = SinusoidalPositionalEncoding()(keras.ops.convert_to_tensor(sentences))
    layer = CachedMultiHeadAttention(1, kernel_initializer=keras.initializers.RandomNormal(stddev=0.7, seed=3))
    outputs = keras.ops.convert_to_numpy(layer(sentences))
    return np.stack([output[words.index("dog")] for output, words in zip(outputs, _SENTENCES, strict=True)])


def rotary_products(pairs: tuple[tuple[int, int], ...]) -> np.ndarray:
    """Returns the product of one query and one key, rotated by the two positions of each pair: float32 [pairs]."""
    layer = RotaryEmbedding()
    query, key = (keras.ops.reshape(np.array(x, "float32"), (1, 1, 1, len(x))) for x in (_QUERY, _KEY))
    products = [keras.ops.sum(layer(query, start=m) * layer(key, start=n)) for m, n in pairs]
    return np.array([float(product) for product in products])


def heat_map(numbers: np.ndarray) -> tuple[str, ...]:
    """Returns a line for each row of numbers from -1 to 1: the larger the number, the denser its character."""
    shades = np.clip(((numbers + 1) / 2 * len(SHADES)).astype(int), 0, len(SHADES) - 1)
    return tuple(f"p={row:<3} " + "".join(SHADES[shade] * 2 for shade in line) for row, line in enumerate(shades))


def positions(length: int = 20, size: int = 16) -> Lesson:
    """Returns why attention needs positions, and two ways to give them.

    Args:
        length: number of positions in the heat map.
        size: number d of features of the encoding, even.
    """
    table = encoding(length, size)
    shown = table[:4, : min(size, 8)]
    longer = encoding(max(_STARTS) + _DISTANCES + 1, size)
    products = np.array(
        [[longer[start] @ longer[start + distance] for distance in range(_DISTANCES)] for start in _STARTS]
    )
    rotated = rotary_products(_PAIRS)
    places = ('"dog bites man"', '"man bites dog"')
    sums = "layers.SinusoidalPositionalEncoding"
    return Lesson(
        "positions: how attention knows the order of the words",
        "Attention compares every word with every word. How can it know which one comes first, and how far apart two "
        "words are?",
        (
            Step(
                'Without positions: the output for "dog" in two sentences',
                "y = softmax(q K^T / sqrt(d)) V",
                (Values("y(dog)", order_matters(False), rows=places),),
                "layers.CachedMultiHeadAttention",
                text="Equal: attention is a weighted mean over a set of words, and both sentences are the same set.",
            ),
            Step(
                'With positions: the output for "dog" in the same two sentences',
                "x + PE(p) instead of x",
                (Values("y(dog)", order_matters(True), rows=places),),
                f"{sums}, CachedMultiHeadAttention",
                text="Now the outputs differ.",
            ),
            Step(
                "Sines and cosines",
                "PE(p, 2i) = sin(p / 10000^(2i/d))     PE(p, 2i+1) = cos(p / 10000^(2i/d))",
                (
                    Values(
                        "PE",
                        shown,
                        tuple(f"p={row}" for row in range(len(shown))),
                        tuple(f"j={column}" for column in range(shown.shape[1])),
                    ),
                ),
                sums,
                text=f"The first {len(shown)} positions, and the first {shown.shape[1]} of d = {size} features.",
            ),
            Step(
                f"The same as a picture: {length} positions, d = {size} features",
                f'"{SHADES[0]}" is -1, "{SHADES[-1]}" is 1; a row for each position, two characters for each feature',
                layer=sums,
                picture=heat_map(table),
                text="The features on the left change from one position to the next, those on the right slowly. "
                "Together they tell near and far positions apart, as the digits of a number do.",
            ),
            Step(
                "The product of two encodings depends on their distance alone",
                "PE(p) . PE(p + k) = sum over i of cos(k / 10000^(2i/d))",
                (
                    Values(
                        "product",
                        products,
                        tuple(f"p={start}" for start in _STARTS),
                        tuple(f"k={distance}" for distance in range(_DISTANCES)),
                        digits=2,
                    ),
                ),
                sums,
                text="The rows are equal: where the two positions are does not matter, only how far apart they are.",
            ),
            Step(
                "Rotary positions: q and k are rotated, each pair of features by p / 10000^(2i/d)",
                "(R_m q) . (R_n k) depends on n - m alone",
                (
                    Values("q", np.array(_QUERY)),
                    Values("k", np.array(_KEY)),
                    Values("product", rotated, columns=tuple(f"m={m} n={n}" for m, n in _PAIRS)),
                ),
                "layers.RotaryEmbedding",
                text="q stands at position m and k at n. "
                f"The distance 2 gives {rotated[1]:.3f} three times, 5 gives {rotated[4]:.3f} twice.",
            ),
        ),
    )
