"""The entities of the graph are those of `entities_of`, and so of the evaluation, for any texts and tags."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.tagging import entity_ops
from pipelines.tagging.entities import entities_of
from pipelines.text.words import WordSplitter

TAGS = ("B-LOC", "B-work-of-art", "I-LOC", "I-work-of-art", "I-x", "O")  # I-x has no B-x
MAX_BYTES = 200
COLUMNS = ("entities", "labels", "start", "end", "start_utf16", "end_utf16", "scores")
SPLIT = WordSplitter("unicode", MAX_BYTES)
# A byte order mark, emoji of several code points, combining marks, line ends, tabs, Hebrew and Arabic with its marks of
# direction, an invisible character within a word, bytes that are not UTF-8.
PIECES = [
    "\ufeff",
    "😀",
    "👨\u200d👩\u200d👧",
    "👍🏽",
    "e\u0301",
    "\r\n",
    "\t",
    "שלום",
    "\u202eمرحبا\u202c",
    "a\u00adb",
]
PIECES += ["Ab", " ", ".", "\x00", "𝔘", "我们", b"\xff", b"\xf0\x9f", b"\xed\xa0\x80"]


@tf.function(
    input_signature=[tf.TensorSpec([None], dtype) for dtype in (tf.string, tf.int32, tf.float32, tf.bool)],
    autograph=False,
)
def both(text, ids, scores, starts_sentence):
    """The tokens of the texts and the entities; there are more ids, scores and starts than tokens."""
    words = SPLIT(text)
    size = tf.size(words.tokens.flat_values)
    # A text starts a sentence.
    is_first = tf.concat([[True], words.tokens.value_rowids()[1:] != words.tokens.value_rowids()[:-1]], axis=0)[:size]
    starts = starts_sentence[:size] | is_first
    found = entity_ops.entities(TAGS, words, ids[:size], scores[:size], starts)
    return {name: part.to_tensor() for name, part in words._asdict().items()}, words.tokens.row_lengths(), starts, found


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=14), max_size=4), st.integers(0, 2**32 - 1))
def test_entities_are_those_of_the_evaluation(texts, seed):
    rng = np.random.default_rng(seed)
    raw = [b"".join(piece if isinstance(piece, bytes) else piece.encode() for piece in text) for text in texts]
    number = sum(map(len, raw)) + 1
    ids = rng.choice(len(TAGS), number, p=[0.15, 0.15, 0.25, 0.25, 0.1, 0.1])
    scores, starts = rng.random(number, np.float32), rng.random(number) < 0.15
    words, lengths, starts, found = both(tf.constant(raw, tf.string), ids.astype(np.int32), scores, starts)
    found = {name: value.numpy().tolist() for name, value in found.items()}
    sentences, first = np.cumsum(starts), 0
    for row, (text, length) in enumerate(zip(raw, lengths.numpy())):
        text, here = text[:MAX_BYTES].decode(errors="ignore"), slice(first, first + length)
        first += length
        expected = entities_of(
            {
                "text": text,
                "tags": [TAGS[i] for i in ids[here]],
                "scores": scores[here].tolist(),
                "sentence": sentences[here].tolist(),
                **{name: words[name][row, :length].numpy().tolist() for name in ("start", "end")},
            }
        )
        size = found["num_entities"][row]
        assert [any(found[name][row][size:]) for name in COLUMNS] == [False] * len(COLUMNS)
        assert size == len(expected)
        units = text.encode("utf-16-le")
        for i, each in enumerate(expected):
            surface, label, start, end, start_utf16, end_utf16, score = (found[name][row][i] for name in COLUMNS)
            assert surface.decode() == text[start:end] == units[2 * start_utf16 : 2 * end_utf16].decode("utf-16-le")
            assert each == {
                "text": text[start:end],
                "label": label.decode(),
                "start": start,
                "end": end,
                "score": score,
            }


@pytest.mark.parametrize("texts", [[], [""], ["", " \n"]])
def test_texts_without_tokens_have_no_entities(texts):
    *_, found = both(tf.constant(texts, tf.string), np.zeros(9, np.int32), np.ones(9, np.float32), np.zeros(9, bool))
    assert {tuple(found[name].shape) for name in COLUMNS} == {(len(texts), 0)}
    assert found["num_entities"].numpy().tolist() == [0] * len(texts)
    dtypes = {name: found[name].dtype.name for name in (*COLUMNS, "num_entities")}
    assert dtypes.pop("entities") == dtypes.pop("labels") == "string" and dtypes.pop("scores") == "float32"
    assert set(dtypes.values()) == {"int32"}


def test_the_scores_are_the_lowest_of_the_tokens():
    ids = [TAGS.index(tag) for tag in ("B-LOC", "I-LOC", "O", "B-LOC")]
    *_, found = both(["a b c d"], ids, [0.5, 0.25, 0.125, 0.75], [False] * 4)
    assert found["scores"].numpy().tolist() == [[0.25, 0.75]]
    assert found["entities"].numpy().tolist() == [[b"a b", b"d"]]
