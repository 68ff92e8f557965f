import numpy as np
import pytest
import tensorflow as tf

from pipelines.support.errors import UserError
from pipelines.text import tokenizers
from pipelines.text.normalization import Normalizer
from pipelines.text.tokenizers import END, PAD, START, UNKNOWN, Splitter, in_batches, train_tokenizer
from tests.damage import damaged_copies

TEXTS = np.array(
    [
        "The plot was not bad, it wasn't!",
        "A dull film. The plot was dull.",
        "Caf\u00e9 &amp; film",
        "the film the film",
    ],
    dtype=object,
)


def strings(tensor):
    return [value.decode() for value in tensor.numpy()]


@pytest.fixture(scope="module", params=["word", "spaced", "character", "subword", "cased", "pieces"])
def tokenizer(request):
    return train_tokenizer(request.param, np.repeat(TEXTS, 5), 100, max_bytes=200)


def test_special_ids_are_the_same_in_every_tokenizer(tokenizer):
    assert (PAD, UNKNOWN, START, END) == (0, 1, 2, 3)
    assert tuple(tokenizer.vocabulary()[:4]) == tokenizers.SPECIAL_TOKENS
    ids = tokenizer.encode(tf.constant(TEXTS))
    assert ids.dtype == tf.int32
    for row in ids.to_list():
        assert row[0] == START and row[-1] == END
        assert not {PAD, START, END} & set(row[1:-1])
        assert max(row) < tokenizer.vocabulary_size == len(tokenizer.vocabulary())


def test_no_text_has_zero_tokens(tokenizer):
    assert tokenizer.encode(tf.constant(["", "  "])).to_list()[0] == [START, END]
    assert tokenizer.encode(tf.constant([], tf.string)).shape[0] == 0


def test_special_tokens_in_a_text_are_text(tokenizer):
    for row in tokenizer.encode(tf.constant(["<pad> <start> <end>"])).to_list():
        assert not {PAD, START, END} & set(row[1:-1])


def test_tokens_are_the_strings_of_the_ids(tokenizer):
    vocabulary = tokenizer.vocabulary()
    ids = tokenizer.encode(tf.constant(TEXTS)).to_list()
    tokens = tokenizer.tokens(tf.constant(TEXTS)).to_list()
    for row_ids, row in zip(ids, tokens, strict=True):
        for id_, token in zip(row_ids, row, strict=True):
            assert id_ == UNKNOWN or vocabulary[id_] == token.decode()


def test_decode_is_the_inverse_of_encode(tokenizer):
    decoded = strings(tokenizer.decode(tokenizer.encode(tf.constant(TEXTS))))
    if tokenizer.kind in ("character", "pieces", "cased"):
        assert decoded == TEXTS.tolist()  # without normalization, or NFKC alone
    elif tokenizer.kind == "spaced":
        assert decoded[1] == "A dull film. The plot was dull."
    elif tokenizer.kind == "subword":
        assert decoded == strings(Normalizer(200)(tf.constant(TEXTS)))
    else:
        assert decoded[1] == "a dull film . the plot was dull ."


def test_decode_accepts_padded_ids(tokenizer):
    ids = tokenizer.encode(tf.constant(TEXTS))
    assert strings(tokenizer.decode(ids.to_tensor())) == strings(tokenizer.decode(ids))


def test_a_saved_tokenizer_is_loaded_unchanged(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    loaded = tokenizers.load_tokenizer(tmp_path)
    assert loaded.kind == tokenizer.kind
    assert loaded.vocabulary() == tokenizer.vocabulary()
    assert loaded.encode(tf.constant(TEXTS)).to_list() == tokenizer.encode(tf.constant(TEXTS)).to_list()


def test_other_texts_in_the_batch_change_nothing(tokenizer):
    batch = tokenizer.encode(tf.constant(TEXTS)).to_list()
    assert [tokenizer.encode(tf.constant([text])).to_list()[0] for text in TEXTS] == batch


@pytest.mark.parametrize("kind", ["word", "character"])
def test_the_order_of_the_training_texts_does_not_matter(kind):
    forward = train_tokenizer(kind, TEXTS, 30, 200).vocabulary()
    assert train_tokenizer(kind, TEXTS[::-1], 30, 200).vocabulary() == forward


def test_words_punctuation_and_chinese_characters():
    texts = np.array(["It wasn't (all) bad: \u597d\u7684 film...", "it wasn't bad"] * 2, object)
    tokenizer = train_tokenizer("word", texts, 100, 200)
    assert {"it", "wasn't", "bad", ":", "(", ")", "\u597d", "\u7684", "."} <= set(tokenizer.vocabulary()[4:])
    assert tokenizer.encode(tf.constant(["zzz"])).to_list() == [[START, UNKNOWN, END]]


@pytest.mark.parametrize("kind", ["spaced", "character", "pieces"])
def test_line_ends_and_case_are_kept(kind):
    play = "KING:\nWhat news from Oxford?\n\nKING:\nWhat news from Oxford?\n"
    tokenizer = train_tokenizer(kind, [play] * 20, 60, 1000)
    assert strings(tokenizer.decode(tokenizer.encode(tf.constant([play])))) == [play]


def test_spaced_splits_only_at_spaces_and_line_ends():
    tokenizer = train_tokenizer("spaced", ["a <unk> @-@ b.\na  b. "] * 2, 100, 200)
    assert set(tokenizer.vocabulary()[4:]) == {"a", "<unk>", "@-@", "b.", "\n"}
    assert tokenizer.encode(tf.constant(["a  zzz\n"])).to_list()[0][2] == UNKNOWN


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("word", " good, bad!\u6211\u7231\u4f60 e- mail "),
        ("character", "Good , bad!\u6211\u7231\u4f60 e-mail "),
        ("subword", " good , bad!\u6211\u7231\u4f60 e-mail "),
    ],
)
def test_tokens_are_spelled_with_spaces_around_words(kind, expected):
    text = "Good , bad!\u6211\u7231\u4f60 e-mail"
    tokenizer = train_tokenizer(kind, [text] * 3, 60, 1000)
    spelled = tokenizer.spell(tokenizer.tokens(tf.constant([text, ""])))
    texts = ["".join(map(chr, row)) for row in spelled.to_list()]
    assert texts == [expected, " "]


def test_a_word_that_occurs_once_is_unknown_and_the_size_is_a_maximum():
    texts = np.array(["a a b b b c"], object)
    assert train_tokenizer("word", texts, 100, 200).vocabulary()[4:] == ["b", "a"]
    assert train_tokenizer("word", texts, 5, 200).vocabulary()[4:] == ["b"]


def test_texts_without_a_frequent_word_give_an_empty_vocabulary():
    tokenizer = train_tokenizer("word", np.array(["once", ""], object), 100, 200)
    assert tokenizer.encode(tf.constant(["once"])).to_list() == [[START, UNKNOWN, END]]


def test_a_vocabulary_below_the_number_of_characters_is_refused():
    with pytest.raises(UserError, match=r"--vocabulary-size 8: it must be at least \d+ for the different characters"):
        train_tokenizer("subword", np.repeat(TEXTS, 5), 8, 200)


def test_10_megabytes_are_cut_before_they_are_split():
    tokenizer = train_tokenizer("subword", np.repeat(TEXTS, 5), 100, max_bytes=50)
    assert tokenizer.encode(tf.constant(["film " * 2_000_000])).row_lengths().numpy()[0] <= 52


def test_a_splitter_needs_no_vocabulary():
    assert Splitter("word", 100)(tf.constant(["It's A film."])).to_list() == [[b"it's", b"a", b"film", b"."]]


def test_in_batches():
    batches = [batch.numpy().tolist() for batch in in_batches(iter(["a", "b", "c"]), batch_size=2)]
    assert batches == [[b"a", b"b"], [b"c"]]


@pytest.mark.parametrize("max_tokens", [4, 5, 9, 10, 11, 100])
def test_keep_ends(max_tokens):
    rows = [list(range(n)) for n in (0, 1, 4, 5, 9, 10, 30)]
    results = tokenizers.keep_ends(tf.ragged.constant(rows, dtype=tf.int32), max_tokens).to_list()
    head = max_tokens // 2
    for row, result in zip(rows, results, strict=True):
        long = row[:head] + row[len(row) - (max_tokens - head) :]
        assert result == (row if len(row) <= max_tokens else long)


@pytest.mark.long
def test_a_saved_model_with_two_subword_tokenizers_keeps_them_apart(tmp_path):
    texts = ["the cat sat on the mat and the dog ran away"], ["el gato negro come pescado y el perro duerme"]
    pair = [train_tokenizer("cased", each * 20, 60, 1000) for each in texts]
    module = tf.Module()
    module.tokenizers = pair
    text = tf.constant(["the cat el gato"])

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def decode(text):
        return {f"decoded_{i}": tokenizer.decode(tokenizer.encode(text)) for i, tokenizer in enumerate(pair)}

    module.decode = decode
    expected = {name: value.numpy().tolist() for name, value in decode(text).items()}
    assert expected["decoded_0"] != expected["decoded_1"]
    tf.saved_model.save(module, str(tmp_path / "saved"))
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    assert {name: value.numpy().tolist() for name, value in loaded.decode(text).items()} == expected


def test_every_damage_of_the_files_is_one_line_with_the_remedy(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    for path in list(tmp_path.iterdir()):
        whole = path.read_bytes()
        for content in damaged_copies(whole):
            path.write_bytes(content)
            with pytest.raises(UserError) as error:
                tokenizers.load_tokenizer(tmp_path)
            assert str(error.value).startswith(f"{path} is damaged")
            assert str(error.value).endswith(": delete the run's folder to train from scratch")
        path.write_bytes(whole)
    assert tokenizers.load_tokenizer(tmp_path).vocabulary() == tokenizer.vocabulary()


@pytest.mark.parametrize("kind", ["word", "spaced", "character"])
def test_a_grown_vocabulary_keeps_its_ids(kind, tmp_path):
    tokenizer = train_tokenizer(kind, ["a b a b"], 100, 1000)
    grown = tokenizer.grown(["c", "a", "c", "\u00e9"])
    assert grown.vocabulary() == [*tokenizer.vocabulary(), "c", "\u00e9"]
    grown.save(tmp_path)
    ids = tokenizers.load_tokenizer(tmp_path).encode(tf.constant(["a c \u00e9 d"])).numpy()[0]
    assert {tokenizer.vocabulary_size, tokenizer.vocabulary_size + 1, UNKNOWN} < set(ids.tolist())
    assert grown.grown([]).vocabulary() == grown.vocabulary()
