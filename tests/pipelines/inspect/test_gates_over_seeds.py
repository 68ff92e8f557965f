import dataclasses

import numpy as np
import pytest

from pipelines.inspect import gates_over_seeds
from pipelines.inspect.trace import Trace
from pipelines.support.errors import UserError
from tests.pipelines.inspect.exports import assert_page, assert_refused, make_trace, picture


def card(**config) -> dict:
    return {"task": "char-lm", "config": {"model": "lstm", "hidden_size": 8, "seed": 1} | config}


def test_the_rows_are_the_mean_the_lowest_and_the_highest_of_the_models():
    traces = [make_trace(layers=("layer_1", "layer_2"), seed=seed) for seed in (1, 2, 3)]
    rows = gates_over_seeds.seed_rows(traces)
    assert len(rows) == 2 * 3 * 4 and (rows["models"] == 3).all()
    means = np.stack([each.recurrent["layer_2"]["input_gate"].mean(1) for each in traces])  # [models, tokens]
    found = rows[(rows["layer"] == "layer_2") & (rows["gate"] == "input gate")]
    for name, wanted in (("mean", means.mean(0)), ("low", means.min(0)), ("high", means.max(0))):
        np.testing.assert_allclose(found[name], wanted)
    assert picture(gates_over_seeds.figure(["a/1", "b/1", "c/1"], traces[0], rows)).height > 500
    lines = gates_over_seeds.notes(rows)
    assert len(lines) == 6 and lines[0].startswith("layer_1, forget gate: lowest at ")


@pytest.mark.parametrize(
    ("cards", "message"),
    [
        ({"a": card()}, "needs two models or more"),
        ({"a": card(), "b": card(hidden_size=9, seed=2)}, "a and b differ in --hidden-size"),
        ({"a": card(), "b": card(seed=2) | {"task": "tagging"}}, "a and b differ in the task"),
        ({"a": card(), "b": card()}, "two models have the same --seed"),
    ],
)
def test_models_that_differ_in_more_than_their_seed(cards, message):
    with pytest.raises(UserError, match=message):
        gates_over_seeds.require_same_settings(cards)


def test_models_that_differ_in_their_seed():
    gates_over_seeds.require_same_settings({"a": card(), "b": card(seed=2, keep_checkpoints=4)})


def test_texts_that_are_divided_differently():
    trace = make_trace()
    other = dataclasses.replace(trace, tokens={"layer": ["<start>", "a b"]})
    with pytest.raises(UserError, match="divide the text differently"):
        gates_over_seeds.seed_rows([trace, other])


def test_models_without_gates():
    with pytest.raises(UserError, match="no gates"):
        gates_over_seeds.seed_rows([make_trace(kind="simple")] * 2)


def test_of_a_translator_the_source_is_shown():
    rng = np.random.default_rng(0)
    recurrent = {f"{part}_1": {"update_gate": rng.random((2, 3))} for part in ("encoder", "decoder")}
    traces = [
        Trace("t/1", {"encoder": ["a", "b"], "decoder": [word, "c"]}, recurrent, {}, {}, False) for word in ("x", "y")
    ]
    assert set(gates_over_seeds.seed_rows(traces)["layer"]) == {"encoder_1"}


@pytest.mark.long
def test_the_command(exports, tmp_path, capsys, monkeypatch):  # with one model, named twice
    flags = ("--models", "small", "small/1", "--saved-models", exports)
    assert_refused(capsys, "needs two models or more", "gates", "to be", "--over-seeds", *flags)
    monkeypatch.setattr(gates_over_seeds, "require_same_settings", lambda cards: None)
    path = tmp_path / "page.html"
    assert "forget gate: lowest at" in assert_page(capsys, path, "gates", "to be", "--over-seeds", *flags)
    assert 'id="gates-over-seeds"' in path.read_text()
    assert_refused(capsys, "leave out --treebank and --unit", "gates", "to", "--over-seeds", "--unit", 1, *flags)
