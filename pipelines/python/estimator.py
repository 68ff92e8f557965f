"""What all estimators share: parameters, the run of `fit`, exports, and pickles."""

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from pipelines.export.exported import version_of
from pipelines.python import settings
from pipelines.python.errors import UserError, user_errors
from pipelines.python.fitted import FittedExport, Unexported
from pipelines.python.runs import Place, undisturbed
from pipelines.runs import fitting, run
from pipelines.settings.config import TrainingConfig
from pipelines.support import console
from pipelines.support.files import check_folder, with_home
from pipelines.task import TASKS

if TYPE_CHECKING:
    from pipelines.inspect.trace import Trace

_EXPORT_NAME = "model"
_DATA_FIELDS = ("data", "target", "valid", "valid_target", "test", "test_target")


class Estimator(BaseEstimator):
    """A model of one task, with scikit-learn's conventions.

    Attributes of a fitted estimator:
        card_: the model card: what it was trained on, with which settings, and its scores.
        scores_: split ("validation", and "test" if there is one) -> measures.
        run_: folder of the run, with report.html; it is removed with the estimator unless `fit` had `run=`.
    """

    task: ClassVar[str]  # name in the registry
    config_class: ClassVar[type[TrainingConfig]]

    def _fit(self, run_name: str | None, write_data: Callable[[Path], dict[str, Any]]) -> Self:
        """Trains as `main.py train` does.

        Args:
            run_name: name of the run; None keeps it in a temporary folder.
            write_data: writes the data into a folder, and returns the fields of the config that name the files.
        """
        fields = settings.config_fields(self.config_class, self._settings())
        if not isinstance(run_name, str | None):
            raise UserError(f"run {run_name!r}: it must be the name of a folder in runs/{self.task}/")
        with user_errors():
            place = Place(self.task, run_name)
        # The user gave data and no files: errors name the data.
        names = {str(place.folder / file): name for file, name in self._file_names().items()}
        with user_errors(names), undisturbed(), console.silence(not self.verbose), place.opened() as folder:
            config = self.config_class(**_for_data(fields, write_data(folder), folder)).resolve()
            destination = run.Destination(place.runs, folder / "export", place.name, _EXPORT_NAME, force=True)
            if place.temporary:
                export = self._train(config, destination, place)
            else:
                export = FittedExport(Path(run.train(self.task, config, destination).export), place)
        self.run_ = place.folder
        self._set_export(export)
        return self

    def _train(self, config: TrainingConfig, destination: run.Destination, place: Place) -> FittedExport:
        """Trains a model that is exported when its files are needed: a cross-validation needs none of them.

        It is checked in a fresh process when it is exported to its final place.
        """
        kept = []

        def fit(*arguments):
            kept.append(fitting.fit_and_measure(*arguments))
            return kept[-1]

        destination = dataclasses.replace(destination, export=False, verify=False)
        result = run.train(self.task, config, destination, fit)
        from pipelines.export.card import make_card

        servable, completed = kept[0].servable, kept[0].config

        def export() -> None:
            with undisturbed(), console.silence():
                run.export(TASKS[self.task].task(), servable, completed, result, place.folder, destination)

        card = json.loads(json.dumps(make_card(result, completed)))  # as it will be read from the export
        unexported = Unexported(servable.signatures(), card, export)
        return FittedExport(destination.saved_models / _EXPORT_NAME / "1", place, unexported)

    def _settings(self) -> dict[str, Any]:
        """Returns the parameters as fields of the config, and those of `settings.COMMON`."""
        return self.get_params(deep=False)

    @staticmethod
    def _file_names() -> dict[str, str]:
        """Returns the files that `write_data` writes -> what errors call them."""
        return {"data.jsonl": "the data", "validation.jsonl": "the validation data"}

    def _set_export(self, export: FittedExport) -> None:
        """Makes the estimator a fitted one."""
        self._export = export
        self._set_card()

    def _set_card(self) -> None:
        self.card_ = self._export.card
        self.scores_ = self.card_["scores"]

    @property
    def _fitted(self) -> FittedExport:
        """The export.

        Raises:
            NotFittedError: there is none.
        """
        check_is_fitted(self)
        return self._export

    def trace(self, X: str | Sequence[str], intervene: Sequence[str] = ()) -> "Trace | list[Trace]":
        """Returns what the model computes for a text or for several: tokens, gates, states, attention, the answer.

        Args:
            X: a text, or several.
            intervene: what to set before the model computes the rest, each as in `inspect intervene --clamp`:
                "forget:all:3=1" sets the forget gate of unit 3 to 1 at all steps.

        Raises:
            UserError: the model has no trace, or nothing in it can be set; or an intervention has another form, or
                names what the model does not have.
        """
        from pipelines.inspect import interventions
        from pipelines.inspect.models import Model

        export, texts = self._fitted, [X] if isinstance(X, str) else list(X)
        if isinstance(intervene, str) or not all(isinstance(text, str) for text in texts):
            raise UserError("trace: X must be a text or a list of texts, and intervene a list of interventions")
        with user_errors():
            model = Model(export.exported, export.loaded)
            traces = model.trace(texts) if texts else []
            if intervene:
                edits = [interventions.parse(intervene, trace) for trace in traces]
                traces = [model.intervene(text, [row])[0] for text, row in zip(texts, edits, strict=True)]
        return traces[0] if isinstance(X, str) else traces

    @classmethod
    def from_export(cls, path: Path) -> Self:
        """Returns a fitted estimator with an existing export. Its parameters are those of the export's training.

        Args:
            path: folder of a version.
        """
        export = FittedExport(path)
        with user_errors():
            card = export.card
            parameters = cls._parameters(card) if TASKS[card["task"]].package == TASKS[cls.task].package else {}
            export.loaded  # noqa: B018 (a damaged export is reported now)
        estimator = cls(**parameters)
        estimator._set_export(export)
        return estimator

    @classmethod
    def _parameters(cls, card: dict[str, Any]) -> dict[str, Any]:
        """Returns the parameters of an export's training that differ from their defaults, with preset and model."""
        config = card["config"]
        chosen = {name: config[name] for name in ("preset", "model") if name in config}
        defaults = dataclasses.asdict(cls.config_class(**chosen).resolve())
        changed = {name: value for name, value in config.items() if name in defaults and value != defaults[name]}
        return chosen | {name: value for name, value in changed.items() if name in cls._get_param_names()}

    def export(self, path: str | Path) -> Path:
        """Writes the model as a SavedModel, which TF Serving takes.

        The export is checked in a fresh process without Unroll's code before it appears.

        Args:
            path: `<name>/<version>`, such as saved_models/spam/1, or `<name>`, which gets the next version.

        Returns:
            The folder of the version.

        Raises:
            UserError: the version exists, or nothing can be written there.
        """
        fitted = self._fitted
        from pipelines.export import saved_model

        with user_errors():
            path = with_home(str(path)).absolute()

        version = version_of(path)
        parent = path if version is None else path.parent
        if version is not None and path.exists():
            raise UserError(f"{path} exists already: give another version, or {parent} for the next one")
        with user_errors():
            check_folder(parent, "export")
            return saved_model.copy(fitted.exported.path, fitted.loaded, parent.name, parent.parent, version).path

    def __getstate__(self) -> dict:
        """Returns the state for pickle: with the files of the export, which have the card; without the run."""
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("run_", "card_", "scores_")}

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        if "_export" in state:
            self._set_card()


def _for_data(fields: dict[str, Any], files: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Returns the fields of the config with those of the data. The files that `fit` writes are UTF-8.

    Args:
        files: the fields that `write_data` returns.
        folder: where it writes.

    Raises:
        UserError: an encoding is given, and only some of the files are the user's.
    """
    encoding = fields.get("encoding")
    paths = [Path(str(value)) for name, value in files.items() if name in _DATA_FIELDS and value is not None]
    own = [path.parent == folder for path in paths]
    if encoding is None or not any(own):
        return fields | files
    if not all(own):
        raise UserError(
            f"encoding {encoding}: it is that of files, but some of the data is in memory: give all data in files, or "
            "all in memory without encoding"
        )
    return fields | {"encoding": None} | files
