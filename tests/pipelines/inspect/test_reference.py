import numpy as np
import pytest

from pipelines.inspect import models, reference
from pipelines.support.errors import UserError
from tests.pipelines.language_model import models as networks


def test_lines_are_spread_over_the_file(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("".join(f"line {i}\n\n" for i in range(100)))
    assert reference.read_lines(path, 4) == ["line 0", "line 25", "line 50", "line 75"]
    path.write_text("a" * 9999)
    assert len(reference.read_lines(path)[0]) == 500


@pytest.mark.parametrize("read", [reference.read_lines, reference.read_pieces])
def test_a_file_without_text_is_refused(tmp_path, read):
    path = tmp_path / "text.txt"
    path.write_text(" \n")
    with pytest.raises(UserError, match="it has no text"):
        read(path)


def test_pieces_follow_each_other(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("".join(chr(97 + i % 26) for i in range(600)))
    pieces = reference.read_pieces(path)
    assert [len(piece) for piece in pieces] == [250, 250, 100] and "".join(pieces) == path.read_text()
    assert len(reference.read_pieces(None)) == 24


def test_the_tokens_of_a_file(exports, tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("to be")
    (model,) = models.find(exports, ("small",))
    ids = reference.read_ids(model, path, 3)
    assert len(ids) == 3 and model.ask("decode", ids=[ids])["text"][0] == b"to "
    path.write_text("")
    with pytest.raises(UserError, match="it has no text"):
        reference.read_ids(model, path, 3)


def test_the_states_of_a_text_are_carried_through_it():
    _, _, network, _ = networks.make("gru")
    ids = np.arange(4, 20, dtype=np.int32)
    states = reference.states_of(network, ids)
    assert list(states) == ["layer_1_hidden", "layer_2_hidden"] and states["layer_1_hidden"].shape == (16, 16)
    np.testing.assert_allclose(
        reference.states_of(network, ids[:5])["layer_2_hidden"], states["layer_2_hidden"][:5], atol=1e-5
    )
    _, _, network, _ = networks.make("transformer")
    with pytest.raises(UserError, match="no recurrent layer"):
        reference.states_of(network, ids[:8])
