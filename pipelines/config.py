"""What the configs of all tasks share: fields of every training, presets, checks, and reading a config back."""

import collections
import dataclasses
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import tyro

from pipelines.data import paths
from pipelines.data.paths import Data
from pipelines.support.errors import UserError

# The help of a field with these annotations says itself what happens without it.
PATH = tyro.conf.arg(metavar="PATH", help_behavior_hint="")
PATHS = tyro.conf.arg(metavar="PATH [PATH ...]", help_behavior_hint="")
NAME = tyro.conf.arg(metavar="NAME", help_behavior_hint="")
NEGATED = tyro.conf.arg(help_behavior_hint="")  # of a field that is True by default: its flag is --no-<field>
_RENAMED = {"config_file": "config", "from_export": "from"}  # fields whose flags Python does not allow as names

SGD_FACTOR = 100  # learning rate of SGD over that of Adam, where none is given
Precision = Literal["auto", "float32", "mixed_bfloat16"]
Activation = Literal["tanh", "relu", "sigmoid"]  # of recurrent layers
Positions = Literal["none", "sinusoidal", "learned", "rotary"]
Presets = dict[tuple[str, str], dict]  # (model, preset) -> {field: default}


class Range(NamedTuple):
    """Numbers that `tune` tries for a field, integers if both ends are integers.

    Attributes:
        low, high: the smallest and the largest number.
        step: difference between neighbouring numbers; None: 1 for integers, any number between the ends for others.
        log: whether to try as many numbers from 0.001 to 0.01 as from 0.01 to 0.1.
    """

    low: float
    high: float
    step: float | None = None
    log: bool = False


Values = Range | tuple[Any, ...]  # what `tune` tries for a field: a range, or some values
Ranges = dict[str, dict[str, Values]]  # model -> {field: values}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Fields and methods of the configs of all tasks. A task redeclares a field to change its help or default.

    A field that is `None` takes its value from the preset (`resolve`).
    """

    PRESETS: ClassVar[Presets] = {}
    RANGES: ClassVar[Ranges] = {}  # of fields that change neither how the data is read and split nor the tokenizer
    DEFAULT_MODELS: ClassVar[dict[str, str]] = {}  # preset -> model
    REPORT_FIELDS: ClassVar[tuple[str, ...]] = ()  # change what is reported, not what is trained, nor the run's name
    SCALED_BEFORE: ClassVar[bool] = False  # `scale_embeddings` of a run that was recorded before the field existed

    data: Annotated[Data | None, PATHS] = None
    """Training data. Without it: the embedded sample."""
    valid_fraction: float = 0.1
    """Fraction of the data to split off for validation."""
    preset: str | None = None
    """Set of defaults. By default quick on the embedded sample and full with --data."""
    model: str | None = None
    """Network to train."""
    clip_norm: float = 1.0
    """Gradients are scaled down to this global norm."""
    optimizer: Literal["adam", "sgd"] = "adam"
    """adam (AdamW where there is weight decay), or sgd, stochastic gradient descent without momentum. The default
    learning rate of sgd is 100 times that of adam."""
    patience: int = 3
    """Stop after N epochs without a better validation score. The weights of the best epoch are kept."""
    precision: Precision | None = "auto"
    """Precision of training. auto takes mixed_bfloat16 where the hardware multiplies it faster. Scores and exports are
    always float32."""
    checkpoint_every: int = 200
    """Steps between checkpoints. Another checkpoint is written after every epoch."""
    keep_checkpoints: int = 0
    """Keep the weights of N epochs, evenly spread, and the initial ones, so that `inspect training` can show how the
    model changed."""
    seed: int = 1
    """Seed of weights, dropout and order. The same seed on the same machine gives the same weights."""
    scale_embeddings: tyro.conf.Suppress[bool] = True
    """Whether sines are added to the token vectors times the root of their size. Only runs of version 0.9.0 have False:
    their networks are built again as they were."""

    def resolve(self):
        """Returns the config with preset and model chosen and every field that was `None` taken from that preset.

        Raises:
            UserError: the model does not have this preset.
        """
        preset = self.preset or ("full" if self.data else "quick")
        model = self.model or self.DEFAULT_MODELS[preset]
        if (model, preset) not in self.PRESETS:
            presets = [of for name, of in self.PRESETS if name == model]
            raise UserError(f"--preset {preset}: --model {model} has the presets {', '.join(presets)}")
        defaults = self.PRESETS[model, preset]
        missing = {name: value for name, value in defaults.items() if getattr(self, name) is None}
        if self.optimizer == "sgd" and "learning_rate" in missing:
            missing["learning_rate"] *= SGD_FACTOR
        return dataclasses.replace(self, preset=preset, model=model, **missing)

    def defaults(self):
        """Returns the resolved config that has the same preset and model and otherwise only defaults."""
        return type(self)(preset=self.preset, model=self.model).resolve()

    def check(self) -> None:
        """Checks a resolved config.

        Raises:
            UserError: a field has a value that no training can use.
        """
        require(0 < self.valid_fraction < 1, "valid_fraction", self.valid_fraction, "between 0 and 1")
        require(self.clip_norm > 0, "clip_norm", self.clip_norm, "above 0")
        require_at_least(self, 1, "patience", "checkpoint_every")
        require_at_least(self, 0, "keep_checkpoints")
        require(0 <= self.seed < 2**31, "seed", self.seed, "from 0 to 2147483647")

    def data_files(self) -> dict[str, Data]:
        """Paths of data besides --data: field -> path. Their fingerprints are part of the run's record."""
        return {}

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
    return tyro.conf.arg(help_behavior_hint=hint, **({"metavar": metavar} if metavar else {}))


def _usual_and_others(presets: Presets, field: str, preset: str) -> str:
    """Formats the defaults of a preset as `64, bag 16`: the value of most models, then those of the others."""
    values = {model: settings[field] for (model, of), settings in presets.items() if of == preset}
    usual = collections.Counter(values.values()).most_common(1)[0][0]
    return ", ".join([str(usual), *(f"{model} {value}" for model, value in values.items() if value != usual)])


def recorded(config_class: type[TrainingConfig], values: dict) -> dict:
    """Returns the fields of a recorded config, and `scale_embeddings` where the record is older than that field."""
    with_sines = values.get("model") == "transformer" and values.get("positions") == "sinusoidal"
    return {"scale_embeddings": config_class.SCALED_BEFORE or not with_sines} | values


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


def flag(field: str) -> str:
    """Returns the flag of a config field: `num_layers` -> `--num-layers`."""
    return f"--{_RENAMED.get(field, field).replace('_', '-')}"


def require(condition: bool, field: str, value, expected: str) -> None:
    """Raises a UserError with flag, `value` ("" for a switch) and what is `expected`, unless `condition` holds."""
    if not condition:
        raise UserError(f"{flag(field)}{'' if value == '' else f' {value}'}: it must be {expected}")


def require_at_least(config, minimum: float, *fields: str) -> None:
    """Raises a UserError for the first of `fields` whose value is below `minimum`; None passes."""
    for field in fields:
        value = getattr(config, field)
        require(value is None or value >= minimum, field, value, f"at least {minimum}")


def require_rate(config, *fields: str) -> None:
    """Raises a UserError for the first of `fields` that is not in [0, 1)."""
    for field in fields:
        require(0 <= getattr(config, field) < 1, field, getattr(config, field), "at least 0 and below 1")


def require_positive(config, *fields: str) -> None:
    """Raises a UserError for the first of `fields` that is not above 0; None passes."""
    for field in fields:
        value = getattr(config, field)
        require(value is None or value > 0, field, value, "above 0")


def require_num_heads(config, even_size: bool = False) -> None:
    """Raises a UserError unless --hidden-size is divisible by --num-heads.

    Args:
        even_size: whether each head needs an even number of features, as with rotary positions.
    """
    size, num_heads = config.hidden_size, config.num_heads
    require(size % num_heads == 0, "num_heads", num_heads, f"a divisor of --hidden-size {size}")
    even = not even_size or size // num_heads % 2 == 0
    require(even, "num_heads", num_heads, f"such that --hidden-size {size} gives each head an even number of features")


def reject_without_effect(config, reason: str, *fields: str, defaults=None) -> None:
    """Raises a UserError for the first of `fields` that differs from its default although it changes nothing.

    Args:
        reason: when the field has an effect, such as "it needs --model transformer".
        defaults: config with the defaults; by default `config.defaults()`.
    """
    defaults = defaults or config.defaults()
    for field in fields:
        value = getattr(config, field)
        if value != getattr(defaults, field):
            name = flag(f"no_{field}") if value is False else flag(field)
            raise UserError(f"{name} has no effect here: {reason}")
