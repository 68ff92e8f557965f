"""Transfer: a pretrained text encoder, from TF Hub or trained by `train encoder` -> a classifier, in stages."""

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from pipelines import task
from pipelines.data import batching
from pipelines.data.part import current
from pipelines.labelled import losses, thresholds
from pipelines.labelled.describe import class_weight, describe, describe_splits  # noqa: F401 (`describe` is of Task)
from pipelines.labelled.labelled_splits import Labelled, LabelledSplits
from pipelines.labelled.measure import measure  # noqa: F401 (a member of Task)
from pipelines.labelled.outputs import with_number_of_classes
from pipelines.linear.limits import MAX_CLASSES_WITH_ENCODER
from pipelines.support import console
from pipelines.task import grow_tokenizer, items_per_epoch, needs_inference_model  # noqa: F401 (members of Task)
from pipelines.text.normalization import Cutter
from pipelines.training.checkpoints import Position
from pipelines.training.fit import FitOptions
from pipelines.training.optimizers import GroupedAdamW
from pipelines.training.schedules import Stages
from pipelines.transfer import head, module_seeds, networks, shards
from pipelines.transfer.config import TransferConfig
from pipelines.transfer.data import load  # noqa: F401 (a member of Task)
from pipelines.transfer.modules import Modules, find_modules, load_modules, module_errors
from pipelines.transfer.report import summarize, write_report  # noqa: F401 (members of Task)
from pipelines.transfer.servable import TextClassifier

UNIT = "texts"


def make_tokenizer(config: TransferConfig, splits: LabelledSplits) -> Modules:
    """Finds the modules.

    Raises:
        UserError: a handle cannot be reached, or the encoder lacks what the config requests: then no copy of it is
            kept.
    """
    console.say("loading the encoder ...")
    modules = find_modules(config)
    with module_errors(config, modules):
        network = networks.network(config, modules, len(splits.classes))
    groups = network.get_layer(networks.ENCODER).groups()
    return dataclasses.replace(modules, groups=tuple(groups), size=network.get_layer(networks.DROPOUT).input.shape[-1])


load_tokenizer = load_modules


def complete_config(config: TransferConfig, splits: LabelledSplits, tokenizer: Modules) -> TransferConfig:
    """Fills in the fields that depend on the number of texts and of labels, and on the encoder's layers.

    Raises:
        UserError: no stage has epochs, because the encoder has no trainable weights.
    """
    complete = config.complete(len(splits.train), tokenizer.groups, tokenizer.size)
    if complete.ngrams and len(splits.classes) > MAX_CLASSES_WITH_ENCODER:
        console.say(f"without n-grams: they are for {MAX_CLASSES_WITH_ENCODER} labels at most")
        complete = dataclasses.replace(complete, ngrams=False)
    complete.check()
    return complete


@dataclasses.dataclass
class Encoded:
    """What training reads.

    Attributes:
        splits: the texts and labels.
        lengths: bytes of each training text, int [n]; none of prepared data.
        has_random_ops: whether the encoder has random operations of its own (module_seeds.py).
        cut: makes of a text what the encoder reads.
        run: the run's folder, which keeps vectors of texts; None keeps nothing.
    """

    splits: LabelledSplits
    lengths: np.ndarray
    has_random_ops: bool
    cut: Cutter
    run: Path | None = None

    def __len__(self) -> int:
        return len(self.splits.train)


def encode(config: TransferConfig, splits: LabelledSplits, tokenizer: Modules, folder: Path) -> Encoded:
    """Measures the texts: the model reads strings itself."""
    cut = _cutter(config, tokenizer)
    if splits.sharded:
        return Encoded(splits, np.zeros(0, int), module_seeds.has_random_ops(tokenizer.encoder), cut)
    lengths = np.array([min(len(text.encode("utf-8", "replace")), config.max_bytes) for text in splits.train.texts])
    return Encoded(splits, lengths, module_seeds.has_random_ops(tokenizer.encoder), cut, tokenizer.run)


def steps_per_epoch(config: TransferConfig, encoded: Encoded) -> int:
    """Returns the number of training steps in every epoch; a single one if nothing is trained."""
    return task.steps_per_epoch(config, encoded) if config.trains else 1


def _cutter(config: TransferConfig, modules: Modules) -> Cutter:
    return Cutter(config.max_bytes, modules.removes_invisible)


def build(
    config: TransferConfig, splits: LabelledSplits, tokenizer: Modules, encoded: Encoded, training: bool
) -> keras.Model:
    """Builds the network; all weights of the encoder that any stage trains are trainable.

    Raises:
        UserError: the encoder cannot be loaded, or lacks what the config requests.
    """
    with module_errors(config, tokenizer):
        model = networks.network(config, tokenizer, len(splits.classes))
        groups = [stage.unfreeze_groups for stage in config.stages]
        model.get_layer(networks.ENCODER).unfreeze(None if None in groups else max(groups))
    return model


def compile_model(config: TransferConfig, model: keras.Model, total_steps: int) -> None:
    """AdamW with a schedule per stage and a learning rate per group of weights, cross-entropy, and accuracy."""
    steps = total_steps // config.epochs
    stages = config.stages
    schedule = Stages(
        [stage.epochs * steps for stage in stages], [stage.learning_rate for stage in stages], config.warmup_fraction
    )
    optimizer = GroupedAdamW(schedule, weight_decay=config.weight_decay, global_clipnorm=config.clip_norm)
    optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta", "norm"])
    groups = model.get_layer(networks.ENCODER).groups()
    for i, variables in enumerate(reversed(groups.values())):
        optimizer.scale_learning_rate(variables, config.layer_decay**i)
    model.compile(
        optimizer=optimizer,
        **losses.one_label(),
    )


def fit_options(config: TransferConfig, encoded: Encoded, model: keras.Model) -> FitOptions:
    """Class weights, new weights of --reset-top, the stages, and split batches."""
    encoder = model.get_layer(networks.ENCODER)
    started_stages: set[str] = set()

    def start_stage(position: Position) -> None:
        stage = config.stage_at(position.epoch)
        if encoded.has_random_ops or stage.name not in started_stages:
            started_stages.add(stage.name)
            encoder.unfreeze(stage.unfreeze_groups)
            model.make_train_function(force=True)

    def initialize() -> None:
        encoder.reset(config.reset_top, config.seed)
        if config.solve_head:
            head.solve(head.Network(config, encoded.splits, encoded.cut, model, encoded.run))

    # The state of a module's random operations cannot be saved. A new training function starts them again with every
    # epoch, and only there can such a run be resumed.
    return FitOptions(
        class_weight=class_weight(config, encoded.splits),
        initialize=initialize,
        on_epoch_begin=start_stage,
        save_within_epochs=not encoded.has_random_ops,
        split_batches=config.split_batches and not encoded.has_random_ops,
    )


def batches(config: TransferConfig, encoded: Encoded, epoch: int, skip: int) -> tf.data.Dataset:
    """Returns batches of texts of similar length, in an order that depends on the seed and the epoch."""
    if encoded.splits.sharded:
        rows = shards.batches(config, encoded.splits.sharded, epoch, skip)
        return rows.map(lambda text, *rest: (encoded.cut(text), *rest))
    order = batching.bucketed_order(encoded.lengths, config.batch_size, config.seed, epoch)
    order = order[: steps_per_epoch(config, encoded) * config.batch_size]
    return _batches(config, encoded.splits.train, order[skip * config.batch_size :], encoded.cut)


def _batches(config: TransferConfig, data: Labelled, order: np.ndarray, cut: Cutter) -> tf.data.Dataset:
    """Batches of (string [batch], int32 [batch]); the texts are cut as in the export.

    One of several workers has also the weights of its rows (see `batching.rows_of_part`).
    """
    texts = tf.constant([text.encode("utf-8", "surrogatepass") for text in data.texts[order]], tf.string)
    labels = tf.constant(data.labels[order], tf.int32)
    part = current()

    def gather(rows):
        rows, weights = batching.rows_of_part(part, rows)
        return cut(tf.gather(texts, rows)), tf.gather(labels, rows), *weights

    rows = tf.data.Dataset.range(len(order)).batch(config.batch_size)
    return batching.prefetched(rows.map(gather))


def make_validator(
    config: TransferConfig, tokenizer: Modules, encoded: Encoded, model: keras.Model
) -> Callable[[], dict[str, float]]:
    """Returns a function that scores `model` on the validation texts and counts its trainable weights."""
    valid = encoded.splits.valid
    order = np.argsort([len(text) for text in valid.texts], kind="stable")
    batches = _batches(config, valid, order, encoded.cut).map(lambda text, label: text)
    labels = valid.labels[order]

    def validate() -> dict[str, float]:
        # Not `evaluate`: it adds the module's regularization loss while the module is trained, and the stages must be
        # comparable.
        logits = model.predict(batches, verbose=0)
        loss = np.mean(keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True))
        return {
            "val_accuracy": float(np.mean(logits.argmax(1) == labels)),
            "val_loss": float(loss),
            "trainable_weights": sum(int(np.prod(variable.shape)) for variable in model.trainable_variables),
        }

    return validate


def make_servable(
    config: TransferConfig, splits: LabelledSplits, tokenizer: Modules, model: keras.Model
) -> TextClassifier:
    """Returns the classifier of strings, with the threshold of `config`."""
    cut = _cutter(config, tokenizer)
    classifier = functools.partial(TextClassifier, model, cut, splits.classes)
    if not config.ngrams:
        return thresholds.decide(config, splits, classifier)
    beside = head.fit_beside(head.Network(config, splits, cut, model, tokenizer.run))
    if beside.weights[1]:
        classifier = functools.partial(classifier, beside=beside)
    return thresholds.decide(config, splits, classifier, beside.calibration)


def refit(
    config: TransferConfig,
    encoded: Encoded,
    model: keras.Model,
    servable: TextClassifier,
    train_again: Callable[[Encoded], None],
) -> int:
    """Fits what was solved, not trained by steps, to the training and the validation texts; see `Task.refit`."""
    if config.trains:
        return 0
    console.say("fitting the head to the validation texts, too ...")
    network = head.Network(config, encoded.splits, encoded.cut, model, encoded.run)
    if servable.beside:
        head.fit_beside_again(network, servable.beside)
    else:
        head.solve(network, with_valid=True)
    return len(encoded.splits.train) + len(encoded.splits.valid)


def example_requests(servable: TextClassifier) -> dict[str, dict]:
    """Returns requests as `task.example_requests`, for each signature."""
    return with_number_of_classes(task.example_requests(servable))


def describe_data(config: TransferConfig, splits: LabelledSplits, encoded: Encoded) -> dict[str, Any]:
    """Returns rows, classes, notes, and what is cut off."""
    return describe_splits(config, splits) | {"window": {"max_bytes": config.max_bytes}}
