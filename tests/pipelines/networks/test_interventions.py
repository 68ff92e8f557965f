"""The signature `intervene` of small exports' servables, against `trace` and against the same change made by hand."""

import numpy as np
import pytest
import tensorflow as tf

from pipelines.networks import interventions
from pipelines.networks.interventions import ALL
from pipelines.networks.recurrent import RECURRENT_LAYERS
from pipelines.networks.traced import OUTPUT, traced
from tests.pipelines.classification.conftest import make
from tests.pipelines.language_model import models
from tests.pipelines.networks.test_traced import IDS, make_classifier, make_language_model

TEXTS = ["to be", "", "Whether 'tis nobler"]
RECURRENT = pytest.mark.parametrize("kind", RECURRENT_LAYERS)


def rows_of(*edits, texts=TEXTS):
    """Returns inputs of the signature: the edits (layer, kind, unit, step, key, value) for each text."""
    columns = dict(zip(interventions.INPUTS, zip(*edits) if edits else [()] * 6, strict=True))
    return {
        name: tf.constant([list(values)] * len(texts), interventions.INPUTS[name].dtype, shape=(len(texts), len(edits)))
        for name, values in columns.items()
    }


def intervened(servable, *edits, texts=TEXTS):
    values = servable.intervene(text=tf.constant(texts), **rows_of(*edits, texts=texts))
    return {name: value.numpy() for name, value in values.items()}


def traced_values(servable, texts=TEXTS):
    return {name: value.numpy() for name, value in servable.trace(text=tf.constant(texts)).items()}


def assert_same(values, expected, atol=1e-6):
    assert set(values) - set(expected) <= {f"layer_{i}_hidden" for i in (1, 2)}  # of transformer blocks
    for name, value in expected.items():
        if value.dtype == object:
            assert values[name].tolist() == value.tolist(), name
        else:
            np.testing.assert_allclose(values[name], value, atol=atol, rtol=1e-5, err_msg=name)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["lstm", "gru", "transformer"])
def test_without_an_intervention_it_is_the_trace(kind):
    *_, generator = models.make(kind, window=32)
    assert "intervene" in generator.signatures()
    expected = traced_values(generator)
    assert_same(intervened(generator), expected)
    no_such_place = [("layer_9", "hidden", 0, 0, ALL, 1.0), ("", "", 0, 0, 0, 1.0), ("layer_1", "colour", 0, 0, 0, 1.0)]
    assert_same(intervened(generator, *no_such_place), expected)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["lstm", "gru", "transformer"])
def test_a_classifier_whose_states_are_set_answers_another_way(kind):
    servable = make(model=kind).servable
    expected = traced_values(servable)
    assert_same(intervened(servable), expected)
    layers = ["layer_1"] if kind == "transformer" else ["layer_1_forward", "layer_1_backward"]
    values = intervened(servable, *((layer, "hidden", ALL, ALL, ALL, 3.0) for layer in layers))
    assert np.abs(values["probabilities"] - expected["probabilities"]).max() > 1e-3
    for layer in layers if kind != "transformer" else []:
        assert (values[f"{layer}_hidden"][0, : values["lengths"][0]] == 3).all()


def outputs_of(model, ids, *edits):
    lists = interventions.Lists()
    network = traced(model, lists)
    lists.set(rows_of(*edits, texts=ids), rows=len(ids))
    return {name: np.array(value) for name, value in network(ids, training=False).items()}


@RECURRENT
def test_a_state_that_is_set_counts_from_its_step_on(kind):
    model = make_language_model(kind, num_layers=2)
    plain = {name: np.array(value) for name, value in traced(model)(IDS, training=False).items()}
    values = outputs_of(model, IDS, ("layer_1", "hidden", 3, 4, ALL, 0.9))
    np.testing.assert_allclose(values["layer_1_hidden"][:, 4, 3], 0.9)
    for name in (OUTPUT, "layer_2_hidden"):
        np.testing.assert_allclose(values[name][:, :4], plain[name][:, :4], atol=1e-6)
        assert (np.abs(values[name][:, 4:] - plain[name][:, 4:]).max(axis=(0, 2)) > 1e-5).all()


def test_states_of_another_text_make_its_answer():
    """To set the whole state at a step to that of another text is to go on from that text."""
    model = make_language_model("lstm")
    source = {name: np.array(value) for name, value in traced(model)(IDS[1:], training=False).items()}
    edits = [
        ("layer_1", name, unit, 3, ALL, float(source[f"layer_1_{name}"][0, 3, unit]))
        for name in ("hidden", "cell")
        for unit in range(8)
    ]
    joined = np.concatenate([IDS[:1, :4], IDS[1:, 4:]], axis=1)
    np.testing.assert_allclose(outputs_of(model, joined, *edits)[OUTPUT][:, 3:], source[OUTPUT][:, 3:], atol=1e-5)


def test_a_forget_gate_of_one_and_an_input_gate_of_zero_keep_the_cell():
    model = make_language_model("lstm")
    edits = [("layer_1", "forget_gate", 2, ALL, ALL, 1.0), ("layer_1", "input_gate", 2, ALL, ALL, 0.0)]
    cell = outputs_of(model, IDS, *edits, ("layer_1", "cell", 2, 1, ALL, 0.4))["layer_1_cell"]
    np.testing.assert_allclose(cell[:, 1:, 2], 0.4, atol=1e-6)


def test_the_first_states_of_both_directions_are_kept():
    model = make_classifier("gru", learned_state=True, pooling="max")
    ids = np.where(np.arange(7) < [[7], [4]], IDS, 0)
    np.testing.assert_allclose(outputs_of(model, ids)[OUTPUT], model(ids, training=False), atol=1e-6)
    edits = [("layer_1_backward", "hidden", ALL, 2, ALL, 0.5)]
    values = outputs_of(model, ids, *edits)["layer_1_backward_hidden"]
    assert (values[:, 2] == 0.5).all() and np.abs(values[:, 1] - 0.5).min() > 0


def test_attention_of_a_block_is_set_by_head_query_and_key():
    model = make_language_model("transformer", num_layers=2)
    values = outputs_of(model, IDS, ("layer_2", "attention", 1, 3, ALL, 0.0), ("layer_2", "attention", 0, 3, 2, 0.7))
    plain = {name: np.array(value) for name, value in traced(model)(IDS, training=False).items()}
    weights, expected = values["layer_2_attention"], plain["layer_2_attention"].copy()
    expected[:, 1, 3] = 0
    expected[:, 0, 3, 2] = 0.7
    np.testing.assert_allclose(weights, expected, atol=1e-6)
    changed = np.abs(values[OUTPUT] - plain[OUTPUT]).max(axis=(0, 2)) > 1e-6
    assert changed.tolist() == [i == 3 for i in range(7)]


@pytest.mark.parametrize("kind", ["head", *interventions.FACTORS])
def test_a_factor_of_one_changes_nothing_and_one_of_zero_does(kind):
    model = make_language_model("transformer")
    plain = np.array(model(IDS, training=False))
    np.testing.assert_allclose(outputs_of(model, IDS, ("layer_1", kind, ALL, ALL, ALL, 1.0))[OUTPUT], plain, atol=1e-6)
    assert np.abs(outputs_of(model, IDS, ("layer_1", kind, ALL, ALL, ALL, 0.0))[OUTPUT] - plain).max() > 1e-3


def test_the_mean_counts_where_several_values_are_for_one_place():
    model = make_language_model("gru")
    edits = [("layer_1", "hidden", 1, 2, ALL, 0.2), ("layer_1", "hidden", ALL, 2, ALL, 0.6)]
    hidden = outputs_of(model, IDS, *edits)["layer_1_hidden"]
    np.testing.assert_allclose(hidden[:, 2, 1], 0.4, atol=1e-6)
    np.testing.assert_allclose(hidden[:, 2, 0], 0.6, atol=1e-6)
