"""A long text as streams of ids that are read in parallel, one window at a time (truncated backpropagation through
time).

The text is cut into `batch_size` streams of equal length. Window t of the batch holds the ids from t * window on of
each stream, so a network that carries its state from one window to the next reads each stream from start to end. The
target at each position is the next id. A stream starts with START; the remainder at the text's end is not read in that
epoch.
"""

import itertools
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import tensorflow as tf

from pipelines.data import batching, part, texts
from pipelines.support.files import written_beside
from pipelines.text.tokenizers import END, START, Tokenizer

_CHUNKS_PER_CALL = 250


def write_ids(path: Path, tokenizer: Tokenizer, texts: Iterable[str], with_special_tokens: bool = False) -> None:
    """Tokenizes texts and writes the concatenated ids, int32, to the file `path`, in constant memory.

    Args:
        texts: `texts.chunks` of a long text, or independent texts.
        with_special_tokens: put each text between START and END.
    """
    ids = slice(None) if with_special_tokens else slice(1, -1)
    encode = tf.function(
        lambda texts: tokenizer.encode(texts)[:, ids], input_signature=[tf.TensorSpec([None], tf.string)]
    )
    with written_beside(path, "wb") as file:
        batch = []
        for text in texts:
            batch.append(text.encode("utf-8", "surrogatepass"))
            if len(batch) == _CHUNKS_PER_CALL:
                file.write(encode(tf.constant(batch)).flat_values.numpy().tobytes())
                batch = []
        if batch:
            file.write(encode(tf.constant(batch)).flat_values.numpy().tobytes())


def write_documents(path: Path, tokenizer: Tokenizer, documents: Iterable[str]) -> None:
    """Tokenizes documents and writes their ids as `write_ids` does, each between START and END, whatever its length."""
    encode = tf.function(tokenizer.encode, input_signature=[tf.TensorSpec([None], tf.string)])
    chunks = ((chunk, i == 0) for document in documents for i, chunk in enumerate(texts.chunks([document])))
    with written_beside(path, "wb") as file:
        is_first = True
        while batch := list(itertools.islice(chunks, _CHUNKS_PER_CALL)):
            encoded = encode(tf.constant([chunk.encode("utf-8", "surrogatepass") for chunk, _ in batch]))
            for row, (_, starts) in zip(np.split(encoded.values.numpy(), encoded.row_splits.numpy()[1:-1]), batch):
                if starts:  # the document before ends
                    file.write(np.array([START] if is_first else [END, START], np.int32).tobytes())
                    is_first = False
                file.write(row[1:-1].tobytes())
        if not is_first:
            file.write(np.array([END], np.int32).tobytes())


def read_ids(path: Path) -> np.ndarray:
    """Returns the ids of a file, int32 [n]. They are mapped into memory: only what is used is read."""
    return np.memmap(path, np.int32, mode="r") if path.stat().st_size else np.zeros(0, np.int32)


def steps_per_epoch(tokens: int, batch_size: int, window: int) -> int:
    """Returns the number of windows of each of `batch_size` streams, the same in every epoch; at least 0."""
    return max(0, (tokens - window) // batch_size // window)


def batches(ids: np.ndarray, batch_size: int, window: int, seed: int, epoch: int, skip: int) -> tf.data.Dataset:
    """Returns the windows of one epoch from step `skip` on: (inputs, targets), both int32 [batch_size, window].

    One of several workers reads the streams of its part alone.

    A pure function of (seed, epoch, skip). Each epoch starts at another position within the first window, so that the
    text is cut at other positions.
    """
    steps = steps_per_epoch(len(ids), batch_size, window)
    first = int(np.random.default_rng([seed, epoch]).integers(window))
    starts = first + np.arange(batch_size) * ((len(ids) - first) // batch_size)  # [batch]
    starts = starts[part.current().rows(batch_size)]
    batch_size = len(starts)

    def read():
        for step in range(skip, steps):
            positions = starts[:, None] + step * window + np.arange(window)  # [batch, window]
            targets = ids[positions]
            previous = ids[positions[:, :1] - 1] if step else np.full((batch_size, 1), START)  # [batch, 1]
            yield np.concatenate([previous, targets[:, :-1]], 1).astype(np.int32), targets

    shape = tf.TensorSpec([batch_size, window], tf.int32)
    windows = tf.data.Dataset.from_generator(read, output_signature=(shape, shape))
    # If Keras does not know the number of batches, it takes the end of an epoch for missing data, and warns.
    return batching.prefetched(windows.apply(tf.data.experimental.assert_cardinality(max(0, steps - skip))))
