import pytest
import tensorflow as tf

from pipelines.support.errors import UserError
from pipelines.support.records import read_record, write_record
from pipelines.tagging import features
from pipelines.tagging.features import (
    NUM_AFFIX_HASHES,
    NUM_SPELLINGS,
    PAD,
    UNKNOWN,
    affixes_of,
    normalized,
    spelling_of,
)

SENTENCES = [
    ["The", "cat", "saw", "the", "dogs"],
    ["The", "dogs", "ran", "12", "miles"],
    ["He", "ran", "34", "miles"],
    ["The"],
]


@pytest.fixture(scope="module")
def trained():
    return features.train("english", SENTENCES, vocabulary_size=100, max_characters=6, max_bytes=1000)


def ragged(*sentences):
    return tf.ragged.constant([list(sentence) for sentence in sentences], dtype=tf.string, ragged_rank=1)


def test_words_that_occur_twice_are_known(trained):
    words = trained(ragged(["the", "THE", "cat", "dogs", "56"], ["unseen"]))["words"].to_list()
    the, the_again, cat, dogs, number = words[0]
    assert the == the_again and the not in (PAD, UNKNOWN)  # the most frequent word, whatever its case
    assert len({the, dogs, number}) == 3 and UNKNOWN not in (dogs, number)
    assert cat == UNKNOWN and words[1] == [UNKNOWN]
    assert trained.vocabulary_size == 2 + len({"the", "dogs", "ran", "00", "miles"})


def test_the_vocabulary_is_limited_to_the_most_frequent_words():
    small = features.train("english", SENTENCES, vocabulary_size=1, max_characters=6, max_bytes=1000)
    assert small.vocabulary_size == 3
    assert small(ragged(["the", "dogs"]))["words"].to_list() == [[2, UNKNOWN]]


def test_words_are_normalized():
    words = normalized(tf.constant(["ÄRGER", "\ufb01sh", "1,234.5", "\u0663"], tf.string)).numpy()
    assert [word.decode() for word in words] == ["ärger", "fish", "0,000.0", "0"]


def test_spellings_tell_capitals_and_digits_apart():
    groups = [
        ["2006", "7", "\u0663"],
        ["3,000", "B2B", "4th"],
        ["I", "A", "Ä"],
        ["USA", "U.S.", "ÄÖ"],
        ["Paris", "Él", "McD".lower().capitalize()],
        ["paper", "n't", "e-mail", "\u4e2d\u6587"],
        [",", "$", "--", "\N{GRINNING FACE}"],
        ["McDonald", "iPhone"],
    ]
    ids = [set(spelling_of(tf.constant(group, tf.string)).numpy().tolist()) for group in groups]
    assert ids == [{i} for i in range(1, NUM_SPELLINGS)]


def test_characters_keep_their_case_and_long_words_their_ends(trained):
    characters = trained(ragged(["The", "the", "milesmiles", "x"]))["characters"].to_list()[0]
    assert characters[0] != characters[1] and characters[0][1:] == characters[1][1:]
    (long,) = trained(ragged(["milles"]))["characters"].to_list()[0]
    assert characters[2] == long  # the first and the last three characters
    assert characters[3] == [UNKNOWN]


def test_an_empty_token_has_an_unknown_character(trained):
    inputs = trained(ragged(["", "the"], []))
    assert inputs["words"].to_list()[0][0] == UNKNOWN
    assert inputs["characters"].to_list()[0][0] == [UNKNOWN]
    assert inputs["words"].to_list()[1] == inputs["characters"].to_list()[1] == []


def test_is_the_same_after_saving(trained, tmp_path):
    trained.save(tmp_path)
    loaded = features.load(tmp_path)
    tokens = ragged(["The", "dogs", "bark", "12", "Ünseen"])
    assert {name: each.to_list() for name, each in loaded(tokens).items()} == {
        name: each.to_list() for name, each in trained(tokens).items()
    }
    assert loaded.kind == "english" and loaded.vocabulary_size == trained.vocabulary_size
    assert [word.decode() for word in loaded.split(tf.constant(["It's"])).tokens.flat_values.numpy()] == ["It", "'s"]


def test_invisible_characters_are_read_only_by_an_older_run(trained, tmp_path):
    plain, changed = ragged(["dogs", "The", ""]), ragged(["do\u00adgs\u200b", "\ufeffThe", "\u2060"])
    expected = {name: each.to_list() for name, each in trained(plain).items()}
    assert {name: each.to_list() for name, each in trained(changed).items()} == expected
    hyphenated = [[token.replace("do", "do\u00ad") for token in tokens] for tokens in SENTENCES]
    again = features.train("english", hyphenated, vocabulary_size=100, max_characters=6, max_bytes=1000)
    assert {name: each.to_list() for name, each in again(changed).items()} == expected

    trained.save(tmp_path)
    record = read_record(tmp_path / "tokens.json", "")
    assert record.pop("removes_invisible") is True
    write_record(tmp_path / "tokens.json", record)
    older = features.load(tmp_path)
    assert older(plain)["words"].to_list() == expected["words"] != older(changed)["words"].to_list()


def test_a_damaged_file_is_named(trained, tmp_path):
    trained.save(tmp_path)
    file = tmp_path / "tokens.json"
    file.write_text(file.read_text().replace("dogs", "dogz"))
    with pytest.raises(UserError, match=r"tokens\.json is damaged"):
        features.load(tmp_path)


def test_a_text_of_rare_words_alone_has_only_unknown_words():
    rare = features.train("whitespace", [["a", "b"]], vocabulary_size=10, max_characters=4, max_bytes=100)
    assert rare(ragged(["a", "", "zz"]))["words"].to_list() == [[UNKNOWN] * 3]


def test_affixes_are_those_of_the_normalized_word():
    def hashes(*words):
        return affixes_of(tf.constant(words, tf.string)).numpy()

    walking, talking, walked, ing = hashes("walking", "talking", "walked", "ing")
    assert (walking == talking).tolist() == [False] * 3 + [True] * 4
    assert (walking == walked).tolist() == [True] * 3 + [False] * 4
    assert ing[5] == walking[5] and ing[2] != walking[5]  # a prefix is no suffix
    assert hashes("\u4e2d\u6587", "\u4e2d")[0, 0] == hashes("\u4e2d")[0, 0]
    assert hashes("a", "", "zebra").min() > PAD and hashes("zebra").max() < NUM_AFFIX_HASHES


def test_without_characters():
    without = features.train("english", SENTENCES, vocabulary_size=100, max_characters=0, max_bytes=1000)
    assert list(without(ragged(["The", "dogs"]))) == ["words", "spellings", "affixes"]


def test_known_words_and_characters_keep_their_ids_when_others_are_added(trained, tmp_path):
    grown = features.grown(trained, [["Zebras", "ran"], ["zebras", "zz"]], vocabulary_size=100)
    assert grown.vocabulary_size == trained.vocabulary_size + 1
    grown.save(tmp_path)
    tokens = ragged(["the", "dogs", "zebras", "mice"])
    old, new = trained(tokens), features.load(tmp_path)(tokens)
    assert new["words"].to_list()[0] == [*old["words"].to_list()[0][:2], trained.vocabulary_size, UNKNOWN]
    assert new["characters"].to_list()[0][:2] == old["characters"].to_list()[0][:2]
    assert features.grown(trained, SENTENCES, vocabulary_size=100).vocabulary_size == trained.vocabulary_size
