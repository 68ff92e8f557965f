"""Word vectors in the text format of GloVe or word2vec, exported as an encoder with TF Hub's interface."""

import re
from pathlib import Path

import keras
import numpy as np

from pipelines.data import texts
from pipelines.encoder.networks import encoder_network
from pipelines.export import saved_model
from pipelines.pretrained.text_encoder import TextEncoder
from pipelines.support.errors import UserError
from pipelines.support.files import shown
from pipelines.support.run_result import SCHEMA
from pipelines.text.tokenizers import SPECIAL_TOKENS, VocabularyTokenizer

_EXAMPLES = {
    "serving_default": {"text": ["The cat sat on the mat.", "", "zzz"]},
    "words": {"tokens": [["The", "cat", "sat", "."], ["", "", "", ""], ["zzz", "\x01", "", ""]]},
}


def export(vectors: str, saved_models: Path, name: str, max_tokens: int, max_bytes: int) -> dict:
    """Exports an encoder whose only layer are the word vectors.

    Returns:
        {"export": its folder, "words": number of words, "size": of a vector}.

    Raises:
        UserError: the file does not exist, or has another format.
    """
    words, matrix = read(vectors)
    tokenizer = VocabularyTokenizer("word", [word.encode() for word in words], max_bytes)
    embedding = keras.layers.Embedding(len(matrix), matrix.shape[1], name="embeddings")
    ids = keras.Input((None,), dtype="int32", name="ids")
    reading = keras.Model(ids, [embedding(ids)], name="layers")
    embedding.embeddings.assign(matrix)
    servable = TextEncoder(encoder_network(reading), tokenizer, max_tokens)
    card = {
        "schema": SCHEMA,
        "task": "encoder",
        "words": len(words),
        "size": matrix.shape[1],
        "window": {"max_tokens": max_tokens, "max_bytes": max_bytes},
    }
    exported = saved_model.export(servable, name, saved_models, card, _EXAMPLES)
    return {"export": shown(exported.path), "words": len(words), "size": matrix.shape[1]}


def read(path: str) -> tuple[list[str], np.ndarray]:
    """Returns the words, and the vectors of all tokens: float32 [4 + words, size], first the special tokens, which are
    zeros.

    A first line of two numbers (word2vec's) is the number of words and the size of a vector. Of words with the same
    lower-case form the first counts, since texts are read in lower case. Words with spaces are left out: no token has
    one.

    Raises:
        UserError: the file does not exist, a line has another format, or there are fewer words than the first line
        says.
    """
    vectors: dict[str, np.ndarray] = {}
    size = expected_words = number = None
    for number, line in enumerate(texts.lines(path, has_option=False), 1):
        line = line.rstrip()
        if number == 1 and (header := re.fullmatch(r"(\d+) (\d+)", line)):
            expected_words, size = int(header[1]), int(header[2])
            continue
        size = size or line.count(" ")
        word, vector = _parse_line(path, number, line, size)
        if " " not in word:
            vectors.setdefault(word.lower(), vector)
    if not vectors:
        raise UserError(f"{path} is empty")
    if expected_words is not None and number - 1 != expected_words:
        raise UserError(f"{path} has {number - 1:,} words, but its first line says {expected_words:,}: get it again")
    special = np.zeros((len(SPECIAL_TOKENS), size), np.float32)
    return list(vectors), np.concatenate([special, np.stack(list(vectors.values()))])


def _parse_line(path: str, number: int, line: str, size: int) -> tuple[str, np.ndarray]:
    """Returns the word and the vector of a line.

    Raises:
        UserError: the line is not a word and `size` finite numbers.
    """
    word, *values = line.rsplit(" ", max(size, 1))
    if len(values) != size or size < 2:
        raise UserError(f"{path}, line {number}: {len(values)} numbers after {word[:40]!r}, expected {max(size, 2)}")
    try:
        vector = np.array(values, np.float32)
    except ValueError as error:
        raise UserError(f"{path}, line {number}: not a word vector; expected a word and {size} numbers") from error
    if not np.isfinite(vector).all():
        raise UserError(f"{path}, line {number}: the vector of {word[:40]!r} has a value that is not finite")
    return word, vector
