"""Texts of a file, whose states are compared with those of the text that is looked at."""

from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.support.errors import UserError

if TYPE_CHECKING:
    import keras
    import numpy as np

    from pipelines.inspect.models import Model

MAX_LINES = 300
_PIECES, _PIECE = 24, 250  # of a text of characters
_MAX_CHARACTERS = 500


def read_lines(path: Path, count: int = MAX_LINES) -> list[str]:
    """Returns at most `count` lines with text, evenly spread over a file in UTF-8, each cut to 500 characters.

    Raises:
        UserError: the file has no text, or is not UTF-8.
    """
    from pipelines.data.encodings import read_text

    lines = [line.strip()[:_MAX_CHARACTERS] for line in read_text(path).splitlines() if line.strip()]
    if not lines:
        raise UserError(f"--data {path}: it has no text")
    step = max(1, len(lines) // count)
    return lines[::step][:count]


def read_pieces(path: Path | None) -> list[str]:
    """Returns pieces of 250 characters, one after the other, of a file in UTF-8, or of the embedded sample.

    Raises:
        UserError: the file has no text, or is not UTF-8.
    """
    from pipelines.data.encodings import read_text
    from pipelines.data.sample_text import sample_text

    text = (read_text(path) if path else sample_text())[: _PIECES * _PIECE]
    if not text.strip():
        raise UserError(f"--data {path}: it has no text")
    return [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]


def read_ids(model: "Model", path: Path | None, count: int) -> "np.ndarray":
    """Returns the first tokens of a file in UTF-8, or of the embedded sample: int32 [at most count].

    Raises:
        UserError: the file has no text, or is not UTF-8.
    """
    from pipelines.data.encodings import read_text
    from pipelines.data.sample_text import sample_text

    text = (read_text(path) if path else sample_text())[: 20 * count]
    encoded = model.ask("encode", text=[text])
    ids = encoded["ids"][0][: min(count, int(encoded["lengths"][0]))]
    if not len(ids):
        raise UserError(f"--data {path}: it has no text")
    return ids


def states_of(network: "keras.Model", ids: "np.ndarray") -> "dict[str, np.ndarray]":
    """Returns the state of every recurrent layer after each token, with the state carried through the text.

    Args:
        network: inference model of a language model.
        ids: int32 [tokens].

    Returns:
        "layer_1_hidden", of an LSTM "layer_1_cell", and so on: float [tokens, units].

    Raises:
        UserError: the network has no recurrent layer.
    """
    from pipelines.networks.traced import traced

    values = traced(network)(ids[None], training=False)
    states = {name: value[0].numpy() for name, value in values.items() if name.endswith(("_hidden", "_cell"))}
    if not states:
        raise UserError("the model has no recurrent layer, so it has no states: give a recurrent language model")
    return states
