"""What the configs of all tasks share: fields of every training, presets, and reading a config back."""

import collections
import dataclasses
import math
from typing import Annotated, Any, ClassVar

import tyro

from pipelines.settings.fields import (
    PATHS,
    POSITIVE,
    UNSET,
    Bounds,
    CheckpointEvery,
    Optimizer,
    Patience,
    Resolved,
    TrainingPrecision,
    ValidFraction,
    at_least,
    check_declared,
    from_to,
)
from pipelines.support import paths
from pipelines.support.errors import UserError
from pipelines.support.paths import Data

SGD_FACTOR = 100  # learning rate of SGD over that of Adam, where none is given
Presets = dict[tuple[str, str], dict]  # (model, preset) -> {field: default}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Fields and methods of the configs of all tasks. A task redeclares a field to change its help or default.

    A field that is `None` takes its value from the preset (`resolve`).
    """

    PRESETS: ClassVar[Presets] = {}
    DEFAULT_MODELS: ClassVar[dict[str, str]] = {}  # preset -> model
    # They change what is reported, not what is trained, nor the run's name.
    REPORT_FIELDS: ClassVar[tuple[str, ...]] = ("no_example_text",)
    DATA_FIELDS: ClassVar[tuple[str, ...]] = ()  # state how the data is read: `prepare` and `doctor` have them, too
    SCALED_BEFORE: ClassVar[bool] = False  # `scale_embeddings` of a run that was recorded before the field existed
    # Of a training that continues from a run (`start_weights`):
    NETWORK_FIELDS: ClassVar[tuple[str, ...]] = ("model",)  # decide what the weights mean: equal to those of the run
    KEPT_FIELDS: ClassVar[tuple[str, ...]] = ()  # without effect, because the tokenizer and the weights are the run's
    GROWS: ClassVar[bool] = False  # whether new tokens and labels of the data are added to those of the run
    CONTINUED: ClassVar[dict[str, float]] = {"epochs": 0.75}  # factors of the settings of the run

    data: Annotated[Data | None, PATHS] = None
    """Training data. Without it: the embedded sample."""
    valid_fraction: ValidFraction = 0.1
    """Fraction of the data to split off for validation."""
    preset: Resolved[str] = UNSET
    """Set of defaults. By default quick on the embedded sample and full with --data."""
    model: Resolved[str] = UNSET
    """Network to train."""
    clip_norm: Annotated[float, POSITIVE] = 1.0
    """Gradients are scaled down to this global norm."""
    optimizer: Optimizer = "adam"
    patience: Patience = 3
    """Stop after N epochs without a better validation score. The weights of the best epoch are kept."""
    minutes: Annotated[tyro.conf.Suppress[float | None], Bounds(0, above=True)] = None
    """The training ends after this time; a flag of the command, which `tune` has for the whole search."""
    precision: TrainingPrecision = "auto"
    checkpoint_every: CheckpointEvery = 200
    keep_checkpoints: Annotated[int, at_least(0)] = 0
    """Keep the weights of N epochs, evenly spread, and the initial ones, so that `inspect training` can show how the
    model changed."""
    no_example_text: bool = False
    """Leave out the validation text that the export has for the live page: for confidential data."""
    seed: Annotated[int, from_to(0, 2**31 - 1)] = 1
    """Seed of weights, dropout and order. The same seed on the same machine gives the same weights."""
    start_weights: tyro.conf.Suppress[str | None] = None
    """best.npz of the run that --from names: training starts from its tokenizer and its weights."""
    scale_embeddings: tyro.conf.Suppress[bool] = True
    """Whether sines are added to the token vectors times the root of their size. Only runs of version 0.9.0 have False:
    their networks are built again as they were."""

    def resolve(self):
        """Returns the config with preset and model chosen and every field that was `None` taken from that preset.

        Raises:
            UserError: the model does not have this preset.
        """
        preset = self.preset or self.default_preset()
        model = self.model or self.default_model(preset)
        if (model, preset) not in self.PRESETS:
            presets = [of for name, of in self.PRESETS if name == model]
            raise UserError(f"--preset {preset}: --model {model} has the presets {', '.join(presets)}")
        values = self.preset_values(model, preset)
        missing = {name: value for name, value in values.items() if getattr(self, name) is None}
        if self.optimizer == "sgd" and missing.get("learning_rate") is not None:
            missing["learning_rate"] *= SGD_FACTOR
        return dataclasses.replace(self, preset=preset, model=model, **self.continued(missing))

    def continued(self, values: dict[str, Any]) -> dict[str, Any]:
        """Returns defaults; of a training that continues from a run, with the factors of CONTINUED."""
        if not self.start_weights:
            return values
        factors = {name: factor for name, factor in self.CONTINUED.items() if values.get(name) is not None}
        changed = {name: values[name] * factor for name, factor in factors.items()}
        return values | {name: math.ceil(value) if name == "epochs" else value for name, value in changed.items()}

    def default_preset(self) -> str:
        """Returns the preset of a config without one."""
        return "full" if self.data else "quick"

    def default_model(self, preset: str) -> str:
        """Returns the model of a config without one."""
        return self.DEFAULT_MODELS[preset]

    def preset_values(self, model: str, preset: str) -> dict[str, Any]:
        """Returns field -> value of the preset, which the fields have that are not given."""
        return self.PRESETS[model, preset]

    def defaults(self):
        """Returns the resolved config that has the same preset and model and otherwise only defaults."""
        return type(self)(preset=self.preset, model=self.model).resolve()

    def without_flags(self):
        """Returns the resolved config that a user gets without the flags whose effect `check` looks at."""
        return self.defaults()

    def check(self) -> None:
        """Checks a resolved config.

        Raises:
            UserError: a field has a value that no training can use.
        """
        check_declared(self)

    def data_files(self) -> dict[str, Data]:
        """Paths of data besides --data: field -> path. Their fingerprints are part of the run's record."""
        return {"start_weights": self.start_weights} if self.start_weights else {}

    def network_fields(self) -> tuple[str, ...]:
        """Returns the fields that a training must share with the run that it continues from."""
        return self.NETWORK_FIELDS

    def ties_embeddings(self) -> bool:
        """Whether the embeddings of the tokens also score them."""
        return False

    def not_continued(self) -> str:
        """Returns why no training can continue from a finished run of this config; "" if one can."""
        return ""

    def module_handles(self) -> dict[str, str]:
        """Handles of pretrained modules: field -> handle. Their fingerprints are part of the run's record."""
        return {}

    def parallel_ops(self) -> int | None:
        """Number of TensorFlow operations to run in parallel; None leaves the choice to TensorFlow."""
        return None


def with_expanded_paths(config, *fields: str):
    """Returns the config with the matching files in place of the patterns in `fields`.

    Raises:
        UserError: no file matches a pattern.
    """
    return dataclasses.replace(config, **{field: paths.expanded(getattr(config, field)) for field in fields})


def by_preset(presets: Presets, field: str, metavar: str | None = "N"):
    """Annotates a field whose default depends on model and preset: `--help` then shows all defaults.

    Args:
        presets: (model, preset) -> {field: value}.
        field: name of the annotated field.
        metavar: placeholder of the value in `--help`; None for types that list their own values.
    """
    shown = [f"{preset} {_usual_and_others(presets, field, preset)}" for preset in ("quick", "full")]
    hint = f"(default: {'; '.join(shown)})"
    return tyro.conf.arg(help_behavior_hint=hint, metavar=metavar)


def epochs_for(rows_in_all: int, num_rows: int, limits: tuple[int, int]) -> int:
    """Returns the number of epochs in which a training reads about `rows_in_all` rows, within limits.

    Args:
        num_rows: rows of an epoch.
        limits: the least and the highest number of epochs.
    """
    low, high = limits
    return min(max(math.ceil(rows_in_all / num_rows), low), high)


def _usual_and_others(presets: Presets, field: str, preset: str) -> str:
    """Formats the defaults of a preset as `64, bag 16`: the value of most models, then those of the others.

    A default of None follows from the number of rows.
    """
    values = {
        model: "by number" if settings[field] is None else settings[field]
        for (model, of), settings in presets.items()
        if of == preset
    }
    usual = collections.Counter(values.values()).most_common(1)[0][0]
    return ", ".join([str(usual), *(f"{model} {value}" for model, value in values.items() if value != usual)])


def recorded(config_class: type[TrainingConfig], values: dict) -> dict:
    """Returns the fields of a recorded config, with the names and the meaning that they have today.

    Version 0.9.0 had `header` in place of `no_header`, and no `scale_embeddings`. Until 0.11.0 `label_type` was the
    type of the labels in Python. Until 0.12.0 `recipe` was a switch.
    """
    with_sines = values.get("model") == "transformer" and values.get("positions") == "sinusoidal"
    values = {"scale_embeddings": config_class.SCALED_BEFORE or not with_sines} | values
    if "header" in values:
        values["no_header"] = not values.pop("header")
    if values.get("label_type") in ("str", "int", "float", "bool"):
        values["python_type"] = values.pop("label_type")
    if "recipe" in values and isinstance(values["recipe"], bool):
        values["recipe"] = "auto" if values["recipe"] else "own"
    return values


def from_dict(config_class, values: dict):
    """Returns a config from a dict, the inverse of `dataclasses.asdict`.

    Raises:
        UserError: `values` has a key that is not a field of `config_class`.
    """
    values = recorded(config_class, values)
    known = {field.name for field in dataclasses.fields(config_class)}
    unknown = sorted(set(values) - known)
    if unknown:
        raise UserError(
            f"unknown setting {unknown[0]!r} for {config_class.__name__}; known: {', '.join(sorted(known))}"
        )
    return config_class(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})
