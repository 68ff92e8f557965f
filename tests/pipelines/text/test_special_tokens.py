import subprocess
import sys

from pipelines.text.special_tokens import END, PAD, SPECIAL_TOKENS, START, UNKNOWN, SpecialIds, never_generated
from pipelines.text.tokenizers import train_tokenizer


def test_every_tokenizer_starts_with_them():
    for kind in ("word", "character", "subword"):
        vocabulary = train_tokenizer(kind, ["one two three"] * 20, 30, 1000).vocabulary()
        assert len(set(SPECIAL_TOKENS)) == 4 and (PAD, UNKNOWN, START, END) == (0, 1, 2, 3)
        assert len(vocabulary) > 4 and not set(vocabulary[4:]) & set(SPECIAL_TOKENS)


def test_every_trained_tokenizer_has_the_same_special_ids():
    assert SpecialIds() == (PAD, UNKNOWN, START, END, None)
    for kind in ("word", "subword"):
        assert train_tokenizer(kind, ["one two three"] * 20, 30, 1000).special == SpecialIds()


def test_only_a_model_that_has_learned_where_a_text_ends_generates_the_end():
    assert END in never_generated(None) and END not in never_generated("line")
    assert {PAD, UNKNOWN, START} < set(never_generated(None))


def test_it_imports_no_tensorflow():
    code = "import sys, pipelines.text.special_tokens; print('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
