"""Encoders: unlabelled text -> a reusable text encoder with TF Hub's interface.

The functions stand in the order in which a run calls them (see run.py). What learns is a language model of char_lm's kind (causal), or
one that tells hidden tokens (bidirectional); what is exported is the part of it that reads.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from pipelines import char_lm, encoder_report, language_models, masked_models, streams, text
from pipelines.configs.encoder import EncoderConfig
from pipelines.data import corpora, folders, reviews, tables
from pipelines.data.splits import validation_rows
from pipelines.errors import UserError
from pipelines.text_encoder import TextEncoder, network

UNIT = "tokens"
_TOKENIZER = "subword"


@dataclasses.dataclass(frozen=True)
class Splits:
    """Functions that give the texts of each part, as often as they are called, how many there are of what (texts or characters), and
    what was left out: reason -> texts."""

    train: Callable[[], Iterator[str]]
    valid: Callable[[], Iterator[str]]
    rows: dict[str, int]
    notes: dict[str, int]
    unit: str = "texts"


def load(config: EncoderConfig) -> Splits:
    """Finds the texts: rows of a table, files of a folder, or a text file in pieces.

    Raises:
        UserError: not readable, or too short to split.
    """
    path = None if config.data is None or corpora.named(config.data, "reviews") else corpora.existing(config.data, "text")
    if path is None or (path / "train").is_dir():
        found = reviews.read(config.data)["train"]
        everything, groups, dropped = found.texts, found.groups, found.dropped
    elif path.is_dir():
        (everything, dropped), groups = folders.texts(path), None
    elif tables.is_table(path):
        everything, groups, dropped = tables.read_texts(path, config.text_column)
    else:
        return _one_text(config)
    held_out = validation_rows(everything if groups is None else groups, config.valid_fraction)
    train, valid = everything[~held_out], everything[held_out]
    notes = {f"left out, {reason}": rows for reason, rows in dropped.items()}
    return Splits(lambda: iter(train), lambda: iter(valid), {"train": len(train), "valid": len(valid)}, notes)


def _one_text(config) -> Splits:
    parts = char_lm.load(dataclasses.replace(_LANGUAGE_MODEL, data=config.data, valid_fraction=config.valid_fraction))
    rows = {"train": parts.train.characters, "valid": parts.valid.characters}
    return Splits(lambda: streams.chunks(parts.train.pieces()), lambda: streams.chunks(parts.valid.pieces()), rows, {}, "characters")


_LANGUAGE_MODEL = char_lm.CharLmConfig()


def told(splits: Splits) -> str:
    return f"{splits.rows['train']:,} {splits.unit} to train on, {splits.rows['valid']:,} to validate; reading them ..."


load_tokenizer = text.load


def tokenizer(config: EncoderConfig, splits: Splits) -> text.Tokenizer:
    return text.train(_TOKENIZER, splits.train(), config.vocabulary_size, config.max_bytes)


def settled(config: EncoderConfig, splits: Splits, tokenizer: text.Tokenizer) -> EncoderConfig:
    """The config with what was left to the data: nothing."""
    return config


@dataclasses.dataclass(frozen=True)
class Encoded:
    """The ids of both parts, int32 [tokens], the texts one behind the other, each between START and END; how many tokens there are."""

    train: np.ndarray
    valid: np.ndarray
    vocabulary_size: int


def encode(config: EncoderConfig, tokenizer: text.Tokenizer, splits: Splits, folder: Path) -> Encoded:
    """
    Raises:
        UserError: the texts are too short for a single step.
    """
    for name, part in (("train", splits.train), ("valid", splits.valid)):
        if not (folder / f"{name}.ids").exists():
            streams.write_ids(folder / f"{name}.ids", tokenizer, part(), marked=True)
    encoded = Encoded(*(streams.read_ids(folder / f"{name}.ids") for name in ("train", "valid")), tokenizer.vocabulary_size)
    for name in ("train", "valid"):
        ids = getattr(encoded, name)
        if not streams.steps_per_epoch(len(ids), config.batch_size, config.window):
            raise UserError(
                f"{config.data or 'the sample'}: {len(ids):,} tokens for {name} are too few for {config.batch_size} streams of {config.window}: "
                "lower --batch-size or --window, or give more text"
            )
    return encoded


def steps_per_epoch(config: EncoderConfig, encoded: Encoded) -> int:
    return streams.steps_per_epoch(len(encoded.train), config.batch_size, config.window)


def items(encoded: Encoded) -> int:
    return len(encoded.train)


def batches(config: EncoderConfig, encoded: Encoded, epoch: int, skip: int) -> tf.data.Dataset:
    return _batches(config, encoded, encoded.train, epoch, skip)


def _batches(config, encoded, ids, epoch, skip):
    if config.direction == "causal":
        return streams.batches(ids, config.batch_size, config.window, config.seed, epoch, skip)
    return masked_models.batches(config, encoded.vocabulary_size, ids, epoch, skip)


def build(config: EncoderConfig, tokenizer: text.Tokenizer, splits: Splits, training: bool) -> keras.Model:
    if config.direction == "bidirectional":
        return masked_models.build(config, tokenizer.vocabulary_size)
    return language_models.build(config, tokenizer.vocabulary_size, streams=config.batch_size if training else None)


def scores_a_twin(config: EncoderConfig) -> bool:
    return config.direction == "causal"


compile_arguments = char_lm.compile_arguments


def fit_arguments(config: EncoderConfig, model: keras.Model, encoded: Encoded) -> dict:
    return char_lm.fit_arguments(config, model, encoded)


def validator(config: EncoderConfig, model: keras.Model, tokenizer: text.Tokenizer, encoded: Encoded) -> Callable:
    """() -> the loss of `model` as it is on windows of the validation texts, each read from a fresh start."""
    return lambda: {"val_loss": float(model.evaluate(_batches(config, encoded, encoded.valid, 0, 0), verbose=0))}


def servable(model: keras.Model, tokenizer: text.Tokenizer, config: EncoderConfig, splits: Splits) -> TextEncoder:
    return TextEncoder(network(*reading_part(config, model)), tokenizer, config.max_tokens)


def reading_part(config: EncoderConfig, model: keras.Model) -> tuple[keras.Model, keras.layers.Layer | None]:
    """(ids -> the states behind each layer, what stands behind the uppermost) of a language model."""
    kind = "block" if config.model == "transformer" else "recurrent"
    outputs = [model.get_layer(f"{kind}_{i + 1}").output for i in range(config.layers)]
    outputs = [output[0] if isinstance(output, list | tuple) else output for output in outputs]
    ids = model.get_layer("ids").output
    return keras.Model(ids, outputs, name="layers"), model.get_layer("last_norm") if config.model == "transformer" else None


def measure(servable: TextEncoder, splits: Splits, encoded: Encoded) -> tuple[dict, dict]:
    """The loss was measured after each epoch; here is what it comes to in the best (see `write_report`)."""
    return {"validation": {"tokens": len(encoded.valid)}}, {}


def facts(config: EncoderConfig, splits: Splits, encoded: Encoded) -> dict:
    window = {"max_tokens": config.max_tokens, "max_bytes": config.max_bytes}
    return {"rows": splits.rows, "unit": splits.unit, "notes": splits.notes, "window": window}


def example_requests(servable: TextEncoder) -> dict[str, dict]:
    return {"serving_default": {"text": ["The cat sat on the mat.", "", "Caf\N{LATIN SMALL LETTER E WITH ACUTE} " * 200]}}


def write_report(folder: Path, result: dict, details: dict) -> None:
    row = result["epochs"][result["best_epoch"] - 1]
    result["scores"]["validation"] |= {"loss": row["val_loss"], "perplexity": math.exp(row["val_loss"])}
    encoder_report.write(folder, result)
