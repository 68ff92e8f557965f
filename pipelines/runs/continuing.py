"""`train --from`: a training that continues from a finished run: from its tokenizer, its weights and its settings.

The weights are those of its best epoch, which were exported. What has grown, such as the vocabulary, keeps its ids, and
gets new rows at the end of the weights.
"""

import dataclasses
import math
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pipelines.data import prepared, sources
from pipelines.settings.config import TrainingConfig, from_dict
from pipelines.settings.fields import flag
from pipelines.support import console, paths
from pipelines.support.errors import UserError
from pipelines.support.numbers import counted
from pipelines.support.records import read_record
from pipelines.task import TASKS, Task
from pipelines.text.special_tokens import SPECIAL_TOKENS, UNKNOWN

if TYPE_CHECKING:  # the settings are checked before TensorFlow is imported
    import keras

    from pipelines.task import TokenizerLike
    from pipelines.text.tokenizers import VocabularyTokenizer

_REMEDY = "continue from another export"
FINDING = "continued"  # in `RunResult.findings`


def run_of(config: TrainingConfig) -> Path:
    """Returns the folder of the run to continue from: `start_weights` is <run>/checkpoints/best.npz."""
    return Path(config.start_weights or "").parent.parent


def result_of(config: TrainingConfig) -> dict:
    """Returns result.json of the run to continue from.

    Raises:
        UserError: it is missing or damaged.
    """
    return read_record(run_of(config) / "result.json", _REMEDY)


def check(config: TrainingConfig) -> None:
    """Checks that the network is that of the run to continue from, if there is one, before the data is read.

    Raises:
        UserError: a flag gives it another network or tokenizer, or the data is prepared.
    """
    if not config.start_weights:
        return
    if prepared.is_prepared(config.data):
        raise UserError("--from needs texts in --data: prepared data has another tokenizer")
    known = result_of(config)["config"]
    for field in config.network_fields():
        value = getattr(config, field)
        kept = known.get(field, value)
        if value != kept:
            raise UserError(f"{flag(field)} {value}: the model to continue from has {kept}: leave out the flag")
    defaults = config.defaults()
    for field in config.KEPT_FIELDS:
        value, default = getattr(config, field), getattr(defaults, field)
        if value not in (default, known.get(field, default)):
            raise UserError(
                f"{flag(field)} {value} has no effect with --from, which keeps the tokenizer and the weights of the "
                "model: leave it out"
            )


def joined_classes(config: TrainingConfig, found: tuple[str, ...], noun: str) -> tuple[str, ...]:
    """Returns the labels of the run to continue from, which keep their ids, and then the new ones of the data; names
    what is new and what is missing.

    Args:
        noun: what they are called, such as "tags".

    Raises:
        UserError: the data has none of those of the run.
    """
    known = result_of(config)["classes"]
    if not set(known) & set(found):
        raise UserError(
            f"{paths.shown(config.data)}: none of its {noun} ({_listed(found)}) is one of the model to continue from "
            f"({_listed(known)}): train a new model, without --from"
        )
    new, missing = [each for each in found if each not in known], [each for each in known if each not in found]
    if new:
        console.say(f"new {noun}: {_listed(new)}")
    if missing:
        console.say(f"note: the model keeps its {noun} that these texts do not have: {_listed(missing)}")
    return (*known, *new)


def _listed(labels: Sequence[str]) -> str:
    shown = labels[:10]
    return ", ".join(shown) + (", ..." if len(labels) > len(shown) else "")


def make_tokenizer(task: Task, config: TrainingConfig, splits: Any) -> "TokenizerLike":
    """Returns the tokenizer of the run to continue from, grown by what the task adds of the new data."""
    return task.grow_tokenizer(config, splits, task.load_tokenizer(run_of(config) / "tokenizer"))


def grown_tokenizer(kind: str, tokenizer: "VocabularyTokenizer", of_data: "VocabularyTokenizer"):
    """Returns `tokenizer` with the tokens that one of the new data has, too; says which are new.

    Args:
        kind: "word" or "character".
    """
    grown = tokenizer.grown(of_data.vocabulary()[len(SPECIAL_TOKENS) :])
    added = grown.vocabulary()[tokenizer.vocabulary_size :]
    if added:
        console.say(f"new in the vocabulary: {counted(len(added), kind)}, such as {' '.join(map(repr, added[:5]))}")
    return grown


def complete(task: Task, config: TrainingConfig, splits: Any, tokenizer: "TokenizerLike") -> TrainingConfig:
    """As `task.complete_config`; the number of epochs has the factor of `CONTINUED`, unless it was given."""
    completed = task.complete_config(config, splits, tokenizer)
    if not config.start_weights or config.epochs is not None or completed.epochs is None:
        return completed
    return dataclasses.replace(completed, epochs=math.ceil(completed.epochs * config.CONTINUED.get("epochs", 1)))


def restore(config: TrainingConfig, model: "keras.Model") -> None:
    """Gives `model` the weights of the run to continue from; see `grown` for what the run did not have.

    Raises:
        UserError: its network is another one, or the checkpoint is damaged.
    """
    from pipelines.training import checkpoints

    remedy = "with --from, leave out the flags that change the network, or continue from another export"
    path = Path(config.start_weights or "")
    shapes = [tuple(variable.shape) for variable in model.weights]
    arrays = checkpoints.read(path, None if config.GROWS else shapes, remedy)[0]
    # Rows of these layers are found by their hashes.
    hashed = {variable.path.rpartition("/")[0] for variable in model.weights if variable.name == "hashes"}
    pairs = list(zip(arrays, shapes))
    fits = all(len(old.shape) == len(new) and np.all(np.less_equal(old.shape, new)) for old, new in pairs)
    if len(arrays) != len(shapes) or not fits:
        raise UserError(f"{path} belongs to another model: {remedy}")
    num_classes, is_tied = len(result_of(config).get("classes") or ()), config.ties_embeddings()
    for array, variable in zip(arrays, model.weights, strict=True):
        if array.shape == tuple(variable.shape):
            variable.assign(array)
        elif variable.path.rpartition("/")[0] in hashed:
            unused = np.iinfo(np.int32).max if variable.name == "hashes" else 0
            variable.assign(padded(array, variable.shape, num_classes, unused))
        else:
            variable.assign(grown(array, variable.numpy(), num_classes, is_tied))


def weights_of(config: TrainingConfig) -> dict[str, np.ndarray]:
    """Returns the weights of the run to continue from, by their paths in the network.

    Raises:
        UserError: the checkpoint is damaged, or an older version wrote it.
    """
    from pipelines.training import checkpoints

    arrays = checkpoints.read(Path(config.start_weights or ""), None, _REMEDY)[0]
    names = result_of(config).get("weights", {})
    if len(names) != len(arrays):
        raise UserError("--from: an older version of Unroll trained that model: train again on all texts")
    return dict(zip(names, arrays, strict=True))


def padded(old: np.ndarray, shape: tuple[int, ...], num_classes: int, unused: int = 0) -> np.ndarray:
    """Returns `old`, the weights of a layer that finds rows by their hashes, with `unused` in new rows and columns.

    The last axis may have the labels twice, for each of two weightings of the rows: each part is padded. In one
    dimension, new labels have the lowest value of the known ones.

    Args:
        shape: of the result.
        num_classes: number of labels of the old network.
    """
    result, size = np.full(shape, unused, old.dtype), old.shape[-1]
    has_labels = size in (num_classes, 2 * num_classes)
    num_parts = size // num_classes if has_labels else 1
    for known, part in zip(np.split(old, num_parts, -1), np.split(result, num_parts, -1), strict=True):
        if old.ndim == 1 and has_labels:
            part[:] = known.min()
        part[tuple(slice(length) for length in known.shape)] = known  # a view
    return result


def grown(old: np.ndarray, new: np.ndarray, num_classes: int, is_tied: bool = False) -> np.ndarray:
    """Returns `old` in the place of the first rows and columns of `new`, which has more of them.

    Rows and columns of new labels stay as they are in `new`. Those of new tokens are those of the unknown token, as
    which the old network read them: it computes what it did before. In a bias, the scores of the unknown token and of
    the n new ones are lowered by log(n + 1), so that together they have the probability that it had. Embeddings that
    also score the tokens have no bias: new rows are the mean of the last tenth of the old ones, the rarest tokens.

    Args:
        num_classes: number of labels of the old network: an axis of this size is one of labels.
        is_tied: whether the embeddings score the tokens.
    """
    result = new.copy()
    result[tuple(slice(size) for size in old.shape)] = old
    for axis, size in enumerate(old.shape):
        added = new.shape[axis] - size
        if not added or size == num_classes:
            continue
        rows = np.moveaxis(result, axis, 0)  # a view
        rows[size:] = rows[size - math.ceil(size / 10) : size].mean(axis=0) if is_tied else rows[UNKNOWN]
        if new.ndim == 1:
            rows[UNKNOWN] -= np.log(added + 1)
            rows[size:] -= np.log(added + 1)
    return result


def compare(
    task: Task,
    config: TrainingConfig,
    splits: Any,
    tokenizer: "TokenizerLike",
    model: "keras.Model",
    validate: Callable[[], dict[str, float]],
    best_row: dict[str, float],
    folder: Path,
) -> dict[str, Any]:
    """Scores the model before and after the training, also on the validation data of the run that it continues from.

    Args:
        model: with the weights of the best epoch, which it has again at the end.
        validate: see `Task.make_validator`; of the new validation data.
        best_row: the row of metrics.csv of the best epoch.
        folder: of the new run.

    Returns:
        {"run": task and name, "new": scores, "old": scores or None, "problem": why there are none on the old data},
        where scores are {"before": measure -> value, "after": measure -> value}.
    """
    from pipelines.training import fit

    run = run_of(config)
    console.say("measuring what was learned and what was forgotten ...")
    with console.silence(), tempfile.TemporaryDirectory() as temporary:
        old, problem = _old_validator(task, config, splits, tokenizer, model, Path(temporary))
        after = {"new": best_row} | ({"old": old()} if old else {})
        restore(config, model)
        before = {"new": validate()} | ({"old": old()} if old else {})
        fit.restore_best(model, folder)
    scores = {name: {"before": _plain(before[name]), "after": _plain(after[name])} for name in after}
    return {"run": f"{run.parent.name}/{run.name}", "old": None, "problem": problem} | scores


def _plain(row: dict[str, float]) -> dict[str, float]:
    return {name.removeprefix("val_"): value for name, value in row.items() if name.startswith("val_")}


def _old_validator(task: Task, config: TrainingConfig, splits: Any, tokenizer, model, folder: Path):
    """Returns the validator of the old validation data, or None and why there is none.

    Args:
        folder: for the encoded data.
    """
    record = read_record(run_of(config) / "config.json", _REMEDY)
    entry = TASKS[record["task"]]
    try:
        old = from_dict(entry.config_class(), record["config"])
        files = {"data": old.data, **old.data_files()}
        described = {"name": sources.name(old.data)}
        for field, path in files.items():
            described |= sources.describe(field, path, entry)
        if described != record["data"]:
            return None, "its data has changed since"
        if prepared.is_prepared(old.data):
            return None, "its data is prepared data"
        with_old = dataclasses.replace(splits, valid=entry.load(old).valid)
        return task.make_validator(config, tokenizer, task.encode(config, with_old, tokenizer, folder), model), ""
    except UserError:
        return None, "its data cannot be read any more"
