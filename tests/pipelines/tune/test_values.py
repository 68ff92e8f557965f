"""Ranges beside the presets, the values of --grid, and the command of a config."""

import dataclasses
import pickle
import shlex

import optuna
import pytest

import main
from pipelines.runs import repeat
from pipelines.settings.fields import Range, ranges
from pipelines.support.errors import UserError
from pipelines.task import TASKS
from pipelines.tune import values


def config_of(task):
    entry = TASKS[task]
    return dataclasses.replace(entry.command().Train().config, **entry.defaults)


def ends(of):
    """Returns the first and the last value of a range or of some values."""
    return (of.low, of.high) if isinstance(of, Range) else (of[0], of[-1])


def contains(of, value):
    if not isinstance(of, Range):
        return value in of
    step = of.step or (1 if isinstance(of.low, int) and isinstance(of.high, int) else None)
    on_step = step is None or abs((value - of.low) / step - round((value - of.low) / step)) < 1e-9
    return of.low <= value <= of.high and on_step


@pytest.mark.parametrize("task", TASKS)
def test_a_range_contains_the_value_of_every_preset_and_the_config_accepts_its_ends(task):
    base = config_of(task)
    if task == "transfer":
        base = dataclasses.replace(base, encoder="an encoder")
    assert base.PRESETS
    for model, preset in base.PRESETS:
        config = dataclasses.replace(base, model=model, preset=preset)
        resolved = config.resolve()
        of_fields = ranges(type(config), model)
        assert of_fields
        for field, of in of_fields.items():
            value = getattr(resolved, field)
            assert value is None or contains(of, value), f"{model} {preset}: {field} {value}"
            for end in ends(of):
                values.with_settings(config, {field: end})
        for end in (0, 1):
            values.with_settings(config, {field: ends(of)[end] for field, of in of_fields.items()})


ONE_MODEL_OF_EACH = [
    ("sentiment", "best"), ("sentiment", "transformer"), ("tagging", "lstm"), ("char-lm", "lstm"),
    ("language-model", "transformer"), ("translation", "transformer"), ("translation", "rnn"), ("encoder", "lstm"),
    ("transfer", "hub"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("task", "model"), ONE_MODEL_OF_EACH)
def test_no_range_changes_the_data_or_the_tokenizer(task, model, tmp_path):
    """Trials share them where only such fields differ (`study.shared_folder`)."""
    entry = TASKS[task]
    base = dataclasses.replace(config_of(task), model=model, preset="quick")
    if task == "transfer":
        base = dataclasses.replace(base, encoder="an encoder")
    other = {
        field: next(v for v in ends(of) if v != getattr(base.resolve(), field))
        for field, of in ranges(type(base), model).items()
    }
    found = []
    for name, config in (("base", base.resolve()), ("other", values.with_settings(base, other))):
        splits = entry.load(config)
        found.append(pickle.dumps(splits))
        if task != "transfer":  # its tokenizer is the encoder, which has no range
            (tmp_path / name).mkdir()
            entry.task().make_tokenizer(config, splits).save(tmp_path / name)
    assert found[0] == found[1]
    assert files_in(tmp_path / "base") == files_in(tmp_path / "other")
    assert bool(files_in(tmp_path / "base")) == (task != "transfer")


def files_in(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_search_is_over_the_ranges_of_fields_that_are_not_given():
    config = dataclasses.replace(config_of("sentiment"), model="bag", learning_rate=0.01)
    space = values.searched(config)
    assert set(space) == set(ranges(type(config), "bag")) - {"learning_rate"}
    assert list(values.searched(config, ("dropout",))) == ["dropout"]


def test_fields_that_cannot_be_searched_are_refused():
    config = dataclasses.replace(config_of("sentiment"), model="bag", learning_rate=0.01)
    with pytest.raises(UserError, match=r"--fields learning_rat: bag has no range.*did you mean learning_rate\?"):
        values.searched(config, ("learning_rat",))
    with pytest.raises(UserError, match="--learning-rate gives its value"):
        values.searched(config, ("learning_rate",))
    with pytest.raises(UserError, match=r"every field that has a range is given.*--max-ngrams, --max-characters"):
        values.searched(dataclasses.replace(config_of("sentiment"), max_ngrams=1000, max_characters=10))


def test_the_learning_rate_of_sgd_is_searched_where_that_of_its_preset_is():
    config = dataclasses.replace(config_of("char-lm"), optimizer="sgd")
    assert contains(values.searched(config)["learning_rate"], config.resolve().learning_rate)
    assert not contains(ranges(type(config), "lstm")["learning_rate"], config.resolve().learning_rate)


def test_suggested_values_are_of_the_range_and_can_be_repeated_from_their_text():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    ranges = {"a": Range(0.0003, 0.03, log=True), "b": Range(0.0, 0.7, step=0.05), "c": Range(1, 3), "d": ("x", "y")}
    for _ in range(30):
        trial = study.ask()
        found = {field: values.suggest(trial, field, of) for field, of in ranges.items()}
        assert all(contains(of, found[field]) for field, of in ranges.items() if field != "a")
        assert 0.0003 <= found["a"] <= 0.03 and len(str(found["b"])) <= 4
        assert float(f"{found['a']:.3g}") == found["a"]
        study.tell(trial, 0.0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hidden_size=32,64", {"hidden_size": (32, 64)}),
        ("--hidden-size=32,64", {"hidden_size": (32, 64)}),
        ("dropout=0,.5", {"dropout": (0.0, 0.5)}),
        ("bidirectional=true,False", {"bidirectional": (True, False)}),
        ("model=gru, lstm", {"model": ("gru", "lstm")}),
        ("pooling=max,attention", {"pooling": ("max", "attention")}),
    ],
)
def test_a_grid_is_read_with_the_types_of_the_fields(text, expected):
    found = values.parse_grid([text], config_of("sentiment"))
    assert found == expected
    assert [type(v) for of in found.values() for v in of] == [type(v) for of in expected.values() for v in of]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["hiden_size=1,2"], "did you mean hidden_size"),
        (["nonsense=1,2"], "there is no field nonsense$"),
        (["hidden_size=1,x"], "x is no number"),
        (["hidden_size=1.5,2"], "1.5 is no number"),
        (["hidden_size"], "give a field and its values"),
        (["hidden_size="], "give a field and its values"),
        (["pooling=max,best"], "the values of pooling are last, mean, max, attention"),
        (["bidirectional=yes,no"], "the values of bidirectional are True, False"),
        (["data=a,b"], "cannot be compared"),
        (["valid_fraction=0.1,0.2"], "cannot be compared"),
        (["seed=1,2"], "--seeds N"),
        (["hidden_size=8,8"], "given twice"),
        (["hidden_size=8,16", "hidden-size=32,64"], "given twice"),
        (["epochs=1,2"], "--epochs gives its value"),
        (["hidden_size+nonsense=8+1,16+2"], "there is no field nonsense$"),
        (["hidden_size+hidden_size=8+1,16+2"], "hidden_size is given twice"),
        (["hidden_size=8,16", "hidden_size+num_layers=8+1,16+2"], "hidden_size is given twice"),
        (["hidden_size+num_layers=8+1,16"], "hidden_size\\+num_layers needs 2 values joined by \\+ at each point"),
        (["hidden_size+num_layers=8+1,8+1"], "a value is given twice"),
        (["hidden_size=8+1,16"], "8\\+1 is no number"),
    ],
)
def test_a_grid_that_cannot_be_read_is_refused(texts, message):
    with pytest.raises(UserError, match=message):
        values.parse_grid(texts, dataclasses.replace(config_of("sentiment"), epochs=7))


def test_the_points_of_a_grid_are_the_product_of_its_values():
    assert values.points({"a": (1, 2), "b": ("x", "y")}) == [
        {"a": 1, "b": "x"},
        {"a": 1, "b": "y"},
        {"a": 2, "b": "x"},
        {"a": 2, "b": "y"},
    ]


def test_fields_that_are_joined_change_together():
    found = values.parse_grid(["hidden-size+dropout=8+0.1,16+0.2", "num_layers=1,2"], config_of("sentiment"))
    assert found == {"hidden_size+dropout": ((8, 0.1), (16, 0.2)), "num_layers": (1, 2)}
    assert values.fields_of(found) == ["hidden_size", "dropout", "num_layers"]
    assert values.points(found) == [
        {"hidden_size": size, "dropout": rate, "num_layers": n} for size, rate in ((8, 0.1), (16, 0.2)) for n in (1, 2)
    ]


def test_the_model_of_a_point_changes_the_defaults_of_the_other_fields():
    config = dataclasses.replace(config_of("sentiment"), preset="full")
    assert values.with_settings(config, {"model": "bag"}).embedding_size == 16
    assert values.with_settings(config, {"model": "lstm"}).embedding_size == 64
    with pytest.raises(UserError, match="--num-heads has no effect"):
        values.with_settings(config, {"model": "lstm", "num_heads": 8})


@pytest.mark.parametrize(
    ("task", "changes"),
    [
        ("sentiment", {"model": "lstm", "bidirectional": False, "learning_rate": 0.00123}),
        ("sentiment", {"model": "gru", "residual": True, "num_layers": 2}),
        ("sentiment", {"data": ("a file.csv", "b.csv"), "class_weights": True}),
        ("char-lm", {"tie_weights": False, "hidden_size": 96}),
        ("char-lm", {"tie_weights": True, "preset": "words"}),
        ("nmt", {"model": "single-rnn", "reverse_source": True, "dropout": 0.0}),
        ("transfer", {"encoder": "an encoder", "split_batches": False}),
    ],
)  # fmt: skip
def test_the_command_of_a_config_gives_the_config(task, changes):
    config = dataclasses.replace(config_of(task), **changes)
    line = shlex.join(["train", task, *repeat.command_flags(config)])
    assert main.parse(shlex.split(line)).config == config
