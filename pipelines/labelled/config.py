"""Settings that all tasks on labelled texts share."""

import dataclasses
from typing import Annotated, ClassVar, Literal, NamedTuple

import tyro

from pipelines.data import table_options
from pipelines.settings.config import TrainingConfig, with_expanded_paths
from pipelines.settings.fields import (
    NAME,
    PATHS,
    Encoding,
    NoHeader,
    Quote,
    Separator,
    TextColumn,
    ValidFraction,
    at_least,
    from_to,
    reject_without_effect,
)
from pipelines.support.errors import UserError
from pipelines.support.paths import Data

TABLE_FIELDS = (
    "text_column",
    "label_column",
    "labels_separator",
    "label_columns",
    "encoding",
    "separator",
    "quote",
    "no_header",
    "fold_labels",
    "missing_labels",
    "feature_column",
    "pair_columns",
    "symmetric",
)
_NOT_NUMBERS = ("labels_separator", "label_columns", "polarity", "folds", "threshold", "positive")
BEST_F1 = "best-f1"
PRECISION = "precision"


class ThresholdChoice(NamedTuple):
    """How a threshold is chosen.

    Attributes:
        precision: the minimum precision; None: the highest F1, or `value`.
        value: the threshold itself; None: it is chosen on validation texts.
    """

    precision: float | None = None
    value: float | None = None


def multi_label(config: dict) -> bool:
    """Whether a text may have several labels, by the fields of a config; an older version has no such fields."""
    return any(config.get(field) is not None for field in ("labels_separator", "label_columns"))


def parse_threshold(text: str) -> ThresholdChoice:
    """Reads the value of --threshold: best-f1, precision=X, or a probability.

    Raises:
        UserError: it is none of these.
    """
    if text == BEST_F1:
        return ThresholdChoice()
    name, _, number = text.rpartition("=")
    try:
        value = float(number)
    except ValueError:
        value = 0.0
    if name not in ("", PRECISION) or not 0 < value < 1:
        raise UserError(
            f"--threshold {text}: it must be {BEST_F1}, {PRECISION}=X, or a probability X, each X between 0 and 1"
        )
    return ThresholdChoice(precision=value) if name else ThresholdChoice(value=value)


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelledConfig(TrainingConfig):
    """Fields on the data of a task that learns labels of texts."""

    REPORT_FIELDS: ClassVar[tuple[str, ...]] = (*TrainingConfig.REPORT_FIELDS, "no_baseline")
    READS_COLUMNS: ClassVar[bool] = False  # whether --text-column and --feature-column may name several columns
    DATA_FIELDS: ClassVar[tuple[str, ...]] = (
        "data",
        "valid",
        *TABLE_FIELDS,
        "label_type",
        "min_label_count",
        "rare_labels",
    )

    data: Annotated[Data | None, PATHS] = None
    """Labelled texts to train on: a CSV, TSV or JSONL file (also .gz, .xz, .bz2, .zip), a Parquet or Excel file,
    several such files with the same columns, or a pattern such as 'reviews/*.csv'; a folder with one sub-folder of .txt
    files per class (such as aclImdb); or `imdb`, which is downloaded. Without it: the embedded sample."""
    valid: Annotated[Data | None, PATHS] = None
    """Your own validation texts, in the same formats. Without it, a part of --data is split off."""
    valid_fraction: ValidFraction = 0.1
    """Fraction of --data to split off for validation. Rows with the same `url`, or with the same text, stay
    together."""
    folds: Annotated[int, from_to(2, 100, zero="none"), tyro.conf.arg(metavar="K", help_behavior_hint="")] = 0
    """Cross-validation: train K times, each time with another K-th of --data held out, and report the mean and the
    standard deviation of the scores, and likely label errors. No model is exported."""
    text_column: TextColumn = None
    label_column: Annotated[str | None, NAME] = None
    """Column with the label. By default the first column with a usual name (label, class, ...)."""
    labels_separator: Annotated[str | None, tyro.conf.arg(metavar="TEXT", help_behavior_hint="")] = None
    """A text may have several labels, or none: they are in one column, with this text between them, such as "|"."""
    label_columns: Annotated[str | None, tyro.conf.arg(metavar="NAME,NAME", help_behavior_hint="")] = None
    """A text may have several labels, or none: each label has a column of this name with 0 or 1."""
    encoding: Encoding = None
    separator: Separator = None
    quote: Quote = None
    no_header: NoHeader = False
    fold_labels: bool = False
    """Read labels that differ only in case or blanks as the same label, in lower case."""
    feature_column: Annotated[str | None, tyro.conf.arg(metavar="NAME,NAME", help_behavior_hint="")] = None
    """Further columns that the model reads, such as price,country: numbers or names. --text-column takes several
    columns, too: title,body."""
    pair_columns: Annotated[str | None, tyro.conf.arg(metavar="NAME,NAME", help_behavior_hint="")] = None
    """Two columns with texts to compare, such as question1,question2: whether one follows from the other or, with
    --symmetric, both mean the same."""
    symmetric: bool = False
    """With --pair-columns: the order of the two texts changes nothing."""
    missing_labels: Annotated[str | None, tyro.conf.arg(metavar="LABEL,LABEL", help_behavior_hint="")] = None
    """Labels that stand for no label, such as n/a,NULL: their rows are left out."""
    min_label_count: Annotated[int, at_least(0), tyro.conf.arg(metavar="N", help_behavior_hint="")] = 0
    """Leave out labels of fewer than N texts of --data, with their rows."""
    rare_labels: Annotated[str | None, tyro.conf.arg(metavar="LABEL", help_behavior_hint="")] = None
    """With --min-label-count: read rare labels as this one label, such as other, and leave out no rows."""
    class_weights: bool = False
    """Weight each class by the inverse of its frequency, for data with rare classes."""
    no_baseline: bool = False
    """Do not compare the model with scikit-learn's logistic regression and LinearSVC on TF-IDF, which take seconds."""
    positive: Annotated[str | None, tyro.conf.arg(metavar="LABEL", help_behavior_hint="")] = None
    """Two classes: the label that --threshold, F1 and the precision-recall curve are about. By default the last one in
    alphabetical order, or the larger number."""
    threshold: Annotated[str | None, tyro.conf.arg(metavar="best-f1|precision=X|X", help_behavior_hint="")] = None
    """Probability from which a text has the label of --positive; of more than two classes, its most probable label, and
    below it none; of several labels per text, each label. best-f1 and precision=X choose it on the validation texts:
    the highest F1, or as many labels as possible with at least this precision. By default a text has its most probable
    label; with several labels per text, the default is best-f1."""
    max_bytes: Annotated[int, at_least(100), tyro.conf.arg(metavar="N")] = 40_000
    """Maximum UTF-8 bytes per text; the rest of a longer text is cut."""
    polarity: tyro.conf.Suppress[bool] = False
    """Whether different spellings of negative, neutral and positive are read as the same labels (data/labels.py)."""
    label_type: Literal["class", "ordinal", "number"] = "class"
    """Labels are names, ordinal (such as 1 to 5 stars) or numbers (such as prices). Of ordinal labels the predicted one
    is the median of the probabilities, whose distance from the true one is smaller than that of the most probable
    label. For numbers the model predicts a number."""
    python_type: tyro.conf.Suppress[Literal["str", "int", "float", "bool"]] = "str"
    """Type of the labels that Python code gave (pipelines/python/): its predictions have it, too."""

    def table_options(self) -> table_options.TableOptions:
        """Returns how to read tables."""
        return table_options.make(**{name: getattr(self, name) for name in TABLE_FIELDS})

    @property
    def multi_label(self) -> bool:
        """Whether a text may have several labels."""
        return multi_label(vars(self))

    def resolve(self):
        """As `TrainingConfig.resolve`; also replaces the patterns of --data and --valid by the files that match."""
        return with_expanded_paths(super().resolve(), "data", "valid")

    def defaults(self):  # noqa: D102
        return type(self)(preset=self.preset, model=self.model, polarity=self.polarity).resolve()

    def check(self) -> None:
        """As `TrainingConfig.check`."""
        super().check()
        if self.folds:
            reject_without_effect(self, "--folds holds out parts of --data in turn", "valid", "valid_fraction")
        if not self.min_label_count:
            reject_without_effect(self, "no label is rare without --min-label-count", "rare_labels")
        if self.pair_columns is not None:
            reject_without_effect(self, "the texts are those of --pair-columns", "text_column")
        else:
            reject_without_effect(self, "it is for --pair-columns", "symmetric")
        if self.threshold is not None:
            parse_threshold(self.threshold)
        if self.polarity:
            reason = "`sentiment` has one label per text, negative or positive; use `train classification`"
            reject_without_effect(self, reason, "labels_separator", "label_columns", "positive", "label_type")
        if self.multi_label:
            reject_without_effect(self, "each label has its own threshold", "class_weights", "positive")
            reject_without_effect(self, "it is for one label per text", "folds")
        if self.label_type != "class":
            reason = f"--label-type {self.label_type} has one number per text"
            others = ("class_weights", "min_label_count", "rare_labels", "fold_labels")
            reject_without_effect(self, reason, *_NOT_NUMBERS, *others * (self.label_type == "number"))
        if self.folds:
            reject_without_effect(self, "a threshold is part of an export, which --folds does not make", "threshold")
        if self.valid:
            reject_without_effect(self, "the validation texts are those of --valid", "valid_fraction")
        if not self.data and not self.valid:
            fields = (*TABLE_FIELDS, "min_label_count")
            reject_without_effect(self, "the embedded sample is no table; give --data", *fields)

    def data_files(self) -> dict[str, Data]:  # noqa: D102
        return super().data_files() | ({"valid": self.valid} if self.valid else {})
