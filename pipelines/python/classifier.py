"""`unroll.TextClassifier`: text -> label."""

import dataclasses
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from pipelines.classification.config import ClassificationConfig
from pipelines.labelled.config import TABLE_FIELDS, LabelledConfig
from pipelines.python import inputs, runs
from pipelines.python.errors import UserError, user_errors
from pipelines.python.estimator import Estimator
from pipelines.python.fitted import FittedExport
from pipelines.python.settings import estimator_of

# num_negations needs `polarity`; scikit-learn has cross-validation; start_weights are those of `train --from`.
_NOT_PARAMETERS = ("data", "valid", "polarity", "label_type", "num_negations", "folds", "start_weights")


@estimator_of(ClassificationConfig, leave_out=_NOT_PARAMETERS)
class TextClassifier(ClassifierMixin, Estimator):
    """A classifier of texts, with scikit-learn's conventions.

    It is also a function: `classifier(texts)` is `classifier.predict(texts)`.

    Attributes of a fitted classifier:
        classes_: the labels, sorted, with the type of those that were given.
        card_, scores_, run_: see `Estimator`.
    """

    task = "classification"

    def fit(self, X, y=None, *, validation_data=None, groups=None, run: str | None = None) -> Self:
        """Trains on labelled texts: those of `train classification`, with its defaults.

        Args:
            X: texts: a list, Series, table of one column, or array of str; or a `tf.data.Dataset`, of texts or of pairs
                (text, label); or the path of a file or folder as for `--data`, with `y` None.
            y: labels, one for each text: str, int, float or bool. Predictions have the same type.
            validation_data: (texts, labels), or a path if X is one. By default a tenth of the texts is split off.
            groups: one per text: texts of the same group stay together when validation is split off.
            run: keep the run, with its report, in `runs/classification/<run>/`; the same call resumes it.

        Raises:
            UserError: a mistake in the data or the parameters; the message names it and the remedy.
        """
        if inputs.is_path(X):
            if y is not None or groups is not None:
                raise UserError(f"X is {X!r}, the path of a file with labels: leave out y and groups, or give texts")
            if validation_data is not None and not inputs.is_path(validation_data):
                raise UserError(f"X is the path {X}: give validation_data as a path, too")
            validation = {} if validation_data is None else {"valid": str(validation_data)}
            return self._fit(run, lambda folder: {"data": str(X), **validation})
        if self.labels_separator is not None or self.label_columns is not None:
            raise UserError("several labels per text are read from a file: give fit the path of a table")
        texts, labels = inputs.texts_and_labels(X, y)
        names = inputs.class_names(labels)
        columns = {"text": texts, "label": _spelled(labels)}
        validation = None if validation_data is None else inputs.texts_and_labels(*_pair(validation_data))
        if groups is not None:
            columns["url"] = list(map(str, groups))
            inputs.require_equal_lengths(texts, columns["url"], "texts", "groups")

        def write(folder: Path) -> dict[str, Any]:
            fields = {**_TABLE, "label_type": type(labels[0]).__name__}
            fields["data"] = runs.write_table(folder / "data.jsonl", columns)
            if validation is not None:
                rows = {"text": validation[0], "label": _spelled(validation[1])}
                fields["valid"] = runs.write_table(folder / "validation.jsonl", rows)
            return fields

        self._fit(run, write)
        return self._set_classes(names)

    def predict(self, X) -> np.ndarray:
        """Returns the label of each text, with the type of the labels of `fit`.

        Args:
            X: texts, as for `fit`.

        Returns:
            Labels [n]; with a threshold for more than two classes, object [n] with "" for a text without label. If a
            text may have several labels: lists of labels, object [n], the most probable label first.
        """
        outputs = self._outputs(X)
        if "labels" in outputs:
            return self._label_lists(outputs["labels"])
        if "abstained" in outputs:
            return np.array([self._labels.get(name, "") for name in outputs["label"]], dtype=object)
        index = {name: i for i, name in enumerate(self._labels)}
        return self.classes_[[index[name] for name in outputs["label"]]] if outputs else self.classes_[:0]

    __call__ = predict

    def predict_proba(self, X) -> np.ndarray:
        """Returns the probabilities of the labels, float32 [n, classes], in the order of `classes_`."""
        outputs = self._outputs(X)
        index = {name: i for i, name in enumerate(self.card_["classes"])}
        columns = [index[name] for name in self._labels]
        return outputs["probabilities"][:, columns] if outputs else np.zeros((0, len(columns)), np.float32)

    def explain(self, X) -> list[dict]:
        """Labels texts and weights their words.

        Returns:
            One dict per text: "text", "label", "score", "probabilities" (label -> probability), and "weights", a list
            of (word, weight) in the order of the text. A weight is what the label's log-odds lose without the word.
            If a text may have several labels: "labels", a list, and "weights" as label -> such a list.

        Raises:
            UserError: the model has no explanations, as those of `transfer`.
        """
        fitted, texts = self._fitted, inputs.texts(X)
        from pipelines.classification.predict import explain_texts

        if not texts:
            return []
        with user_errors():
            results = explain_texts(fitted.exported, texts, fitted.loaded)
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

    def _outputs(self, X) -> dict[str, np.ndarray]:
        """Returns the outputs of the export; of no texts, none."""
        fitted, texts = self._fitted, inputs.texts(X)
        if not texts:
            return {}
        with user_errors():
            loaded = fitted.loaded
        from pipelines.export.signatures import BatchedSignature

        return BatchedSignature(loaded.signatures["serving_default"])(texts)

    def _set_export(self, export: FittedExport) -> None:
        super()._set_export(export)
        self._set_classes(None)

    def _set_classes(self, labels: dict[str, Any] | None) -> Self:
        """Sets the classes.

        Args:
            labels: name in the export -> label; None makes the labels from the names.
        """
        if labels is None:
            label_type = self.card_["config"].get("label_type", "str")
            labels = {name: _label(name, label_type) for name in self.card_["classes"]}
        self._labels = dict(sorted(labels.items(), key=lambda item: item[1]))
        self.classes_ = np.array(list(self._labels.values()))
        return self

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


def _spelled(labels: list) -> list[str]:
    return [str(label) for label in labels]


def _label(name: str, label_type: str):
    """Returns the label that `name` stands for."""
    return name == str(True) if label_type == "bool" else inputs.LABEL_TYPES[label_type](name)
