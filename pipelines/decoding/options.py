"""The options of generation, each declared once: name, dtype, default, range, help.

The signatures of the exports, their checks, the flags of `predict` with their help, and the example requests are made
from these declarations. A new sampling option is one entry in `SAMPLING`, and in `SHAPING` if it changes the
probabilities of the next token, and its use in sampling.py. If it does, next_tokens.py repeats it in NumPy; else
translators fill in its neutral value (translation/servable.py). It changes the inputs of a signature: clients of the
REST API must then send it, too (docs/language-models.md), and exports of before do not take it.
"""

import dataclasses
from typing import Annotated, Any

import tyro

from pipelines.settings.fields import flag
from pipelines.support.errors import UserError

_PYTHON_TYPES = {"int32": int, "float32": float, "string": str}
_METAVARS = {"int32": "N", "float32": "X", "string": "TEXT"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Option:
    """An input of a signature that changes what is generated.

    Attributes:
        name: of the signature's input; the flag is `--name` with hyphens.
        dtype: "int32", "float32" or "string".
        default: value where none is given.
        help: text of `--help`, without default and range.
        example: three values for the export's warm-up and verification.
        minimum, maximum: smallest and largest value; None without a limit.
        above_minimum: whether the minimum itself is excluded.
        clip: whether a signature takes the maximum for larger values, instead of refusing them: a limit of the server.
    """

    name: str
    dtype: str
    default: Any
    help: str
    example: tuple
    minimum: float | None = None
    maximum: float | None = None
    above_minimum: bool = False
    clip: bool = False

    def range(self) -> str:
        """Returns the range in words, such as "above 0, at most 1"."""
        lower = None if self.minimum is None else f"{'above' if self.above_minimum else 'at least'} {self.minimum:,}"
        upper = None if self.maximum is None else f"at most {self.maximum:,}"
        return ", ".join(filter(None, (lower, upper)))

    def accepts(self, value) -> bool:
        """Whether `value` is in the range."""
        above = self.minimum is None or (value > self.minimum if self.above_minimum else value >= self.minimum)
        return above and (self.maximum is None or value <= self.maximum)


MAX_LENGTH = 10_000  # tokens that a language model generates for one request
MAX_TRANSLATION_LENGTH = 1000  # tokens of a translation
MAX_BEAM_WIDTH = 16

_MAX_LENGTH = Option(
    name="max_length",
    dtype="int32",
    default=200,
    minimum=0,
    maximum=MAX_LENGTH,
    clip=True,
    example=(20, 0, 5),
    help="Number of tokens to generate.",
)
SAMPLING = (
    _MAX_LENGTH,
    Option(
        name="temperature",
        dtype="float32",
        default=0.8,
        minimum=0,
        example=(0.0, 1.0, 0.7),
        help="Divides the logits: below 1 prefers likely tokens, above 1 makes rare ones more likely; 0 takes the most "
        "likely token each time.",
    ),
    Option(
        name="top_k",
        dtype="int32",
        default=0,
        minimum=0,
        example=(0, 0, 5),
        help="Sample from the N most likely tokens; 0 keeps all.",
    ),
    Option(
        name="top_p",
        dtype="float32",
        default=0.95,
        minimum=0,
        maximum=1,
        above_minimum=True,
        example=(1.0, 0.9, 0.5),
        help="Sample from the fewest tokens whose probabilities sum to this value; 1 keeps all.",
    ),
    Option(
        name="min_p",
        dtype="float32",
        default=0.0,
        minimum=0,
        maximum=1,
        example=(0.0, 0.05, 0.1),
        help="Sample from the tokens with at least this fraction of the most likely token's probability; 0 keeps all.",
    ),
    Option(
        name="repetition_penalty",
        dtype="float32",
        default=1.0,
        minimum=0,
        above_minimum=True,
        example=(1.0, 1.2, 1.0),
        help="Above 1, tokens that already occur in the text become less likely; 1 changes nothing.",
    ),
    Option(
        name="seed",
        dtype="int32",
        default=1,
        minimum=0,
        maximum=2**31 - 1,
        example=(1, 1, 1),
        help="Seed of sampling: the same seed gives the same text.",
    ),
    Option(
        name="stop",
        dtype="string",
        default="",
        example=("", "", "e"),
        help="Stop after this text; an empty text never stops.",
    ),
)

SHAPING = ("temperature", "top_k", "top_p", "min_p")  # those of SAMPLING that shape the distribution of the next token

BEAM_WIDTH = Option(
    name="beam_width",
    dtype="int32",
    default=5,
    minimum=1,
    maximum=MAX_BEAM_WIDTH,
    clip=True,
    example=(4, 1, 2),
    help="Number of hypotheses; 1 is greedy.",
)
LENGTH_PENALTY = Option(
    name="length_penalty",
    dtype="float32",
    default=1.0,
    minimum=0,
    example=(1.0, 0.0, 0.6),
    help="Exponent of the length by which a score is divided: higher values give longer texts.",
)
SEARCH = (dataclasses.replace(_MAX_LENGTH, example=(8, 0, 3)), BEAM_WIDTH, LENGTH_PENALTY)
CACHE = (
    Option(
        name="cache_size",
        dtype="int32",
        default=0,
        minimum=0,
        maximum=10_000,
        clip=True,
        example=(5, 0, 100),
        help="Words and subwords: remember the last N tokens and what preceded them, so that tokens that followed on "
        "similar ones become more likely; 0 uses no cache.",
    ),
    Option(
        name="cache_theta",
        dtype="float32",
        default=1.0,
        minimum=0,
        example=(0.3, 0.3, 1.0),
        help="Cache: how much more the most similar places count than others.",
    ),
    Option(
        name="cache_lambda",
        dtype="float32",
        default=0.1,
        minimum=0,
        maximum=0.99,
        example=(0.1, 0.1, 0.5),
        help="Cache: its part of the probability.",
    ),
)
TRANSLATION = (
    BEAM_WIDTH,
    LENGTH_PENALTY,
    Option(
        name="max_length",
        dtype="int32",
        default=MAX_TRANSLATION_LENGTH,
        minimum=0,
        maximum=MAX_TRANSLATION_LENGTH,
        clip=True,
        example=(60, 5, 60),
        help="Maximum number of tokens of a translation.",
    ),
)
SHAPING_AND_SEED = tuple(option for option in SAMPLING if option.name in (*SHAPING, "seed"))
SAMPLED_TRANSLATION = (*SHAPING_AND_SEED, TRANSLATION[-1])


def defaults(options: tuple[Option, ...]) -> dict[str, Any]:
    """Returns option -> default."""
    return {option.name: option.default for option in options}


def with_defaults(options: tuple[Option, ...], given: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """Returns option -> value for all options: the given value, else (where it is None or missing) the default.

    Raises:
        UserError: a value is out of its option's range.
    """
    values = {}
    for option in options:
        value = given.get(option.name)
        value = defaults.get(option.name, option.default) if value is None else value
        if not option.accepts(value):
            raise UserError(f"{flag(option.name)} {value}: it must be {option.range()}")
        values[option.name] = value
    return values


def flags_class(class_name: str, options: tuple[Option, ...], default_hint: str | None = None) -> type:
    """Returns a dataclass with one optional field per option, for tyro: `None` where the flag is not given.

    Args:
        default_hint: what `--help` says about the defaults; by default the value of each option.
    """
    fields = []
    for option in options:
        hint = default_hint or f"(default: {option.default!r})".replace("''", "none")
        text = option.help + (f" Range: {option.range()}." if option.range() else "")
        argument = tyro.conf.arg(metavar=_METAVARS[option.dtype], help=text, help_behavior_hint=hint)
        fields.append((option.name, Annotated[_PYTHON_TYPES[option.dtype] | None, argument], None))
    return dataclasses.make_dataclass(class_name, fields, frozen=True)


def signature_specs(options: tuple[Option, ...]) -> dict:
    """Returns option -> tf.TensorSpec [batch], the inputs of a signature."""
    import tensorflow as tf

    return {option.name: tf.TensorSpec([None], option.dtype, name=option.name) for option in options}


def in_range(options: tuple[Option, ...], values: dict) -> list:
    """Returns graph operations that fail with InvalidArgumentError for a value out of its option's range.

    Maxima of options with `clip` are not checked.

    Args:
        values: option -> tensor [batch].
    """
    import tensorflow as tf

    checks = []
    for option in options:
        value = values[option.name]
        if option.minimum is not None:
            check = tf.debugging.assert_greater if option.above_minimum else tf.debugging.assert_greater_equal
            checks.append(check(value, tf.constant(option.minimum, option.dtype), _out_of_range(option)))
        if option.maximum is not None and not option.clip:
            maximum = tf.constant(option.maximum, option.dtype)
            checks.append(tf.debugging.assert_less_equal(value, maximum, _out_of_range(option)))
    return checks


def _out_of_range(option: Option) -> str:
    return f"{option.name} must be {option.range()}"


def clipped(options: tuple[Option, ...], values: dict) -> dict:
    """Returns `values`, option -> tensor [batch]; where an option has `clip`, no value is above its maximum."""
    import tensorflow as tf

    maxima = {option.name: option.maximum for option in options if option.clip}
    return {
        name: tf.minimum(value, tf.constant(maxima[name], value.dtype)) if name in maxima else value
        for name, value in values.items()
    }


def filled(options: tuple[Option, ...], values: dict, text) -> dict:
    """Returns option -> tensor [batch] with the same value for each of `text`, string [batch]."""
    import tensorflow as tf

    return {option.name: tf.fill(tf.shape(text), tf.constant(values[option.name], option.dtype)) for option in options}


def example_values(options: tuple[Option, ...]) -> dict[str, list]:
    """Returns option -> three values for requests of three texts."""
    return {option.name: list(option.example) for option in options}
