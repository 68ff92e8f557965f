"""Texts of a file, whose states are compared with those of the text that is looked at."""

from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.support.errors import UserError

if TYPE_CHECKING:
    import keras
    import numpy as np

    from pipelines.inspect.models import Model
    from pipelines.inspect.sentences import AgreementSentence
    from pipelines.language_model.config import LanguageModelConfig

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


def read_tagged(path: Path, count: int) -> tuple[list[list[str]], list[list[str]], list[str]]:
    """Returns the words, the tags and the texts of the first `count` sentences of a CoNLL-U file.

    Raises:
        UserError: the file is not CoNLL-U in UTF-8.
    """
    from pipelines.data import conllu
    from pipelines.data.encodings import read_text

    words, tags, texts, *_ = conllu.read(path, read_text(path), None)
    return words[:count], tags[:count], texts[:count]


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


def states_after_prefixes(
    model: "Model",
    config: "LanguageModelConfig",
    network: "keras.Model",
    sentences: "list[AgreementSentence]",
    before: "np.ndarray | None" = None,
) -> "dict[str, np.ndarray]":
    """Returns the state of every layer after each word of the prefixes of sentences of the grammar.

    Args:
        model: with the vocabulary.
        config: of the network.
        network: inference model, such as the model's own or one with random weights.
        sentences: from the grammar.
        before: int32 [tokens], read before each prefix, after <start>; nothing if not given.

    Returns:
        As `states_of`, but [sentences, time, units]. Of a transformer, the outputs of its blocks, "layer_1_features"
        and so on.

    Raises:
        UserError: the model has no word tokens, does not know the words, has a shorter window, or no such layers.
    """
    import numpy as np

    from pipelines.networks.traced import traced
    from pipelines.text.special_tokens import START, UNKNOWN

    if model.tokenizer != "word":
        raise UserError(f"{model.title} reads {model.tokenizer}s: --grammar needs a model of words")
    ids = model.ask("encode", text=[sentence.prefix for sentence in sentences])["ids"]
    if (ids == UNKNOWN).sum() > (ids > 0).sum() / 2:
        raise UserError(f"{model.title} does not know the words of the grammar: give a model that was trained on it")
    start = np.asarray([START, *(before if before is not None else ())], np.int32)
    ids = np.concatenate([np.tile(start, (len(ids), 1)), ids], axis=1).astype(np.int32)
    if config.model == "transformer":
        if ids.shape[1] > config.window:
            raise UserError(f"{model.title} reads {config.window} tokens, which is less than the sentences have")
        values = _block_outputs(network)(ids, training=False)
    else:
        outputs = traced(network)(ids, training=False)
        values = {name: value for name, value in outputs.items() if name.endswith(("_hidden", "_cell"))}
    if not values:
        raise UserError(f"{model.title} has no recurrent layer and no attention, so it has no states")
    return {name: value.numpy()[:, len(start) :] for name, value in values.items()}


def _block_outputs(network: "keras.Model") -> "keras.Model":
    """Returns the model whose outputs are those of the transformer blocks: layer_1_features and so on."""
    import keras

    from layers import TransformerDecoderBlock, TransformerEncoderBlock

    blocks = [each for each in network.layers if isinstance(each, TransformerEncoderBlock | TransformerDecoderBlock)]
    return keras.Model(
        network.input, {f"layer_{number}_features": block.output for number, block in enumerate(blocks, start=1)}
    )
