"""Translation: sentence -> sentence in another language. The members of `Task` are in the order of a run."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from pipelines.data import batching
from pipelines.data.pairs import Pairs
from pipelines.data.prepared import TOKENIZER
from pipelines.decoding import streaming
from pipelines.decoding.options import MAX_TRANSLATION_LENGTH, SAMPLED_TRANSLATION, TRANSLATION, example_values
from pipelines.export.signatures import BatchedSignature
from pipelines.settings.fields import flag
from pipelines.support import kernels
from pipelines.support.errors import UserError
from pipelines.support.examples import example_text, text_to_try
from pipelines.task import grow_tokenizer, refit  # noqa: F401 (members of Task)
from pipelines.text.subword_sampling import SubwordSampler
from pipelines.text.tokenizers import END, PAD
from pipelines.training.fit import FitOptions
from pipelines.training.optimizers import AveragingAdam, AveragingSGD
from pipelines.training.schedules import InverseSquareRoot, warmup_schedule
from pipelines.translation import baselines, losses, metrics, networks, shards
from pipelines.translation.batches import Training, teacher_forcing_batches
from pipelines.translation.config import TranslationConfig
from pipelines.translation.data import ShardedPairs, Splits, load, too_long  # noqa: F401 (`load` is a member of Task)
from pipelines.translation.presets import LEAST_VOCABULARY
from pipelines.translation.report import summarize, write_report  # noqa: F401 (members of Task)
from pipelines.translation.servable import Translator
from pipelines.translation.tokenizers import MAX_BYTES, Tokenizers, load_tokenizer, train_tokenizers

UNIT = "pairs"
_MONITORED_PAIRS = 1000  # validation pairs that are translated after each epoch


@dataclasses.dataclass(frozen=True)
class Encoded:
    """What training reads.

    Attributes:
        train: the training pairs and their batches.
        valid: the validation pairs that have at most --max-tokens tokens on both sides.
        valid_ids: (source ids, target ids) of these pairs, each ragged int32 [n, (tokens)] with END after the tokens.
    """

    train: Training
    valid: Pairs
    valid_ids: tuple[tf.RaggedTensor, tf.RaggedTensor]


def describe(splits: Splits) -> str:
    """Returns how many pairs there are to train and to validate on."""
    return f"{len(splits.train):,} pairs to train on, {len(splits.valid):,} to validate on; encoding ..."


def make_tokenizer(config: TranslationConfig, splits: Splits) -> Tokenizers:
    """Trains the tokenizers on the training pairs alone, or takes those of prepared data."""
    if isinstance(splits.train, ShardedPairs):
        return load_tokenizer(splits.train.data.folder / TOKENIZER)
    source, target = splits.train.source, splits.train.target
    size = config.vocabulary_size
    if size is None:
        characters = len(set().union(*source, *target))
        size = max(config.complete(len(source)).vocabulary_size, characters + LEAST_VOCABULARY // 2)
    return train_tokenizers(dataclasses.replace(config, vocabulary_size=size), source, target)


def complete_config(config: TranslationConfig, splits: Splits, tokenizer: Tokenizers) -> TranslationConfig:
    """Fills in the fields that follow from the training pairs: the size of the vocabulary, and the epochs."""
    if config.vocabulary_size is None:
        config = dataclasses.replace(config, vocabulary_size=tokenizer.vocabulary_size)
    return config.complete(len(splits.train))


def encode(config: TranslationConfig, splits: Splits, tokenizer: Tokenizers, folder: Path) -> Encoded:
    """Encodes the pairs, but for those of prepared data, and plans the batches.

    Raises:
        UserError: no pair has at most --max-tokens tokens.
    """
    is_sharded = isinstance(splits.train, ShardedPairs)
    encoders = _encoders(tokenizer)
    train = (
        shards.training(config, splits.train) if is_sharded else _training(config, tokenizer, encoders, splits.train)
    )
    valid, valid_ids, _ = _encode_pairs(config, encoders, splits.valid)
    if not train.rows or not len(valid):
        which = "validation" if train.rows else "training"
        raise UserError(
            f"no {which} pair has at most {config.max_tokens} tokens: raise {flag('max_tokens')} {config.max_tokens}"
        )
    return Encoded(train, valid, valid_ids)


def _encoders(tokenizer: Tokenizers) -> tuple[Callable, Callable]:
    """The functions that encode sources and targets: one function, traced once, if both share a vocabulary."""
    source = batching.of_texts(tokenizer.source.encode)
    return source, source if tokenizer.target is tokenizer.source else batching.of_texts(tokenizer.target.encode)


def _training(
    config: TranslationConfig, tokenizer: Tokenizers, encoders: tuple[Callable, Callable], pairs: Pairs
) -> Training:
    """The training pairs in memory."""
    kept, ids, num_too_long = _encode_pairs(config, encoders, pairs)
    lengths = _lengths(ids)
    plan = batching.token_plan(lengths, config.batch_tokens)
    is_sampled = config.subword_alpha and len(kept)
    epoch_ids = _sampled_ids(config, tokenizer, kept) if is_sampled else lambda epoch: ids

    def batches(epoch: int, skip: int) -> tf.data.Dataset:
        order = batching.token_order(lengths, plan, config.seed, epoch)[skip:]
        return teacher_forcing_batches(*epoch_ids(epoch), order)

    return Training(len(kept), num_too_long, len(plan), batches)


def _encode_pairs(config: TranslationConfig, encoders: tuple[Callable, Callable], part: Pairs):
    """The pairs with at most `max_tokens` tokens on both sides, their ids, and the number of the other pairs."""
    sides = zip(encoders, (part.source, part.target), strict=True)
    ids = [batching.encode_texts(encode, texts)[:, 1:] for encode, texts in sides]  # with END, without START
    fits = _lengths(ids) <= config.max_tokens + 1
    return part.take(fits), tuple(tf.ragged.boolean_mask(side, fits) for side in ids), int((~fits).sum())


def _sampled_ids(config: TranslationConfig, tokenizer: Tokenizers, train: Pairs) -> Callable:
    """A function of the epoch: ids of the training pairs, with other subword tokens in every epoch."""
    sides = (tokenizer.source, train.source), (tokenizer.target, train.target)
    samplers = [SubwordSampler(each, texts, config.subword_alpha) for each, texts in sides]

    def epoch_ids(epoch: int):
        ids = [sampler([config.seed, epoch, i]) for i, sampler in enumerate(samplers)]
        return tuple(tf.concat([side, tf.fill([side.nrows(), 1], END)], axis=1) for side in ids)

    return epoch_ids


def _lengths(ids) -> np.ndarray:
    """Tokens of each pair on its longer side, int [n]."""
    return np.maximum(*(side.row_lengths().numpy() for side in ids))


def steps_per_epoch(config: TranslationConfig, encoded: Encoded) -> int:
    """Returns the number of batches of the plan."""
    return encoded.train.steps


def items_per_epoch(encoded: Encoded) -> int:
    """Returns the number of training pairs."""
    return encoded.train.rows


def needs_inference_model(config: TranslationConfig) -> bool:
    """Whether scores and the export take a moving average of the weights."""
    return bool(config.ema_momentum)


def build(
    config: TranslationConfig, splits: Splits, tokenizer: Tokenizers, encoded: Encoded, training: bool
) -> keras.Model:
    """Builds the network."""
    return networks.build(config, tokenizer.source.vocabulary_size, tokenizer.target.vocabulary_size)


def compile_model(config: TranslationConfig, model: keras.Model, total_steps: int) -> None:
    """Gives `model` the smoothed cross-entropy, and SGD, or Adam as in Vaswani et al. 2017, section 5.3."""
    options = {
        "global_clipnorm": config.clip_norm,
        "use_ema": bool(config.ema_momentum),
        "ema_momentum": config.ema_momentum or 0.99,
    }
    schedule = learning_rate_schedule(config, total_steps)
    if config.optimizer == "sgd":
        optimizer = AveragingSGD(schedule, **options)
    else:
        optimizer = AveragingAdam(schedule, beta_2=0.98, epsilon=1e-9, **options)
    model.compile(optimizer=optimizer, loss=losses.SmoothedCrossentropy(config.label_smoothing))


def learning_rate_schedule(
    config: TranslationConfig, total_steps: int
) -> keras.optimizers.schedules.LearningRateSchedule | float:
    """Returns the learning rate as a function of the step, or as a number."""
    if config.schedule == "inverse-sqrt":
        return InverseSquareRoot(config.learning_rate, config.warmup_steps)
    return warmup_schedule(config, total_steps, min(config.warmup_steps, max(1, total_steps // 2)))


def fit_options(config: TranslationConfig, encoded: Encoded, model: keras.Model) -> FitOptions:
    """Returns what is monitored, and whether batches are split."""

    def monitor(row: dict) -> float:
        # A model whose loss is not finite translates everything to nothing, and its BLEU is a number nevertheless.
        if config.monitor == "bleu" and np.isfinite(row["val_loss"]):
            return -row["val_bleu"]
        return row["val_loss"]

    return FitOptions(monitor=monitor, split_batches=config.split_batches)


def batches(config: TranslationConfig, encoded: Encoded, epoch: int, skip: int) -> tf.data.Dataset:
    """Returns the batches of one training epoch from step `skip` on: a pure function of (config.seed, epoch, skip)."""
    return encoded.train.batches(epoch, skip)


def make_validator(
    config: TranslationConfig, tokenizer: Tokenizers, encoded: Encoded, model: keras.Model
) -> Callable[[], dict[str, float]]:
    """Returns a function that scores `model`.

    It computes the loss on the validation pairs and BLEU of greedy translations of the first thousand.
    """
    lengths = _lengths(encoded.valid_ids)
    order = batching.token_order(lengths, batching.token_plan(lengths, config.batch_tokens), 0, 0)
    valid_batches = teacher_forcing_batches(*encoded.valid_ids, order)
    monitored = encoded.valid.take(np.arange(min(_MONITORED_PAIRS, len(encoded.valid))))
    greedy = dataclasses.replace(config, beam_width=1)
    translator = Translator(greedy, model, tokenizer.source, tokenizer.target)
    # A lambda, because the method of a tf.function refers to the translator only weakly.
    translate = BatchedSignature(lambda text: translator.translate_text(text))

    def validate() -> dict[str, float]:
        loss = model.evaluate(valid_batches, verbose=0)
        translations = translate(monitored.source)["translation"]
        return {"val_loss": float(loss), "val_bleu": metrics.bleu(translations, monitored.target)}

    return validate


def make_servable(config: TranslationConfig, splits: Splits, tokenizer: Tokenizers, model: keras.Model) -> Translator:
    """Returns the translator."""
    return Translator(config, model, tokenizer.source, tokenizer.target)


def measure(
    config: TranslationConfig, splits: Splits, encoded: Encoded, servable: Translator, best_row: dict
) -> tuple[dict[str, dict], dict]:
    """Scores the translations of all validation and test pairs, with the config's beam width.

    Returns:
        (split -> `metrics.measures`, details: "valid", "translations" of the validation pairs, and "servable").
    """
    translate = BatchedSignature(servable.translate_text)
    parts = {"validation": splits.valid} | ({"test": splits.test} if splits.test else {})
    translations = {name: translate(part.source)["translation"] for name, part in parts.items()}
    scores = {name: metrics.measures(part.source, translations[name], part.target) for name, part in parts.items()}
    if not config.no_baseline:
        baselines.add(scores, splits.train, parts, translations)
    return scores, {"valid": splits.valid, "translations": translations["validation"], "servable": servable}


def describe_data(config: TranslationConfig, splits: Splits, encoded: Encoded) -> dict:
    """Returns rows, notes, languages, limits, and the defaults of the exported model."""
    notes = dict(splits.notes)
    if encoded.train.too_long:
        notes[too_long(config.max_tokens)] = encoded.train.too_long
    parts = {"valid": splits.valid, "test": splits.test}
    return {
        "pair": splits.pair,
        "rows": {"train": encoded.train.rows} | {name: len(part) for name, part in parts.items() if part},
        "notes": notes,
        "example": text_to_try(splits.valid.source),
        "example_text": example_text(splits.valid.source),
        "window": {"max_tokens": config.max_tokens, "max_bytes": MAX_BYTES},
        "environment": kernels.OWN_KERNELS if config.model == "transformer" else None,
        "generation_defaults": {
            "beam_width": config.beam_width,
            "length_penalty": config.length_penalty,
            "max_length": MAX_TRANSLATION_LENGTH,
            "temperature": 0.0,  # of translations token by token; `sample` has the default of its option
        },
    }


def example_requests(servable: Translator) -> dict[str, dict]:
    """Returns requests for every signature; their texts are written for this purpose."""
    text = [
        "A man is riding a bike.",
        "",
        "The old house is red, and the two dogs are in the garden behind it \N{GRINNING FACE} 3.",
    ]
    requests = {
        "serving_default": {"text": text},
        "translate": {"text": text, **example_values(TRANSLATION)},
        "sample": {"text": text, **example_values(SAMPLED_TRANSLATION)},
        "align": {"text": text},
        "trace": {"text": text},
        "score": {"text": text, "translation": ["A man.", "", "The house."]},
        "decode": {"ids": [[5, 6, END, PAD], [7, END, PAD, PAD]]},
        **streaming.example_requests(servable.in_pieces, text, SAMPLED_TRANSLATION),
    }
    return {name: requests[name] for name in servable.signatures()}
