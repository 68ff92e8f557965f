"""Translation: sentence -> sentence.

The functions stand in the order in which a run calls them (see run.py).
"""

import dataclasses
import itertools
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from pipelines import batching, nmt_report, text, training, translation_losses, translation_models, translation_scores
from pipelines.answers import Answers
from pipelines.configs.nmt import NmtConfig
from pipelines.data import pairs
from pipelines.data.pairs import Pairs
from pipelines.data.splits import seen_in, validation_rows
from pipelines.errors import UserError
from pipelines.halves import learn_by_halves
from pipelines.translator import Translator

UNIT = "pairs"
_MAX_BYTES = 20_000  # of a sentence
_WATCHED = 1000  # validation pairs that are translated after each epoch


@dataclasses.dataclass(frozen=True)
class Splits:
    """The parts, the languages such as "en-de" (None where nothing says), and what a reader of the report should know: reason -> pairs."""

    train: Pairs
    valid: Pairs
    test: Pairs | None
    pair: str | None
    notes: dict[str, int]


def load(config: NmtConfig) -> Splits:
    """Reads the pairs and, where there are none for validation, splits some off by source sentence.

    Raises:
        UserError: not readable, or too little to split.
    """
    pair = pairs.language_pair(config.data, config.target, config.pair)
    found = pairs.read(config.data, config.target, config.pair)
    if "train" not in found:
        raise UserError(f"{config.data} has no {' and '.join(f'train.{language}' for language in pair.split('-'))}")
    train, valid = found["train"], found.get("valid")
    notes = {f"left out, {reason}": rows for reason, rows in train.dropped.items()}
    if config.valid:
        given = pairs.read(config.valid, config.valid_target, pair)
        valid = given.get("valid") or given.get("train") or given["test"]
    if valid is None:
        held_out = validation_rows(train.source, config.valid_fraction)
        train, valid = train.take(~held_out), train.take(held_out)
    repeated = seen_in(train.source, valid.source)
    if repeated.any():
        notes["left out of training, the same source sentence is in validation"] = int(repeated.sum())
        train = train.take(~repeated)
    if not len(train) or not len(valid):
        raise UserError(f"{config.data}: nothing is left to {'train on' if not len(train) else 'validate'}: give more pairs")
    return Splits(train, valid, found.get("test"), pair, notes)


def told(splits: Splits) -> str:
    return f"{len(splits.train):,} pairs to train on, {len(splits.valid):,} to validate; reading them ..."


@dataclasses.dataclass(frozen=True)
class Tokenizers:
    """Of the source and of the target; one object twice where they share a vocabulary."""

    source: text.Tokenizer
    target: text.Tokenizer

    @property
    def vocabulary_size(self) -> int:
        return self.target.vocabulary_size

    def save(self, folder: Path) -> None:
        named = {"joint": self.target} if self.source is self.target else vars(self)
        for name, tokenizer in named.items():
            (folder / name).mkdir()
            tokenizer.save(folder / name)


def tokenizer(config: NmtConfig, splits: Splits) -> Tokenizers:
    """Learned from the training pairs alone."""
    sides = splits.train.source, splits.train.target
    if config.joint_vocabulary:
        joint = text.train("cased", itertools.chain(*sides), config.vocabulary_size, _MAX_BYTES)
        return Tokenizers(joint, joint)
    return Tokenizers(*(text.train("cased", side, config.vocabulary_size, _MAX_BYTES) for side in sides))


def load_tokenizer(folder: Path) -> Tokenizers:
    if (folder / "joint").is_dir():
        joint = text.load(folder / "joint")
        return Tokenizers(joint, joint)
    return Tokenizers(text.load(folder / "source"), text.load(folder / "target"))


def settled(config: NmtConfig, splits: Splits, tokenizer: Tokenizers) -> NmtConfig:
    """The config with what was left to the data: nothing."""
    return config


@dataclasses.dataclass
class Encoded:
    """What training reads.

    Attributes:
        train, valid: the pairs that fit into --max-tokens.
        lengths: int [n], places that each training pair takes on its longer side.
        plan: the batches of every epoch, as ranges of pairs sorted by length.
        longer: training pairs that did not fit.
        ids_of: epoch -> ids of the training sentences with END behind, (source, target), ragged int32 [n, (pieces)].
        valid_ids: the same of the validation pairs.
    """

    train: Pairs
    valid: Pairs
    lengths: np.ndarray
    plan: list[tuple[int, int]]
    longer: int
    ids_of: Callable
    valid_ids: tuple[tf.RaggedTensor, tf.RaggedTensor]


def encode(config: NmtConfig, tokenizer: Tokenizers, splits: Splits, folder: Path) -> Encoded:
    """
    Raises:
        UserError: no pair fits.
    """
    train, train_ids, longer = _fitting(config, tokenizer, splits.train)
    valid, valid_ids, _ = _fitting(config, tokenizer, splits.valid)
    if not len(train) or not len(valid):
        raise UserError(f"no {'validation' if len(train) else 'training'} pair fits into --max-tokens {config.max_tokens}: raise it")
    lengths = np.maximum(*(ids.row_lengths().numpy() for ids in train_ids))
    sampled = None
    if config.sampling:
        sampled = [text.Sampler(t, side, config.sampling) for t, side in ((tokenizer.source, train.source), (tokenizer.target, train.target))]

    def ids_of(epoch: int):
        if sampled is None:
            return train_ids
        sides = [side([config.seed, epoch, i]) for i, side in enumerate(sampled)]
        return tuple(tf.concat([ids, tf.fill([ids.nrows(), 1], text.END)], axis=1) for ids in sides)

    return Encoded(train, valid, lengths, batching.token_plan(lengths, config.batch_tokens), longer, ids_of, valid_ids)


def _fitting(config, tokenizer, part):
    """The pairs whose sides have at most `max_tokens` pieces, their ids, and how many others there are."""
    sides = (tokenizer.source, part.source), (tokenizer.target, part.target)
    ids = [text.encode_all(tokenizer, texts)[:, 1:] for tokenizer, texts in sides]  # with END, without START
    fits = np.maximum(*(side.row_lengths().numpy() for side in ids)) <= config.max_tokens + 1
    return part.take(fits), tuple(tf.ragged.boolean_mask(side, fits) for side in ids), int((~fits).sum())


def steps_per_epoch(config: NmtConfig, encoded: Encoded) -> int:
    return len(encoded.plan)


def items(encoded: Encoded) -> int:
    """Pairs in an epoch."""
    return len(encoded.train)


def batches(config: NmtConfig, encoded: Encoded, epoch: int, skip: int) -> tf.data.Dataset:
    """The batches of one training epoch from step `skip` on: a pure function of (config.seed, epoch, skip)."""
    order = batching.token_order(encoded.lengths, encoded.plan, config.seed, epoch)[skip:]
    return _batches(*encoded.ids_of(epoch), order)


def _batches(source: tf.RaggedTensor, target: tf.RaggedTensor, rows: list[np.ndarray]) -> tf.data.Dataset:
    """({"source", "target"}, what stands behind each place of the target, 1.0 at the places that count)."""

    def gather(rows):
        ids = tf.gather(target, rows).to_tensor()
        before = tf.concat([tf.fill([tf.shape(ids)[0], 1], text.START), ids[:, :-1]], axis=1)
        return {"source": tf.gather(source, rows).to_tensor(), "target": before}, ids, tf.cast(ids != text.PAD, tf.float32)

    rows = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([list(r) for r in rows], tf.int64))
    return batching.prefetched(rows.map(gather, num_parallel_calls=batching.READERS, deterministic=True))


def build(config: NmtConfig, tokenizer: Tokenizers, splits: Splits, training: bool) -> keras.Model:
    return translation_models.build(config, tokenizer.source.vocabulary_size, tokenizer.target.vocabulary_size)


def scores_a_twin(config: NmtConfig) -> bool:
    """Whether what is scored and kept is another model than what is trained: one with averaged weights."""
    return bool(config.average)


def compile_arguments(config: NmtConfig, steps: int) -> dict:
    """Optimizer and loss for a training of `steps` steps in all."""
    optimizer = training.AveragingAdam(
        learning_rate(config, steps), beta_2=0.98, epsilon=1e-9, global_clipnorm=config.clip_norm,
        use_ema=bool(config.average), ema_momentum=config.average or 0.99,
    )  # fmt: skip
    return dict(optimizer=optimizer, loss=translation_losses.SmoothedCrossentropy(config.label_smoothing))


def learning_rate(config: NmtConfig, steps: int):
    if config.schedule == "inverse-sqrt":
        return translation_losses.InverseSquareRoot(config.learning_rate, config.warm_up)
    warm_up = min(config.warm_up, max(1, steps // 2))
    rest = max(1, steps - warm_up)
    return keras.optimizers.schedules.CosineDecay(0.0, decay_steps=rest, warmup_target=config.learning_rate, warmup_steps=warm_up)


def fit_arguments(config: NmtConfig, model: keras.Model, encoded: Encoded) -> dict:
    if config.halves:
        learn_by_halves(model)

    def watched(row: dict) -> float:
        # A model without a finite loss writes nothing: its BLEU is a number all the same.
        return -row["val_bleu"] if config.select == "bleu" and np.isfinite(row["val_loss"]) else row["val_loss"]

    return {"watched": watched}


def validator(config: NmtConfig, model: keras.Model, tokenizer: Tokenizers, encoded: Encoded) -> Callable:
    """() -> the loss of `model` as it is on the validation pairs, and BLEU of its greedy translations of the first thousand."""
    lengths = np.maximum(*(ids.row_lengths().numpy() for ids in encoded.valid_ids))
    order = batching.token_order(lengths, batching.token_plan(lengths, config.batch_tokens), 0, 0)
    batches = _batches(*encoded.valid_ids, order)
    watched = encoded.valid.take(np.arange(min(_WATCHED, len(encoded.valid))))
    greedy = dataclasses.replace(config, beam_width=1)
    translator = Translator(greedy, model, tokenizer.source, tokenizer.target)
    translate = Answers(lambda text: translator.translate_text(text))

    def validate() -> dict[str, float]:
        loss = model.evaluate(batches, verbose=0)
        translations = translate(watched.source)["translation"]
        return {"val_loss": float(loss), "val_bleu": translation_scores.bleu(translations, watched.target)}

    return validate


def servable(model: keras.Model, tokenizer: Tokenizers, config: NmtConfig, splits: Splits) -> Translator:
    return Translator(config, model, tokenizer.source, tokenizer.target)


def measure(servable: Translator, splits: Splits, encoded: Encoded) -> tuple[dict, dict]:
    """Scores the servable with the config's beam on all validation and test pairs.

    Returns:
        (split -> `translation_scores.measures`, what `write_report` needs besides).
    """
    answer = Answers(servable.translate_text)
    parts = {"validation": splits.valid} | ({"test": splits.test} if splits.test else {})
    translations = {name: answer(part.source)["translation"] for name, part in parts.items()}
    scores = {name: translation_scores.measures(part.source, translations[name], part.target) for name, part in parts.items()}
    return scores, {"valid": splits.valid, "translations": translations["validation"], "servable": servable}


def facts(config: NmtConfig, splits: Splits, encoded: Encoded) -> dict:
    """What the run's record says of the data."""
    notes = dict(splits.notes)
    if encoded.longer:
        notes[f"left out of training, more than {config.max_tokens} pieces"] = encoded.longer
    return {
        "pair": splits.pair,
        "rows": {name: len(part) for name, part in (("train", encoded.train), ("valid", splits.valid), ("test", splits.test)) if part},
        "notes": notes,
        "window": {"max_tokens": config.max_tokens, "max_bytes": _MAX_BYTES},
    }


def example_requests(servable: Translator) -> dict[str, dict]:
    """Requests for the export's warm-up and verification, written for this."""
    texts = ["A man is riding a bike.", "", "The old house is red, and the two dogs are in the garden behind it.", "\N{GRINNING FACE} 3"]
    knobs = {"beam_width": [4, 1, 2, 1], "length_penalty": [1.0, 0.0, 0.6, 1.0], "max_length": [60, 5, 60, 3]}
    requests = {"serving_default": {"text": texts}, "translate": {"text": texts, **knobs}, "align": {"text": texts}}
    requests["score"] = {"text": texts, "translation": ["A man.", "", "The house.", "3"]}
    return {name: requests[name] for name in servable.signatures()}


def write_report(folder: Path, result: dict, details: dict) -> None:
    nmt_report.write(folder, result, **details)
