import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorflow.core.protobuf import saved_model_pb2

from pipelines.export import verify
from pipelines.text import invisible
from pipelines.text import words as words_module
from pipelines.text.words import KINDS, WordSplitter, choose_splitter, rebuilt_fraction
from serving import check

MAX_BYTES = 200
SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
SPACES += invisible.CHARACTERS  # between tokens they are no characters of a token


def compiled(kind):
    split = WordSplitter(kind, MAX_BYTES)
    return tf.function(split.__call__, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)


SPLITTERS = {kind: compiled(kind) for kind in KINDS}


def rows(kind, texts):
    """Returns, for each text, its words as (token, start, end, sentence)."""
    words = SPLITTERS[kind](tf.constant(texts, tf.string))
    columns = [part.to_list() for part in words[:4]]
    return [[(token.decode(), *rest) for token, *rest in zip(*row, strict=True)] for row in zip(*columns, strict=True)]


def tokens(kind, text):
    return " ".join(token for token, *_ in rows(kind, [text])[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I don't think it's third-party.", "I don't think it's third - party ."),
        ("the boys' 'quoted' rock'n'roll", "the boys ' ' quoted ' rock'n'roll"),
        ("R2D2 3.14 x_y a@b.c", "R2D2 3 . 14 x _ y a @ b . c"),
        ("\u6211\u7231\u4f60\u3002abc\u597d", "\u6211 \u7231 \u4f60 \u3002 abc \u597d"),
        ("\u3053\u3093 \u30ab\u30bf", "\u3053 \u3093 \u30ab \u30bf"),
        ("\u0e2a\u0e27\u0e31\u0e2a", "\u0e2a \u0e27\u0e31 \u0e2a"),  # a vowel sign belongs to its consonant
        (
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645\u061f",
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u061f",
        ),
        ("nai\u0308ve na\u00efve", "nai\u0308ve na\u00efve"),
        (
            "\U0001f468\u200d\U0001f469\u200d\U0001f467\U0001f44d\U0001f3fd\U0001f1e9\U0001f1ea",
            "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f44d\U0001f3fd \U0001f1e9\U0001f1ea",
        ),
        ("a\x00b\r\nc\u00a0d\u3000e\u200bf\ufeff", "a \x00 b c d e\u200bf"),
        (
            "\uac00\ub098\ub2e4 \u0928\u092e\u0938\u094d\u0924\u0947\u0964",
            "\uac00\ub098\ub2e4 \u0928\u092e\u0938\u094d\u0924\u0947 \u0964",
        ),
    ],
)
def test_unicode_words(text, expected):
    assert tokens("unicode", text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I don't,  think\n it's.", "I don't, think it's."),
        ("a\u00a0b\u2003c\u3000d\u2028e\x85f\x1cg", "a b c d e f\x1cg"),
        ("\ufefffirst", "first"),
    ],
)
def test_whitespace_words(text, expected):
    assert tokens("whitespace", text) == expected


def assert_positions_are_right(kind, raw):
    texts = [text[:MAX_BYTES].decode(errors="ignore") for text in raw]
    characters = SPLITTERS[kind](tf.constant(raw, tf.string)).characters.to_list()
    assert ["".join(map(chr, codes)) for codes in characters] == [f"{text}\n" for text in texts]
    for text, words in zip(texts, rows(kind, raw), strict=True):
        position, sentence = 0, 0
        for token, start, end, number in words:
            assert text[start:end] == token
            assert not text[position:start].strip(SPACES)
            assert 0 <= number - sentence <= 1
            position, sentence = end, number
        assert not words or words[0][3] == 0


CHARACTERS = st.one_of(
    st.characters(exclude_categories=["Cs"]),
    st.sampled_from(" \n.,'-!?\"()/@:$%&0123456789aAzZn\r\x00\u200d\u0301\u00a0\u2019\u2026\u6211\u0e2a\U0001f469"),
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.one_of(st.text(CHARACTERS).map(str.encode), st.binary()), max_size=4))
def test_positions_give_the_tokens_in_any_text(kind, raw):
    assert_positions_are_right(kind, raw)


@pytest.mark.parametrize("kind", KINDS)
def test_positions_with_invalid_bytes_and_at_the_byte_limit(kind):
    raw = [
        b"caf\xe9 \xff ok",
        b"\xed\xa0\x80 \xf0\x9f\x98 \xc0\xaf \xf4\x90\x80\x80 \xe2\x28\xa1 end",
        *(("a \u00e9\u6211\U0001f600".encode() * 40)[i:] for i in range(4)),
    ]
    assert_positions_are_right(kind, raw)


@pytest.mark.parametrize("kind", KINDS)
def test_texts_without_words(kind):
    assert rows(kind, ["", " \n\t ", "a", ""]) == [[], [], [("a", 0, 1, 0)], []]
    assert rows(kind, ["", " "]) == [[], []]
    words = SPLITTERS[kind](tf.constant([], tf.string))
    assert [part.to_list() for part in words] == [[], [], [], [], []]
    assert [part.dtype for part in words] == [tf.string, *[tf.int32] * 4]


@pytest.mark.parametrize("kind", KINDS)
def test_other_texts_in_the_batch_change_nothing(kind):
    texts = ["It ended.", "", "next day. And Mr.", "Smith\n", '\nsaid: "No."', '" he']
    assert rows(kind, texts) == [rows(kind, [text])[0] for text in texts]


@pytest.mark.parametrize("kind", ["english", "unicode"])
def test_a_word_has_at_most_500_characters(kind):
    split = WordSplitter(kind, 5000)
    lengths = [len(token) for token in split(tf.constant(["x " + "y" * 1200 + " " + "z" * 500])).tokens.to_list()[0]]
    assert lengths == [1, 500, 500, 200, 500]


def test_what_stands_between_white_space_has_any_length():
    words = WordSplitter("whitespace", 5000)(tf.constant(["x " + "y" * 1200]))
    assert [len(token) for token in words.tokens.to_list()[0]] == [1, 1200]


# What could be an address or an abbreviation to the end, again and again. Work that is not linear takes minutes.
HARD_PARTS = ["a.", "a@", "-", "http://", "n't", "1.", "e-", "'s", "/", "\u6211", "a\u0301", "\u200d"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("num_bytes", [3_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_long_texts_without_spaces(kind, num_bytes):
    split = WordSplitter(kind, num_bytes)
    for part in HARD_PARTS:
        text = part * (num_bytes // len(part.encode()))
        assert int(split(tf.constant([text])).end.flat_values[-1]) == len(text)


def joined(sentences):
    """Returns sentences of (token, whether a space follows) as texts and positions."""
    texts, spans = [], []
    for sentence in sentences:
        text, positions = "", []
        for token, space in sentence:
            positions.append((len(text), len(text) + len(token)))
            text += token + " " * space
        texts.append(text)
        spans.append(positions)
    return texts, spans


ENGLISH = [
    [("I", 1), ("do", 0), ("n't", 1), ("go", 0), (".", 0)],
    [("\U0001f44d", 1), ("U.S.", 1), ("law", 0), ("!", 0)],
]


def test_rebuilt_fraction_counts_equal_positions():
    texts, spans = joined(ENGLISH)
    assert rebuilt_fraction(WordSplitter("english", 100), texts, spans) == 1
    # don't is one word, U.S. is four.
    assert rebuilt_fraction(WordSplitter("unicode", 100), texts, spans) == 6 / 9
    # Of the second text, only the first and the second word have a space on both sides.
    assert rebuilt_fraction(WordSplitter("whitespace", 100), texts, spans) == 3 / 9
    spans[0][0] = None
    assert rebuilt_fraction(WordSplitter("english", 100), texts, spans) == 8 / 9


def test_many_texts_are_compared_in_batches(monkeypatch):
    monkeypatch.setattr(words_module, "_BATCH_SIZE", 2)
    texts, spans = joined(ENGLISH[:1] * 5)
    assert rebuilt_fraction(WordSplitter("unicode", 100), texts, spans) == 3 / 5


@pytest.mark.parametrize(
    ("sentences", "kind"),
    [
        (ENGLISH, "english"),
        ([[("don't", 1), ("go", 0), (".", 0), ("\u6211", 0), ("\u4f60", 0)]], "unicode"),
        ([[("end.", 1), ("third-party", 1), ("(a)", 1), ("\u4f60\u597d", 0)]], "whitespace"),
        # Tokens without raw text: all words are between spaces, and english finds nearly all.
        ([[(word, 1) for word in [*"abcdefghijk", "third-party", "."]]], "english"),
    ],
)
def test_the_splitter_that_rebuilds_most_is_chosen(sentences, kind):
    best, shares = choose_splitter(*joined(sentences))
    assert best == kind
    assert list(shares) == list(KINDS)
    assert shares[kind] >= max(shares.values()) - 0.1


def test_the_choice_reads_evenly_spaced_texts(monkeypatch):
    monkeypatch.setattr(words_module, "_MAX_EXAMPLES", 10)
    texts, spans = joined([[("do", 0), ("n't", 0)]] * 20 + [[("don't", 0)]] * 20)
    _, shares = choose_splitter(texts, spans)
    assert shares["whitespace"] == 5 / 15


@pytest.fixture(scope="module", params=KINDS)
def exported(request, tmp_path_factory):
    """Returns the kind, and the folder of a SavedModel of its splitter."""
    folder = tmp_path_factory.mktemp(request.param)
    module = tf.Module()
    module.splitter = WordSplitter(request.param, MAX_BYTES)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")], autograph=False)
    def serve(text):
        words = module.splitter(text)
        return {name: part.to_tensor() for name, part in words._asdict().items()}

    module.serve = serve
    tf.saved_model.save(module, str(folder), signatures={"serving_default": serve})
    return request.param, folder


EXPORT_TEXTS = ["I don't. Mr. Smith's!", "", "\u4f60\u597d\u3002 \U0001f44d\U0001f3fd x"]


def expected_answer(kind):
    words = SPLITTERS[kind](tf.constant(EXPORT_TEXTS))
    return {name: part.to_tensor().numpy() for name, part in words._asdict().items()}


def test_an_export_has_only_operations_of_both_versions_of_the_server(exported):
    saved = saved_model_pb2.SavedModel.FromString((exported[1] / "saved_model.pb").read_bytes())
    functions = {
        function.signature.name for graph in saved.meta_graphs for function in graph.graph_def.library.function
    }
    names = verify.ops_of(saved) - functions
    assert "UnicodeDecode" in names
    for version in check.SERVER_VERSIONS:
        known = json.loads((Path(check.__file__).parent / "ops" / f"{version}.json").read_text())
        assert not names - set(known)


def test_an_export_gives_the_same_words(exported):
    kind, folder = exported
    answer = tf.saved_model.load(str(folder)).signatures["serving_default"](text=tf.constant(EXPORT_TEXTS))
    for name, values in expected_answer(kind).items():
        np.testing.assert_array_equal(answer[name], values)


@pytest.mark.long
@pytest.mark.parametrize("exported", ["english"], indirect=True)
def test_tf_serving_would_load_it_and_give_the_same_words(exported):
    kind, folder = exported
    assert not [finding for finding in check.check(folder) if finding.problem]
    expected = {
        name: [[value.decode() for value in row] for row in values.tolist()] if name == "tokens" else values.tolist()
        for name, values in expected_answer(kind).items()
    }
    request = {"folder": str(folder), "inputs": {"serving_default": {"text": EXPORT_TEXTS}}}
    lines = f"{json.dumps(request)}\n{json.dumps({'serving_default': expected})}"
    process = subprocess.run([sys.executable, "-I", verify.__file__], input=lines, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
