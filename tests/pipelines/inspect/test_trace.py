import numpy as np
import pytest

from pipelines.inspect.trace import require_gates, traces
from pipelines.support.errors import UserError
from tests.pipelines.inspect.exports import TOKENS, make_trace, outputs_of


def test_each_row_has_its_own_length():
    full, empty = traces("small/1", outputs_of(("layer_1", "layer_2")))
    assert full.tokens["layer"] == TOKENS and empty.tokens["layer"] == ["<start>"]
    assert list(full.recurrent) == ["layer_1", "layer_2"]
    assert full.recurrent["layer_2"]["forget_gate"].shape == (4, 3)
    assert empty.recurrent["layer_1"]["cell"].shape == (1, 3)
    assert len(full.outputs["log_probabilities"]) == 4 and len(empty.outputs["next_tokens"]) == 1
    assert (full.cut, empty.cut) == (False, True) and "cut" not in full.outputs


def test_directions_are_layers_of_their_own():
    values = outputs_of(("layer_1_forward", "layer_1_backward"), "gru")
    trace = traces("small/1", values)[0]
    assert trace.layers("update_gate") == ["layer_1_backward", "layer_1_forward"]
    assert trace.tokens_of("layer_1_backward") == TOKENS


def test_a_translator_has_attention_to_itself_and_to_the_source():
    rng = np.random.default_rng(0)
    values = {
        "source_tokens": np.array([[b"a", b"<end>", b""]]),
        "source_lengths": np.array([2]),
        "target_tokens": np.array([[b"x", b"y", b"<end>"]]),
        "target_lengths": np.array([3]),
        "cut": np.array([False]),
        "encoder_1_attention": rng.random((1, 2, 3, 3)),
        "decoder_1_attention": rng.random((1, 2, 3, 3)),
        "decoder_1_self_attention": rng.random((1, 2, 3, 3)),
        "decoder_2_attention": rng.random((1, 2, 3, 3)),
    }
    trace = traces("nmt/1", values)[0]
    assert list(trace.attention) == ["encoder_1", "decoder_1", "decoder_1 (self)", "decoder_2"]
    cross = trace.attention["decoder_1"]
    assert cross.is_cross and cross.weights.shape == (2, 3, 2) and cross.keys == ["a", "<end>"]
    own = trace.attention["decoder_1 (self)"]
    assert not own.is_cross and own.queries == own.keys == ["<start>", "x", "y"]


def test_a_model_without_gates_is_refused():
    require_gates(make_trace())
    with pytest.raises(UserError, match="small/1 has no gates: a simple RNN has none"):
        require_gates(make_trace(kind="simple"))
