import csv
import io
import itertools
import lzma
import random

import pytest
import sentencepiece
import tensorflow as tf
from sentencepiece import sentencepiece_model_pb2

from pipelines.support.errors import UserError
from pipelines.text.unigram import UnigramTokenizer, model_of_pieces
from tests.conftest import CORPORA

TEXTS = [
    "The plot was not bad, it wasn't!",
    "A dull film. Le caf\u00e9 \u00e9tait bon.",
    "\u623f\u95f4\u5f88\u5c0f, dull",
]


def trained(texts, size=60, **options):
    model = io.BytesIO()
    options = {"unk_id": 0, "bos_id": 1, "eos_id": 2, "pad_id": -1} | options
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=model, vocab_size=size, model_type="unigram", num_threads=1,
        hard_vocab_limit=False, character_coverage=0.995, minloglevel=2, **options,
    )  # fmt: skip
    return model.getvalue()


def pieces_of(model):
    """The pieces with their scores, without the special ones, and the rules of the normalization."""
    parsed = sentencepiece_model_pb2.ModelProto.FromString(model)
    pieces = [(piece.piece, piece.score) for piece in parsed.pieces[3:]]
    return pieces, parsed.normalizer_spec.precompiled_charsmap


def reference(model):
    transformers = pytest.importorskip("transformers")
    pieces, charsmap = pieces_of(model)
    special = [(name, 0.0) for name in ("<s>", "<pad>", "</s>", "<unk>")]
    vocabulary = [*special, *pieces, ("<mask>", 0.0)]
    return transformers.XLMRobertaTokenizer(vocab=vocabulary, _spm_precompiled_charsmap=charsmap)


@pytest.fixture(scope="module")
def model():
    return trained(TEXTS * 20)


@pytest.fixture(scope="module")
def tokenizer(model):
    return UnigramTokenizer(model, max_bytes=200)


def test_the_ids_are_those_of_fairseq(tokenizer):
    vocabulary = tokenizer.vocabulary()
    assert vocabulary[:4] == ["<s>", "<pad>", "</s>", "<unk>"] and vocabulary[-1] == "<mask>"
    assert tokenizer.special == (1, 3, 0, 2, len(vocabulary) - 1) and tokenizer.vocabulary_size == len(vocabulary)
    texts = tf.constant([*TEXTS, "", "\u0e01"])
    ids, tokens = tokenizer.encode(texts).to_list(), tokenizer.tokens(texts).to_list()
    assert ids[3] == [0, 2] and ids[4][-2:] == [3, 2]
    assert [[vocabulary[id_] for id_ in row] for row in ids] == [[token.decode() for token in row] for row in tokens]


def test_decode_and_spell(tokenizer):
    ids = tokenizer.encode(tf.constant(TEXTS[:2]))
    assert [text.decode() for text in tokenizer.decode(ids.to_tensor(1)).numpy()] == TEXTS[:2]
    spelled = tokenizer.spell(tokenizer.tokens(tf.constant(TEXTS[:1]))).to_list()
    assert "".join(map(chr, spelled[0])) == f" {TEXTS[0]} "


def test_special_tokens_in_a_text_are_text(tokenizer):
    row = tokenizer.encode(tf.constant(["</s> <mask> <pad>"])).to_list()[0]
    assert not set(row[1:-1]) & {0, 1, 2, tokenizer.special.blank}


def test_tokens_that_continue_a_word_are_shown_with_marks(tokenizer):
    shown = dict(zip(tokenizer.vocabulary(), tokenizer.shown()))
    assert shown["\u2581"] == "##\u2581" and shown["\u2581dull"] == "dull" and shown["u"] == "##u"


def test_other_texts_in_the_batch_and_bytes_that_are_not_utf8_change_nothing(tokenizer):
    texts = [*TEXTS, b"The\xff plot", "", b"\xed\xa0\x80", "x" * 300]
    batch = tokenizer.encode(tf.constant(texts)).to_list()
    assert [tokenizer.encode(tf.constant([text])).to_list()[0] for text in texts] == batch
    assert batch[3] == tokenizer.encode(tf.constant(["The plot"])).to_list()[0]


def test_a_model_of_the_same_pieces_gives_the_same_ids(model, tokenizer):
    rebuilt = UnigramTokenizer(model_of_pieces(*pieces_of(model)), max_bytes=200)
    texts = tf.constant([*TEXTS, "\uff21\ufb01 \u3000x \u00ad!"])
    assert rebuilt.encode(texts).to_list() == tokenizer.encode(texts).to_list()
    assert rebuilt.vocabulary() == tokenizer.vocabulary()


@pytest.mark.parametrize(
    ("model", "message"), [(b"no model", "no SentencePiece model"), (None, "does not begin with <unk>, <s> and </s>")]
)
def test_other_models_are_refused(model, message):
    with pytest.raises(UserError, match=message):
        UnigramTokenizer(trained(TEXTS, unk_id=2, bos_id=0, eos_id=1) if model is None else model, 100)


def test_the_ids_are_those_of_transformers(model, tokenizer):
    expected = reference(model)
    texts = [*TEXTS, "  a\u00a0 b\n", "\u0e01\u0e01 dull", "\uff21\ufb01"]
    assert tokenizer.encode(tf.constant(texts)).to_list() == expected(texts)["input_ids"]


@pytest.mark.long
def test_real_and_hostile_texts_have_the_ids_of_the_references_but_for_ties():
    if not (CORPORA / "classification").exists():
        pytest.skip("the corpora are not on this machine")
    texts = []
    for name in ("hotel_zh", "tweets_fr_it_pt", "clinc150"):
        with lzma.open(CORPORA / "classification" / f"{name}.csv.xz", "rt", encoding="utf-8", newline="") as file:
            texts += [row[0] for row in itertools.islice(csv.reader(file), 1, 6000)]
    model = trained(texts, 6000)
    tokenizer, expected = UnigramTokenizer(model, 100_000), reference(model)
    ids = tokenizer.encode(tf.constant(texts)).to_list()
    others = expected(texts)["input_ids"]
    assert [text for text, row, other in zip(texts, ids, others) if sorted(row) != sorted(other)] == []
    assert sum(row != other for row, other in zip(ids, others)) < 0.01 * len(texts)  # such as many dots: ties
    rng = random.Random(1)
    blocks = [(0x20, 0x7F)] * 5 + [(0xA0, 0x6FF), (0x900, 0x97F), (0x1E00, 0x206F), (0x3000, 0x30FF), (0xE000, 0xE0FF)]
    blocks += [(0x1100, 0x11FF), (0x4E00, 0x4FFF), (0xAC00, 0xACFF), (0xFF00, 0xFFFF), (0x1F300, 0x1F6FF)]
    hostile = ["".join(chr(rng.randint(*rng.choice(blocks))) for _ in range(rng.randint(1, 40))) for _ in range(10_000)]
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    rows = [[0, *(id_ + 1 if id_ else 3 for id_ in row), 2] for row in processor.encode(hostile)]
    assert tokenizer.encode(tf.constant(hostile)).to_list() == rows
    # Hugging Face's normalization takes some sequences of marks in other parts than SentencePiece's.
    differing = sum(row != other for row, other in zip(rows, expected(hostile)["input_ids"]))
    assert differing < 0.03 * len(hostile)
