"""A long text as streams of ids that are read side by side, a window at a time (truncated backpropagation through time).

The text is cut into `batch_size` streams of equal length. Window t of the batch holds the ids t * window ... of each stream, so a
network that carries its state from one window to the next reads each stream from start to end. What is predicted at each
place is the id behind it. A stream begins with START; what is left over at the text's end is not read in that epoch.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf

from pipelines import batching
from pipelines.files import written_beside
from pipelines.text import START, Tokenizer

_CHUNK = 4000  # characters that the tokenizer is given at once: a long text is not one string


def write_ids(path: Path, tokenizer: Tokenizer, texts: Iterable[str], marked: bool = False) -> None:
    """Tokenizes texts to the file `path`, int32 ids one behind the other, in constant memory.

    Args:
        texts: `chunks` of a long text, or texts of their own.
        marked: put each between START and END.
    """
    cut = slice(None) if marked else slice(1, -1)
    encode = tf.function(lambda texts: tokenizer.encode(texts)[:, cut], input_signature=[tf.TensorSpec([None], tf.string)])
    with written_beside(path, "wb") as file:
        batch = []
        for text in texts:
            batch.append(text.encode("utf-8", "surrogatepass"))
            if len(batch) == 250:
                file.write(encode(tf.constant(batch)).flat_values.numpy().tobytes())
                batch = []
        if batch:
            file.write(encode(tf.constant(batch)).flat_values.numpy().tobytes())


def read_ids(path: Path) -> np.ndarray:
    """The ids of a file, int32 [n]; what is not looked at takes no memory."""
    return np.memmap(path, np.int32, mode="r") if path.stat().st_size else np.zeros(0, np.int32)


def chunks(pieces: Iterable[str]) -> Iterator[str]:
    """The same text in strings of at most `_CHUNK` characters, cut behind white space where there is some."""
    rest = ""
    for piece in pieces:
        rest += piece
        start = 0
        while len(rest) - start > _CHUNK:
            window = rest[start : start + _CHUNK]
            cut = max(window.rfind("\n"), window.rfind(" ")) + 1 or _CHUNK
            yield window[:cut]
            start += cut
        rest = rest[start:]
    if rest:
        yield rest


def steps_per_epoch(tokens: int, batch_size: int, window: int) -> int:
    """Windows that each of `batch_size` streams has in every epoch, wherever that begins: at least 0."""
    return max(0, (tokens - window) // batch_size // window)


def batches(ids: np.ndarray, batch_size: int, window: int, seed: int, epoch: int, skip: int) -> tf.data.Dataset:
    """The windows of one epoch from step `skip` on: (inputs, targets), both int32 [batch_size, window].

    A pure function of (seed, epoch, skip). Each epoch begins at another place within the first window, so that it cuts the text
    elsewhere.
    """
    steps = steps_per_epoch(len(ids), batch_size, window)
    first = int(np.random.default_rng([seed, epoch]).integers(window))
    starts = first + np.arange(batch_size) * ((len(ids) - first) // batch_size)

    def read():
        for step in range(skip, steps):
            places = starts[:, None] + step * window + np.arange(window)
            targets = ids[places]
            inputs = np.concatenate([ids[places[:, :1] - 1] if step else np.full((batch_size, 1), START), targets[:, :-1]], 1)
            yield inputs.astype(np.int32), targets

    shape = tf.TensorSpec([batch_size, window], tf.int32)
    windows = tf.data.Dataset.from_generator(read, output_signature=(shape, shape))
    # Where Keras does not know how many there are, it takes the end of an epoch for a lack of data, and warns.
    return batching.prefetched(windows.apply(tf.data.experimental.assert_cardinality(max(0, steps - skip))))
