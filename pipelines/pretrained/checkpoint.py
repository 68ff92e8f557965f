"""A checkpoint of Hugging Face as an encoder with TF Hub's interface: texts in, vectors out."""

from collections.abc import Callable
from pathlib import Path

import keras
import tensorflow as tf

from pipelines.checkpoints import network, tokenizer
from pipelines.checkpoints.pooling import transformer_folder
from pipelines.export import saved_model
from pipelines.export.exported import Exported
from pipelines.pretrained.blanks import make_fill
from pipelines.pretrained.text_encoder import TextEncoder, encode_once
from pipelines.support.errors import UserError
from pipelines.support.quiet import capture_stderr_descriptor
from pipelines.support.run_result import SCHEMA
from pipelines.text.tokenizers import keep_start

MAX_BYTES = 40_000  # of a text that are read
_EXAMPLES: dict[str, dict] = {
    "serving_default": {"text": ["The cat sat on the mat.", "", "Caf\N{LATIN SMALL LETTER E WITH ACUTE} " * 20]},
    "words": {"tokens": [["The", "cat", "sat", "."], ["", "", "", ""], ["zzz", "\x01", "", ""]]},
    "fill": {"text": ["The cat sat on the [MASK].", "[MASK]", "word " * 20 + "[MASK]!"]},
    "trace": {"text": ["The cat sat on the mat.", "", "a"]},
}


def load(folder: Path, max_tokens: int | None = None, max_bytes: int = MAX_BYTES) -> TextEncoder:
    """Returns the encoder of the checkpoint in a folder.

    Texts are cut at their end, as sentence-transformers does.

    Args:
        max_tokens: that are read of a text; None: as many as the checkpoint allows.

    Raises:
        UserError: the checkpoint is damaged or of a kind that is not supported, or it allows fewer tokens.
    """
    checkpoint = network.load(folder)
    if max_tokens is not None and max_tokens > checkpoint.max_tokens:
        raise UserError(f"--max-tokens {max_tokens}: {folder} reads {checkpoint.max_tokens} at most")
    reads = tokenizer.load(transformer_folder(folder), max_bytes)
    size = checkpoint.vocabulary_size
    if reads.vocabulary_size > size:
        raise UserError(
            f"{folder}: its tokenizer has {reads.vocabulary_size:,} tokens and its network {size:,}: download it again"
        )
    limit = max_tokens or checkpoint.max_tokens
    masked = checkpoint.masked if reads.special.blank is not None else None
    encode, fill = encode_once(reads), None
    if masked:
        logits_at = _logits_at(masked, reads.vocabulary_size)
        fill = make_fill(reads, logits_at, is_causal=False, window=limit - 2, encode=encode)
    return TextEncoder(checkpoint.network, reads, limit, masked, fill, keep_start, has_dropout=False, encode=encode)


def _logits_at(masked: keras.Model, num_tokens: int) -> Callable:
    """Returns the logits of the first `num_tokens` ids as a function of ids and positions, see `Checkpoint.masked`."""
    return lambda ids, positions: masked({"ids": ids, "positions": positions}, training=False)[..., :num_tokens]


def convert(checkpoint: Path, folder: Path) -> None:
    """Writes the SavedModel of a checkpoint to `folder`.

    Raises:
        UserError: see `load`.
    """
    encoder = load(checkpoint)
    with capture_stderr_descriptor():  # TensorFlow prints the folder as a warning
        tf.saved_model.save(saved_model.attributes(encoder), str(folder), signatures=encoder.signatures())


def export(checkpoint: Path, source: str, saved_models: Path, name: str, max_tokens: int | None = None) -> Exported:
    """Exports the encoder of a checkpoint, with its card, verified.

    Args:
        source: what the user called the checkpoint.

    Raises:
        UserError: see `load`.
    """
    encoder = load(checkpoint, max_tokens)
    card = {
        "schema": SCHEMA,
        "task": "encoder",
        "checkpoint": source,
        "parameters": sum(int(variable.shape.num_elements()) for variable in encoder.variables),
        "size": encoder.embed.get_concrete_function().structured_outputs["embedding"].shape[-1],
        "window": {"max_tokens": encoder.max_tokens, "max_bytes": MAX_BYTES},
    }
    requests = {signature: _EXAMPLES[signature] for signature in encoder.signatures()}
    return saved_model.export(encoder, name, saved_models, card, requests)
