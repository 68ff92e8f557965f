"""The table of claims: each one can be run, and its predictions name points and measures that exist."""

import dataclasses

import pytest

import main as main_module
from pipelines.learn.claim import command_line, tune_command
from pipelines.learn.claims import CLAIMS
from pipelines.task import TASKS
from pipelines.tune import grid, values
from tests.command_line import ROOT

WITH_GRID = [number for number, claim in CLAIMS.items() if claim.grid]


def test_the_claims_are_numbered_without_a_gap():
    assert list(CLAIMS) == list(range(1, len(CLAIMS) + 1))
    assert len({claim.question for claim in CLAIMS.values()}) == len(CLAIMS)
    assert all(claim.question.endswith("?") and claim.says.endswith(".") for claim in CLAIMS.values())


@pytest.mark.parametrize("number", CLAIMS)
def test_a_claim_has_a_grid_with_predictions_or_commands(number):
    claim = CLAIMS[number]
    assert bool(claim.grid) == bool(claim.predictions) != bool(claim.commands)
    for command in claim.commands:
        assert main_module.parse(command.split())


@pytest.mark.parametrize("number", WITH_GRID)
def test_the_command_of_a_claim_is_read_and_its_grid_names_settings(number, tmp_path):
    claim = CLAIMS[number]
    made = tune_command(claim, None, 3, None, tmp_path)
    config = made.config
    read = main_module.parse(command_line(made).split())
    assert dataclasses.replace(read, grid=made.grid) == dataclasses.replace(made, config=read.config)
    assert dataclasses.asdict(read.config.resolve()) == dataclasses.asdict(config.resolve())
    assert [text for each in read.grid for text in each] == list(claim.grid)
    points = grid.checked_points(made, values.parse_grid(claim.grid, config))
    for each in claim.predictions:
        assert 0 <= each.point < len(points) > each.than >= 0 != each.point - each.than
        assert each.low < each.high
        known = ("parameters", "seconds per epoch", "perplexity", "loss", *TASKS[claim.task].measures)
        assert each.measure in known or each.measure.startswith("parameters of ")


@pytest.mark.parametrize("number", WITH_GRID)
def test_all_points_make_equally_many_updates(number, tmp_path):
    """A prediction of a language model compares points whose updates read equally many tokens."""
    claim = CLAIMS[number]
    made = tune_command(claim, None, 3, None, tmp_path)
    points = [values.with_settings(made.config, p) for p in values.points(values.parse_grid(claim.grid, made.config))]
    per_update = ("window", "batch_size") if hasattr(points[0], "window") else ("batch_size",)
    for config in points:
        config_sizes, first_sizes = ([getattr(c, name, 1) or 1 for name in per_update] for c in (config, points[0]))
        assert config.epochs == points[0].epochs
        assert config_sizes[0] * config_sizes[-1] == first_sizes[0] * first_sizes[-1]


def test_the_documentation_has_every_claim():
    table = (ROOT / "docs" / "tune.md").read_text().partition("## In practice, try both")[2].partition("\n## ")[0]
    for number, claim in CLAIMS.items():
        (row,) = [line for line in table.splitlines() if line.startswith(f"| {number} |")]
        assert f"| {claim.question} |" in row and f"`learn claim {number}`" in row
