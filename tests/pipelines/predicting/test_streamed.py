"""Texts that are printed while they are generated, by a model that continues the alphabet."""

import types

import pytest
import tensorflow as tf

from pipelines.decoding.options import SAMPLING, defaults
from pipelines.predicting import streamed
from pipelines.support.errors import UserError
from tests.serving.streaming_models import Alphabet


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    folder, model = tmp_path_factory.mktemp("alphabet"), Alphabet()
    tf.saved_model.save(model, str(folder), signatures=model.signatures())
    return tf.saved_model.load(str(folder))


def pieces(loaded, text, **options):
    return list(streamed.pieces(loaded, text, SAMPLING, defaults(SAMPLING) | {"temperature": 0.0} | options))


@pytest.mark.long
def test_the_pieces_are_the_text(loaded):
    found = pieces(loaded, "c", max_length=9)
    assert "".join(found) == "defghijkl" and len(found) > 1
    assert "".join(pieces(loaded, "x")) == "yz" and "".join(pieces(loaded, "", max_length=0)) == ""


def test_an_export_of_an_earlier_version_is_refused(loaded):
    exported = types.SimpleNamespace(title="char-lm/1")
    streamed.require_pieces(exported, loaded)
    with pytest.raises(UserError, match="char-lm/1 was exported by an earlier version and cannot stream"):
        streamed.require_pieces(exported, types.SimpleNamespace(signatures={"generate": None}))


def test_each_piece_is_shown_at_once(capsys):
    def found():
        yield "a"
        assert capsys.readouterr().out == "> a"
        yield "b"
        assert capsys.readouterr().out == "b"

    streamed.print_pieces("> ", found())
    assert capsys.readouterr().out == "\n"
