"""Language models: prefix -> text.

The functions stand in the order in which a run calls them (see run.py).
"""

import dataclasses
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from pipelines import console, language_models, lm_report, streams, text
from pipelines.checkpoints import Position
from pipelines.configs.char_lm import GENERATION_DEFAULTS, CharLmConfig
from pipelines.data import texts
from pipelines.errors import UserError
from pipelines.generator import Generator

UNIT = "tokens"
_TOKENIZERS = {"character": "character", "word": "spaced", "subword": "pieces"}
_ALL = 2**20  # characters in a vocabulary
_MAX_BYTES = 100_000  # of a prompt
_VALIDATION_STREAMS = 16
_WARM_UP = 0.05  # of the steps


@dataclasses.dataclass(frozen=True)
class Text:
    """The characters `first` to `last` of a source (see data/texts.py); `last` None is its end."""

    source: str | None
    first: int
    last: int | None
    characters: int

    def pieces(self) -> Iterator[str]:
        return texts.pieces(self.source, self.first, self.last)


@dataclasses.dataclass(frozen=True)
class Splits:
    train: Text
    valid: Text


def load(config: CharLmConfig) -> Splits:
    """Finds the text and splits off its end for validation.

    Raises:
        UserError: not readable, or too short to split.
    """
    source = config.data or "the sample"
    characters = texts.characters(config.data)
    if config.valid:
        train = Text(config.data, 0, None, characters)
        valid = Text(config.valid, 0, None, texts.characters(config.valid))
    else:
        cut = int(characters * (1 - config.valid_fraction))
        train, valid = Text(config.data, 0, cut, cut), Text(config.data, cut, None, characters - cut)
    for part, name in ((train, source), (valid, config.valid or source)):
        if not part.characters:
            raise UserError(f"{name} is empty" if not characters else f"{name} is too short to split: give validation text with --valid")
    return Splits(train, valid)


def told(splits: Splits) -> str:
    return f"{splits.train.characters:,} characters to train on, {splits.valid.characters:,} to validate; reading them ..."


load_tokenizer = text.load


def tokenizer(config: CharLmConfig, splits: Splits) -> text.Tokenizer:
    size = _ALL if config.unit == "character" else config.vocabulary_size
    return text.train(_TOKENIZERS[config.unit], streams.chunks(splits.train.pieces()), size, _MAX_BYTES)


def settled(config: CharLmConfig, splits: Splits, tokenizer: text.Tokenizer) -> CharLmConfig:
    """The config with what was left to the data: nothing."""
    return config


@dataclasses.dataclass(frozen=True)
class Encoded:
    """The ids of both texts, int32 [tokens], as files that are looked at where they lie."""

    train: np.ndarray
    valid: np.ndarray


def encode(config: CharLmConfig, tokenizer: text.Tokenizer, splits: Splits, folder: Path) -> Encoded:
    """
    Raises:
        UserError: the text is too short for a single step.
    """
    for name, part in vars(splits).items():
        if not (folder / f"{name}.ids").exists():
            streams.write_ids(folder / f"{name}.ids", tokenizer, streams.chunks(part.pieces()))
    encoded = Encoded(*(streams.read_ids(folder / f"{name}.ids") for name in vars(splits)))
    if not steps_per_epoch(config, encoded):
        raise UserError(
            f"{config.data or 'the sample'}: {len(encoded.train):,} tokens to train on are too few for {config.batch_size} streams of "
            f"{config.window}: lower --batch-size or --window, or give more text"
        )
    return encoded


def steps_per_epoch(config: CharLmConfig, encoded: Encoded) -> int:
    return streams.steps_per_epoch(len(encoded.train), config.batch_size, config.window)


def items(encoded: Encoded) -> int:
    """Tokens in an epoch."""
    return len(encoded.train)


def batches(config: CharLmConfig, encoded: Encoded, epoch: int, skip: int) -> tf.data.Dataset:
    """The windows of one training epoch from step `skip` on: a pure function of (config.seed, epoch, skip)."""
    return streams.batches(encoded.train, config.batch_size, config.window, config.seed, epoch, skip)


def build(config: CharLmConfig, tokenizer: text.Tokenizer, splits: Splits, training: bool) -> keras.Model:
    return language_models.build(config, tokenizer.vocabulary_size, streams=config.batch_size if training else None)


def scores_a_twin(config: CharLmConfig) -> bool:
    """Whether what is scored and kept is another model than what is trained: that one carries its state from window to window."""
    return True


def compile_arguments(config: CharLmConfig, steps: int) -> dict:
    """Optimizer and loss for a training of `steps` steps in all."""
    optimizer = keras.optimizers.AdamW(
        learning_rate(config, steps), weight_decay=config.weight_decay, beta_2=0.99, global_clipnorm=config.clip_norm
    )
    optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
    return dict(optimizer=optimizer, loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))


def learning_rate(config: CharLmConfig, steps: int):
    """Keras's schedule for `config.schedule`; a number where epochs decide (see `fit_arguments`)."""
    highest, warm_up = config.learning_rate, max(1, int(_WARM_UP * steps))
    if config.schedule == "cosine":
        rest = max(1, steps - warm_up)
        return keras.optimizers.schedules.CosineDecay(0.0, decay_steps=rest, warmup_target=highest, warmup_steps=warm_up)
    if config.schedule == "step":
        ends = [max(i, steps * (4 + i) // 8) for i in range(4)]
        return keras.optimizers.schedules.PiecewiseConstantDecay(ends, [highest * 0.5**i for i in range(5)])
    return highest


def fit_arguments(config: CharLmConfig, model: keras.Model, encoded: Encoded) -> dict:
    def begin_epoch(position: Position) -> None:
        for layer in model.layers:
            if getattr(layer, "stateful", False):
                layer.reset_state()
        if config.schedule == "plateau":
            model.optimizer.learning_rate = config.learning_rate * 0.5 ** epochs_without_gain(position.rows)

    return {"begin_epoch": begin_epoch}


def epochs_without_gain(rows: list[dict]) -> int:
    """How many of the epochs so far did not bring the validation loss below all before."""
    lowest, count = math.inf, 0
    for row in rows:
        count += row["val_loss"] >= lowest
        lowest = min(lowest, row["val_loss"])
    return count


def validator(config: CharLmConfig, model: keras.Model, tokenizer: text.Tokenizer, encoded: Encoded) -> Callable:
    """() -> the loss of `model` as it is on the validation text, and a look at what it writes.

    The text is read in streams side by side, each from a fresh start; `measure` reads it in one.
    """
    generator = Generator(config, model, tokenizer)
    side_by_side = max(1, min(_VALIDATION_STREAMS, len(encoded.valid) // (8 * config.window)))
    length = len(encoded.valid) // side_by_side
    ids = tf.constant(encoded.valid[: side_by_side * length].reshape(side_by_side, length))

    def validate() -> dict[str, float]:
        loss = float(tf.reduce_mean(generator.token_losses(ids)["losses"]))
        written = generator.continue_text(tf.constant([""]))["text"].numpy()[0].decode()
        console.say("\n".join(f"    | {line}" for line in written.splitlines()))
        return {"val_loss": loss}

    return validate


def servable(model: keras.Model, tokenizer: text.Tokenizer, config: CharLmConfig, splits: Splits) -> Generator:
    return Generator(config, model, tokenizer)


def measure(servable: Generator, splits: Splits, encoded: Encoded) -> tuple[dict, dict]:
    """Scores the servable on the whole validation text, in one stream.

    Returns:
        ({"validation": `measures`}, what `write_report` needs besides).
    """
    losses = servable.token_losses(tf.constant(encoded.valid[None]))["losses"].numpy()
    prompts = ["", *(piece[:40] for piece in splits.valid.pieces())][:2]
    written = servable.continue_text(tf.constant(prompts))["text"].numpy()
    samples = [{"prompt": prompt, "text": after.decode()} for prompt, after in zip(prompts, written, strict=True)]
    unknown = int((encoded.valid == text.UNKNOWN).sum())
    return {"validation": measures(losses, splits.valid.characters, unknown)}, {"samples": samples}


def measures(losses: np.ndarray, characters: int, unknown: int) -> dict:
    """What the losses of a text's tokens come to: nats and perplexity for each token, bits for each character."""
    loss = float(losses.mean(dtype=np.float64))
    return {
        "tokens": losses.size,
        "characters": characters,
        "unknown_tokens": unknown,
        "loss": loss,
        "perplexity": math.exp(loss),
        "bits_per_character": float(losses.sum(dtype=np.float64)) / math.log(2) / characters,
    }


def facts(config: CharLmConfig, splits: Splits, encoded: Encoded) -> dict:
    """What the run's record says of the data."""
    return {
        "rows": {name: len(ids) for name, ids in vars(encoded).items()},
        "characters": {name: part.characters for name, part in vars(splits).items()},
        "generation_defaults": GENERATION_DEFAULTS,
    }


def example_requests(servable: Generator) -> dict[str, dict]:
    """Requests for the export's warm-up and verification, written for this."""
    prompts = ["The ", "", "In the beginning"]
    one, two = [1] * len(prompts), [2] * len(prompts)
    ids = servable.encode(tf.constant(prompts))["ids"].numpy().tolist()
    started = {name: value.numpy() for name, value in servable.start(tf.constant(prompts)).items()}
    chosen = started.pop("logits").argmax(axis=-1).tolist()
    knobs = {"max_length": [20, 0, 5], "temperature": [0.0, 1.0, 0.7], "top_k": [0, 0, 5], "top_p": [1.0, 0.9, 0.5]}
    return {
        "serving_default": {"text": prompts},
        "generate": {"text": prompts, **knobs, "seed": one, "stop": ["", "", "e"]},
        "search": {"text": prompts, "max_length": [8, 0, 3], "beam_width": two, "length_penalty": [0.0, 0.5, 1.0]},
        "score": {"text": prompts},
        "token_losses": {"ids": ids},
        "encode": {"text": prompts},
        "decode": {"ids": ids},
        "start": {"text": prompts},
        "step": {"ids": chosen, **{name: value.tolist() for name, value in started.items()}},
    }


def write_report(folder: Path, result: dict, details: dict) -> None:
    lm_report.write(folder, result, details["samples"])
