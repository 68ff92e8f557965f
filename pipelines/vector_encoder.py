"""Word vectors in the text format of GloVe or word2vec, as an encoder with TF Hub's interface."""

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

    A first line of two numbers (word2vec's) is skipped. Of words that are written alike in lower case the first counts, since text is read
    in lower case.

    Raises:
        UserError: no such file, or a line that does not fit.
    """
    found: dict[str, np.ndarray] = {}
    size = None
    try:
        for number, line in enumerate(texts.lines(path), 1):
            word, *values = line.rstrip().split(" ")
            if number == 1 and len(values) == 1:
                continue
            vector = np.array(values, np.float32)
            size = size or len(vector)
            if len(vector) != size or size < 2:
                raise UserError(f"{path}, line {number}: {len(vector)} numbers behind {word[:40]!r}, expected {max(size, 2)}")
            found.setdefault(word.lower(), vector)
    except ValueError as error:
        raise UserError(f"{path} has no word vectors in text: expected a word and its numbers on each line") from error
    if not found:
        raise UserError(f"{path} is empty")
    special = np.zeros((len(text.SPECIAL_TOKENS), size), np.float32)
    return list(found), np.concatenate([special, np.stack(list(found.values()))])
