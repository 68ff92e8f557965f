"""`evaluate`: an exported language model measured on a text."""

from typing import NamedTuple

import numpy as np

from pipelines.data import sources, texts
from pipelines.export.exported import Exported
from pipelines.language_model.answers import PASSAGE, bits_per_character
from pipelines.language_model.cache_options import exported_cache_options, require_cache
from pipelines.language_model.scores import token_losses
from pipelines.support import paths
from pipelines.support.answers import Answers
from pipelines.support.errors import UserError
from pipelines.support.numbers import counted
from pipelines.support.paths import Data
from pipelines.task import TASKS


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
    read = _losses(exported, list(texts.chunks(texts.pieces(data, encoding=encoding))), paths.shown(data), options)
    from pipelines.language_model.metrics import language_model_measures

    measures = language_model_measures(np.concatenate(read.losses), sum(map(len, read.texts)), read.unknown_tokens)
    return {"model": exported.title, "data": sources.name(data)} | (options or {}) | measures


def answers(exported: Exported, data: Data, encoding: str | None = None) -> Answers:
    """Returns the losses of passages of a text, which the model reads in one stream; for `compare`.

    Raises:
        UserError: the text cannot be read, or is empty.
    """
    passages = list(texts.chunks(texts.pieces(data, encoding=encoding), PASSAGE))
    read = _losses(exported, passages, paths.shown(data), None)
    losses = [float(each.sum(dtype=np.float64)) for each in read.losses]
    given = [f"{bits_per_character(*each):.4f} bits per character" for each in zip(losses, map(len, passages))]
    doubt = ""
    if read.unknown_tokens:
        doubt = f"{counted(read.unknown_tokens, 'token')} of the text are unknown to it, which makes its loss too low"
    trained_on = sources.is_training_data(data, exported.card(), TASKS[exported.card()["task"]])
    return Answers(passages, [""] * len(passages), given, losses, trained_on=trained_on, doubt=doubt)


class _Read(NamedTuple):
    """What a model makes of the parts of a text.

    Attributes:
        texts: the parts.
        losses: -log p of the tokens of each part, in nats.
        unknown_tokens: number of tokens that are not in the vocabulary.
    """

    texts: list[str]
    losses: list[np.ndarray]
    unknown_tokens: int


def _losses(exported: Exported, parts: list[str], source: str, cache: dict | None) -> _Read:
    """Reads the parts of a text in one stream.

    Args:
        source: of the text, for messages.
        cache: of `exported_cache_options`.
    """
    if not parts:
        raise UserError(f"{source} is empty")
    loaded = exported.load()
    if cache:
        require_cache(exported, loaded.signatures)
    import tensorflow as tf

    from pipelines.support.quiet import capture_stderr_descriptor
    from pipelines.text.tokenizers import UNKNOWN

    by_part = [loaded.signatures["encode"](text=tf.constant([part]))["ids"].numpy()[0] for part in parts]
    ids = np.concatenate(by_part)
    with capture_stderr_descriptor():  # the first call may print lines about oneDNN
        losses = token_losses(loaded.signatures, tf.constant(ids[None]), cache)[0]
    return _Read(parts, np.split(losses, np.cumsum([len(each) for each in by_part])[:-1]), int((ids == UNKNOWN).sum()))


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
