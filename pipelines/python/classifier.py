"""`unroll.TextClassifier`: text -> label."""

import dataclasses
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from pipelines.classification.config import ClassificationConfig
from pipelines.data import fields
from pipelines.labelled.config import TABLE_FIELDS, LabelledConfig
from pipelines.labelled.top_classes import NUM_TOP, by_probability
from pipelines.python import inputs, runs
from pipelines.python.errors import UserError, user_errors
from pipelines.python.estimator import Estimator
from pipelines.python.fitted import FittedExport
from pipelines.python.settings import estimator_of

# num_negations needs `polarity`; scikit-learn has cross-validation.
_NOT_PARAMETERS = ("data", "valid", "polarity", "python_type", "num_negations", "folds")
_CLASS_WEIGHT = (
    "as in scikit-learn: 'balanced' weights each class by the inverse of its frequency (`class_weights`); or a dict of "
    "label -> weight, 1 for others."
)
_SEPARATORS = "|;,\t\x1f"  # one of them, which no label has, separates the labels of a text in a file of `fit`
_SMALLEST_PROBABILITY = np.float32(1e-7)


@estimator_of(ClassificationConfig, leave_out=_NOT_PARAMETERS, further={"class_weight": (None, _CLASS_WEIGHT)})
class TextClassifier(ClassifierMixin, Estimator):
    """A classifier of texts, with scikit-learn's conventions.

    It is also a function: `classifier(texts)` is `classifier.predict(texts)`.

    Attributes of a fitted classifier:
        classes_: the labels, sorted, with the type of those that were given.
        card_, scores_, run_: see `Estimator`.
    """

    task = "classification"
    _columns: list | None = None  # the labels that are columns of `y`

    def fit(self, X, y=None, *, sample_weight=None, validation_data=None, groups=None, run: str | None = None) -> Self:
        """Trains on labelled texts: those of `train classification`, with its defaults.

        Args:
            X: texts: a list, Series, table of one column, or array of str; or a `tf.data.Dataset`, of texts or of pairs
                (text, label); or the path of a file or folder as for `--data`, with `y` None.
            y: labels, one for each text: str, int, float or bool; of several labels per text, one list for each text,
                or an array, sparse matrix or table of 0 and 1 with a column for each label. Predictions have the same
                form and type.
            sample_weight: weight of each text in training, float [n], at least 0. Scores count all texts alike.
            validation_data: (texts, labels), or a path if X is one. By default a tenth of the texts is split off.
            groups: one per text: texts of the same group stay together when validation is split off.
            run: keep the run, with its report, in `runs/classification/<run>/`; the same call resumes it.

        Raises:
            UserError: a mistake in the data or the parameters; the message names it and the remedy.
        """
        if self.label_type == "number":
            raise UserError(
                "label_type='number': numbers are trained by `train classification --label-type number`; `unroll.load` "
                "then gives its export, whose `predict` returns them"
            )
        if inputs.is_path(X):
            if y is not None or groups is not None or sample_weight is not None or isinstance(self.class_weight, dict):
                raise UserError(
                    f"X is {X!r}, the path of a file with labels: leave out y, groups, sample_weight (a column of the "
                    "file can be weight_column) and a dict as class_weight, or give texts"
                )
            if validation_data is not None and not inputs.is_path(validation_data):
                raise UserError(f"X is the path {X}: give validation_data as a path, too")
            validation = {} if validation_data is None else {"valid": str(validation_data)}
            return self._fit(run, lambda folder: {"data": str(X), **validation})
        if self.labels_separator is not None or self.label_columns is not None:
            raise UserError(
                "labels_separator and label_columns are for the path of a table: of texts in memory, give y a list of "
                "labels, or a row of 0 and 1, for each text"
            )
        if self.feature_column is not None or self.pair_columns is not None:
            raise UserError(
                "feature_column and pair_columns are for the path of a table: texts in memory are one column"
            )
        if self.weight_column is not None:
            raise UserError("weight_column is for the path of a table: of texts in memory, give sample_weight")
        several = inputs.label_lists(y)
        texts, labels = inputs.texts_and_labels(X, y) if several is None else _texts_and_lists(X, several)
        names = inputs.class_names(labels if several is None else several[1])
        separator = None if several is None else next(each for each in _SEPARATORS if each not in "".join(names))
        columns = {"text": texts, "label": _spelled(labels, separator)}
        validation = None if validation_data is None else _validation(*_pair(validation_data), separator)
        if groups is not None:
            columns["url"] = list(map(str, groups))
            inputs.require_equal_lengths(texts, columns["url"], "texts", "groups")
        weights = self._weights(sample_weight, labels, several is not None)
        if weights is not None:
            columns["weight"] = list(map(str, weights))
            inputs.require_equal_lengths(texts, weights, "texts", "weights")

        def write(folder: Path) -> dict[str, Any]:
            fields = {**_TABLE, "python_type": type(next(iter(names.values()))).__name__, "labels_separator": separator}
            fields["weight_column"] = None if weights is None else "weight"
            fields["data"] = runs.write_table(folder / "data.jsonl", columns)
            if validation is not None:
                fields["valid"] = runs.write_table(folder / "validation.jsonl", validation)
            return fields

        self._fit(run, write)
        self._set_classes(names)
        self._columns = several[1] if several and len(getattr(y, "shape", ())) == 2 else None
        return self

    def predict(self, X) -> np.ndarray:
        """Returns the label of each text, with the type of the labels of `fit`.

        Args:
            X: texts, as for `fit`; of a model of several columns a table that has them.

        Returns:
            Labels [n]; with a threshold for more than two classes, object [n] with "" for a text without label. If a
            text may have several labels: lists of labels, object [n], the most probable label first; or, if `y` had a
            column for each label, int [n, classes] of 0 and 1. Of a model of numbers: float32 [n].
        """
        outputs = self._outputs(X)
        if "value" in outputs:
            return outputs["value"]
        if "labels" in outputs and self._columns is not None:
            return self._indicators(outputs["labels"])
        if "labels" in outputs:
            return self._label_lists(outputs["labels"])
        if "abstained" in outputs:
            return np.array([self._labels.get(name, "") for name in outputs["label"]], dtype=object)
        index = {name: i for i, name in enumerate(self._labels)}
        return self.classes_[[index[name] for name in outputs["label"]]] if outputs else self.classes_[:0]

    __call__ = predict

    def predict_proba(self, X) -> np.ndarray:
        """Returns the probabilities of the labels, float32 [n, classes], in the order of `classes_`.

        Raises:
            UserError: it is a model of numbers.
        """
        outputs = self._outputs(X)
        if "value" in outputs:
            raise UserError("a model of numbers has no probabilities: use predict")
        index = {name: i for i, name in enumerate(self.card_["classes"])}
        columns = [index[name] for name in self._labels]
        return outputs["probabilities"][:, columns] if outputs else np.zeros((0, len(columns)), np.float32)

    def predict_top(self, X, k: int = NUM_TOP) -> list[dict]:
        """Returns the k most probable labels of each text: label -> probability, the most probable one first.

        Raises:
            UserError: it is a model of numbers, or k is no number from 1.
        """
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            raise UserError(f"k {k!r}: it must be a number of labels, at least 1")
        labels = list(self._labels.values())
        return [by_probability(labels, row, k) for row in self.predict_proba(X)]

    def predict_log_proba(self, X) -> np.ndarray:
        """Returns the logarithms of the probabilities of `predict_proba`, float32 [n, classes]."""
        return np.log(np.maximum(self.predict_proba(X), _SMALLEST_PROBABILITY))

    def decision_function(self, X) -> np.ndarray:
        """Returns the log-odds log(p / (1 - p)) of each label, float32 [n, classes]; of two classes, [n], the second's.

        Probabilities are taken as at least 1e-7 and at most 1 - 1e-7.
        """
        p = np.clip(self.predict_proba(X), _SMALLEST_PROBABILITY, 1 - _SMALLEST_PROBABILITY)
        log_odds = np.log(p) - np.log1p(-p)
        several = self.card_["config"].get("labels_separator") or self.card_["config"].get("label_columns")
        return log_odds[:, 1] if len(self.classes_) == 2 and not several else log_odds

    def score(self, X, y, sample_weight=None) -> float:
        """Returns the accuracy: of several labels per text, the fraction of texts with exactly the right ones.

        Args:
            X, y: as for `fit`.
            sample_weight: weight of each text, float [n].
        """
        several = inputs.label_lists(y)
        if several is None:
            return super().score(X, y, sample_weight)
        texts, rows = _texts_and_lists(X, several)
        outputs = self._outputs(texts)
        if "labels" not in outputs:
            raise UserError("y has texts with several labels, but this model gives each text one: give one for each")
        predicted = self._label_lists(outputs["labels"])
        right = [set(labels) == set(row) for labels, row in zip(predicted, rows, strict=True)]
        return float(np.average(right, weights=sample_weight))

    def explain(self, X) -> list[dict]:
        """Labels texts and weights their words.

        Returns:
            One dict per text: "text", "label", "score", "probabilities" (label -> probability), and "weights", a list
            of (word, weight) in the order of the text. A weight is what the label's log-odds lose without the word.
            Of several columns: "columns" (name -> cell) instead of "text", and (word, weight, field).
            If a text may have several labels: "labels", a list, and "weights" as label -> such a list.

        Raises:
            UserError: the model has no explanations, as those of `transfer`.
        """
        fitted, given = self._fitted, self._given(X)
        from pipelines.classification.predict import explain_texts

        if not given:
            return []
        with user_errors():
            results = explain_texts(fitted.exported, given, fitted.loaded)
        for result in results:
            result["probabilities"] = {self._labels[name]: p for name, p in result["probabilities"].items()}
            if "labels" in result:
                result["labels"] = [self._labels[name] for name in result["labels"]]
                weights = result["weights"].items()
                result["weights"] = {self._labels[name]: [tuple(each) for each in pairs] for name, pairs in weights}
            else:
                result["label"] = self._labels.get(result["label"], "")
                result["weights"] = [tuple(each) for each in result["weights"]]
        return results

    def _label_lists(self, names: np.ndarray) -> np.ndarray:
        """Returns the labels of each text: names, object [n, classes] with "" after the last one -> lists [n]."""
        lists = np.empty(len(names), dtype=object)
        lists[:] = [[self._labels[name] for name in row if name] for row in names]
        return lists

    def _indicators(self, names: np.ndarray) -> np.ndarray:
        """Returns which columns of `y` each text has, int [n, columns]: names as for `_label_lists`."""
        return np.array([[label in row for label in self._columns] for row in self._label_lists(names)], int)

    def _weights(self, sample_weight, labels: list, several: bool) -> list[float] | None:
        """Returns the weight of each text, its own times that of its label; None if no weights are given."""
        weights = None if sample_weight is None else inputs.weights(sample_weight)
        if not isinstance(self.class_weight, dict):
            return weights
        if several:
            raise UserError("class_weight is for one label per text: of several, give sample_weight")
        unknown = [label for label in self.class_weight if label not in set(labels)]
        if unknown:
            raise UserError(f"class_weight has {unknown[0]!r}, which is no label of y")
        of_class = [self.class_weight.get(label, 1.0) for label in labels]
        return of_class if weights is None else [a * b for a, b in zip(weights, of_class)]

    def _settings(self) -> dict[str, Any]:
        values = super()._settings()
        class_weight = values.pop("class_weight")
        if class_weight not in (None, "balanced") and not isinstance(class_weight, dict):
            raise UserError(f"class_weight {class_weight!r}: it must be None, 'balanced', or a dict of label -> weight")
        return values | {"class_weights": values["class_weights"] or class_weight == "balanced"}

    def _given(self, X) -> list[str]:
        """Returns the texts; for a model of several columns, the cells of one row after the other."""
        columns = fields.from_card(self.card_.get("columns"))
        return inputs.cells_of_columns(X, columns) if columns else inputs.texts(X)

    def _outputs(self, X) -> dict[str, np.ndarray]:
        """Returns the outputs of the export; of no texts, none."""
        fitted, texts = self._fitted, self._given(X)
        columns = fields.from_card(self.card_.get("columns"))
        if columns:
            texts = fields.of_cells(columns, texts, "X")
        if not texts:
            return {}
        with user_errors():
            loaded = fitted.loaded
        from pipelines.export.signatures import BatchedSignature, of_texts

        return BatchedSignature(of_texts(loaded.signatures))(texts)

    def _set_export(self, export: FittedExport) -> None:
        super()._set_export(export)
        self._set_classes(None)

    def _set_classes(self, labels: dict[str, Any] | None) -> None:
        """Sets the classes.

        Args:
            labels: name in the export -> label; None makes the labels from the names.
        """
        if labels is None:
            config = self.card_["config"]  # until 0.11.0 the field had another name
            python_type = config.get("python_type") or config.get("label_type", "str")
            labels = {name: _label(name, python_type) for name in self.card_["classes"]}
        known = {name: label for name, label in labels.items() if name in self.card_["classes"]}
        self._labels = dict(sorted(known.items(), key=lambda item: item[1]))
        self.classes_ = np.array(list(self._labels.values()))

    def __sklearn_tags__(self):
        """Returns scikit-learn's tags: the input is a list of strings."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


TextClassifier.__module__ = "unroll"  # the name in pickles, of a checkout and of an installed package


# How to read the files that `fit` writes, whatever the user's own files need.
_TABLE = {field.name: field.default for field in dataclasses.fields(LabelledConfig) if field.name in TABLE_FIELDS}


def _pair(validation_data) -> tuple:
    """Returns the texts and labels to validate on; the labels are None for a Dataset of pairs."""
    if isinstance(validation_data, tuple) and len(validation_data) == 2:
        return validation_data
    if isinstance(validation_data, tuple | str | Path):
        raise UserError("validation_data: give a pair (texts, labels), as for X and y")
    return validation_data, None


def _texts_and_lists(X, several: tuple[list[list], list]) -> tuple[list[str], list[list]]:
    """Returns texts and what `inputs.label_lists` found, as lists of the same length, at least 1."""
    texts = inputs.texts(X)
    inputs.require_equal_lengths(texts, several[0], "texts", "labels")
    return texts, several[0]


def _validation(X, y, separator: str | None) -> dict[str, list[str]]:
    """Returns the columns of the validation texts."""
    several = inputs.label_lists(y) if separator else None
    texts, labels = inputs.texts_and_labels(X, y) if several is None else _texts_and_lists(X, several)
    return {"text": texts, "label": _spelled(labels, separator)}


def _spelled(labels: list, separator: str | None) -> list[str]:
    """Returns the labels as the cells of a table: with a separator, one list for each text."""
    if separator is None:
        return [str(label) for label in labels]
    return [separator.join(map(str, row)) for row in labels]


def _label(name: str, python_type: str):
    """Returns the label that `name` stands for."""
    return name == str(True) if python_type == "bool" else inputs.LABEL_TYPES[python_type](name)
