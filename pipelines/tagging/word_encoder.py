"""A pretrained encoder as a source of vectors for tokens: its signature `words`."""

import shutil
from pathlib import Path

import tensorflow as tf

from layers.hub_module import resolve
from pipelines.export.exported import difference, files_of
from pipelines.support.errors import UserError
from pipelines.support.quiet import capture_stderr_descriptor

SIGNATURE = "words"


class WordEncoder(tf.Module):
    """An exported encoder, which is not trained further.

    Args:
        folder: folder of its SavedModel.

    Raises:
        UserError: it has no signature that takes tokens and returns a vector for each.
    """

    def __init__(self, folder: Path):
        super().__init__()
        self._folder = str(folder)
        with capture_stderr_descriptor():
            self._loaded = tf.saved_model.load(self._folder)
        if SIGNATURE not in self._loaded.signatures:
            raise UserError(
                f"{folder} has no signature {SIGNATURE!r}, which gives each token its own vector: take an encoder that "
                "`train encoder` of this version has exported. A module of TF Hub reads whole texts, and does not say "
                "which of its vectors belong to a token"
            )
        self._encode = self._loaded.signatures[SIGNATURE]
        self.size = self._encode.structured_outputs["vectors"].shape[-1]

    def __call__(self, tokens: tf.RaggedTensor) -> tf.RaggedTensor:
        """Returns the vectors of tokens, ragged float32 [batch, (tokens), size].

        Args:
            tokens: ragged string [batch, (tokens)].
        """
        vectors = self._encode(tokens=tokens.to_tensor())["vectors"]
        mask = tf.sequence_mask(tokens.row_lengths(), tf.shape(vectors)[1])
        return tokens.with_flat_values(tf.boolean_mask(vectors, mask))

    def save(self, folder: Path) -> dict[str, dict]:
        """Copies the SavedModel to `folder`; returns its files, as `files_of` does."""
        shutil.copytree(self._folder, folder)
        return files_of(folder)


def find(handle: str) -> WordEncoder:
    """Returns the encoder at a folder or URL.

    Raises:
        UserError: it cannot be reached, or has no vectors of tokens.
    """
    try:
        return WordEncoder(resolve(handle))
    except ValueError as error:
        raise UserError(f"--encoder {error}") from error


def load(folder: Path, files: dict[str, dict], remedy: str) -> WordEncoder:
    """Loads what `WordEncoder.save` copied to `folder`.

    Args:
        files: what it returned.
        remedy: what the user can do if a file has changed.

    Raises:
        UserError: a file has changed.
    """
    problem = difference(folder, files)
    if problem:
        raise UserError(f"{folder} is damaged ({problem}): {remedy}")
    return WordEncoder(folder)
