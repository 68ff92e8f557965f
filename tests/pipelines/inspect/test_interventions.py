import numpy as np
import pandas as pd
import pytest

from pipelines.inspect import interventions, models
from pipelines.inspect.interventions import ALL, Edit
from pipelines.support.errors import UserError
from tests.pipelines.inspect.conftest import REVIEW

TEXT, OTHER = "to be or not", "to bo or not"


def model_of(exports, name):
    (model,) = models.find(exports, (name,))
    (trace,) = model.intervene(TEXT, [[]])
    return model, trace


@pytest.mark.long
def test_clamps_name_layers_kinds_steps_and_units(exports):
    _, trace = model_of(exports, "small")
    assert interventions.parse(["forget:all:3=1"], trace) == [
        Edit(layer, "forget_gate", 3, ALL, ALL, 1.0) for layer in ("layer_1", "layer_2")
    ]
    assert interventions.parse(["layer_2:hidden:2:all=-.5"], trace) == [Edit("layer_2", "hidden", ALL, 2, ALL, -0.5)]
    _, attentive = model_of(exports, "attentive")
    assert interventions.parse(["layer_1:attention:3:1:2=0.5", "layer_1:head:all:0=0"], attentive) == [
        Edit("layer_1", "attention", 1, 3, 2, 0.5),
        Edit("layer_1", "head", 0, ALL, ALL, 0.0),
    ]


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "clamp", "message"),
    [
        ("small", "forget", "expected KIND:STEP:UNIT=VALUE, such as forget:all:3=1"),
        ("small", "forget:all:3=nan", "expected KIND:STEP:UNIT=VALUE"),
        ("small", "forget:-1:3=1", "expected KIND:STEP:UNIT=VALUE"),
        ("small", "update:all:3=1", "small/1 does not have it. It has layer_1: candidate, .*; layer_2: candidate, "),
        ("small", "layer_7:forget:all:3=1", "small/1 does not have it"),
        ("small", "forget:all:16=1", "layer_1 has 16 units, numbered from 0: there is no 16"),
        ("small", "forget:13:0=1", "layer_1 has 13 steps, numbered from 0: there is no 13"),
        ("attentive", "head:all:2=0", "layer_1 has 2 heads, numbered from 0: there is no 2"),
        ("attentive", "attention:0:0:99=0", "layer_1 has 13 keys, numbered from 0: there is no 99"),
    ],
)
def test_what_cannot_be_set_is_one_line(exports, name, clamp, message):
    _, trace = model_of(exports, name)
    with pytest.raises(UserError, match=message):
        interventions.parse([clamp], trace)


@pytest.mark.long
def test_each_row_has_its_own_interventions(exports):
    model, plain = model_of(exports, "small")
    edits = [[], [Edit("layer_1", "hidden", 0, ALL, ALL, 0.5)], []]
    first, second, third = interventions.ask(model, TEXT, edits)
    assert (second.recurrent["layer_1"]["hidden"][:, 0] == 0.5).all()
    for trace in (first, third):
        np.testing.assert_allclose(
            trace.recurrent["layer_2"]["hidden"], plain.recurrent["layer_2"]["hidden"], atol=1e-6
        )


@pytest.mark.long
def test_the_answers_of_all_kinds_of_models(exports, saved):
    model, trace = model_of(exports, "small")
    found = interventions.answer(model, trace)
    assert len(found) == 10 and all(0 <= value <= 1 for value in found.values())
    (classifier,) = models.find(saved("gru"), ("gru",))
    (trace,) = classifier.intervene(REVIEW, [[]])
    assert interventions.answer(classifier, trace).keys() == set(classifier.card["classes"])
    (tagger,) = models.find(saved("tagger"), ("tagger",))
    (trace,) = tagger.intervene(REVIEW, [[]])
    assert next(iter(interventions.answer(tagger, trace))).startswith("0 the: ")


def test_changes_are_sorted_by_their_size():
    found = interventions.changes({"a": 0.5, "b": 0.3, "c": 0.2}, {"a": 0.4, "b": 0.3, "d": 0.3})
    assert found["answer"].tolist() == ["d", "c", "a", "b"]
    assert found["change"].round(6).tolist() == [0.3, -0.2, -0.1, 0.0]
    assert interventions.difference({"a": 0.5}, {"a": 0.25, "b": 0.4}) == 0.4


def test_how_far_an_answer_goes_from_one_text_to_the_other():
    a, b = {"x": 1.0, "y": 0.0}, {"x": 0.0, "y": 1.0}
    assert interventions.restored(a, b, a) == 0 and interventions.restored(a, b, b) == 1
    assert interventions.restored(a, b, {"x": 0.5, "y": 0.5}) == 0.5


@pytest.mark.long
@pytest.mark.parametrize("name", ["small", "attentive"])
def test_every_unit_head_and_sublayer_is_taken_out(exports, name):
    model, trace = model_of(exports, name)
    found = interventions.ranking(model, TEXT, trace)
    assert len(found) == {"small": 2 * 16, "attentive": 2 * (2 + 2)}[name]
    assert found["change"].is_monotonic_decreasing and found["change"].iloc[0] > 0
    assert interventions.ranking_figure(model.title, found).table is found


@pytest.mark.long
def test_the_last_state_of_a_recurrent_network_is_all_that_its_answer_rests_on(exports):
    model, trace = model_of(exports, "small")
    (other,) = model.intervene(OTHER, [[]])
    found = interventions.patching(model, TEXT, trace, other)
    assert len(found) == 2 * len(trace.tokens["layer"])
    table = found.set_index(["layer", "position"])["restored"]
    last = len(trace.tokens["layer"]) - 1
    assert table["layer_2", last] == pytest.approx(1, abs=0.5)  # the layer below does not count any more
    assert table["layer_1", 3] == table["layer_2", 3] == pytest.approx(0, abs=1e-6)  # both texts are the same there
    assert isinstance(
        interventions.patching_figure(model.title, trace.tokens["layer"], found).data["patch"], pd.DataFrame
    )
