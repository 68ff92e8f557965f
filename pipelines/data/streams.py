"""A long text as streams of ids that are read in parallel, one window at a time (truncated backpropagation through
time).

The text is cut into `batch_size` streams of equal length. Window t of the batch holds the ids from t * window on of
each stream, so a network that carries its state from one window to the next reads each stream from start to end. The
target at each position is the next id. A stream starts with START; the remainder at the text's end is not read in that
epoch.
"""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf

from pipelines.data import batching, part, texts
from pipelines.data.id_files import IdFiles
from pipelines.support.files import written_beside
from pipelines.text.tokenizers import END, START, Tokenizer

_CHUNKS_PER_CALL = 250


def write_ids(path: Path, tokenizer: Tokenizer, texts: Iterable[str], with_special_tokens: bool = False) -> None:
    """Writes what `ids_of_texts` yields to the file `path`, in constant memory."""
    write(path, ids_of_texts(tokenizer, texts, with_special_tokens))


def write_documents(path: Path, tokenizer: Tokenizer, documents: Iterable[str]) -> None:
    """Writes what `ids_of_documents` yields to the file `path`, in constant memory."""
    write(path, ids_of_documents(tokenizer, documents))


def write(path: Path, ids: Iterable[np.ndarray]) -> None:
    """Writes ids, int32 in pieces, to the file `path`."""
    with written_beside(path, "wb") as file:
        for each in ids:
            file.write(each.tobytes())


def ids_of_texts(tokenizer: Tokenizer, texts: Iterable[str], with_special_tokens: bool = False) -> Iterator[np.ndarray]:
    """Tokenizes texts and yields the concatenated ids, int32, in pieces.

    Args:
        texts: `texts.chunks` of a long text, or independent texts.
        with_special_tokens: put each text between START and END.
    """
    ids = slice(None) if with_special_tokens else slice(1, -1)
    encode = tf.function(
        lambda texts: tokenizer.encode(texts)[:, ids], input_signature=[tf.TensorSpec([None], tf.string)]
    )
    encoded = (text.encode("utf-8", "surrogatepass") for text in texts)
    while batch := list(itertools.islice(encoded, _CHUNKS_PER_CALL)):
        yield encode(tf.constant(batch)).flat_values.numpy()


def ids_of_documents(tokenizer: Tokenizer, documents: Iterable[str]) -> Iterator[np.ndarray]:
    """Tokenizes documents and yields ids as `ids_of_texts` does, each between START and END, whatever its length."""
    encode = tf.function(tokenizer.encode, input_signature=[tf.TensorSpec([None], tf.string)])
    chunks = ((chunk, i == 0) for document in documents for i, chunk in enumerate(texts.chunks([document])))
    is_first = True
    while batch := list(itertools.islice(chunks, _CHUNKS_PER_CALL)):
        encoded = encode(tf.constant([chunk.encode("utf-8", "surrogatepass") for chunk, _ in batch]))
        for row, (_, starts) in zip(np.split(encoded.values.numpy(), encoded.row_splits.numpy()[1:-1]), batch):
            if starts:  # the document before ends
                yield np.array([START] if is_first else [END, START], np.int32)
                is_first = False
            yield row[1:-1]
    if not is_first:
        yield np.array([END], np.int32)


def read_ids(path: Path) -> np.ndarray:
    """Returns the ids of a file, int32 [n]. They are mapped into memory: only what is used is read."""
    return np.memmap(path, np.int32, mode="r") if path.stat().st_size else np.zeros(0, np.int32)


def steps_per_epoch(tokens: int, batch_size: int, window: int) -> int:
    """Returns the number of windows of each of `batch_size` streams, the same in every epoch; at least 0."""
    return max(0, (tokens - window) // batch_size // window)


def batches(
    ids: np.ndarray | IdFiles, batch_size: int, window: int, seed: int, epoch: int, skip: int
) -> tf.data.Dataset:
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
            before = 1 if step else 0  # the id before a window is its first input
            places = (starts + step * window).tolist()
            windows = np.stack([ids[place - before : place + window] for place in places])  # [batch, before + window]
            previous = windows[:, :1] if step else np.full((batch_size, 1), START)  # [batch, 1]
            targets = windows[:, before:]
            yield np.concatenate([previous, targets[:, :-1]], 1).astype(np.int32), targets

    shape = tf.TensorSpec([batch_size, window], tf.int32)
    windows = tf.data.Dataset.from_generator(read, output_signature=(shape, shape))
    # If Keras does not know the number of batches, it takes the end of an epoch for missing data, and warns.
    return batching.prefetched(windows.apply(tf.data.experimental.assert_cardinality(max(0, steps - skip))))
