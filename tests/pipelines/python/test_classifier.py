import dataclasses
import json
import threading

import numpy as np
import pandas as pd
import pytest
import sklearn
import tensorflow as tf
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks

import unroll
from pipelines.classification.config import ClassificationConfig
from pipelines.python import settings
from tests.pipelines.python.conftest import SMALL, labelled

# Those of `check_estimator` that need no numbers in X.
CHECKS = [
    estimator_checks.check_estimator_cloneable,
    estimator_checks.check_estimator_tags_renamed,
    estimator_checks.check_valid_tag_types,
    estimator_checks.check_estimator_repr,
    estimator_checks.check_no_attributes_set_in_init,
    estimator_checks.check_mixin_order,
    estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
    estimator_checks.check_parameters_default_constructible,
    estimator_checks.check_get_params_invariance,
    estimator_checks.check_set_params,
    estimator_checks.check_estimators_unfitted,
]


@pytest.mark.parametrize("estimator", [unroll.TextClassifier, unroll.TextEncoder], ids=lambda each: each.__name__)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_checks_of_scikit_learn(check, estimator):
    check(estimator.__name__, estimator(preset="quick"))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_check_estimator_accepts_it():
    results = estimator_checks.check_estimator(unroll.TextClassifier(preset="quick"), on_fail=None)
    assert results and all(result["status"] == "passed" for result in results)


def test_every_setting_that_is_no_file_is_a_parameter():
    parameters = set(unroll.TextClassifier().get_params())
    fields = {field.name for field in dataclasses.fields(ClassificationConfig)}
    others = {"data", "valid", "polarity", "python_type", "num_negations", "folds", "start_weights"}
    assert fields - parameters == others
    assert parameters - fields == {"class_weight", *settings.COMMON}
    assert clone(unroll.TextClassifier(model="gru", epochs=3)).get_params()["epochs"] == 3


@pytest.mark.long
def test_labels_come_back_with_their_type(fitted):
    texts, labels = labelled()
    predicted = fitted.predict(texts)
    assert fitted.classes_.tolist() == [False, True] and fitted.classes_.dtype == bool
    assert predicted.dtype == bool and fitted.score(texts, labels) == (predicted == labels).mean() > 0.9
    assert fitted.card_["classes"] == ["False", "True"]


@pytest.mark.long
def test_probabilities_have_the_order_of_the_classes(fitted):
    probabilities = fitted.predict_proba(pd.Series(["a lovely film", "a dull film"]))
    assert probabilities.shape == (2, 2) and probabilities.dtype == np.float32
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-6)
    assert (fitted.classes_[probabilities.argmax(axis=1)] == fitted(["a lovely film", "a dull film"])).all()


@pytest.mark.long
def test_the_most_probable_labels_have_their_type(fitted):
    texts = ["a lovely film", "a dull film"]
    for row, top, one in zip(fitted.predict_proba(texts), fitted.predict_top(texts), fitted.predict_top(texts, k=1)):
        assert list(top) == fitted.classes_[np.argsort(-row, kind="stable")].tolist() and {*map(type, top)} == {bool}
        np.testing.assert_allclose(list(top.values()), np.sort(row)[::-1], atol=1e-6)
        assert list(one) == list(top)[:1]
    assert fitted.predict_top([]) == []
    for k in (0, -1, 1.5, True, None, "2"):
        with pytest.raises(unroll.UserError, match="number of labels, at least 1"):
            fitted.predict_top(texts, k=k)


@pytest.mark.long
def test_an_explanation_weighs_the_words(fitted):
    (explanation,) = fitted.explain(["a lovely film"])
    assert explanation["label"] is True or explanation["label"] is False
    assert [word for word, _ in explanation["weights"]] == ["a", "lovely", "film"]
    assert set(explanation["probabilities"]) == {True, False}
    assert fitted.explain([]) == []


@pytest.mark.long
def test_no_texts_have_no_labels(fitted):
    assert fitted.predict([]).shape == (0,) and fitted.predict([]).dtype == bool
    assert fitted.predict_proba([]).shape == (0, 2)


@pytest.mark.long
@pytest.mark.parametrize("X", ["one text", [1], ["a", None], pd.DataFrame({"a": ["x"], "b": ["y"]})], ids=str)
def test_what_is_no_text_gets_no_label(fitted, X):
    with pytest.raises(unroll.UserError):
        fitted.predict(X)


@pytest.mark.long
def test_texts_in_several_threads(fitted):
    texts, _ = labelled()
    expected, found = fitted.predict_proba(texts), []
    threads = [threading.Thread(target=lambda: found.append(fitted.predict_proba(texts))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for probabilities in found:
        np.testing.assert_allclose(probabilities, expected, rtol=1e-5)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "explain"])
def test_before_fit_there_is_nothing_to_use(method):
    with pytest.raises(NotFittedError, match="TextClassifier instance is not fitted yet"):
        getattr(unroll.TextClassifier(), method)(["a text"])


@pytest.mark.parametrize(
    ("X", "y", "validation_data", "part"),
    [
        ("reviews.csv", None, (["a"], [1]), "give validation_data as a path, too"),
        (["a", "b"], [1, 0], "reviews.csv", "give a pair"),
        (["a", "b"], [1, 0], (["a"], [1, 0]), "1 texts and 2 labels"),
    ],
)
def test_validation_data_is_of_the_same_kind(X, y, validation_data, part):
    with pytest.raises(unroll.UserError, match=part):
        unroll.TextClassifier(**SMALL).fit(X, y, validation_data=validation_data)


@pytest.mark.parametrize(
    ("X", "y", "parts"),
    [
        ([], [], ["no texts"]),
        (["a", "b"], [1], ["2 texts and 1 labels"]),
        (["a", "b", "c"], [1, 1, 1], ["the data", "all 3 rows have the label '1'"]),
        (["a", "b"], [1, np.nan], ["no label at position 1"]),
        (["a", "b"], None, ["y is missing"]),
        ("reviews.csv", [1], ["'reviews.csv'", "leave out y"]),
        ("nowhere.csv", None, ["no such file or folder: nowhere.csv"]),
    ],
    ids=str,
)
def test_data_that_cannot_be_learned_from_is_refused_with_one_line(X, y, parts):
    with pytest.raises(unroll.UserError) as caught:
        unroll.TextClassifier(**SMALL).fit(X, y)
    assert "\n" not in str(caught.value) and "unroll-" not in str(caught.value)
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("parameters", "parts"),
    [
        ({"model": "bags"}, ["model 'bags'", "'bag'"]),
        ({"epochs": "3"}, ["epochs '3'", "int"]),
        ({"epochs": 0}, ["--epochs 0", "at least 1"]),
        ({"model": "bag", "num_layers": 2}, ["--num-layers has no effect"]),
    ],
    ids=str,
)
def test_parameters_are_checked_by_fit(parameters, parts):
    with pytest.raises(unroll.UserError) as caught:
        unroll.TextClassifier(**{"preset": "quick", **parameters}).fit(*labelled())
    for part in parts:
        assert part in str(caught.value)


def test_it_is_a_classifier_of_strings():
    tags = unroll.TextClassifier().__sklearn_tags__()
    assert sklearn.base.is_classifier(unroll.TextClassifier())
    assert tags.input_tags.string and not tags.input_tags.two_d_array


def test_the_kind_of_the_data_changes_nothing(config_of):
    texts, labels = labelled(5)
    table, classifier = pd.DataFrame({"text": texts, "label": labels}), unroll.TextClassifier(**SMALL)
    dataset = tf.data.Dataset.from_tensor_slices((texts, labels)).batch(2)
    expected = config_of(classifier, texts, labels)
    rows = [json.loads(line) for line in expected["data"]]
    assert rows == [{"text": text, "label": str(label)} for text, label in zip(texts, labels, strict=True)]
    for data in ((table.text, table.label), (np.array(texts), np.array(labels)), (dataset,)):
        assert config_of(classifier, *data) == expected


def test_validation_texts_and_groups_are_written_as_well(config_of):
    texts, labels = labelled(4)
    files = config_of(
        unroll.TextClassifier(**SMALL), texts, labels, groups=[1, 1, 2, 2], validation_data=(texts[:1], labels[:1])
    )
    assert [json.loads(line)["url"] for line in files["data"]] == ["1", "1", "2", "2"]
    assert json.loads(*files["valid"]) == {"text": texts[0], "label": "True"}


@pytest.mark.long
def test_the_same_seed_gives_the_same_probabilities(fitted):
    texts, labels = labelled()
    expected = fitted.predict_proba(texts)
    np.testing.assert_array_equal(unroll.TextClassifier(**SMALL).fit(texts, labels).predict_proba(texts), expected)
    other = unroll.TextClassifier(**SMALL, random_state=7).fit(texts, labels)
    assert not np.array_equal(other.predict_proba(texts), expected)


@pytest.mark.long
def test_in_pipelines_and_searches():
    texts, labels = labelled(48)  # each half has the 20 texts that a training needs
    numbers = [3 if label else 10 for label in labels]
    pipeline = make_pipeline(FunctionTransformer(list), unroll.TextClassifier(**SMALL))
    search = GridSearchCV(pipeline, {"textclassifier__epochs": [1]}, cv=2, error_score="raise")
    search.fit(pd.Series(texts), pd.Series(numbers))
    assert search.best_estimator_[-1].card_["config"]["epochs"] == 1 and 0 <= search.best_score_ <= 1
    assert search.predict(texts).dtype == np.array(numbers).dtype and search.classes_.tolist() == [3, 10]


@pytest.mark.long
def test_a_text_may_have_several_labels(tmp_path):
    path = tmp_path / "articles.csv"
    rows = [
        f"the {word} of day {i},{label}" for i in range(30) for word, label in (("goal", "sport"), ("vote", "news"))
    ]
    both = [f"the goal and the vote {i},news|sport" for i in range(30)]
    path.write_text("\n".join(["text,label", *rows, *both]) + "\n")
    classifier = unroll.TextClassifier(preset="quick", labels_separator="|", verbose=False).fit(str(path))
    assert classifier.classes_.tolist() == ["news", "sport"]
    predicted = classifier.predict(["the goal of day 3", "the goal and the vote 4"])
    assert predicted[0] == ["sport"] and sorted(predicted[1]) == ["news", "sport"]
    (explained,) = classifier.explain(["the vote of day 5"])
    assert explained["labels"] == ["news"]
    assert max(explained["weights"]["news"], key=lambda pair: pair[1])[0] == "vote"


def test_the_separator_of_labels_in_memory_is_chosen():
    with pytest.raises(unroll.UserError, match="give y a list of labels"):
        unroll.TextClassifier(labels_separator="|").fit(["a"], ["b|c"])


@pytest.mark.long
def test_several_labels_in_memory_come_back_in_the_form_of_y():
    texts = [f"the {words} of day {i}" for i in range(30) for words in ("goal", "vote", "goal and the vote")]
    lists = [["sport"], ["news"], ["news", "sport"]] * 30
    columns = pd.DataFrame({name: [int(name in row) for row in lists] for name in ("sport", "war", "news")})
    parameters = {**SMALL, "model": "linear", "epochs": None, "batch_size": None}
    of_lists = unroll.TextClassifier(**parameters).fit(texts, lists)
    assert of_lists.classes_.tolist() == ["news", "sport"]
    assert list(map(sorted, of_lists.predict(texts[:3]))) == lists[:3] and of_lists.score(texts, lists) == 1
    of_columns = unroll.TextClassifier(**parameters).fit(texts, columns)
    assert of_columns.predict(texts[:3]).tolist() == [[1, 0, 0], [0, 0, 1], [1, 0, 1]]  # no text has the label war
    assert of_columns.score(texts, columns) == 1
    np.testing.assert_array_equal(of_columns.predict_proba(texts), of_lists.predict_proba(texts))
    log_odds = of_lists.decision_function(texts)
    assert log_odds.shape == (90, 2) and ((log_odds > 0) == (of_lists.predict_proba(texts) > 0.5)).all()


@pytest.mark.long
def test_log_odds_and_logarithms_follow_from_the_probabilities(fitted):
    texts, _ = labelled()
    p, log_odds = fitted.predict_proba(texts), fitted.decision_function(texts)
    np.testing.assert_allclose(fitted.predict_log_proba(texts), np.log(p))
    assert log_odds.shape == (40,)
    np.testing.assert_allclose(log_odds, np.log(p[:, 1] / p[:, 0]), rtol=1e-3)


@pytest.mark.long
def test_weights_of_texts_and_labels_count_in_training():
    texts, labels = labelled(60)
    wrong = [i % 3 == 0 for i in range(60)]
    given = [not label if is_wrong else label for label, is_wrong in zip(labels, wrong)]
    quick = {"preset": "quick", "no_baseline": True, "verbose": False}
    weights = np.where(wrong, 0.0, 2.0)
    classifier = unroll.TextClassifier(**quick).fit(texts, given, sample_weight=weights)
    assert np.mean(classifier.predict(texts) == np.array(labels)) > 0.9
    assert classifier.card_["config"]["weight_column"] == "weight"
    means = []
    for label in (True, False):
        heavy = unroll.TextClassifier(**quick, class_weight={label: 50.0}).fit(texts, given)
        means.append(heavy.predict_proba(texts)[:, 1].mean())
    assert means[0] > means[1] + 0.1


@pytest.mark.parametrize(
    ("parameters", "arguments", "message"),
    [
        ({}, {"sample_weight": [1.0] * 39}, "40 texts and 39 weights: give one for each"),
        ({}, {"sample_weight": [-1.0] + [1.0] * 39}, "each weight must be a number of at least 0"),
        ({}, {"sample_weight": ["much"] * 40}, "sample_weight has a value that is no number"),
        ({"class_weight": {"other": 2.0}}, {}, "class_weight has 'other', which is no label of y"),
        ({"weight_column": "w"}, {}, "give sample_weight"),
    ],
)
def test_weights_that_cannot_be_used(parameters, arguments, message):
    with pytest.raises(unroll.UserError, match=message):
        unroll.TextClassifier(**parameters).fit(*labelled(), **arguments)


def test_class_weight_is_another_name_of_class_weights():
    classifier = unroll.TextClassifier(class_weight="balanced")
    assert classifier._settings()["class_weights"] and not unroll.TextClassifier()._settings()["class_weights"]
    with pytest.raises(unroll.UserError, match="class_weight"):
        unroll.TextClassifier(class_weight="balance").fit(*labelled())
