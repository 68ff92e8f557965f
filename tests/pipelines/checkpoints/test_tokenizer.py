import base64
import json

import numpy as np
import pytest
import tensorflow as tf

from pipelines.checkpoints.tokenizer import load
from pipelines.support.errors import UserError
from tests.pipelines.pretrained.checkpoints import minilm, minilm_texts

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "##s", "The", "caf\u00e9", "cafe", "\u4e2d"]
WORDPIECE = {
    "normalizer": {"type": "BertNormalizer", "clean_text": True, "lowercase": True, "strip_accents": None},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "model": {"type": "WordPiece", "vocab": {token: i for i, token in enumerate(VOCABULARY)}, "unk_token": "[UNK]"},
    "added_tokens": [{"id": 4, "content": "[MASK]", "special": True}],
}
PIECES = [("\u2581", -2.0), ("\u2581the", -2.0), ("\u2581c", -2.5), ("at", -3.0), ("s", -3.0)]
SPECIAL = [[name, 0.0] for name in ("<s>", "<pad>", "</s>", "<unk>")]
METASPACE = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"}
UNIGRAM = {
    "normalizer": {"type": "Precompiled", "precompiled_charsmap": ""},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, METASPACE]},
    "model": {"type": "Unigram", "unk_id": 3, "vocab": [*SPECIAL, *map(list, PIECES), ["<mask>", 0.0]]},
}


def write(folder, **files):
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / {"vocab": "vocab.txt", "merges": "merges.txt"}.get(name, f"{name}.json")).write_text(text, "utf-8")
    return folder


def changed(description, **parts):
    return {key: value | parts.get(key, {}) if isinstance(value, dict) else value for key, value in description.items()}


def names(tokenizer, text):
    return [tokenizer.vocabulary()[id_] for id_ in tokenizer.encode(tf.constant([text])).to_list()[0][1:-1]]


def test_a_vocabulary_alone_is_bert_in_lower_case(tmp_path):
    tokenizer = load(write(tmp_path, vocab="\n".join(VOCABULARY) + "\n"), 100)
    assert names(tokenizer, "The Caf\u00c9 cats") == ["the", "cafe", "cat", "##s"] and tokenizer.vocabulary_size == 12


def test_the_config_says_what_is_normalized(tmp_path):
    config = {"do_lower_case": False, "tokenize_chinese_chars": False, "tokenizer_class": "BertTokenizerFast"}
    tokenizer = load(write(tmp_path, vocab="\n".join(VOCABULARY), tokenizer_config=config), 100)
    assert names(tokenizer, "The caf\u00e9 cat\u4e2d") == ["The", "caf\u00e9", "[UNK]"]


def test_the_description_counts_more_than_the_config(tmp_path):
    write(tmp_path, tokenizer=WORDPIECE, tokenizer_config={"do_lower_case": False}, vocab="other")
    assert names(load(tmp_path, 100), "The caf\u00e9") == ["the", "cafe"]


def test_special_tokens_may_have_other_names(tmp_path):
    vocabulary = "\n".join(["<s>", "<pad>", "</s>", "[UNK]", "the", "<mask>"])
    config = {"cls_token": "<s>", "sep_token": {"content": "</s>"}, "tokenizer_class": "MPNetTokenizer"}
    marks = {"pad_token": "<pad>", "mask_token": "<mask>"}
    tokenizer = load(write(tmp_path, vocab=vocabulary, tokenizer_config=config, special_tokens_map=marks), 100)
    assert tokenizer.special == (1, 3, 0, 2, 5)


def test_a_unigram_is_rebuilt_from_its_description(tmp_path):
    tokenizer = load(write(tmp_path, tokenizer=UNIGRAM), 100)
    assert tokenizer.encode(tf.constant(["the cats x"])).to_list() == [[0, 5, 6, 7, 8, 4, 3, 2]]
    assert tokenizer.vocabulary() == [name for name, _ in UNIGRAM["model"]["vocab"]]


def test_the_sentencepiece_model_is_read_where_it_is(tmp_path):
    rebuilt = load(write(tmp_path, tokenizer=UNIGRAM), 100)
    (tmp_path / "sentencepiece.bpe.model").write_bytes(rebuilt.model)
    assert load(tmp_path, 100).vocabulary() == rebuilt.vocabulary()
    (tmp_path / "tokenizer.json").unlink()
    assert load(tmp_path, 100).vocabulary() == rebuilt.vocabulary()
    other = changed(UNIGRAM, model={"vocab": [*SPECIAL, ["\u2581a", -1.0], ["<mask>", 0.0]]})
    with pytest.raises(UserError, match="have different pieces: download both again"):
        load(write(tmp_path, tokenizer=other), 100)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(UserError, match="tokenizer_config.json names the class CamembertTokenizer"):
        load(write(tmp_path, tokenizer_config={"tokenizer_class": "CamembertTokenizer"}), 100)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "has none of tokenizer.json, vocab.txt and sentencepiece.bpe.model: download"),
        ({"vocab": "[PAD]\n[CLS]\n[SEP]\n"}, r"vocab.txt: the vocabulary has no token \[UNK\]"),
        ({"vocab": "", "tokenizer_config": {"tokenizer_class": "BertJapaneseTokenizer"}}, "not split words as BERT"),
        ({"merges": "", "vocab.json": {}}, "has a byte-level BPE"),
        ({"tokenizer": {"model": {"type": "BPE", "vocab": {}, "merges": []}}}, "tokenizer.json is a byte-level BPE"),
        ({"tokenizer": {"model": {"type": "WordLevel", "vocab": {}}}}, "of the kind WordLevel: choose"),
        ({"tokenizer": "{"}, "tokenizer.json is damaged"),
        ({"tokenizer": {"model": {"type": "Unigram", "vocab": [1]}}}, "tokenizer.json is damaged"),
        ({"tokenizer": changed(WORDPIECE, normalizer={"type": "NFC"})}, "does not normalize texts as BERT"),
        ({"tokenizer": changed(WORDPIECE, pre_tokenizer={"type": "Whitespace"})}, "does not split words as BERT"),
        ({"tokenizer": changed(WORDPIECE, model={"max_input_chars_per_word": 50})}, "limit than 100"),
        ({"tokenizer": changed(WORDPIECE, model={"unk_token": "?"})}, r"no token \?"),
        ({"tokenizer": changed(WORDPIECE, model={"vocab": {"[PAD]": 0, "a": 2}})}, "ids have gaps"),
        (
            {"tokenizer": WORDPIECE | {"added_tokens": [{"id": 12, "content": "covid", "special": False}]}},
            "has added the token covid",
        ),
        ({"tokenizer": changed(UNIGRAM, model={"unk_id": 0})}, "special tokens of XLM-R"),
        ({"tokenizer": changed(UNIGRAM, normalizer={"type": "NFKC"})}, "cannot be rebuilt exactly: put sentencepiece"),
        ({"tokenizer": UNIGRAM | {"pre_tokenizer": METASPACE | {"prepend_scheme": "never"}}}, "cannot be rebuilt"),
    ],
)
def test_other_checkpoints_are_refused(tmp_path, files, message):
    if "vocab.json" in files:
        (tmp_path / "vocab.json").write_text("{}")
        files = {"merges": ""}
    with pytest.raises(UserError, match=message) as error:
        load(write(tmp_path, **files), 100)
    assert str(tmp_path) in str(error.value) and "\n" not in str(error.value)


def test_a_damaged_sentencepiece_model_is_named(tmp_path):
    (tmp_path / "sentencepiece.bpe.model").write_bytes(b"no model")
    with pytest.raises(UserError, match=r"sentencepiece.bpe.model: this is no SentencePiece model: download it again"):
        load(tmp_path, 100)


def test_a_real_unigram_description_gives_the_ids_of_transformers(tmp_path):
    transformers = pytest.importorskip("transformers")
    charsmap = base64.b64decode(UNIGRAM["normalizer"]["precompiled_charsmap"]) or None
    vocabulary = [tuple(pair) for pair in UNIGRAM["model"]["vocab"]]
    other = transformers.XLMRobertaTokenizer(vocab=vocabulary, _spm_precompiled_charsmap=charsmap)
    other.save_pretrained(str(tmp_path))
    description = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))
    write(tmp_path, tokenizer=description | {"normalizer": UNIGRAM["normalizer"]})  # without rules, it has none
    texts = ["the cats x", "", "  the the ", "s cat"]
    assert load(tmp_path, 100).encode(tf.constant(texts)).to_list() == other(texts)["input_ids"]


def test_a_published_checkpoint_has_the_ids_of_its_own_library(imdb_file):
    folder, reference = minilm()
    texts, tokenizer = minilm_texts(reference, imdb_file), load(folder, 100_000)
    rows = tokenizer.encode(tf.constant(texts)).to_list()
    expected = np.split(reference["ids"], reference["offsets"][1:-1])
    assert len(texts) == len(expected) == 80
    for text, row, ids in zip(texts, rows, expected):
        assert [*row[:255][: len(row) - 1], row[-1]] == ids.tolist(), text
