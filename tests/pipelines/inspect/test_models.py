import json

import numpy as np
import pytest

from pipelines.inspect import models
from pipelines.support.errors import UserError
from pipelines.task import TASKS


def test_the_trace_of_an_export(exports):
    (model,) = models.find(exports, ("small",))
    trace = model.trace(["to be", "x"])[0]
    assert (model.title, model.entry.package, model.kind) == ("small/1", "language_model", "lstm")
    assert trace.tokens["layer"] == ["<start>", *"to be"] and trace.model == "small/1"
    assert trace.recurrent["layer_2"]["forget_gate"].shape == (6, 16)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ((), "there are several models in .*: choose with --models .attentive, counts, small"),
        (("smal",), "no model 'smal' in .*: existing: attentive, counts, small"),
        (("small/7",), "small has no version 7; it has 1"),
        (("small/x",), "small has no version x; it has 1"),
    ],
)
def test_wrong_names(exports, names, message):
    with pytest.raises(UserError, match=message):
        models.find(exports, names)


def test_no_model(tmp_path):
    for folder in (tmp_path, tmp_path / "absent"):
        with pytest.raises(UserError, match="no model in .*: train one"):
            models.find(folder, ())


def test_why_there_is_no_trace(exports):
    (model,) = models.find(exports, ("counts",))
    with pytest.raises(UserError, match="counts/1 has no trace: --model feedforward has no recurrent layer"):
        model.trace(["a"])
    model.card["config"]["model"] = "lstm"
    with pytest.raises(UserError, match="it was exported by an older Unroll, or its network did not help"):
        model.trace(["a"])
    model.entry = TASKS["transfer"]
    with pytest.raises(UserError, match="its encoder is a module of TF Hub"):
        model.trace(["a"])


def test_an_export_of_another_program_is_refused(exports, tmp_path):
    folder = tmp_path / "other" / "1"
    folder.mkdir(parents=True)
    (folder / "model_card.json").write_text(json.dumps({"task": "chess"}))
    with pytest.raises(UserError, match="has no model card of a task that Unroll knows"):
        models.find(tmp_path, ())


def test_the_probability_of_a_token(exports):
    (model,) = models.find(exports, ("small",))
    trace = model.trace(["to be"])[0]
    probabilities = model.probability_of("o")(trace.outputs["features"])
    names = [[token.decode() for token in row] for row in trace.outputs["next_tokens"]]
    for row, (tokens, values) in enumerate(zip(names, trace.outputs["next_probabilities"])):
        if "o" in tokens:
            np.testing.assert_allclose(probabilities[row], values[tokens.index("o")], rtol=1e-4)
    with pytest.raises(UserError, match="--surface 'to': small/1 divides it into 2 tokens. Give one token"):
        model.probability_of("to")
    with pytest.raises(UserError, match="small/1 does not know it"):
        model.probability_of("\N{SNOWMAN}")


def test_embeddings_and_variables(exports):
    (model,) = models.find(exports, ("small",))
    vectors, names = model.embeddings()
    assert vectors.shape == (len(names), 8) and "o" in names
    assert {"tokens", "recurrent_1", "recurrent_2", "logits"} == {each.name.split("/")[0] for each in model.variables()}
