"""The task of language models: prompt -> text that continues it. See `pipelines.task.Task` for the members."""

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from pipelines.data import part, streams
from pipelines.data.id_files import VALID, IdFiles, ShardedText
from pipelines.data.prepared import TOKENIZER
from pipelines.data.texts import TextSplits
from pipelines.decoding import streaming
from pipelines.decoding.options import CACHE, SAMPLING, SEARCH, example_values
from pipelines.language_model import baseline, kneser_ney, networks, shards
from pipelines.language_model.cache_search import best_cache_options
from pipelines.language_model.config import LanguageModelConfig
from pipelines.language_model.data import load  # noqa: F401 (a member of Task)
from pipelines.language_model.kneser_ney import Tables
from pipelines.language_model.metrics import language_model_measures
from pipelines.language_model.ngram_layer import table_sizes
from pipelines.language_model.report import summarize, write_report  # noqa: F401 (members of Task)
from pipelines.language_model.servable import GENERATION_DEFAULTS, Generator
from pipelines.networks import interventions
from pipelines.networks.recurrent import reset_states
from pipelines.networks.traced import FEATURES
from pipelines.runs import continuing
from pipelines.support import console, kernels, paths
from pipelines.support.errors import UserError
from pipelines.support.examples import example_text, start_to_try, starting_lines
from pipelines.task import (  # noqa: F401 (members of Task)
    complete_config,
    items_per_epoch,
    load_tokenizer,
    refit,
)
from pipelines.text import tokenizers
from pipelines.text.tokenizers import END, START, SubwordTokenizer, Tokenizer
from pipelines.training.checkpoints import Position
from pipelines.training.fit import FitOptions
from pipelines.training.optimizers import language_model_optimizer
from pipelines.training.schedules import warmup_cosine

UNIT = "tokens"
_VALIDATION_STREAMS = 16
_WARMUP_FRACTION = 0.05  # of the steps
_SHOWN_PROMPT = 40  # characters of the validation text
_PROMPT_TOKENS = 8


@dataclasses.dataclass(frozen=True)
class Encoded:
    """The ids of both texts, int32 [tokens], mapped into memory from files, or read from those of prepared data.

    Attributes:
        ngrams: the model "ngram", estimated from the training text.
    """

    train: np.ndarray | IdFiles
    valid: np.ndarray
    ngrams: Tables | None = None  # of an n-gram model

    def __len__(self) -> int:
        return len(self.train)


def describe(splits: TextSplits) -> str:
    """Returns how many characters there are."""
    return (
        f"{splits.train.characters:,} characters to train on, {splits.valid.characters:,} to validate; reading them ..."
    )


def make_tokenizer(config: LanguageModelConfig, splits: TextSplits) -> Tokenizer:
    """Trains the tokenizer on the training text, or takes that of prepared data."""
    if isinstance(splits.train, ShardedText):
        return load_tokenizer(splits.train.data.folder / TOKENIZER)
    return shards.make_tokenizer(config, shards.chunks_of(config, splits.train))


def grow_tokenizer(config: LanguageModelConfig, splits: TextSplits, tokenizer: Tokenizer) -> Tokenizer:
    """Returns the tokenizer with the characters or words that a tokenizer of the training text alone would have, too.

    The subword tokens of SentencePiece stay as they are: it writes most texts with them.
    """
    if isinstance(tokenizer, SubwordTokenizer):
        return tokenizer
    of_text = shards.make_tokenizer(config, shards.chunks_of(config, splits.train))
    kind = "character" if config.tokenizer == "character" else "word"
    return continuing.grown_tokenizer(kind, tokenizer, of_text)


def encode(config: LanguageModelConfig, splits: TextSplits, tokenizer: Tokenizer, folder: Path) -> Encoded:
    """Tokenizes both texts to files in the run's folder, once; or takes the files of prepared data."""
    ids = _ids(config, splits, tokenizer, folder)
    ngrams = None
    if config.model == "ngram":
        if len(ids["train"]) < config.order:
            tokens = f"{len(ids['train']):,} tokens"
            raise UserError(f"{paths.shown(config.data)}: {tokens} are too few for --order {config.order}: lower it")
        ngrams = kneser_ney.estimate(ids["train"], config.order, tokenizer.vocabulary_size)
    encoded = Encoded(**ids, ngrams=ngrams)
    if not steps_per_epoch(config, encoded):
        raise UserError(
            f"{paths.shown(config.data)}: {len(encoded.train):,} tokens are too few to train on with "
            f"{config.batch_size} streams of {config.window} tokens: lower --batch-size or --window, or give more text"
        )
    return encoded


def _ids(config: LanguageModelConfig, splits: TextSplits, tokenizer: Tokenizer, folder: Path) -> dict:
    if isinstance(splits.train, ShardedText):
        data = splits.train.data
        return {"train": IdFiles(data), "valid": streams.read_ids(data.folder / VALID)}
    files = {name: folder / f"{name}.ids" for name in ("train", "valid")}
    for name, path in files.items():
        if not path.exists():
            streams.write(path, shards.ids(config, getattr(splits, name), tokenizer))
    return {name: streams.read_ids(path) for name, path in files.items()}


def steps_per_epoch(config: LanguageModelConfig, encoded: Encoded) -> int:
    """Returns the number of windows per stream."""
    return streams.steps_per_epoch(len(encoded.train), config.batch_size, config.window)


def needs_inference_model(config: LanguageModelConfig) -> bool:
    """Yes: the trained model carries its states from window to window."""
    return True


def build(
    config: LanguageModelConfig, splits: TextSplits, tokenizer: Tokenizer, encoded: Encoded, training: bool
) -> keras.Model:
    """Builds the network; for training with one state per stream of this worker."""
    sizes = table_sizes(encoded.ngrams) if config.model == "ngram" else None
    num_streams = part.current().size(config.batch_size) if training else None
    return networks.build(config, tokenizer.vocabulary_size, num_streams, sizes)


def compile_model(config: LanguageModelConfig, model: keras.Model, total_steps: int) -> None:
    """Compiles with the optimizer and the cross-entropy."""
    optimizer = language_model_optimizer(config, learning_rate(config, total_steps))
    model.compile(optimizer=optimizer, loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))


def learning_rate(config: LanguageModelConfig, total_steps: int):
    """Returns Keras's schedule for `config.schedule`; a number where the rate is constant within each epoch."""
    if config.schedule == "cosine":
        return warmup_cosine(
            config.learning_rate, total_steps, warmup_steps=max(1, int(_WARMUP_FRACTION * total_steps))
        )
    if config.schedule == "step":
        boundaries = [max(i, total_steps * (4 + i) // 8) for i in range(4)]
        rates = [config.learning_rate * 0.5**i for i in range(5)]
        return keras.optimizers.schedules.PiecewiseConstantDecay(boundaries, rates)
    return config.learning_rate


def fit_options(config: LanguageModelConfig, encoded: Encoded, model: keras.Model) -> FitOptions:
    """Resets the carried states at the start of each epoch, and sets the learning rate of --schedule plateau and the
    tables of an n-gram model.
    """

    def on_epoch_begin(position: Position) -> None:
        if position.step == 0:  # an interrupted epoch continues from the states of the checkpoint
            reset_states(model)
        if config.schedule == "plateau":
            model.optimizer.learning_rate = config.learning_rate * 0.5 ** epochs_without_gain(position.rows)

    def initialize() -> None:
        if config.model == "ngram":
            model.get_layer("ngrams").assign(encoded.ngrams)

    return FitOptions(on_epoch_begin=on_epoch_begin, initialize=initialize)


def epochs_without_gain(rows: list[dict]) -> int:
    """Returns the number of epochs whose validation loss is not below that of all previous epochs."""
    lowest, count = math.inf, 0
    for row in rows:
        count += row["val_loss"] >= lowest
        lowest = min(lowest, row["val_loss"])
    return count


def batches(config: LanguageModelConfig, encoded: Encoded, epoch: int, skip: int) -> tf.data.Dataset:
    """Returns the windows of one epoch."""
    return streams.batches(encoded.train, config.batch_size, config.window, config.seed, epoch, skip)


def make_validator(
    config: LanguageModelConfig, tokenizer: Tokenizer, encoded: Encoded, model: keras.Model
) -> Callable[[], dict[str, float]]:
    """Returns a function that scores `model` on the validation text and prints a text that it generates.

    It reads the text as parallel streams, each from a zero state, which is faster than the one stream of `measure`.
    """
    generator = Generator(config, model, tokenizer)
    num_streams = max(1, min(_VALIDATION_STREAMS, len(encoded.valid) // (8 * config.window)))
    length = len(encoded.valid) // num_streams
    ids = tf.constant(encoded.valid[: num_streams * length].reshape(num_streams, length))
    predicted = ids.numpy() != START  # a text starts by itself
    # A model of few documents knows the starts of all of them by heart: its text continues a new one.
    prompt = tokenizer.decode(_first_tokens(encoded.valid)[None]) if config.documents else tf.constant([""])

    def validate() -> dict[str, float]:
        losses = generator.token_losses(ids)["losses"].numpy()
        loss = float(losses[predicted].mean())
        generated = (prompt + generator.continue_text(prompt)["text"]).numpy()[0].decode()
        console.say("\n".join(f"    | {line}" for line in generated.splitlines()))
        return {"val_loss": loss}

    return validate


def _first_tokens(ids: np.ndarray) -> np.ndarray:
    """Returns the first tokens of the first document."""
    ends = np.flatnonzero(ids[1:_PROMPT_TOKENS] == END)
    return ids[: ends[0] + 1 if len(ends) else _PROMPT_TOKENS]


def make_servable(
    config: LanguageModelConfig, splits: TextSplits, tokenizer: Tokenizer, model: keras.Model
) -> Generator:
    """Makes the servable."""
    return Generator(config, model, tokenizer)


def measure(
    config: LanguageModelConfig, splits: TextSplits, encoded: Encoded, servable: Generator, best_row: dict
) -> tuple[dict[str, dict], dict]:
    """Scores the servable on the whole validation text, in one stream.

    Returns:
        ({"validation": `language_model_measures` and, if the model can use a cache, `best_cache_options`},
        {"samples": dicts of prompt and generated text, "ngrams": the tables of an n-gram model, or None}).
    """
    losses = servable.token_losses(tf.constant(encoded.valid[None]))["losses"].numpy()
    losses = losses[:, encoded.valid != START]
    unknown_tokens = int((encoded.valid == tokenizers.UNKNOWN).sum())
    measures = language_model_measures(losses, splits.valid.characters, unknown_tokens)
    if servable.can_cache:
        measures |= best_cache_options(servable, encoded.valid)
    if config.model != "ngram" and not config.no_baseline:
        compared = encoded.train, encoded.valid, servable.vocabulary_size, losses, splits.valid.characters
        measures["baselines"] = [baseline.compare(config, *compared)]
    prompts = _prompts(config, splits)
    generated = servable.continue_text(tf.constant(prompts))["text"].numpy()
    samples = [{"prompt": prompt, "text": text.decode()} for prompt, text in zip(prompts, generated, strict=True)]
    return {"validation": measures}, {"samples": samples, "ngrams": encoded.ngrams}


def _prompts(config: LanguageModelConfig, splits: TextSplits) -> list[str]:
    """What the shown texts start with: the start of the validation text, and nothing.

    A model of few documents knows the starts of all of them by heart.
    """
    prompt = next(splits.valid.pieces())[:_SHOWN_PROMPT]
    return [prompt] if config.documents else ["", prompt]


def describe_data(config: LanguageModelConfig, splits: TextSplits, encoded: Encoded) -> dict:
    """Returns the number of tokens and characters, and the defaults of generation."""
    start = next(splits.valid.pieces())
    return {
        "rows": {"train": len(encoded.train), "valid": len(encoded.valid)},
        "characters": {"train": splits.train.characters, "valid": splits.valid.characters},
        "generation_defaults": GENERATION_DEFAULTS,
        "environment": kernels.OWN_KERNELS if config.model == "transformer" else None,
        "example": start_to_try(start),
        "example_text": example_text(starting_lines(start)),
    }


def example_requests(servable: Generator) -> dict[str, dict]:
    """Returns requests for all signatures."""
    prompts = ["The ", "", "In the beginning"]
    ids = servable.encode(tf.constant(prompts))["ids"].numpy().tolist()
    state = {name: value.numpy() for name, value in servable.start(tf.constant(prompts)).items()}
    chosen = state.pop("logits").argmax(axis=-1).tolist()
    with_cache = {
        "generate_with_cache": {"text": prompts, **example_values((*SAMPLING, *CACHE))},
        "token_losses_with_cache": {"ids": ids, **example_values(CACHE)},
    }
    requests = {
        "serving_default": {"text": prompts},
        "generate": {"text": prompts, **example_values(SAMPLING)},
        "search": {"text": prompts, **example_values(SEARCH)},
        "score": {"text": prompts},
        "token_losses": {"ids": ids},
        "encode": {"text": prompts},
        "decode": {"ids": ids},
        "start": {"text": prompts},
        "step": {"ids": chosen, **{name: value.tolist() for name, value in state.items()}},
        **streaming.example_requests(servable.in_pieces, prompts, SAMPLING),
        **(with_cache if servable.can_cache else {}),
    }
    if servable.is_traceable:
        features = servable.trace(text=tf.constant(prompts))[FEATURES][:, 0]
        requests |= {"trace": {"text": prompts}, "read_out": {FEATURES: features.numpy().tolist()}}
        requests["intervene"] = interventions.example_request(prompts)
    return requests
