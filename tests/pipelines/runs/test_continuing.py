"""`train --from`: what it refuses, and what becomes of weights that grow. Trainings are in test_continued_runs.py."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from pipelines.classification.config import ClassificationConfig
from pipelines.runs import continuing
from pipelines.support.errors import UserError
from pipelines.support.records import read_record, write_record
from pipelines.text.tokenizers import VocabularyTokenizer
from pipelines.training import checkpoints
from tests.pipelines.small_runs import write_run

FIRST = ClassificationConfig(data="a.csv", preset="quick", model="gru", vocabulary_size=800).resolve()


@pytest.fixture
def weights(tmp_path):
    """best.npz of a run with the settings FIRST and the labels B and A."""
    folder = write_run(tmp_path, "first", config=json.loads(json.dumps(dataclasses.asdict(FIRST))))
    write_record(folder / "result.json", read_record(folder / "result.json", "") | {"classes": ["B", "A"]})
    return str(folder / "checkpoints" / "best.npz")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocabulary_size": 500}, "--vocabulary-size 500 has no effect with --from"),
        ({"max_bytes": 999}, "--max-bytes 999 has no effect with --from"),
        ({"word_vectors": "cooccurrence"}, "--word-vectors cooccurrence has no effect with --from"),
        ({"residual": True, "num_layers": 1}, "--residual True: the model to continue from has False"),
        ({"learned_state": True}, "--learned-state True: the model to continue from has False"),
        ({}, None),
        ({"vocabulary_size": None}, None),  # of the preset: no flag was given
    ],
)
def test_a_setting_that_the_model_to_continue_from_has_fixed_is_refused(weights, changes, message):
    config = dataclasses.replace(FIRST, start_weights=weights, **changes).resolve()
    if message is None:
        continuing.check(config)
    else:
        with pytest.raises(UserError, match=message):
            continuing.check(config)


def test_a_training_that_continues_no_run_is_not_checked():
    continuing.check(FIRST)


def test_known_labels_keep_their_ids_and_new_ones_follow(weights, capsys):
    config = dataclasses.replace(FIRST, start_weights=weights)
    assert continuing.joined_classes(config, ("A", "C"), "labels") == ("B", "A", "C")
    said = "new labels: C\nnote: the model keeps its labels that these texts do not have: B\n"
    assert capsys.readouterr().err == said
    assert continuing.joined_classes(config, ("A", "B"), "labels") == ("B", "A")
    assert capsys.readouterr().err == ""
    with pytest.raises(UserError, match=r"a.csv: none of its labels \(C, D\) is one of the model .* \(B, A\)"):
        continuing.joined_classes(config, ("C", "D"), "labels")


def test_new_rows_of_a_vocabulary_are_those_of_the_unknown_token():
    old, fresh = np.arange(12.0).reshape(4, 3), np.full((6, 3), -1.0)
    found = continuing.grown(old, fresh, num_classes=2)
    np.testing.assert_array_equal(found[:4], old)
    np.testing.assert_array_equal(found[4:], old[[1, 1]])
    columns = continuing.grown(old.T, fresh.T, num_classes=2)
    np.testing.assert_array_equal(columns, found.T)


def test_new_tokens_share_the_probability_of_the_unknown_token():
    old = np.array([0.3, 1.0, -2.0, 0.5])
    found = continuing.grown(old, np.zeros(7), num_classes=0)
    softmax = [np.exp(each) / np.exp(each).sum() for each in (old, found)]
    np.testing.assert_allclose(softmax[1][[0, 2, 3]], softmax[0][[0, 2, 3]])
    np.testing.assert_allclose(softmax[1][[1, 4, 5, 6]], softmax[0][1] / 4)


def test_a_layer_with_hashes_keeps_its_rows_and_both_parts_of_its_labels():
    old = np.arange(8.0).reshape(2, 4)  # two rows; of two labels, with each of two weightings
    found = continuing.padded(old, (3, 6), num_classes=2)
    np.testing.assert_array_equal(found, [[0, 1, 0, 2, 3, 0], [4, 5, 0, 6, 7, 0], [0] * 6])
    found = continuing.padded(np.array([1.0, -2, 5, 3]), (6,), num_classes=2)
    np.testing.assert_array_equal(found, [1, -2, -2, 5, 3, 3])  # the lowest of the known labels
    hashes = continuing.padded(np.array([3, 7, 9], np.int32), (5,), num_classes=2, unused=99)
    assert hashes.tolist() == [3, 7, 9, 99, 99] and hashes.dtype == np.int32
    np.testing.assert_array_equal(continuing.padded(np.arange(3.0), (4,), num_classes=3), [0, 1, 2, 0])


def test_the_weights_of_a_run_have_their_names(weights):
    arrays = [np.ones((2, 3)), np.zeros(3)]
    Path(weights).parent.mkdir()
    checkpoints.save(Path(weights), arrays, checkpoints.Position())
    config = dataclasses.replace(FIRST, start_weights=weights)
    with pytest.raises(UserError, match="an older version of Unroll trained that model"):
        continuing.weights_of(config)
    path = Path(weights).parent.parent / "result.json"
    write_record(path, read_record(path, "") | {"weights": {"dense/kernel": [2, 3], "dense/bias": [3]}})
    found = continuing.weights_of(config)
    assert list(found) == ["dense/kernel", "dense/bias"]
    np.testing.assert_array_equal(found["dense/kernel"], arrays[0])


def test_the_tokenizer_grows_by_the_tokens_of_the_new_data(capsys):
    old, new = (VocabularyTokenizer("word", words, 100) for words in ([b"a", b"b"], [b"c", b"b"]))
    grown = continuing.grown_tokenizer("word", old, new)
    assert grown.vocabulary()[-3:] == ["a", "b", "c"]
    assert capsys.readouterr().err == "new in the vocabulary: 1 word, such as 'c'\n"
    continuing.grown_tokenizer("word", grown, old)
    assert capsys.readouterr().err == ""


def test_rows_of_new_labels_stay_as_they_are_initialized():
    old, fresh = np.ones((3, 3)), np.zeros((5, 5))
    expected = np.pad(old, (0, 2))
    np.testing.assert_array_equal(continuing.grown(old, fresh, num_classes=3), expected)
