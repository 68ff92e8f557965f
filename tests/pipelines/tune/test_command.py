"""The command `tune`: its flags, and mistakes, which are one line and leave nothing."""

import dataclasses
import re

import pytest

import main as main_module
from pipelines.task import TASKS
from pipelines.tune import command, grid, values
from tests.command_line import ROOT, assert_one_line

MISTAKES = [
    ("tune sentiment --trials 0", ["--trials 0", "at least 1"]),
    ("tune sentiment --minutes 0", ["--minutes 0", "above 0"]),
    ("tune sentiment --minutes nan", ["--minutes nan", "above 0"]),
    ("tune sentiment --parallel 0", ["--parallel 0", "at least 1"]),
    ("tune sentiment --seeds 3", ["--seeds", "--grid"]),
    ("tune sentiment --equal-parameters", ["--equal-parameters", "--grid"]),
    ("tune sentiment --grid", ["--grid needs a field"]),
    ("tune sentiment --grid hiden_size=1,2", ["no field hiden_size", "hidden_size"]),
    ("tune sentiment --grid num_layers=0,2 --model lstm", ["--grid num_layers 0", "--num-layers 0", "at least 1"]),
    ("tune sentiment --grid num_heads=2,4 --model lstm", ["--grid num_heads 2", "no effect", "--model transformer"]),
    ("tune sentiment --grid model=lstm", ["one point"]),
    ("tune sentiment --grid model=bag,lstm --trials 3", ["--trials has no effect"]),
    ("tune sentiment --grid model=bag,lstm --fields dropout", ["--fields has no effect"]),
    ("tune sentiment --grid model=bag,lstm --name mine", ["--name has no effect", "exports no model"]),
    ("tune sentiment --grid model=bag,lstm --equal-parameters", ["--equal-parameters", "--hidden-size has no effect"]),
    ("tune char-lm --grid hidden_size=8,16 --equal-parameters", ["leave hidden_size out of --grid"]),
    ("tune sentiment --fields dropuot --model bag", ["--fields dropuot", "did you mean dropout"]),
    ("tune sentiment --model bag --preset nothing", ["--preset"]),
    ("tune sentiment --data nowhere.csv", ["no such file or folder: nowhere.csv"]),
    ("tune sentiment --data nowhere.csv --grid model=bag,lstm", ["no such file or folder: nowhere.csv"]),
    ("tune sentiment --folds 3", ["--folds has no effect", "one validation set"]),
    ("tune transfer --recipe auto --encoder x", ["--recipe has no effect"]),
    ("tune encoder --vectors glove.txt", ["--vectors has no effect"]),
    ("tune sentiment --run ../up", ["--run '../up'", "letters"]),
    ("tune sentimant", ["no task 'sentimant'", "sentiment"]),
    ("tune sentiment --trails 3", ["no flag --trails", "--trials"]),
]


@pytest.mark.parametrize(("arguments", "parts"), MISTAKES)
def test_a_mistake_is_one_line_and_leaves_nothing(arguments, parts, tmp_path, run_main):
    process = run_main(tmp_path, *arguments.split(), "--runs", "runs")
    if "--preset" in parts:  # tyro lists the choices of a flag itself
        assert process.returncode == 2 and "--preset" in process.stderr
    else:
        assert_one_line(process, *parts)
    assert not (tmp_path / "runs").exists()


def test_ray_that_is_not_installed_or_not_there_is_one_line(tmp_path, run_main, monkeypatch):
    from importlib import util

    find_spec = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name: None if name == "ray" else find_spec(name))
    for arguments in ("tune sentiment", "tune sentiment --grid model=bag,lstm"):
        process = run_main(tmp_path, *arguments.split(), "--ray", "local", "--runs", "runs")
        assert_one_line(process, "--ray needs Ray", "requirements-ray.txt")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_its_own_config_and_defaults(task):
    parsed = main_module.parse(["tune", task, "--seed", "7", "--trials", "3"])
    assert isinstance(parsed, command.TuneCommand) and parsed.task == task and parsed.trials == 3
    assert type(parsed.config) is type(TASKS[task].command().Train().config) and parsed.config.seed == 7
    assert all(getattr(parsed.config, name) == value for name, value in TASKS[task].defaults.items())


def test_grids_and_fields_are_lists():
    parsed = main_module.parse(
        ["tune", "char-lm", "--grid", "num_layers=1,2", "--grid", "clip_norm=1,5", "--minutes", "1.5"]
    )
    assert parsed.grid == (("num_layers=1,2",), ("clip_norm=1,5",)) and parsed.seconds == 90
    assert main_module.parse(["tune", "char-lm", "--fields", "dropout", "window"]).fields == ("dropout", "window")


def documented():
    """The commands in docs/tune.md."""
    text = (ROOT / "docs" / "tune.md").read_text()
    return [f"tune {found}" for found in re.findall(r"`(?:python main\.py )?tune ([a-z-]+ --[^`]*)`", text)] + [
        line.removeprefix("python main.py ") for line in text.splitlines() if line.startswith("python main.py tune")
    ]


@pytest.mark.parametrize("line", documented())
def test_a_documented_command_can_be_run(line):
    made = main_module.parse(line.split())
    config = dataclasses.replace(made.config, data=None)  # the data of the examples does not exist
    made = dataclasses.replace(made, config=config)
    grids = values.parse_grid([text for each in made.grid for text in each], config)
    made._check(bool(grids))
    if grids:
        assert len(grid.checked_points(made, grids)) > 1
    else:
        assert values.searched(config, made.fields)


@pytest.mark.parametrize(
    "claim",
    [
        "tune language-model --grid tie_weights=",  # 37: tied weights
        "tune char-lm --grid hidden_size=",  # 60: the hidden size
        "tune tagging --model lstm --grid bidirectional=",  # 75: both directions
        "tune nmt --model single-rnn --grid reverse_source=",  # 95: the source reversed
        "tune nmt --model attention --grid attention_score=",  # 111: score functions
        "tune char-lm --grid num_layers=1,2,4 --equal-parameters",  # 195: depth against width
        "tune char-lm --grid model=lstm,gru",  # 198, 199: GRU against LSTM, size, speed and quality
        "tune char-lm --grid num_layers=1,2,3,4",  # 200: the number of layers
        "inspect memory --models layers-3",  # 201: a hierarchy of layers
        "tune char-lm --grid window+batch_size=8",  # 191, 202: K, with equally many updates
        "tune char-lm --grid clip_norm=",  # 203: the threshold for clipping
        "tune char-lm --grid dropout=0,0.2,0.5 --grid weight_decay=",  # 204: against overfitting
        "tune char-lm --model transformer --grid positions=",  # 205: learned positions against sines
        "tune char-lm --model transformer --grid num_heads=",  # 206: the number of heads
        "tune nmt --model rnn --grid context=",  # 214: the context at each step of the decoder
    ],
)
def test_the_documentation_has_a_command_for_every_claim(claim):
    table = (ROOT / "docs" / "tune.md").read_text().partition("## In practice, try both")[2].partition("\n## ")[0]
    (row,) = [line for line in table.splitlines() if f"`{claim}" in line]
    assert row.startswith("| ") and "? |" in row


def test_the_commands_that_compare_layers_can_be_parsed():
    text = (ROOT / "docs" / "tune.md").read_text()
    (row,) = [line for line in text.splitlines() if "form a hierarchy" in line]
    train, inspect = (main_module.parse(line.split()) for line in re.findall(r"`((?:train|inspect) [^`]*)`", row))
    assert train.config.num_layers == 3 and inspect.what.models == (f"{train.name}-sample",)
