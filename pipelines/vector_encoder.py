"""Word vectors in the text format of GloVe or word2vec, as an encoder with TF Hub's interface."""

import re
from pathlib import Path

import keras
import numpy as np

from pipelines import exporting, text
from pipelines.data import texts
from pipelines.errors import UserError
from pipelines.files import shown
from pipelines.run import SCHEMA
from pipelines.text_encoder import TextEncoder, network


def make(vectors: str, saved_models: Path, name: str, max_tokens: int, max_bytes: int) -> dict:
    """Exports an encoder whose only layer are the vectors of the words.

    Returns:
        {"export": its folder, "words", "size": of a vector}.

    Raises:
        UserError: no such file, or not of this format.
    """
    words, matrix = read(vectors)
    tokenizer = text.VocabularyTokenizer("word", [word.encode() for word in words], max_bytes)
    embedding = keras.layers.Embedding(len(matrix), matrix.shape[1], name="embeddings")
    ids = keras.Input((None,), dtype="int32", name="ids")
    layers = keras.Model(ids, [embedding(ids)], name="layers")
    embedding.embeddings.assign(matrix)
    servable = TextEncoder(network(layers), tokenizer, max_tokens)
    card = {"schema": SCHEMA, "pipeline": "encoder", "words": len(words), "size": matrix.shape[1], "window": {"max_bytes": max_bytes}}
    exported = exporting.export(servable, name, saved_models, card, {"serving_default": {"text": ["The cat sat on the mat.", "", "zzz"]}})
    return {"export": shown(exported.path), "words": len(words), "size": matrix.shape[1]}


def read(path: str) -> tuple[list[str], np.ndarray]:
    """The words, and the vectors of all tokens: float32 [4 + words, size], those of the special tokens first, which are zeros.

    A first line of two numbers (word2vec's) says how many words and numbers there are. Of words that are written alike in lower case the first
    counts, since text is read in lower case. Words with spaces are left out: no token has one.

    Raises:
        UserError: no such file, a line that does not fit, or fewer words than the first line says.
    """
    found: dict[str, np.ndarray] = {}
    size = promised = number = None
    for number, line in enumerate(texts.lines(path), 1):
        line = line.rstrip()
        if number == 1 and (header := re.fullmatch(r"(\d+) (\d+)", line)):
            promised, size = int(header[1]), int(header[2])
            continue
        size = size or line.count(" ")
        word, *values = line.rsplit(" ", max(size, 1))
        if len(values) != size or size < 2:
            raise UserError(f"{path}, line {number}: {len(values)} numbers behind {word[:40]!r}, expected {max(size, 2)}")
        try:
            vector = np.array(values, np.float32)
        except ValueError as error:
            raise UserError(f"{path}, line {number}: no word vector; expected a word and {size} numbers") from error
        if not np.isfinite(vector).all():
            raise UserError(f"{path}, line {number}: the vector of {word[:40]!r} has a value that is not finite")
        if " " not in word:
            found.setdefault(word.lower(), vector)
    if not found:
        raise UserError(f"{path} is empty")
    if promised is not None and number - 1 != promised:
        raise UserError(f"{path} has {number - 1:,} words, and its first line says {promised:,}: get it again")
    special = np.zeros((len(text.SPECIAL_TOKENS), size), np.float32)
    return list(found), np.concatenate([special, np.stack(list(found.values()))])
