import pytest
from sklearn.exceptions import NotFittedError

import unroll
from pipelines.data import sample_pairs

SMALL = {"preset": "quick", "epochs": 1, "hidden_size": 16, "num_heads": 2, "verbose": False}


@pytest.mark.long
def test_it_learns_from_pairs_in_memory_and_in_files(tmp_path):
    english, spanish = sample_pairs.generate(400)
    translator = unroll.Translator(**SMALL).fit(
        english[:300], spanish[:300], validation_data=(english[300:], spanish[300:])
    )
    assert translator.card_["task"] == "translation" and translator.card_["rows"]["valid"] == 100
    assert isinstance(translator.translate(english[0]), str)
    for name, lines in (("a.en", english), ("a.es", spanish)):
        (tmp_path / name).write_text("\n".join(lines))
    from_files = unroll.Translator(**SMALL).fit(tmp_path / "a.en", tmp_path / "a.es")
    assert from_files.card_["pair"] == "en-es"


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
