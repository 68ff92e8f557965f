"""Translation: sentence -> sentence in another language. The members of `Task` are in the order of a run."""

import dataclasses
import itertools
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from pipelines.config import flag
from pipelines.data import batching
from pipelines.data.pairs import Pairs
from pipelines.decoding.options import MAX_TRANSLATION_LENGTH, SAMPLED_TRANSLATION, TRANSLATION, example_values
from pipelines.export.signatures import BatchedSignature
from pipelines.support.errors import UserError
from pipelines.support.run_result import RunResult
from pipelines.task import complete_config  # noqa: F401 (a member of Task)
from pipelines.text.subword_sampling import SubwordSampler
from pipelines.text.tokenizers import END, Tokenizer, train_tokenizer
from pipelines.text.tokenizers import load_tokenizer as load_one_tokenizer
from pipelines.training.fit import FitOptions
from pipelines.training.optimizers import AveragingAdam, AveragingSGD
from pipelines.training.schedules import InverseSquareRoot, warmup_schedule
from pipelines.translation import losses, metrics, networks, report
from pipelines.translation.batches import teacher_forcing_batches
from pipelines.translation.config import TranslationConfig
from pipelines.translation.data import Splits, load  # noqa: F401 (`load` is a member of Task)
from pipelines.translation.servable import Translator

UNIT = "pairs"
_MAX_BYTES = 20_000  # of a sentence
_MONITORED_PAIRS = 1000  # validation pairs that are translated after each epoch


@dataclasses.dataclass(frozen=True)
class Tokenizers:
    """The tokenizers of both languages. With a joint vocabulary they are the same object."""

    source: Tokenizer
    target: Tokenizer

    @property
    def vocabulary_size(self) -> int:
        """Number of tokens of the target."""
        return self.target.vocabulary_size

    def save(self, folder: Path) -> None:
        """Writes to the empty `folder` what `load_tokenizer` reads."""
        tokenizers = {"joint": self.target} if self.source is self.target else vars(self)
        for name, tokenizer in tokenizers.items():
            (folder / name).mkdir()
            tokenizer.save(folder / name)


@dataclasses.dataclass(frozen=True)
class Encoded:
    """What training reads.

    Attributes:
        train, valid: the pairs that have at most --max-tokens tokens on both sides.
        lengths: int [n], tokens of each training pair on its longer side, END included.
        plan: the batches of every epoch, as ranges of pairs that are sorted by length.
        too_long: number of training pairs that were left out because they are too long.
        epoch_ids: epoch -> (source ids, target ids) of the training pairs, each ragged int32 [n, (tokens)] with END
            after the tokens.
        valid_ids: the same ids of the validation pairs.
    """

    train: Pairs
    valid: Pairs
    lengths: np.ndarray
    plan: list[tuple[int, int]]
    too_long: int
    epoch_ids: Callable[[int], tuple[tf.RaggedTensor, tf.RaggedTensor]]
    valid_ids: tuple[tf.RaggedTensor, tf.RaggedTensor]


def describe(splits: Splits) -> str:
    """Returns how many pairs there are to train and to validate on."""
    return f"{len(splits.train):,} pairs to train on, {len(splits.valid):,} to validate on; encoding ..."


def make_tokenizer(config: TranslationConfig, splits: Splits) -> Tokenizers:
    """Trains the tokenizers on the training pairs alone."""
    sides = splits.train.source, splits.train.target
    if config.joint_vocabulary:
        joint = train_tokenizer("cased", itertools.chain(*sides), config.vocabulary_size, _MAX_BYTES)
        return Tokenizers(joint, joint)
    return Tokenizers(*(train_tokenizer("cased", side, config.vocabulary_size, _MAX_BYTES) for side in sides))


def load_tokenizer(folder: Path) -> Tokenizers:
    """Loads what `Tokenizers.save` wrote."""
    if (folder / "joint").is_dir():
        joint = load_one_tokenizer(folder / "joint")
        return Tokenizers(joint, joint)
    return Tokenizers(load_one_tokenizer(folder / "source"), load_one_tokenizer(folder / "target"))


def encode(config: TranslationConfig, splits: Splits, tokenizer: Tokenizers, folder: Path) -> Encoded:
    """Encodes the pairs and plans the batches.

    Raises:
        UserError: no pair has at most --max-tokens tokens.
    """
    train, train_ids, too_long = _encode_pairs(config, tokenizer, splits.train)
    valid, valid_ids, _ = _encode_pairs(config, tokenizer, splits.valid)
    if not len(train) or not len(valid):
        which = "validation" if len(train) else "training"
        raise UserError(
            f"no {which} pair has at most {config.max_tokens} tokens: raise {flag('max_tokens')} {config.max_tokens}"
        )
    lengths = _lengths(train_ids)
    plan = batching.token_plan(lengths, config.batch_tokens)
    epoch_ids = _sampled_ids(config, tokenizer, train) if config.subword_alpha else lambda epoch: train_ids
    return Encoded(train, valid, lengths, plan, too_long, epoch_ids, valid_ids)


def _encode_pairs(config: TranslationConfig, tokenizer: Tokenizers, part: Pairs):
    """The pairs with at most `max_tokens` tokens on both sides, their ids, and the number of the other pairs."""
    sides = (tokenizer.source, part.source), (tokenizer.target, part.target)
    ids = [batching.encode_texts(each.encode, texts)[:, 1:] for each, texts in sides]  # with END, without START
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
    return len(encoded.plan)


def items_per_epoch(encoded: Encoded) -> int:
    """Returns the number of training pairs."""
    return len(encoded.train)


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
    order = batching.token_order(encoded.lengths, encoded.plan, config.seed, epoch)[skip:]
    return teacher_forcing_batches(*encoded.epoch_ids(epoch), order)


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
    return scores, {"valid": splits.valid, "translations": translations["validation"], "servable": servable}


def describe_data(config: TranslationConfig, splits: Splits, encoded: Encoded) -> dict:
    """Returns the fields of `RunResult` that describe the data, and the defaults of the exported model."""
    notes = dict(splits.notes)
    if encoded.too_long:
        notes[f"left out of training, more than {config.max_tokens} tokens"] = encoded.too_long
    parts = {"train": encoded.train, "valid": splits.valid, "test": splits.test}
    return {
        "pair": splits.pair,
        "rows": {name: len(part) for name, part in parts.items() if part},
        "notes": notes,
        "window": {"max_tokens": config.max_tokens, "max_bytes": _MAX_BYTES},
        "generation_defaults": {
            "beam_width": config.beam_width,
            "length_penalty": config.length_penalty,
            "max_length": MAX_TRANSLATION_LENGTH,
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
    }
    return {name: requests[name] for name in servable.signatures()}


def write_report(result: RunResult, details: dict, folder: Path) -> None:
    """Writes report.md and its pictures."""
    report.write(result, folder, **details)


def summarize(result: RunResult) -> str:
    """Returns the lines that the terminal shows at the end of a run."""
    return report.summarize(result)
