"""What a field of a config declares beside its type and default, as annotations:

    hidden_size: Annotated[Resolved[int], at_least(1), only(*RECURRENT), Tuned((64, 128, 256))] = UNSET

`Bounds` are the numbers that it may have, `Only` states when it has an effect, `Tuned` what `tune` tries.
`check_declared` refuses other values and flags without an effect; `help_of` adds the models of `Only` to the help.

Below, the fields that several configs share are declared once, each as an annotated type.
"""

import dataclasses
import functools
import typing
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Optional, TypeVar

import docstring_parser
import tyro

from pipelines.support.errors import UserError
from pipelines.support.source_tables import table_keys

T = TypeVar("T")

# The help of a field with these annotations says itself what happens without it.
PATH = tyro.conf.arg(metavar="PATH", help_behavior_hint="")
HANDLE = tyro.conf.arg(metavar="HANDLE", help_behavior_hint="")  # of a pretrained encoder
PATHS = tyro.conf.arg(metavar="PATH [PATH ...]", help_behavior_hint="")
NAME = tyro.conf.arg(metavar="NAME", help_behavior_hint="")
NEGATED = tyro.conf.arg(help_behavior_hint="")  # of a field that is True by default: its flag is --no-<field>
# Fields whose flags Python does not allow as names.
_RENAMED = {"config_file": "config", "from_export": "from", "tool": "for"}

# A field of type `Resolved[int]` is None until the config is resolved, which commands do before anything else. So type
# checkers see an int, as all code below the commands does.
UNSET: Any = None
if TYPE_CHECKING:
    Resolved = Annotated[T, "after `resolve`"]
else:
    Resolved = Optional[T]  # noqa: UP045 (T is given later)

# Fields of the shape of recurrent layers and of blocks of self-attention.
LAYER_FIELDS = (
    "hidden_size", "num_layers", "bidirectional", "merge", "activation", "residual", "learned_state", "num_heads",
    "positions",
)  # fmt: skip
RECURRENT = table_keys("pipelines/networks/recurrent.py", "RECURRENT_LAYERS")


class Bounds(NamedTuple):
    """The numbers that a field may have; None passes.

    Attributes:
        low, high: the smallest and the largest number; None: there is none.
        above, below: whether `low` and `high` themselves are excluded.
        zero: what 0 stands for, which is then allowed, too.
    """

    low: float | None = None
    high: float | None = None
    above: bool = False
    below: bool = False
    zero: str | None = None

    def allow(self, value) -> bool:
        """Whether the field may have this value."""
        if value is None or (self.zero is not None and value == 0):
            return True
        low = self.low is None or value > self.low or (value == self.low and not self.above)
        return low and (self.high is None or value < self.high or (value == self.high and not self.below))

    def expected(self) -> str:
        """Returns the bounds in words, such as "from 4 to 100"."""
        zero = f"0 ({self.zero}) or " if self.zero else ""
        if self.high is None:
            return f"{zero}{'above' if self.above else 'at least'} {self.low}"
        if self.above and self.below:
            return f"{zero}between {self.low} and {self.high}"
        if self.above or self.below:
            low, high = "above" if self.above else "at least", "below" if self.below else "at most"
            return f"{zero}{low} {self.low} and {high} {self.high}"
        return f"{zero}from {self.low} to {self.high}"


def at_least(low: float, zero: str | None = None) -> Bounds:
    """Returns the bounds of numbers that are `low` or larger; for `zero` see `Bounds`."""
    return Bounds(low, zero=zero)


def from_to(low: float, high: float, zero: str | None = None) -> Bounds:
    """Returns the bounds of numbers from `low` to `high`, both included; for `zero` see `Bounds`."""
    return Bounds(low, high, zero=zero)


POSITIVE = Bounds(0, above=True)
RATE = Bounds(0, 1, below=True)  # of dropout
FRACTION = Bounds(0, 1)


class Only(NamedTuple):
    """When a field has an effect. Elsewhere it must have its default.

    Attributes:
        reason: what is missing where it has none, such as "it needs --model transformer".
        when: resolved config -> whether the field has an effect.
        models: the only models for which it has one; empty: that does not depend on the model.
    """

    reason: str
    when: Callable[[Any], bool]
    models: tuple[str, ...] = ()


def only(*models: str) -> Only:
    """Returns the mark of a field that has an effect for these models alone."""
    *others, last = models
    listed = f"{', '.join(others)} or {last}" if others else last
    return Only(f"it needs --model {listed}", lambda config: config.model in models, models)


class Help(NamedTuple):
    """The help of a field whose declaration is shared; a docstring below the field comes before it."""

    text: str


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


class Tuned(NamedTuple):
    """What `tune` tries for a field, which changes neither how the data is read and split nor the tokenizer.

    Attributes:
        values: a range, or some values.
        models: for these models; empty: for those of the field's `Only`, or for all. The first mark that fits counts.
    """

    values: Values
    models: tuple[str, ...] = ()


@functools.cache
def declared(config_class: type) -> dict[str, tuple]:
    """Returns field -> its annotations."""
    hints = typing.get_type_hints(config_class, include_extras=True)
    return {field.name: getattr(hints[field.name], "__metadata__", ()) for field in dataclasses.fields(config_class)}


def _marks(config_class: type, kind: type) -> Iterator[tuple[str, Any]]:
    """Yields (field, mark) for each annotation of this kind."""
    for name, annotations in declared(config_class).items():
        yield from ((name, each) for each in annotations if isinstance(each, kind))


def check_declared(config) -> None:
    """Checks a resolved config against what its fields declare.

    Raises:
        UserError: a field is out of its bounds, or has no effect and another value than its default.
    """
    for name, bounds in _marks(type(config), Bounds):
        value = getattr(config, name)
        require(bounds.allow(value), name, value, bounds.expected())
    # The model first: it is the reason that a user understands best.
    for name, mark in sorted(_marks(type(config), Only), key=lambda item: not item[1].models):
        if not mark.when(config):
            reject_without_effect(config, mark.reason, name)


def ranges(config_class: type, model: str) -> dict[str, Values]:
    """Returns what `tune` tries for a model: field -> values."""
    found: dict[str, Values] = {}
    models_of = {name: mark.models for name, mark in _marks(config_class, Only) if mark.models}
    for name, mark in _marks(config_class, Tuned):
        models = mark.models or models_of.get(name, ())
        if name not in found and (not models or model in models):
            found[name] = mark.values
    return found


def tuned_fields(config_class: type) -> set[str]:
    """Returns the fields that `tune` can vary for some model."""
    return {name for name, _ in _marks(config_class, Tuned)}


def help_of(config_class: type) -> dict[str, str]:
    """Returns field -> its help on one line: the docstring below it, or `Help`; after the models of its `Only`."""
    documented: dict[str, str | None] = {}
    for each in reversed(config_class.__mro__[:-1]):
        documented |= _documented(each)
    for name, mark in _marks(config_class, Help):
        documented[name] = documented.get(name) or mark.text
    helps = {name: " ".join(text.split()) for name, text in documented.items() if text}
    for name, mark in _marks(config_class, Only):
        if mark.models and name in helps:
            helps[name] = f"{_named(mark.models)}: {_after_colon(helps[name])}"
    return helps


@functools.cache  # it reads the source; many configs share classes
def _documented(of_class: type) -> dict[str, str | None]:
    """Returns field -> the docstring below it, for the fields that the class itself declares."""
    return {item.arg_name: item.description for item in docstring_parser.parse_from_object(of_class).params}


def _after_colon(text: str) -> str:
    """Returns a sentence with a small first letter, unless its first word is an abbreviation."""
    first = text.split()[0]
    return text[0].lower() + text[1:] if first[1:].islower() or len(first) == 1 else text


def _named(models: tuple[str, ...]) -> str:
    """Returns models for `--help`: all recurrent networks have one name."""
    if not set(RECURRENT) <= set(models):
        return ", ".join(models)
    names = [model for model in models if model not in RECURRENT[1:]]
    return ", ".join("recurrent networks" if name == RECURRENT[0] else name for name in names)


def flag(field: str) -> str:
    """Returns the flag of a config field: `num_layers` -> `--num-layers`."""
    return f"--{_RENAMED.get(field, field).replace('_', '-')}"


def require(condition: bool, field: str, value, expected: str) -> None:
    """Raises a UserError with flag, `value` ("" for a switch) and what is `expected`, unless `condition` holds."""
    if not condition:
        raise UserError(f"{flag(field)}{'' if value == '' else f' {value}'}: it must be {expected}")


def require_divisor(config, size_field: str = "hidden_size") -> None:
    """Raises a UserError unless the size is divisible by --num-heads, into even sizes if positions are rotary."""
    size, num_heads = getattr(config, size_field), config.num_heads
    require(size % num_heads == 0, "num_heads", num_heads, f"a divisor of {flag(size_field)} {size}")
    even = config.positions != "rotary" or size // num_heads % 2 == 0
    expected = f"such that {flag(size_field)} {size} gives each head an even number of features"
    require(even, "num_heads", num_heads, expected)


def reject_without_effect(config, reason: str, *fields: str) -> None:
    """Raises a UserError for the first of `fields` that differs from its default although it changes nothing.

    Args:
        reason: when the field has an effect, such as "it needs --model transformer".
    """
    defaults = config.without_flags()
    for field in fields:
        value = getattr(config, field)
        if value != getattr(defaults, field):
            name = flag(f"no_{field}") if value is False else flag(field)
            raise UserError(f"{name} has no effect here: {reason}")


# Fields that several configs share.

_TWO_DIRECTIONS = Only("it needs two directions", lambda config: config.bidirectional)
_SEVERAL_LAYERS = Only("it needs at least two --num-layers", lambda config: config.num_layers > 1)
Activation = Literal["tanh", "relu", "sigmoid"]  # of recurrent layers
Positions = Literal["none", "sinusoidal", "learned", "rotary"]
Precision = Literal["auto", "float32", "mixed_bfloat16"]

ValidFraction = Annotated[float, Bounds(0, 1, above=True, below=True)]
Patience = Annotated[int, at_least(1), tyro.conf.arg(metavar="N")]
CheckpointEvery = Annotated[
    int,
    at_least(1),
    tyro.conf.arg(metavar="N"),
    Help("Steps between checkpoints. Another checkpoint is written after every epoch."),
]
_PRECISION_HELP = Help(
    "Precision of training. auto takes mixed_bfloat16 where the hardware multiplies it faster. Scores and exports are "
    "always float32."
)
TrainingPrecision = Annotated[Precision | None, _PRECISION_HELP]
Merge = Annotated[
    Literal["concat", "sum"],
    _TWO_DIRECTIONS,
    Help("The outputs of the two directions side by side, or their sum."),
]
RecurrentActivation = Annotated[Activation, Help("Activation of the hidden layer, or of an LSTM's or GRU's candidate.")]
Residual = Annotated[
    bool,
    _SEVERAL_LAYERS,
    Help("With several layers: add the input of each layer but the first to its output."),
]
LearnedState = Annotated[bool, Help("Learn the first state of each layer. By default it is zero.")]
Schedule = Annotated[
    Literal["cosine", "constant"],
    Help("cosine: the learning rate rises in the first 5 % of the steps, then falls to 0 on a cosine; constant."),
]
NumHeads = Annotated[int, at_least(1), only("transformer"), tyro.conf.arg(metavar="N")]
PositionalEncoding = Annotated[Positions, only("transformer"), Help("Positional encoding.")]
Optimizer = Annotated[
    Literal["adam", "sgd"],
    Help(
        "adam (AdamW where there is weight decay), or sgd, stochastic gradient descent without momentum. The default "
        "learning rate of sgd is 100 times that of adam."
    ),
]
TextColumn = Annotated[
    str | None,
    NAME,
    Help("Column with the text. By default the first column with a usual name (text, sentence, ...)."),
]
NoHeader = Annotated[
    bool,
    Help("The first row of a table has a text, not the names of the columns. The columns are then named 1, 2, 3, ..."),
]
Encoding = Annotated[
    str | None,
    NAME,
    Help("Encoding of text files, such as cp1252. By default UTF-8, or what a byte order mark states."),
]
Separator = Annotated[
    str | None,
    NAME,
    Help("Character between the cells of CSV and TSV files, or `tab`. By default found in the first lines."),
]
Quote = Annotated[
    str | None,
    tyro.conf.arg(metavar="CHAR|none", help_behavior_hint=""),
    Help(
        "Character around cells of CSV and TSV files that have a separator or a line break, or `none`. By default "
        '", and none if there are tabs between the cells, unless all cells with a " are quoted.'
    ),
]
