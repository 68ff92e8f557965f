"""What reads the texts of a classifier with --encoder: a tokenizer and a pretrained encoder."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from pipelines.data.fields import BETWEEN, TEXT, Field, read_fields
from pipelines.pretrained import frozen
from pipelines.pretrained.frozen import SentenceEncoder
from pipelines.support.records import read_record, write_record
from pipelines.text import tokenizers
from pipelines.text.tokenizers import Tokenizer

_FILE, _FOLDER = "encoder.json", "encoder"
_REMEDY = "delete the run's folder to train from scratch"


class Reader(tf.Module):
    """A tokenizer and an encoder. It can be used as the tokenizer: it passes on what it does not define itself.

    Args:
        tokenizer: makes ids.
        encoder: makes vectors.
        num_fields: number of the fields of a text that is made of columns; 0 of a plain text.
        encoded: the numbers of those fields that are encoded, each by itself; their vectors are joined.
        is_pair: whether the first two fields are a pair: the features have also their vectors' |u - v| and u v.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        encoder: SentenceEncoder,
        num_fields: int = 0,
        encoded: Sequence[int] = (),
        is_pair: bool = False,
    ):
        super().__init__()
        self.tokenizer = tokenizer
        self.encoder = encoder
        self._settings = {"num_fields": num_fields, "encoded": list(encoded), "is_pair": is_pair}
        self.vector_size = (max(1, len(encoded)) + 2 * is_pair) * encoder.size

    def __getattr__(self, name: str):
        if name == "tokenizer":  # not set yet
            raise AttributeError(name)
        return getattr(self.tokenizer, name)

    def vectors(self, texts: tf.Tensor) -> tf.Tensor:
        """Returns the features of texts, as graph operations: string [batch] -> float32 [batch, vector_size]."""
        num_fields, encoded, _ = self._settings.values()
        if not num_fields:
            return self.encoder(texts)
        fields = tf.strings.split(texts, BETWEEN).to_tensor("", shape=[None, num_fields])
        read = tf.gather(fields, encoded, axis=1)  # [batch, encoded]
        vectors = tf.reshape(self.encoder(tf.reshape(read, [-1])), [-1, len(encoded), self.encoder.size])
        return self._joined(vectors, tf.abs, tf.concat)

    def encode_all(self, texts: np.ndarray) -> np.ndarray:
        """Returns the features of all texts, float32 [n, vector_size]; see `SentenceEncoder.encode`."""
        num_fields, encoded, _ = self._settings.values()
        if not num_fields:
            return self.encoder.encode(texts)
        rows = [(text.split(BETWEEN) + [""] * num_fields)[:num_fields] for text in texts]
        vectors = [self.encoder.encode([row[i] for row in rows]) for i in encoded]
        return self._joined(np.stack(vectors, axis=1), np.abs, np.concatenate)

    def _joined(self, vectors, absolute, concatenate):
        """[batch, encoded, size] -> [batch, vector_size]."""
        parts = [vectors[:, i] for i in range(vectors.shape[1])]
        if self._settings["is_pair"]:
            parts += [absolute(parts[0] - parts[1]), parts[0] * parts[1]]
        return concatenate(parts, -1)

    def save(self, folder: Path) -> None:
        """Writes what `load` reads to the existing `folder`: the tokenizer's files, and a copy of the encoder."""
        self.tokenizer.save(folder)
        files = self.encoder.save(Path(folder) / _FOLDER)
        write_record(Path(folder) / _FILE, self._settings | {"files": files})


def make(tokenizer: Tokenizer, handle: str, fields: Sequence[Field]) -> Reader:
    """Returns the reader with the encoder of a handle.

    Raises:
        UserError: the encoder cannot be reached, or gives texts no vectors.
    """
    read = read_fields(fields)
    encoded = [i for i, field in enumerate(read) if field.kind == TEXT]
    is_pair = not all(field.is_column for field in read)
    return Reader(tokenizer, frozen.find(handle, SentenceEncoder), len(read), encoded, is_pair)


def load(folder: Path) -> Tokenizer | Reader:
    """Loads a tokenizer, or what `Reader.save` wrote.

    Raises:
        UserError: a file is damaged.
    """
    tokenizer = tokenizers.load_tokenizer(folder)
    if not (Path(folder) / _FILE).exists():
        return tokenizer
    saved = read_record(Path(folder) / _FILE, _REMEDY)
    files = saved.pop("files")
    return Reader(tokenizer, frozen.load(Path(folder) / _FOLDER, files, _REMEDY, SentenceEncoder), **saved)
