"""The task of encoders: texts without labels -> a text encoder with TF Hub's interface. See `pipelines.task.Task` for
the members.

A causal encoder is pretrained as a language model, a bidirectional one to predict masked tokens. The part of the
network that reads is exported.
"""

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from pipelines.data import streams
from pipelines.data.id_files import VALID, IdFiles
from pipelines.data.part import current
from pipelines.data.prepared import TOKENIZER
from pipelines.encoder import networks, shards
from pipelines.encoder.config import EncoderConfig
from pipelines.encoder.data import Splits, load  # noqa: F401 (`load` is a member of Task)
from pipelines.encoder.masking import masked_batches
from pipelines.encoder.report import summarize, write_report  # noqa: F401 (members of Task)
from pipelines.encoder.servable import example_requests, make_servable  # noqa: F401 (members of Task)
from pipelines.networks.recurrent import reset_states
from pipelines.pretrained.text_encoder import TextEncoder
from pipelines.support import paths
from pipelines.support.errors import UserError
from pipelines.support.examples import example_text
from pipelines.task import (  # noqa: F401 (members of Task)
    complete_config,
    grow_tokenizer,
    items_per_epoch,
    load_tokenizer,
    refit,
)
from pipelines.text.tokenizers import Tokenizer
from pipelines.training.checkpoints import Position
from pipelines.training.fit import FitOptions
from pipelines.training.optimizers import language_model_optimizer
from pipelines.training.schedules import warmup_schedule

UNIT = "tokens"
_WARMUP_FRACTION = 0.05  # of the steps


@dataclasses.dataclass(frozen=True)
class Encoded:
    """The ids of both parts, int32 [tokens], mapped into memory from files, or read from those of prepared data.

    The texts follow one another, each from START to END.
    """

    train: np.ndarray | IdFiles
    valid: np.ndarray
    vocabulary_size: int

    def __len__(self) -> int:
        return len(self.train)


def describe(splits: Splits) -> str:
    """Returns how many texts or characters there are."""
    return f"{splits.rows['train']:,} {splits.unit} to train on, {splits.rows['valid']:,} to validate; reading them ..."


def make_tokenizer(config: EncoderConfig, splits: Splits) -> Tokenizer:
    """Trains the tokenizer on the training texts, or takes that of prepared data."""
    if splits.data:
        return load_tokenizer(splits.data.folder / TOKENIZER)
    return shards.make_tokenizer(config, splits.train())


def encode(config: EncoderConfig, splits: Splits, tokenizer: Tokenizer, folder: Path) -> Encoded:
    """Tokenizes both parts to files in the run's folder, once; or takes the files of prepared data."""
    ids = _ids(splits, tokenizer, folder)
    for name, purpose in (("train", "train"), ("valid", "validate")):
        if not streams.steps_per_epoch(len(ids[name]), config.batch_size, config.window):
            raise UserError(
                f"{paths.shown(config.data)}: {len(ids[name]):,} tokens are too few to {purpose} on with "
                f"{config.batch_size} streams of {config.window} tokens: lower --batch-size or --window, or give "
                "more text"
            )
    return Encoded(**ids, vocabulary_size=tokenizer.vocabulary_size)


def _ids(splits: Splits, tokenizer: Tokenizer, folder: Path) -> dict[str, np.ndarray | IdFiles]:
    if splits.data:
        return {"train": IdFiles(splits.data), "valid": streams.read_ids(splits.data.folder / VALID)}
    files = {name: folder / f"{name}.ids" for name in ("train", "valid")}
    for name, path in files.items():
        if not path.exists():
            streams.write_ids(path, tokenizer, getattr(splits, name)(), with_special_tokens=True)
    return {name: streams.read_ids(path) for name, path in files.items()}


def steps_per_epoch(config: EncoderConfig, encoded: Encoded) -> int:
    """Returns the number of windows per stream."""
    return streams.steps_per_epoch(len(encoded.train), config.batch_size, config.window)


def needs_inference_model(config: EncoderConfig) -> bool:
    """Whether the trained model carries its states from window to window."""
    return config.direction == "causal"


def build(config: EncoderConfig, splits: Splits, tokenizer: Tokenizer, encoded: Encoded, training: bool) -> keras.Model:
    """Builds the network to pretrain; a causal one for training with one state per stream."""
    num_streams = current().size(config.batch_size) if training else None
    return networks.build(config, tokenizer.vocabulary_size, streams=num_streams)


def compile_model(config: EncoderConfig, model: keras.Model, total_steps: int) -> None:
    """Compiles with the optimizer and the cross-entropy."""
    schedule = warmup_schedule(config, total_steps, warmup_steps=max(1, int(_WARMUP_FRACTION * total_steps)))
    optimizer = language_model_optimizer(config, schedule)
    model.compile(optimizer=optimizer, loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))


def fit_options(config: EncoderConfig, encoded: Encoded, model: keras.Model) -> FitOptions:
    """Resets the carried states at the start of each epoch."""

    def on_epoch_begin(position: Position) -> None:
        if position.step == 0:  # an interrupted epoch continues from the states of the checkpoint
            reset_states(model)

    return FitOptions(on_epoch_begin=on_epoch_begin)


def batches(config: EncoderConfig, encoded: Encoded, epoch: int, skip: int) -> tf.data.Dataset:
    """Returns the windows of one epoch; for a bidirectional encoder with masked tokens."""
    return _batches(config, encoded, encoded.train, epoch, skip)


def _batches(
    config: EncoderConfig, encoded: Encoded, ids: np.ndarray | IdFiles, epoch: int, skip: int
) -> tf.data.Dataset:
    if config.direction == "causal":
        return streams.batches(ids, config.batch_size, config.window, config.seed, epoch, skip)
    return masked_batches(config, encoded.vocabulary_size, ids, epoch, skip)


def make_validator(
    config: EncoderConfig, tokenizer: Tokenizer, encoded: Encoded, model: keras.Model
) -> Callable[[], dict[str, float]]:
    """Returns a function that scores `model` on windows of the validation texts, each from a zero state."""
    return lambda: {"val_loss": float(model.evaluate(_batches(config, encoded, encoded.valid, 0, 0), verbose=0))}


def measure(
    config: EncoderConfig, splits: Splits, encoded: Encoded, servable: TextEncoder, best_row: dict
) -> tuple[dict[str, dict], dict]:
    """Returns the validation loss of the best epoch: the servable has no output layer that could be scored."""
    loss = best_row["val_loss"]
    return {"validation": {"tokens": len(encoded.valid), "loss": loss, "perplexity": math.exp(loss)}}, {}


def describe_data(config: EncoderConfig, splits: Splits, encoded: Encoded) -> dict:
    """Returns the number of texts, what was left out, and the limits of a text."""
    window = {"max_tokens": config.max_tokens, "max_bytes": config.max_bytes}
    example = {"example_text": example_text(splits.valid())} if splits.valid else {}
    return {"rows": splits.rows, "unit": splits.unit, "notes": splits.notes, "window": window, **example}
