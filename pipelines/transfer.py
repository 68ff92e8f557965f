"""Transfer: a pretrained text encoder from TF Hub, or one's own, -> a classifier, in stages.

The functions stand in the order in which a run calls them (see run.py). The reviews and their measures are those of sentiment.py.
"""

import contextlib
import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from layers import MaskedMeanPooling
from layers.hub import HubEncoder
from layers.hub_module import InputError, resolve
from pipelines import batching, module_seeds, report, sentiment, transfer_report
from pipelines.checkpoints import Position
from pipelines.configs.base import require
from pipelines.configs.transfer import TransferConfig
from pipelines.data.splits import Labelled, Splits
from pipelines.errors import UserError
from pipelines.files import read_json, write_json
from pipelines.fine_tuning import GroupedAdamW, Stages
from pipelines.halves import learn_by_halves
from pipelines.normalization import valid_utf8
from pipelines.text_classifier import TextClassifier

UNIT = "texts"


def load(config: TransferConfig) -> Splits:
    """Reads and splits the texts as sentiment does; with `labels`, so many are left to train on.

    Raises:
        UserError: not readable, fewer than two classes, or too little to split.
    """
    splits = sentiment.read(config)
    if config.labels:
        require(config.labels >= len(splits.classes), "labels", config.labels, f"0, for all, or at least {len(splits.classes)}, one of each class")
        rows = some_of_each(splits.train.labels, config.labels, config.seed)
        splits.train = Labelled(splits.train.texts[rows], splits.train.labels[rows])
    return splits


def some_of_each(labels: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Rows, `count` of them in all: one of each class in turn, for as long as it has any. A larger count holds the rows of a smaller."""
    order = np.random.default_rng(seed).permutation(len(labels))
    turn = np.zeros(len(labels), int)
    for label in np.unique(labels):
        of_label = order[labels[order] == label]
        turn[of_label] = np.arange(len(of_label))
    return order[np.argsort(turn[order], kind="stable")][:count]


def told(splits: Splits) -> str:
    return f"{len(splits.train):,} texts to train on, {len(splits.valid):,} to validate; reading the encoder ..."


@dataclasses.dataclass(frozen=True)
class Modules:
    """The folders of the encoder and, where there is one, of what stands before it; the names of the encoder's groups of weights."""

    encoder: Path
    preprocessor: Path | None
    groups: tuple[str, ...] = ()
    seed: int = 0
    vocabulary_size: None = None  # nobody knows

    def save(self, folder: Path) -> None:
        """A copy of the modules is part of the run: it goes on where the handles cannot be reached, and draws by the run's seed."""
        for name in ("encoder", "preprocessor"):
            if getattr(self, name):
                shutil.copytree(getattr(self, name), folder / name)
                module_seeds.seed(folder / name, self.seed)
        write_json(folder / "groups.json", self.groups)


def tokenizer(config: TransferConfig, splits: Splits) -> Modules:
    """
    Raises:
        UserError: a handle that cannot be reached, or an encoder that has not what is asked of it: no copy of it is kept.
    """
    try:
        modules = Modules(resolve(config.encoder), resolve(config.preprocessor) if config.preprocessor else None, seed=config.seed)
    except ValueError as error:
        raise UserError(str(error)) from error
    with _told_of_the_handle(config, modules):
        encoder = network(config, modules, len(splits.classes)).get_layer("encoder")
    return dataclasses.replace(modules, groups=tuple(encoder.groups()))


def load_tokenizer(folder: Path) -> Modules:
    preprocessor = folder / "preprocessor"
    return Modules(folder / "encoder", preprocessor if preprocessor.is_dir() else None, tuple(read_json(folder / "groups.json")))


def settled(config: TransferConfig, splits: Splits, tokenizer: Modules) -> TransferConfig:
    """The config with what was left to the number of texts and to the encoder's layers.

    Raises:
        UserError: an encoder that has nothing to learn where the head shall not.
    """
    settled = config.settled(len(splits.train), tokenizer.groups)
    settled.check()
    return settled


@contextlib.contextmanager
def _told_of_the_handle(config: TransferConfig, modules: Modules):
    """What the layer says of the run's copy of the encoder becomes a user's error that names the handle."""
    try:
        yield
    except ValueError as error:
        inner, told = error, str(error)
        while inner := inner.__context__:  # Keras says much around what a layer said
            told = str(inner) if isinstance(inner, InputError) else told
        told = told.replace(str(modules.encoder), str(config.encoder))
        raise UserError(told + (": give --preprocessor" if "takes a dict" in told and not modules.preprocessor else "")) from error


@dataclasses.dataclass
class Encoded:
    """What training reads: the splits, each training text's length in bytes, and whether the encoder draws by itself (module_seeds.py)."""

    splits: Splits
    lengths: np.ndarray
    draws: bool


def encode(config: TransferConfig, tokenizer: Modules, splits: Splits, folder: Path) -> Encoded:
    lengths = np.array([min(len(text.encode("utf-8", "replace")), config.max_bytes) for text in splits.train.texts])
    return Encoded(splits, lengths, module_seeds.draws(tokenizer.encoder))


def steps_per_epoch(config: TransferConfig, encoded: Encoded) -> int:
    return batching.steps_per_epoch(items(encoded), config.batch_size)


def items(encoded: Encoded) -> int:
    return len(encoded.splits.train)


def batches(config: TransferConfig, encoded: Encoded, epoch: int, skip: int) -> tf.data.Dataset:
    """The batches of one training epoch from step `skip` on: a pure function of (config.seed, epoch, skip)."""
    order = batching.bucketed_order(encoded.lengths, config.batch_size, config.seed, epoch)
    return _batches(config, encoded.splits.train, order[skip * config.batch_size :])


def _batches(config: TransferConfig, data: Labelled, order: np.ndarray) -> tf.data.Dataset:
    texts = tf.constant([text.encode("utf-8", "surrogatepass") for text in data.texts[order]], tf.string)
    labels = tf.constant(data.labels[order], tf.int32)
    dataset = tf.data.Dataset.from_tensor_slices((texts, labels)).batch(config.batch_size)
    return batching.prefetched(dataset.map(lambda text, label: (valid_utf8(text, config.max_bytes), label)))  # as the export does


def build(config: TransferConfig, tokenizer: Modules, splits: Splits, training: bool) -> keras.Model:
    """string [batch] -> logits float32 [batch, classes]; of the encoder, all learns that any stage lets learn.

    Raises:
        UserError: an encoder that does not load, or has not what is asked of it.
    """
    with _told_of_the_handle(config, tokenizer):
        model = network(config, tokenizer, len(splits.classes))
        tops = [stage.top for stage in config.stages]
        model.get_layer("encoder").unfreeze(None if None in tops else max(tops))
    return model


def network(config: TransferConfig, modules: Modules, num_classes: int) -> keras.Model:
    text = keras.Input((), dtype="string", name="text")
    encoder = HubEncoder(modules.encoder, signature=config.signature, name="encoder")
    inputs = HubEncoder(modules.preprocessor, name="preprocessor")(text) if modules.preprocessor else text
    features = _features(config, encoder, inputs)
    if len(features.shape) != 2:
        raise ValueError(f"{config.encoder}: its output is of shape {features.shape}, not [batch, features]: choose one with --output-key")
    features = layers.Dropout(config.dropout, seed=config.seed, name="dropout")(features)
    logits = layers.Dense(num_classes, name="logits")(features)
    return keras.Model(text, logits, name="transfer")


def _features(config, encoder, inputs):
    """float [batch, features], from the outputs that the encoder has."""
    outputs = encoder(inputs)
    mask = inputs.get("input_mask") if isinstance(inputs, dict) else None
    if not isinstance(outputs, dict):
        if config.drop_top or config.output_key:
            raise ValueError(f"{config.encoder} has one output alone: leave out --{'drop-top' if config.drop_top else 'output-key'}")
        return outputs
    mask = outputs.get("mask", mask)
    if config.drop_top:
        all_layers = outputs.get("encoder_outputs")
        if not isinstance(all_layers, list) or len(all_layers) <= config.drop_top:
            most = len(all_layers) - 1 if isinstance(all_layers, list) else 0
            raise ValueError(f"{config.encoder}: --drop-top {config.drop_top}: it has {most} layers to leave out")
        return _mean(all_layers[-1 - config.drop_top], mask)
    usable = [name for name, output in sorted(outputs.items()) if _has_features(output)]
    key = config.output_key or next((key for key in ("pooled_output", "sequence_output", "default") if key in usable), None)
    if not usable:
        raise ValueError(f"{config.encoder} is no encoder: what it gives ({', '.join(sorted(outputs))}) are no features")
    if key not in usable:
        what = f"no output {key!r} of features" if key else "no output of a usual name"
        raise ValueError(f"{config.encoder} has {what}: there are {', '.join(usable)}; choose with --output-key")
    return _mean(outputs[key], mask) if len(outputs[key].shape) == 3 else outputs[key]


def _has_features(output) -> bool:
    """Whether it is numbers [batch, features] or [batch, tokens, features]."""
    return hasattr(output, "shape") and len(output.shape) in (2, 3) and output.shape[-1] is not None and "float" in str(output.dtype)


def _mean(sequence, mask):
    return MaskedMeanPooling(name="mean")(sequence, mask=None if mask is None else keras.ops.not_equal(mask, 0))


def scores_a_twin(config: TransferConfig) -> bool:
    return False


def compile_arguments(config: TransferConfig, steps: int) -> dict:
    """Optimizer, loss and metrics for a training of `steps` steps in all."""
    per_epoch = steps // config.epochs
    schedule = Stages([stage.epochs * per_epoch for stage in config.stages], [stage.rate for stage in config.stages], config.warm_up)
    optimizer = GroupedAdamW(schedule, weight_decay=config.weight_decay, global_clipnorm=config.clip_norm)
    optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta", "norm"])
    return dict(
        optimizer=optimizer,
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=[keras.metrics.SparseCategoricalAccuracy("accuracy")],
    )


def fit_arguments(config: TransferConfig, model: keras.Model, encoded: Encoded) -> dict:
    if config.halves and not encoded.draws:
        learn_by_halves(model)
    encoder = model.get_layer("encoder")
    begun: set[str] = set()
    for i, variables in enumerate(reversed(encoder.groups().values())):
        model.optimizer.slow(variables, config.layer_decay**i)

    def configure(position: Position) -> None:
        stage = config.stage_at(position.epoch)
        if encoded.draws or stage.name not in begun:
            begun.add(stage.name)
            encoder.unfreeze(stage.top)
            model.make_train_function(force=True)

    # Where such a module stands in its draws cannot be saved: it begins anew with every epoch, where alone such a run goes on.
    return {
        "class_weight": sentiment.class_weight(config, encoded.splits), "configure": configure, "saved_within_epochs": not encoded.draws,
    }  # fmt: skip


def validator(config: TransferConfig, model: keras.Model, tokenizer: Modules, encoded: Encoded) -> Callable:
    """() -> the scores of `model` as it is, on the validation texts, and how many weights were learning."""
    valid = encoded.splits.valid
    order = np.argsort([len(text) for text in valid.texts], kind="stable")
    batches, labels = _batches(config, valid, order).map(lambda text, label: text), valid.labels[order]

    def validate() -> dict[str, float]:
        # Not `evaluate`: it adds the module's regularisation where that learns, and stages are to be compared.
        logits = model.predict(batches, verbose=0)
        loss = np.mean(keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True))
        learning = sum(int(np.prod(v.shape)) for v in model.trainable_variables)
        return {"val_accuracy": float(np.mean(logits.argmax(1) == labels)), "val_loss": float(loss), "weights that learn": learning}

    return validate


def servable(model: keras.Model, tokenizer: Modules, config: TransferConfig, splits: Splits) -> TextClassifier:
    return TextClassifier(model, config.max_bytes, splits.classes)


measure = sentiment.measure


def facts(config: TransferConfig, splits: Splits, encoded: Encoded) -> dict:
    return sentiment.facts_of_data(splits) | {"window": {"max_bytes": config.max_bytes}}


def example_requests(servable: TextClassifier) -> dict[str, dict]:
    return {"serving_default": sentiment.example_requests(servable)["serving_default"]}


def write_report(folder: Path, result: dict, details: dict) -> None:
    valid, probabilities = details["valid"], details["probabilities"]
    mistakes = report.worst_mistakes(valid.texts, valid.labels, probabilities, tuple(result["classes"]))
    report.write(folder, result, mistakes, valid.labels, probabilities, transfer_report.stage_lines(result))
