"""Settings and sentences of the small taggers."""

import pytest

SMALL = {"preset": "quick", "hidden_size": 8, "embedding_size": 6, "character_size": 4, "max_tokens": 5}
KINDS = {
    "lstm": {"model": "lstm"},
    "lstm, characters by lstm": {"model": "lstm", "characters": "lstm"},
    "gru, one way, no characters": {"model": "gru", "bidirectional": False, "characters": "none"},
    "simple, no crf": {"model": "simple", "crf": False},
    "peephole": {"model": "peephole"},
    "jordan, all options": {
        "model": "jordan",
        "merge": "sum",
        "num_layers": 2,
        "residual": True,
        "learned_state": True,
        "activation": "sigmoid",
    },
    "transformer": {"model": "transformer", "num_heads": 2},
    "transformer, rotary positions": {"model": "transformer", "num_heads": 2, "positions": "rotary"},
}
# In `make test` two kinds are tested, in `make test-all` three, in `make test-exhaustive` the others.
_MARKS = {"lstm": (), "transformer": (), "jordan, all options": (pytest.mark.long,)}
EACH_KIND = [pytest.param(kind, marks=_MARKS.get(kind, (pytest.mark.exhaustive,))) for kind in KINDS]
WORD_TAGS = ("NOUN", "PUNCT", "VERB")
SPAN_TAGS = ("B-LOC", "B-PER", "I-LOC", "I-PER", "O")
SENTENCES = [["Anna", "sees", "the", "sea", "."], ["The", "sea", "is", "near", "!"], ["Anna", "is", "near", "."]] * 3
