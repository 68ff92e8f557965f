"""`evaluate`: an exported language model measured on a text."""

import numpy as np

from pipelines.data import sources, texts
from pipelines.export.exported import Exported
from pipelines.language_model.cache_options import exported_cache_options, require_cache
from pipelines.language_model.scores import token_losses
from pipelines.support import paths
from pipelines.support.errors import UserError
from pipelines.support.numbers import counted
from pipelines.support.paths import Data


def evaluate(exported: Exported, data: Data | None, cache: dict | None = None, encoding: str | None = None) -> dict:
    """Measures an exported model on a text, which it reads in one stream from start to end.

    Args:
        data: one or several text files, or the name of a corpus; None is the embedded sample, for a model that
            was trained on it.
        cache: option of `CACHE` -> value; None where it is not given.
        encoding: of the files; see `texts.pieces`.

    Returns:
        "model", "data", with a cache its options, and the entries of `language_model_measures`.

    Raises:
        UserError: the text cannot be read, or is empty.
    """
    if data is None and not exported.card()["sample"]:
        raise UserError(
            f"{exported.title} was not trained on the embedded sample: give a text to measure it on with --data"
        )
    options = exported_cache_options(exported, cache or {})
    loaded = exported.load()
    if options:
        require_cache(exported, loaded.signatures)
    import tensorflow as tf

    from pipelines.language_model.metrics import language_model_measures
    from pipelines.support.quiet import capture_stderr_descriptor
    from pipelines.text.tokenizers import UNKNOWN

    characters, ids = 0, []
    for chunk in texts.chunks(texts.pieces(data, encoding=encoding)):
        characters += len(chunk)
        ids.append(loaded.signatures["encode"](text=tf.constant([chunk]))["ids"].numpy()[0])
    if not characters:
        raise UserError(f"{paths.shown(data)} is empty")
    ids = np.concatenate(ids)
    with capture_stderr_descriptor():  # the first call may print lines about oneDNN
        losses = token_losses(loaded.signatures, tf.constant(ids[None]), options)
    measures = language_model_measures(losses, characters, int((ids == UNKNOWN).sum()))
    return {"model": exported.title, "data": sources.name(data)} | (options or {}) | measures


def format_measures(measures: dict) -> str:
    """Returns the measures as text for a terminal."""
    values = {
        "loss, nats per token": f"{measures['loss']:.4f}",
        "perplexity": f"{measures['perplexity']:.3f}",
        "bits per character": f"{measures['bits_per_character']:.4f}",
    }
    size = f"{counted(measures['tokens'], 'token')}, {counted(measures['characters'], 'character')}"
    lines = [f"{measures['model']} on {measures['data']}: {size}", ""]
    if "cache_size" in measures:
        cache = "cache of {cache_size:,} tokens, theta {cache_theta:g}, lambda {cache_lambda:g}"
        lines.insert(1, cache.format(**measures))
    lines += [f"  {name:<24}{value}" for name, value in values.items()]
    if measures["unknown_tokens"]:
        lines.append(
            f"  {measures['unknown_tokens']:,} tokens are not in the vocabulary and are counted as the unknown token"
        )
    return "\n".join(lines)
