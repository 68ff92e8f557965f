import pytest
from sklearn.exceptions import NotFittedError

import unroll

SMALL = {"preset": "quick", "model": "transformer", "epochs": 1, "hidden_size": 16, "num_heads": 2, "verbose": False}


def test_pairs_in_memory_become_two_files(config_of):
    english, spanish = ["a\nhouse", "two dogs"], ["una casa", "dos perros"]
    found = config_of(unroll.Translator(**SMALL), english, spanish, validation_data=(["a"], ["una"]))
    files = {"data": ["a house", "two dogs"], "target": spanish, "valid": ["a"], "valid_target": ["una"]}
    assert found == {"task": "translation"} | files


def test_files_are_read_as_they_are(config_of, tmp_path):
    for name in ("a.en", "a.es"):
        (tmp_path / name).write_text(name)
    found = config_of(unroll.Translator(**SMALL), tmp_path / "a.en", tmp_path / "a.es")
    assert found == {"task": "translation", "data": ["a.en"], "target": ["a.es"]}


@pytest.mark.parametrize(
    ("X", "y", "part"),
    [
        (["a", "b"], ["c"], "2 sentences and 1 translations"),
        ([], [], "no sentences"),
        (["a"], None, "y is missing"),
        ("nowhere.en", "nowhere.de", "no such file"),
        ("train.en", ["a"], "y is no path"),
    ],
)
def test_pairs_that_cannot_be_learned_from_are_refused(X, y, part):
    with pytest.raises(unroll.UserError, match=part):
        unroll.Translator(**SMALL).fit(X, y)


def test_before_fit_it_translates_nothing():
    with pytest.raises(NotFittedError):
        unroll.Translator().translate(["a"])
