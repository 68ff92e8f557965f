"""What all estimators share, tried on the classifier."""

import copy
import gc
import pickle
import random

import joblib
import numpy as np
import pytest

import unroll
from pipelines.runs import run
from tests.pipelines.python.conftest import SMALL, labelled

TEXTS = ["a warm film", "a cold film"]


def refuse(*arguments):
    raise AssertionError("this must not be called")


@pytest.mark.long
def test_fit_returns_the_estimator_with_card_scores_and_report(fitted):
    assert fitted.card_["task"] == "classification" and fitted.card_["config"]["epochs"] == 3
    assert fitted.scores_ == fitted.card_["scores"]
    assert "validation" in fitted.scores_
    assert (fitted.run_ / "report.md").is_file()


@pytest.mark.long
def test_a_pickle_works_without_the_files(fitted, tmp_path):
    joblib.dump(fitted, tmp_path / "classifier.joblib")
    for again in (
        pickle.loads(pickle.dumps(fitted)),
        copy.deepcopy(fitted),
        joblib.load(tmp_path / "classifier.joblib"),
    ):
        assert again.get_params() == fitted.get_params() and not hasattr(again, "run_")
        assert (again.card_, again.scores_) == (fitted.card_, fitted.scores_)
        np.testing.assert_array_equal(again.predict_proba(TEXTS), fitted.predict_proba(TEXTS))


NO_ESTIMATORS = ("HubEncoder", "UserError")


@pytest.mark.parametrize("name", [name for name in unroll.__all__ if name[0].isupper() and name not in NO_ESTIMATORS])
def test_a_pickle_names_the_module_unroll(name):
    """In a checkout and in an installed package, the modules of pipelines/ have different names."""
    estimator = getattr(unroll, name)()
    content = pickle.dumps(estimator)
    assert b"unroll" in content and b"pipelines" not in content
    assert type(pickle.loads(content)) is type(estimator)


@pytest.mark.long
def test_the_run_goes_with_the_estimator():
    texts, labels = labelled(20)
    classifier = unroll.TextClassifier(**SMALL | {"epochs": 1}).fit(texts, labels)
    first = classifier.run_
    classifier.fit(texts, labels)
    gc.collect()
    assert classifier.run_ != first and classifier.run_.is_dir() and not first.exists()


@pytest.mark.long
def test_a_named_run_is_kept_and_found_again(tmp_path, monkeypatch, without_verification):
    monkeypatch.chdir(tmp_path)
    texts, labels = labelled(20)
    classifier = unroll.TextClassifier(**SMALL | {"epochs": 1}).fit(texts, labels, run="first")
    assert classifier.run_ == tmp_path / "runs" / "classification" / "first"
    assert (classifier.run_ / "result.json").is_file()
    monkeypatch.setattr(run, "_train", refuse)
    again = unroll.TextClassifier(**SMALL | {"epochs": 1}).fit(texts, labels, run="first")
    np.testing.assert_array_equal(again.predict_proba(TEXTS), classifier.predict_proba(TEXTS))
    with pytest.raises(unroll.UserError, match="other data"):
        unroll.TextClassifier(**SMALL | {"epochs": 1}).fit(texts[1:], labels[1:], run="first")


@pytest.mark.parametrize("name", ["../up", "a/b", "", 3])
def test_a_run_that_is_no_name_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(unroll.UserError, match="run"):
        unroll.TextClassifier(**SMALL).fit(*labelled(), run=name)
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_an_export_has_the_next_version_or_the_named_one(fitted, tmp_path, without_verification):
    assert fitted.export(tmp_path / "spam") == tmp_path / "spam" / "1"
    assert fitted.export(tmp_path / "spam") == tmp_path / "spam" / "2"
    assert fitted.export(str(tmp_path / "spam" / "7")) == tmp_path / "spam" / "7"
    with pytest.raises(unroll.UserError, match="exists already"):
        fitted.export(tmp_path / "spam" / "7")
    again = unroll.load(tmp_path / "spam")
    assert fitted.export(tmp_path / "\u00b2") == tmp_path / "\u00b2" / "1"  # a name: versions are digits of ASCII
    with pytest.raises(unroll.UserError, match="no home folder of this user"):
        fitted.export("~nobody-of-this-name/x")
    np.testing.assert_array_equal(again.predict_proba(TEXTS), fitted.predict_proba(TEXTS))


def test_nothing_can_be_exported_before_fit(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        unroll.TextClassifier().export(tmp_path / "spam")


@pytest.mark.long
def test_fit_prints_on_stderr_unless_verbose_is_false(capsys, monkeypatch):
    texts, labels = labelled(20)
    monkeypatch.setattr(run, "train", lambda *arguments: run.console.say("training") or refuse())
    for verbose, printed in ((True, "training\n"), (False, "")):
        with pytest.raises(AssertionError):
            unroll.TextClassifier(preset="quick", verbose=verbose).fit(texts, labels)
        assert capsys.readouterr() == ("", printed)


@pytest.mark.long
def test_the_random_state_of_the_process_stays(fitted):
    random.seed(5)
    np.random.seed(5)
    expected = random.random(), np.random.rand()
    random.seed(5)
    np.random.seed(5)
    with pytest.raises(unroll.UserError):
        unroll.TextClassifier(**SMALL).fit(["a", "b"], ["x", "x"])
    assert (random.random(), np.random.rand()) == expected


@pytest.mark.parametrize(
    ("estimator", "data"),
    [
        (unroll.Translator, (["a house", "a dog"], ["una casa", "un perro"])),
        (unroll.LanguageModel, (["a house", "a dog"],)),
        (unroll.TextEncoder, (["a house", "a dog"],)),
        (unroll.TextClassifier, (["a house", "a dog"], ["x", "y"])),
    ],
)
def test_encoding_is_for_files_of_the_user_only(monkeypatch, tmp_path, estimator, data):
    encodings = []

    def stop(task, config, destination, fit=None):
        encodings.append(config.encoding)
        raise unroll.UserError("stopped")

    monkeypatch.setattr(run, "train", stop)
    with pytest.raises(unroll.UserError, match="stopped"):
        estimator(encoding="utf-16", verbose=False).fit(*data)
    assert encodings == [None]


def test_encoding_with_texts_in_memory_and_a_file_is_refused(tmp_path):
    (tmp_path / "valid.txt").write_text("a house", "utf-16")
    with pytest.raises(unroll.UserError, match="encoding utf-16: it is that of files, but some of the data is in mem"):
        unroll.LanguageModel(encoding="utf-16", verbose=False).fit(["a"], validation_data=tmp_path / "valid.txt")
