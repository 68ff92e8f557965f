"""The answers of models of labels and of numbers to labelled texts, and what is measured of them; for `compare`."""

import collections

import numpy as np
from scipy import sparse

from pipelines.data import fields, labelled_texts, labels, sources
from pipelines.data.labelled_texts import LabelledTexts
from pipelines.data.table_options import DEFAULT_LABELS_SEPARATOR, TableOptions
from pipelines.export.exported import Exported
from pipelines.labelled import number_labels, number_scores
from pipelines.labelled.config import multi_label
from pipelines.labelled.measure import predicted
from pipelines.predicting.row_files import load_signature
from pipelines.support import paths
from pipelines.support.answers import Answers, Measure, Measured, unknown_note
from pipelines.support.errors import UserError
from pipelines.support.paths import Data
from pipelines.task import TASKS


def read_rows(exported: Exported, data: Data | None, options: TableOptions) -> tuple[LabelledTexts, bool]:
    """Returns the rows on which a model is measured, and whether it was trained on them.

    Args:
        data: as for training; of data with a test set, that is read. None is a fresh embedded sample.
        options: how to read a table; what they leave open is as in the training.

    Raises:
        UserError: the data cannot be read, or the flags are for several labels per text and the model gives one.
    """
    card = exported.card()
    if options.multi_label and not multi_label(card["config"]):
        raise UserError(f"{exported.title} gives each text one label: leave out --labels-separator and --label-columns")
    if data is None:
        return labelled_texts.fresh_sample(), False
    parts = labelled_texts.read(data, options.after_training(card))
    trained_on = "test" not in parts and sources.is_training_data(data, card, TASKS[card["task"]])
    return parts.get("test", parts["train"]), trained_on


def answers(exported: Exported, data: Data, options: TableOptions) -> Answers:
    """Returns the labels or numbers of texts, with the right ones. Labels that the model does not have are kept.

    Raises:
        UserError: the data cannot be read, or has none of the model's labels.
    """
    card = exported.card()
    rows, trained_on = read_rows(exported, data, options)
    if card["config"].get("label_type") == "number":
        rows, true = number_labels.parsed(rows, paths.shown(data))
        values = load_signature(exported)(rows.texts)["value"]
        right, given = (list(map(number_text, each)) for each in (true, values))
        return Answers(list(fields.readable(rows.fields, rows.texts)), right, given, trained_on=trained_on)
    classes = tuple(card["classes"])
    names = np.array(classes, dtype=object)
    if multi_label(card["config"]):
        right = [_joined(each) for each in rows.labels]
    else:
        ids = labels.class_ids(rows.labels, classes, card["config"]["polarity"])
        right = np.where(ids >= 0, names[ids], [label.strip() for label in rows.labels]).tolist()
    names_of_rows = collections.Counter(name for each in right for name in _split(each, card))
    if not set(names_of_rows) & set(classes):
        raise UserError(
            f"{paths.shown(data)}: none of its labels is one of {exported.title}'s ({', '.join(classes)}): name their "
            "column with --label-column"
        )
    outputs = load_signature(exported)(rows.texts)
    ids, probabilities = predicted(outputs, classes), outputs["probabilities"]
    if ids.ndim == 2:
        given = [_joined(names[row == 1]) for row in ids]
        scores = np.where(ids == 1, probabilities, 1 - probabilities).prod(axis=1)
    else:
        given, scores = names[ids].tolist(), probabilities[np.arange(len(ids)), ids]
    unknown = {name: count for name, count in names_of_rows.items() if name not in classes}
    note = unknown_note("texts with labels", unknown)
    return Answers(
        list(fields.readable(rows.fields, rows.texts)), right, given, scores.tolist(), trained_on=trained_on, note=note
    )


def measure(given: Answers, about: dict) -> Measured:
    """Returns what is measured: accuracy and F1 of labels, errors and correlation of numbers.

    Args:
        about: the card of the model, or the result of its run.
    """
    if about["config"].get("label_type") == "number":
        return _measure_numbers(given)
    right, found = ([_split(each, about) for each in each] for each in (given.right, given.given))
    classes = list(about["classes"])
    names = {name: i for i, name in enumerate(dict.fromkeys([*classes, *(name for row in right for name in row)]))}
    true, guessed = (_indicators(each, names) for each in (right, found))
    is_right = np.array([set(a) == set(b) for a, b in zip(right, found, strict=True)])
    counts = sparse.hstack([sparse.csr_array(is_right[:, None].astype(float)), true * guessed, true, guessed]).tocsr()
    is_binary = len(classes) == 2 and not multi_label(about["config"])
    used = [1] if is_binary else list(range(len(names)))

    def of_sums(sums: np.ndarray) -> dict[str, np.ndarray]:
        accuracy, (correct, true, guessed) = sums[:, 0] / len(is_right), np.split(sums[:, 1:], 3, axis=1)
        f1 = _ratio(2 * correct[:, used], (true + guessed)[:, used])
        occurs = true[:, used] > 0
        values = {"f1": _ratio(np.where(occurs, f1, 0).sum(axis=1), occurs.sum(axis=1)), "accuracy": accuracy}
        return values | {"micro_f1": _ratio(2 * correct.sum(axis=1), (true + guessed).sum(axis=1))}

    f1 = Measure(f"F1 of {classes[-1]}" if is_binary else "macro-F1")
    measures = {"accuracy": Measure("accuracy"), "f1": f1}
    if multi_label(about["config"]):
        exact = Measure("texts with exactly the right labels")
        measures = {"micro_f1": Measure("micro-F1"), "f1": f1, "accuracy": exact}
    errors = ~is_right * (np.ones(len(is_right)) if given.scores is None else np.array(given.scores, float))
    return Measured(measures, counts, of_sums, errors, is_right)


def number_text(value: float) -> str:
    """Returns a number with as many digits as its single precision has."""
    return f"{value:.9g}"


def _measure_numbers(given: Answers) -> Measured:
    true, guessed = (np.array(each, float) for each in (given.right, given.given))
    lower = ("mean_absolute_error", "root_mean_squared_error")
    measures = {name: Measure(title, name in lower, False) for name, title in number_scores.TITLES.items()}
    counts = number_scores.columns(true, guessed)
    return Measured(measures, counts, lambda sums: number_scores.of_sums(sums, len(true)), np.abs(true - guessed))


def _joined(names) -> str:
    return DEFAULT_LABELS_SEPARATOR.join(sorted(names))


def _split(answer: str, about: dict) -> list[str]:
    """Returns the labels of an answer."""
    if not multi_label(about["config"]):
        return [answer]
    return [name for name in answer.split(DEFAULT_LABELS_SEPARATOR) if name]


def _indicators(rows: list[list[str]], names: dict[str, int]) -> sparse.csr_array:
    """Returns which of `names` each row has: float of 0 and 1, [rows, names]. Other names have no column."""
    places = [(i, names[name]) for i, row in enumerate(rows) for name in set(row) if name in names]
    row, column = np.array(places, int).reshape(-1, 2).T
    return sparse.csr_array((np.ones(len(row)), (row, column)), (len(rows), len(names)))


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.full(whole.shape, np.nan), where=whole > 0)
