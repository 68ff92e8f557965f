"""What the fields of configs declare: for one small config, and for those of all tasks."""

import dataclasses
import typing
from typing import Annotated, ClassVar, Literal

import pytest

from pipelines.settings.config import TrainingConfig
from pipelines.settings.fields import (
    FRACTION,
    POSITIVE,
    RATE,
    RECURRENT,
    Bounds,
    Merge,
    Only,
    Range,
    Tuned,
    at_least,
    declared,
    flag,
    from_to,
    help_of,
    only,
    ranges,
    reject_without_effect,
    require,
    tuned_fields,
)
from pipelines.support.errors import UserError
from pipelines.task import TASKS


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(TrainingConfig):
    PRESETS: ClassVar = {(model, "quick"): {"size": 8} for model in ("bag", "lstm", "transformer")}
    DEFAULT_MODELS: ClassVar = {"quick": "lstm"}

    size: Annotated[int | None, at_least(4), Tuned((4, 8), ("bag",)), Tuned(Range(8, 16))] = None
    """Size of a
    vector."""
    num_heads: Annotated[int, only("transformer"), Tuned((2, 4))] = 2
    """ReLU heads."""
    bidirectional: Annotated[bool, only(*RECURRENT)] = True
    """Read backwards, too."""
    merge: Annotated[Merge, only(*RECURRENT, "bag")] = "concat"


@pytest.mark.parametrize(
    ("bounds", "allowed", "refused", "expected"),
    [
        (at_least(2), [2, 3, None], [1], "at least 2"),
        (POSITIVE, [0.1, None], [0, -1], "above 0"),
        (RATE, [0, 0.99], [1, -0.1], "at least 0 and below 1"),
        (FRACTION, [0, 1, 0.5], [1.1], "from 0 to 1"),
        (Bounds(0, 1, above=True), [1, 0.1], [0, 1.1], "above 0 and at most 1"),
        (Bounds(0, 1, above=True, below=True), [0.5], [0, 1], "between 0 and 1"),
        (from_to(2, 9, zero="none"), [0, 2, 9], [1, 10], "0 (none) or from 2 to 9"),
        (at_least(2, zero="all"), [0, 2], [1], "0 (all) or at least 2"),
    ],
)
def test_bounds(bounds, allowed, refused, expected):
    assert all(map(bounds.allow, allowed)) and not any(map(bounds.allow, refused))
    assert bounds.expected() == expected


def test_a_value_out_of_bounds_and_a_flag_without_effect_are_refused():
    Config().resolve().check()
    for given, message in (
        ({"size": 3}, "--size 3: it must be at least 4"),
        ({"num_heads": 4}, "--num-heads has no effect here: it needs --model transformer"),
        ({"bidirectional": False, "model": "bag"}, "--no-bidirectional has no effect here: it needs --model simple"),
        ({"bidirectional": False, "merge": "sum"}, "--merge has no effect here: it needs two directions"),
    ):
        with pytest.raises(UserError, match=f"^{message}"):
            Config(**given).resolve().check()


def test_the_ranges_of_a_model_are_those_of_the_fields_with_an_effect():
    assert ranges(Config, "bag") == {"size": (4, 8)}
    assert ranges(Config, "transformer") == {"size": Range(8, 16), "num_heads": (2, 4)}
    assert tuned_fields(Config) == {"size", "num_heads"}


def test_the_help_starts_with_the_models():
    helps = help_of(Config)
    assert helps["size"] == "Size of a vector."
    assert helps["num_heads"] == "transformer: ReLU heads."
    assert helps["bidirectional"] == "recurrent networks: read backwards, too."
    assert helps["merge"] == "recurrent networks, bag: the outputs of the two directions side by side, or their sum."
    assert helps["patience"].startswith("Stop after N epochs")  # of the base class


def test_flags_and_switches():
    assert (flag("num_layers"), flag("config_file"), flag("from_export")) == ("--num-layers", "--config", "--from")
    with pytest.raises(UserError, match="^--tie-weights: it must be off$"):
        require(False, "tie_weights", "", "off")


def test_the_first_field_that_differs_from_its_default_is_named():
    reject_without_effect(Config(num_heads=2).resolve(), "it needs more", "num_heads", "size")
    with pytest.raises(UserError, match="^--num-heads has no effect here: it needs more$"):
        reject_without_effect(Config(num_heads=4).resolve(), "it needs more", "size", "num_heads")


def configs_of(task):
    """The config of a task for each of its models and presets, not resolved."""
    config = TASKS[task].command().Train(task=task).config
    required = {"encoder": "https://tfhub.dev/a/b/1"} if task == "transfer" else {}
    config = dataclasses.replace(config, **TASKS[task].defaults | required)
    return [dataclasses.replace(config, model=model, preset=preset) for model, preset in config.PRESETS]


def other_value(config, field):
    """Another value of a field than the one that it has in the resolved config."""
    value = getattr(config, field)
    hint = typing.get_type_hints(type(config))[field]
    for each in (hint, *typing.get_args(hint)):
        if typing.get_origin(each) is Literal:
            return [choice for choice in typing.get_args(each) if choice != value][-1]
    if isinstance(value, bool):
        return not value
    steps = [value + 2, value // 2 if isinstance(value, int) else value / 2, 1, 0.5] if value is not None else [4]
    bounds = [each for each in declared(type(config))[field] if isinstance(each, Bounds)]
    return next(each for each in steps if each != value and all(bound.allow(each) for bound in bounds))


@pytest.mark.parametrize("task", TASKS)
def test_a_flag_without_effect_on_the_model_is_refused(task):
    for config in configs_of(task):
        resolved = config.resolve()
        for field, annotations in declared(type(config)).items():
            for mark in (each for each in annotations if isinstance(each, Only) and each.models):
                given = dataclasses.replace(config, **{field: other_value(resolved, field)})
                try:
                    given.resolve().check()
                    refused = ""
                except UserError as error:
                    refused = str(error)
                assert (mark.reason in refused) == (resolved.model not in mark.models), (field, refused)


@pytest.mark.parametrize("task", TASKS)
def test_every_number_that_is_out_of_its_bounds_is_refused_by_its_flag(task):
    config = configs_of(task)[0]
    for field, annotations in declared(type(config)).items():
        for bounds in (each for each in annotations if isinstance(each, Bounds)):
            for value in (bounds.low - 1, *([bounds.high + 1] if bounds.high is not None else [])):
                value = value if not bounds.allow(value) else -1
                with pytest.raises(UserError, match=f"^{flag(field)} {value}: it must be "):
                    dataclasses.replace(config.resolve(), **{field: value}).check()


@pytest.mark.parametrize("task", TASKS)
def test_every_number_has_bounds(task):
    """A count of 0 or a rate above 1 must not reach TensorFlow."""
    config_class = type(TASKS[task].command().Train(task=task).config)
    checked_by_hand = {"order", "batch_tokens", "beam_width", "length_penalty"}
    hints = typing.get_type_hints(config_class)
    for field, annotations in declared(config_class).items():
        is_number = {int, float} & {hints[field], *typing.get_args(hints[field])}
        if is_number and field not in checked_by_hand:
            assert any(isinstance(each, Bounds) for each in annotations), field
