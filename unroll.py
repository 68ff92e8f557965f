"""Unroll from Python: `TextClassifier`, `Tagger`, `Translator`, `LanguageModel`, `TextEncoder`, and `load` for exports.

    classifier = unroll.TextClassifier(preset="quick").fit(texts, labels)
    classifier.predict(["A gripping story and a wonderful cast."])
    classifier.export("saved_models/reviews")

They train as the command line does. TensorFlow, pandas and scikit-learn are imported at first use. See docs/python.md.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.python.errors import UserError
from pipelines.support.version import VERSION
from pipelines.task import TASKS

if TYPE_CHECKING:
    from layers.hub import HubEncoder
    from pipelines.python.classifier import TextClassifier
    from pipelines.python.encoder import TextEncoder
    from pipelines.python.language_model import LanguageModel
    from pipelines.python.tagger import Tagger
    from pipelines.python.translator import Translator

__all__ = [
    "HubEncoder",
    "LanguageModel",
    "Tagger",
    "TextClassifier",
    "TextEncoder",
    "Translator",
    "UserError",
    "load",
    "load_encoder",
]
__version__ = VERSION
_ENTRIES = {entry.estimator.split(".")[1]: entry for entry in TASKS.values() if entry.estimator}  # of each class


def load(path: str | Path):
    """Returns an exported model as a fitted `TextClassifier`, `Tagger`, `Translator`, `LanguageModel` or `TextEncoder`.

    The estimator is also a function of texts.

    Args:
        path: folder of a version, such as saved_models/spam/1, or saved_models/spam for its newest version.

    Raises:
        UserError: there is no export, or it is damaged.
    """
    from pipelines.python import loading

    return loading.load(path)


def load_encoder(handle: str):
    """Returns a pretrained encoder: a function of texts, which returns their vectors, float32 [n, size].

    It is also a transformer for scikit-learn's pipelines.

    Args:
        handle: hf://ORG/NAME[@REVISION], kaggle://OWNER/MODEL/FRAMEWORK/VARIATION, a URL of TF Hub, or a folder of a
            checkpoint or a SavedModel.
    """
    from pipelines.python.pretrained import PretrainedEncoder

    return PretrainedEncoder(handle)


def run_command_line() -> int:
    """The command `unroll`, and `python -m unroll`; returns the exit status."""
    from main import main

    return main()


def __getattr__(name: str):
    if name == "FittedExport":  # not for users: pickles of estimators name it
        from pipelines.python.fitted import FittedExport

        return FittedExport
    if name == "HubEncoder":
        from layers.hub import HubEncoder
        from pipelines.pretrained import handles  # noqa: F401 (after which it takes hf:// and kaggle://)

        return HubEncoder
    if name not in _ENTRIES:
        raise AttributeError(f"module 'unroll' has no attribute {name!r}")
    return _ENTRIES[name].estimator_class()


def __dir__() -> list[str]:
    return sorted({*globals(), *_ENTRIES, "HubEncoder"})


if __name__ == "__main__":
    sys.exit(run_command_line())
