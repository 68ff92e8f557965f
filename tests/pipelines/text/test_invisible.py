"""Invisible characters change nothing that a model of words or subwords reads, and positions count the user's text."""

import re

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.data.splits import seen_in
from pipelines.support.records import read_record, write_record
from pipelines.text import invisible
from pipelines.text.invisible import is_blank, visible
from pipelines.text.normalization import Cutter, Normalizer, without_invisible
from pipelines.text.tokenizers import load_tokenizer, train_tokenizer
from pipelines.text.words import KINDS, WordSplitter

PLAIN = [
    "The <b>plot</b> was not bad &amp; it wasn't!",
    "A dull film. The plot was dull.\n\nCaf\u00e9",
    "the film the film e\u0301",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f468\u200d\U0001f469",  # joiners that have a meaning
]
CHANGED = ["The fi\u00adlm was n\u200bot \u2060ba\u2060d", "\ufeffthe film\ufeff was", "\u00ad\u200b\u2060\ufeff"]
WITHOUT = ["The film was not bad", "the film was", ""]
READS_WORDS = ["word", "spaced", "subword", "cased", "pieces"]


def with_invisible(text, choices):
    """`text` with an invisible character (or none, "") in front of each of its first characters."""
    return "".join(choice + character for choice, character in zip(choices, text)) + text[len(choices) :]


@st.composite
def texts_and_changed(draw):
    text = draw(st.sampled_from(PLAIN))
    choices = draw(st.lists(st.sampled_from(["", "", *invisible.CHARACTERS]), max_size=len(text)))
    return text, with_invisible(text, choices)


@pytest.fixture(scope="module", params=READS_WORDS)
def tokenizer(request):
    return train_tokenizer(request.param, PLAIN * 5, 100, max_bytes=400)


@pytest.fixture(scope="module", params=["word", "subword", "cased"])
def normalize(request):
    tokenizer = train_tokenizer(request.param, PLAIN * 5, 100, max_bytes=400)
    return Normalizer(400) if request.param == "word" else tokenizer.normalize


def test_the_characters_are_those_that_carry_no_meaning():
    assert sorted(map(ord, invisible.CHARACTERS)) == [0xAD, 0x200B, 0x2060, 0xFEFF]
    every = "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    assert without_invisible(tf.constant([every])).numpy()[0].decode() == visible(every)
    assert len(every) - len(visible(every)) == 4
    assert (
        visible("\u0645\u06cc\u200c\u062e \U0001f468\u200d\U0001f469")
        == "\u0645\u06cc\u200c\u062e \U0001f468\u200d\U0001f469"
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(texts_and_changed())
def test_no_normalizer_sees_them_also_in_tags_and_entities(normalize, pair):
    plain, changed = normalize(tf.constant(pair)).numpy().tolist()
    assert plain == changed


def test_an_entity_of_an_invisible_character_is_one():
    raw = ["basic&shy;ally &#173;a&ZeroWidthSpace;b &NoBreak;c"]
    assert Normalizer(100)(tf.constant(raw)).numpy().tolist() == [b"basically ab c"]


def test_the_ids_are_those_of_the_visible_text(tokenizer):
    assert tokenizer.encode(tf.constant(CHANGED)).to_list() == tokenizer.encode(tf.constant(WITHOUT)).to_list()
    assert tokenizer.tokens(tf.constant(CHANGED)).to_list() == tokenizer.tokens(tf.constant(WITHOUT)).to_list()


@pytest.mark.parametrize("kind", READS_WORDS)
def test_training_texts_lose_them_too(kind):
    hyphenated = [text.replace("film", "fi\u00adlm").replace("dull", "du\u200bll") for text in PLAIN]
    trained = train_tokenizer(kind, hyphenated * 5, 100, max_bytes=400)
    assert trained.vocabulary() == train_tokenizer(kind, PLAIN * 5, 100, max_bytes=400).vocabulary()


def test_characters_stay():
    characters = train_tokenizer("character", CHANGED, 100, max_bytes=400)
    assert "".join(token.decode() for token in characters.tokens(tf.constant(CHANGED)).to_list()[0][1:-1]) == CHANGED[0]


def test_they_count_for_the_byte_limit():
    assert Normalizer(6)(tf.constant(["ab\u00ad\u00adcd"])).numpy().tolist() == [b"ab"]
    assert Cutter(7)(tf.constant(["AB\u00ad\u00adCD"])).numpy().tolist() == [b"ABC"]


def test_the_tokenizer_of_an_older_run_keeps_them(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    again = load_tokenizer(tmp_path)
    assert again.tokens(tf.constant(CHANGED)).to_list() == tokenizer.tokens(tf.constant(CHANGED)).to_list()
    record = read_record(tmp_path / "tokenizer.json", "")
    assert record.pop("removes_invisible") is True
    write_record(tmp_path / "tokenizer.json", record)
    older = load_tokenizer(tmp_path)
    assert older.encode(tf.constant(CHANGED[:1])).to_list() != tokenizer.encode(tf.constant(CHANGED[:1])).to_list()
    older.save(tmp_path)  # as `train --from` does with the tokenizer of the other run
    assert read_record(tmp_path / "tokenizer.json", "")["removes_invisible"] is False


@pytest.mark.parametrize("kind", KINDS)
def test_words_have_the_positions_of_the_users_text(kind):
    text = "\ufeffIn Lon\u00addon\u200b, New\u2060\u00ad York."
    words = WordSplitter(kind, 200)(tf.constant([text, "\u200b \ufeff", "ok"]))
    tokens, start, end = (part.to_list() for part in words[:3])
    assert [[text[a:b] for a, b in zip(start[0], end[0])]] == [[token.decode() for token in tokens[0]]]
    plain = WordSplitter(kind, 200)(tf.constant([visible(text)]))
    assert [visible(token.decode()) for token in tokens[0]] == [token.decode() for token in plain.tokens.to_list()[0]]
    assert text[start[0][1] : end[0][1]].startswith("Lon\u00addon") and start[0][1] == 4
    assert tokens[1] == [] and tokens[2] == [b"ok"] and start[2] == [0]


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(texts_and_changed())
def test_words_and_sentences_are_those_of_the_visible_text(kind, pair):
    plain, changed = (WordSplitter(kind, 1000)(tf.constant([text])) for text in pair)
    tokens = [token.decode() for token in changed.tokens.to_list()[0]]
    assert [visible(token) for token in tokens] == [token.decode() for token in plain.tokens.to_list()[0]]
    spans = zip(changed.start.to_list()[0], changed.end.to_list()[0], strict=True)
    assert [pair[1][start:end] for start, end in spans] == tokens
    assert changed.sentence.to_list() == plain.sentence.to_list()


def test_an_older_splitter_still_divides_at_them():
    words = WordSplitter("unicode", 100, removes_invisible=False)(tf.constant(["a\u200bb\ufeffc d\u00ade"]))
    assert words.tokens.to_list() == [[b"a", b"b", b"c", b"d", "\u00ad".encode(), b"e"]]
    assert words.start.to_list() == [[0, 2, 4, 6, 7, 8]]


def test_texts_of_invisible_characters_are_blank_and_equal_texts_are_equal():
    assert is_blank("\u00ad \u200b\n\ufeff") and is_blank("") and not is_blank("a\u00ad") and not is_blank("\u200d")
    assert seen_in(np.array(["The film"], object), np.array(["the fi\u00adlm\u200b"], object)).tolist() == [True]


def test_the_live_page_knows_the_same_characters():
    from pipelines.inspect import live_figures

    script = (live_figures.FOLDER.parent / "trace.js").read_text("utf-8")
    (listed,) = re.findall(r"INVISIBLE = /\^\[(.*?)\]\$/u", script)
    assert listed.encode().decode("unicode_escape") == invisible.CHARACTERS
