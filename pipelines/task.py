"""The contract between a run and a task, and TASKS, the one registry of tasks.

A task is a module `pipelines/<package>/task.py` that satisfies `Task`. `run.py` calls its members in the order in which
they are documented here. Where a default is enough, the task imports the function of the same name from this module.

Arguments have the same order everywhere: config, splits, tokenizer, encoded, model, servable, result, then the rest.
"""

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pipelines.task_entry import TaskEntry

if TYPE_CHECKING:  # the registry is read before TensorFlow is imported
    import keras
    import tensorflow as tf

    from pipelines.support.run_result import RunResult
    from pipelines.training.fit import FitOptions


class TokenizerLike(Protocol):
    """What `run.py` needs of a tokenizer."""

    vocabulary_size: int | None  # number of tokens for the report; None if unknown

    def save(self, folder: Path) -> None:
        """Writes to the empty `folder` what `Task.load_tokenizer` reads."""


class Servable(Protocol):
    """What `run.py` needs of a servable: a tf.Module that can be saved as a SavedModel."""

    def signatures(self) -> dict[str, Any]:
        """Returns the concrete functions to export: signature name -> function; "serving_default" is among them."""


class Task(Protocol):
    """Members of a task module, in the order in which `run.train` calls them."""

    UNIT: str
    """What the progress bar counts, such as "texts"."""

    def load(self, config) -> Any:
        """Reads the data and splits off validation. Called first.

        It is defined in the package's data.py, which imports no TensorFlow: `run.py` calls it there
        (`TaskEntry.load`), before TensorFlow is imported.

        Returns:
            The task's own splits (training, validation and, where the data has one, test).

        Raises:
            UserError: the data cannot be read, or is too small to split.
        """

    def describe(self, splits) -> str:
        """Returns one line for the terminal: how much data there is to train and to validate on. Default: rows."""

    def make_tokenizer(self, config, splits) -> TokenizerLike:
        """Makes the tokenizer from the training data alone. Called for a new run; a resumed run loads the saved one.

        Raises:
            UserError: the data or the settings do not allow one.
        """

    def grow_tokenizer(self, config, splits, tokenizer) -> TokenizerLike:
        """Returns the tokenizer of the run that a training continues from, with tokens of the training data added.

        Known tokens keep their ids. Called in the place of `make_tokenizer`. Default: nothing is added.
        """

    def load_tokenizer(self, folder: Path) -> TokenizerLike:
        """Loads the tokenizer from the run's folder.

        Called after the seeds are set: setting a seed unloads SentencePiece models that are already loaded. Default:
        `text.tokenizers.load_tokenizer`.
        """

    def complete_config(self, config, splits, tokenizer) -> Any:
        """Returns the config with the fields filled in that depend on the data. Default: the config unchanged.

        Raises:
            UserError: a setting does not fit the data.
        """

    def encode(self, config, splits, tokenizer, folder: Path) -> Any:
        """Converts the texts to what training reads; may keep files in the run's `folder`.

        Raises:
            UserError: the data is too small for one step, or no row fits the settings.
        """

    def steps_per_epoch(self, config, encoded) -> int:
        """Returns the number of training steps in every epoch, at least 1. Default: by `config.batch_size`."""

    def items_per_epoch(self, encoded) -> int:
        """Returns how many UNITs an epoch has, for the progress bar. Default: len(encoded)."""

    def build(self, config, splits, tokenizer, encoded, training: bool) -> "keras.Model":
        """Builds the network. With `training` False it is the inference model: the same weights in the same order."""

    def needs_inference_model(self, config) -> bool:
        """Whether scores and the export need a model other than the trained one (averaged weights, no carried state).

        Default: no. In mixed precision `run.py` makes one in any case.
        """

    def compile_model(self, config, model, total_steps: int) -> None:
        """Gives `model`, also the inference model, its optimizer, loss and metrics for `total_steps` training steps."""

    def make_validator(self, config, tokenizer, encoded, model) -> Callable[[], dict[str, float]]:
        """Returns a function that scores `model` with its current weights.

        The function's dict has "val_loss"; it becomes a part of the epoch's row in metrics.csv.
        """

    def fit_options(self, config, encoded, model) -> "FitOptions":
        """Returns what `training.fit.fit` does besides plain epochs: class weights, callbacks, what to monitor.

        Default: no options.
        """

    def batches(self, config, encoded, epoch: int, skip: int) -> "tf.data.Dataset":
        """Returns the batches of an epoch from step `skip` on: a pure function of (config.seed, epoch, skip)."""

    def make_servable(self, config, splits, tokenizer, model) -> Servable:
        """Returns what is exported. Called once with the weights of the best epoch."""

    def measure(self, config, splits, encoded, servable, best_row: dict) -> tuple[dict[str, dict], dict]:
        """Scores the servable, so that what is measured is what is served.

        Args:
            best_row: the row of metrics.csv of the best epoch.

        Returns:
            ({"validation": scores, "test": scores where there is a test set}, details that `write_report` needs).
        """

    def refit(self, config, encoded, model, servable, train_again: "Callable[[Any], None]") -> int:
        """Fits what is exported to the validation rows, too, now that it is measured. Default: nothing is.

        Args:
            model: the inference model that `servable` was made of; new values of its weights are new ones of both.
            train_again: takes what `encode` returns, with the validation rows among those of training; gives `model`
                the weights of a new training on them, with as many epochs as the best epoch of the first training.

        Returns:
            The number of rows; 0 if nothing was fitted again.
        """

    def describe_data(self, config, splits, encoded) -> dict[str, Any]:
        """Returns what `RunResult` has of the data (rows, notes, ...), and facts for its `about` (classes, ...).

        Default: the rows of each split.
        """

    def example_requests(self, servable) -> dict[str, dict]:
        """Returns requests for the export's warm-up and verification: signature -> input -> values, for each signature.

        The texts are written for this purpose, so that no training data is in an export. Default: texts alone, for all.
        """

    def write_report(self, result: "RunResult", details: dict, folder: Path) -> None:
        """Writes the report and its pictures to the run's folder. Called after the export. Default: the scores."""

    def summarize(self, result: "RunResult") -> str:
        """Returns the lines that the terminal shows at the end of a run. Default: the scores."""


def describe(splits) -> str:
    """The default: the rows to train and to validate on."""
    return f"{len(splits.train):,} rows to train on, {len(splits.valid):,} rows to validate on"


def grow_tokenizer(config, splits, tokenizer) -> TokenizerLike:
    """The default: the tokenizer as it is."""
    return tokenizer


def load_tokenizer(folder: Path) -> TokenizerLike:
    """The default: a tokenizer of pipelines/text/tokenizers.py."""
    from pipelines.text import tokenizers

    return tokenizers.load_tokenizer(folder)


def complete_config(config, splits, tokenizer):
    """The default: nothing depends on the data."""
    return config


def steps_per_epoch(config, encoded) -> int:
    """The default: each batch has `config.batch_size` items; the last one may have fewer."""
    return math.ceil(len(encoded) / config.batch_size)


def items_per_epoch(encoded) -> int:
    """The default: the length of what is encoded."""
    return len(encoded)


def needs_inference_model(config) -> bool:
    """The default: the trained model is the one that is scored and exported."""
    return False


def fit_options(config, encoded, model) -> "FitOptions":
    """The default: no options."""
    from pipelines.training.fit import FitOptions

    return FitOptions()


def refit(config, encoded, model, servable, train_again) -> int:
    """The default: what is exported is what was measured."""
    return 0


def describe_data(config, splits, encoded) -> dict[str, Any]:
    """The default: the rows of each split."""
    return {"rows": {"train": len(splits.train), "valid": len(splits.valid)}}


def example_requests(servable) -> dict[str, dict]:
    """The default: usual and unusual texts (long, empty, no letters, with accents and HTML) for every signature."""
    from pipelines.data import sample_reviews

    texts = sample_reviews.generate(4, seed=2)[0].tolist()
    odd = ["", "\N{GRINNING FACE}", "Caf\N{LATIN SMALL LETTER E WITH ACUTE} &amp; more<br />"]
    return {name: {"text": [*texts, " ".join(texts * 20), *odd]} for name in servable.signatures()}


def write_report(result: "RunResult", details: dict, folder: Path) -> None:
    """The default: the scores, the learning curves and the record."""
    from pipelines.support import reports

    reports.write_plain(result, folder)


def summarize(result: "RunResult") -> str:
    """The default: the scores, and where the report and the export are."""
    from pipelines.support import reports

    return reports.summarize_plain(result)


_CLASSIFICATION = TaskEntry(
    "classification",
    "a classifier of texts",
    "classification",
    "labelled texts",
    "sample_reviews",
    measures=("accuracy", "micro_f1", "f1", "spearman", "loss"),
    answers="labelled.answers",
    keeps_predictions=True,
    estimator="classifier.TextClassifier",
    explains="label",
)
_LANGUAGE_MODEL = TaskEntry(
    "language-model",
    "a language model of subwords or words",
    "language_model",
    "text",
    "sample_text",
    example_data="--data my.txt",
    example_text='"Once upon a time"',
    answers="language_model.answers",
    estimator="language_model.LanguageModel",
    explains="next token",
)
_TRANSLATION = TaskEntry(
    "translation",
    "a translator",
    "translation",
    "pairs",
    "sample_pairs",
    example_data="--data train.en --target train.de",
    example_text='"A man is riding a bike."',
    measures=("bleu", "loss"),
    answers="translation.answers",
    keeps_predictions=True,
    estimator="translator.Translator",
)
TASKS = {
    entry.name: entry
    for entry in (
        _CLASSIFICATION,
        _CLASSIFICATION.named(
            "sentiment", "a classifier of positive and negative texts, such as film reviews", polarity=True
        ),
        TaskEntry(
            "tagging",
            "a tagger of tokens",
            "tagging",
            "tagged sentences",
            "sample_tags",
            example_data="--data train.conllu",
            example_text='"Jim bought 300 shares of Acme Corp. in 2006."',
            measures=("span_f1", "accuracy", "f1", "loss"),
            answers="tagging.answers",
            keeps_predictions=True,
            estimator="tagger.Tagger",
            explains="tag",
            other_names=("ner", "pos", "pos-tagging", "tagger", "chunking"),
        ),
        _LANGUAGE_MODEL,
        _LANGUAGE_MODEL.named("char-lm", "a language model of characters", default_tokenizer="character"),
        _TRANSLATION,
        _TRANSLATION.named("nmt", "a translator (another name of `translation`)"),
        TaskEntry(
            "encoder",
            "a text encoder with TF Hub's interface, from texts without labels or from word vectors",
            "encoder",
            "text",
            "sample_reviews",
            example_data="--data texts.csv",
            example_text='"I am [MASK] because I have not eaten."',
            estimator="encoder.TextEncoder",
        ),
        dataclasses.replace(
            _CLASSIFICATION,
            name="transfer",
            description="a classifier of texts that starts from a pretrained encoder",
            example_data="--data my.csv",
            package="transfer",
            explains=None,
            no_trace="its encoder is a module of TF Hub, which does not show its layers",
        ),
    )
}
