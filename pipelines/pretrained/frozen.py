"""A pretrained encoder whose weights stay as they are, as a source of vectors of texts and of tokens."""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import numpy as np
import tensorflow as tf

from layers.hub_module import Module
from pipelines.export.exported import difference, files_of
from pipelines.pretrained.handles import module_folder
from pipelines.pretrained.outputs import text_features
from pipelines.support import console
from pipelines.support.errors import UserError
from pipelines.support.quiet import capture_stderr_descriptor

WORDS = "words"  # the signature with a vector for each token
_BATCH_SIZE = 64  # texts
_MANY_TEXTS = 2000  # from which on the terminal says that they are encoded


class FrozenEncoder(tf.Module):
    """An exported encoder, which is not trained further.

    Args:
        folder: folder of its SavedModel.
        handle: what the user called it, for messages.

    Attributes:
        size: numbers in the vector of a text or a token.
    """

    def __init__(self, folder: Path, handle: str | None = None):
        super().__init__()
        self._folder = str(folder)
        self._handle = handle or self._folder
        self._cache: Path | None = None

    def save(self, folder: Path) -> dict[str, dict]:
        """Copies the SavedModel to `folder`; returns its files, as `files_of` does."""
        shutil.copytree(self._folder, folder)
        return files_of(folder)


class WordEncoder(FrozenEncoder):
    """A frozen encoder that gives each token a vector.

    Raises:
        UserError: it has no signature that takes tokens and returns a vector for each.
    """

    def __init__(self, folder: Path, handle: str | None = None):
        super().__init__(folder, handle)
        with capture_stderr_descriptor():
            self._loaded = tf.saved_model.load(self._folder)
        if WORDS not in self._loaded.signatures:
            raise UserError(
                f"{self._handle} has no signature {WORDS!r}, which gives each token its own vector: take hf://ORG/NAME "
                "or what `train encoder` of this version has exported. A module of TF Hub reads whole texts, and does "
                "not say which of its vectors belong to a token"
            )
        self._encode = self._loaded.signatures[WORDS]
        self.size = self._encode.structured_outputs["vectors"].shape[-1]

    def __call__(self, tokens: tf.RaggedTensor) -> tf.RaggedTensor:
        """Returns the vectors of tokens, ragged float32 [batch, (tokens), size].

        Args:
            tokens: ragged string [batch, (tokens)].
        """
        vectors = self._encode(tokens=tokens.to_tensor())["vectors"]
        mask = tf.sequence_mask(tokens.row_lengths(), tf.shape(vectors)[1])
        return tokens.with_flat_values(tf.boolean_mask(vectors, mask))


class SentenceEncoder(FrozenEncoder):
    """A frozen encoder that gives each text a vector.

    Raises:
        UserError: the module does not take strings, or none of its outputs is a vector for each text.
    """

    def __init__(self, folder: Path, handle: str | None = None):
        super().__init__(folder, handle)
        try:
            with capture_stderr_descriptor():
                self._module = Module(folder, None, self._handle)
                self._loaded = self._module.loaded
                vectors = self._vectors(tf.constant(["a"]))
        except ValueError as error:
            raise UserError(f"--encoder {error}") from error
        self.size = int(vectors.shape[-1])
        spec = [tf.TensorSpec([None], tf.string)]
        self._encode = tf.function(self._vectors, input_signature=spec, autograph=False)

    def __call__(self, texts: tf.Tensor) -> tf.Tensor:
        """Returns the vectors of texts: string [batch] -> float32 [batch, size]."""
        return tf.ensure_shape(self._vectors(texts), [None, self.size])

    def _vectors(self, texts):
        vectors = text_features(self._handle, self._module(texts, training=False))
        if len(vectors.shape) != 2 or vectors.shape[-1] is None:
            raise ValueError(f"{self._handle} has an output of the shape {vectors.shape}, not a vector for each text")
        return tf.cast(vectors, tf.float32)

    def keep_in(self, folder: Path) -> None:
        """Makes `encode` keep in `folder` what it computes, and read it from there: each text is encoded once."""
        self._cache = folder

    def encode(self, texts: Iterable[str]) -> np.ndarray:
        """Returns the vectors of all texts, float32 [n, size]; mapped into memory where they are kept in a file."""
        return vectors_of(self._encode, texts, self.size, self._cache)


def vectors_of(
    encode: Callable[[tf.Tensor], tf.Tensor], texts: Iterable[str], size: int, folder: Path | None, name: str = ""
) -> np.ndarray:
    """Returns the vectors of all texts, float32 [n, size].

    Args:
        encode: string [batch] -> float32 [batch, size].
        folder: keeps them in a file, which the next call with the same texts maps into memory; None keeps nothing.
        name: of the vectors, where `folder` has those of several functions.
    """
    data = [text.encode("utf-8", "surrogatepass") for text in texts]
    if folder is None:
        return _encode_all(encode, data, size)
    key = hashlib.sha256(b"\0".join([name.encode(), str(len(data)).encode(), *data])).hexdigest()[:32]
    path = folder / f"vectors-{key}.npy"
    if not path.exists():
        part = path.with_suffix(".part")
        with open(part, "wb") as file:
            np.save(file, _encode_all(encode, data, size))
        os.replace(part, path)
    return np.load(path, mmap_mode="r")


def _encode_all(encode: Callable[[tf.Tensor], tf.Tensor], data: list[bytes], size: int) -> np.ndarray:
    vectors = np.zeros((len(data), size), np.float32)
    order = np.argsort([len(text) for text in data], kind="stable")  # little padding in each batch
    if len(data) >= _MANY_TEXTS:
        console.say(f"encoding {len(data):,} texts ...")
    for start in range(0, len(order), _BATCH_SIZE):
        rows = order[start : start + _BATCH_SIZE]
        vectors[rows] = encode(tf.constant([data[row] for row in rows], tf.string)).numpy()
    return vectors


_Kind = TypeVar("_Kind", bound=FrozenEncoder)


def find(handle: str, kind: type[_Kind]) -> _Kind:
    """Returns the encoder of a handle (see handles.py).

    Raises:
        UserError: it cannot be reached, or has no vectors of this kind.
    """
    return kind(module_folder(handle), handle)


def load(folder: Path, files: dict[str, dict], remedy: str, kind: type[_Kind]) -> _Kind:
    """Loads what `FrozenEncoder.save` copied to `folder`.

    Args:
        files: what it returned.
        remedy: what the user can do if a file has changed.

    Raises:
        UserError: a file has changed.
    """
    problem = difference(folder, files)
    if problem:
        raise UserError(f"{folder} is damaged ({problem}): {remedy}")
    return kind(folder)
