import numpy as np
import pytest
import tensorflow as tf

from pipelines.classification.predict import explain_texts, format_weights
from pipelines.export.card import CARD
from pipelines.export.exported import Exported
from pipelines.labelled.predict import predict_texts
from pipelines.support.errors import UserError
from pipelines.support.files import write_json
from tests.pipelines.classification.conftest import CLASSES, make
from tests.pipelines.labelled.conftest import write_export

TEXTS = ["The plot was dull!", "", "charming caf\u00e9 \udce9", "a film, a plot and a story"]


@pytest.fixture(scope="module")
def small():
    return make(model="bag", ngram_buckets=0, scale=0.5)


@pytest.fixture(scope="module")
def exported(small, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "sentiment" / "1"
    tf.saved_model.save(small.servable, str(path), signatures=small.servable.signatures())
    write_json(path / CARD, {"classes": CLASSES[2], "window": {"max_bytes": 1000}, "config": {"polarity": True}})
    return Exported("sentiment", 1, path)


@pytest.fixture(scope="module")
def results(exported):
    return explain_texts(exported, TEXTS)


@pytest.mark.long
def test_each_text_has_its_own_tokens_and_weights(small, results):
    assert [[token for token, _ in result["weights"]] for result in results] == [
        ["the", "plot", "was", "dull", "!"],
        [],
        ["charming", "caf\u00e9"],
        ["a", "film", ",", "a", "plot", "and", "a", "story"],
    ]
    batch = small.servable.explain(tf.constant([text.encode("utf-8", "surrogatepass") for text in TEXTS]))
    for result, expected in zip(results, batch["weights"].numpy(), strict=True):
        weights = np.array([weight for _, weight in result["weights"]])
        np.testing.assert_allclose(weights, expected[: len(weights)], atol=1e-4)
    assert any(weight for _, weight in results[0]["weights"])


@pytest.mark.long
def test_an_explanation_changes_nothing_else(exported, results):
    plain = [{name: value for name, value in result.items() if name != "weights"} for result in results]
    assert plain == predict_texts(exported, TEXTS)


def test_an_export_without_explanations_is_one_line(tmp_path):
    with pytest.raises(UserError, match="^transfer/1 has no explanations.*leave out --explain$"):
        explain_texts(write_export(tmp_path, name="transfer"), ["good"])


def test_words_are_colored_on_a_terminal():
    result = {"weights": [["dull", -3.0], ["but", 0.1], ["gripping", 4.0]]}
    text, positive, negative = format_weights(result, color=True).splitlines()
    assert text.strip() == "\033[1m\033[31mdull\033[0m but \033[1m\033[32mgripping\033[0m"
    assert positive.split() == ["for", "gripping", "+4.00,", "but", "+0.10"]
    assert negative.split() == ["against", "dull", "-3.00"]
    assert format_weights(result, color=False).splitlines() == [positive, negative]


def test_the_five_strongest_words_are_listed_the_strongest_first():
    weights = [[f"w{i}", sign * float(i)] for i in (3, 1, 7, 5, 2, 6, 4) for sign in (1, -1)]
    positive, negative = format_weights({"weights": weights}, color=False).splitlines()
    assert positive.split()[1::2] == negative.split()[1::2] == ["w7", "w6", "w5", "w4", "w3"]


@pytest.mark.parametrize("color", [False, True])
def test_a_text_without_tokens_has_no_strong_words(color):
    lines = format_weights({"weights": []}, color).splitlines()[-2:]
    assert [line.split() for line in lines] == [["for", "nothing"], ["against", "nothing"]]


def test_several_labels_are_explained_one_after_the_other():
    result = {"labels": ["a", "b"], "weights": {"a": [["dull", -3.0]], "b": [["gripping", 4.0]]}}
    lines = [line.split() for line in format_weights(result, color=False).splitlines()]
    assert lines == [
        ["a:"],
        ["for", "nothing"],
        ["against", "dull", "-3.00"],
        ["b:"],
        ["for", "gripping", "+4.00"],
        ["against", "nothing"],
    ]


def test_words_of_several_columns_have_the_name_of_their_field():
    weights = [["fire", 3.0, "title"], ["fire", -1.0, "body"], ["price >= 2.5", 0.5, "price"]]
    positive, negative = format_weights({"weights": weights}, color=False).splitlines()
    assert positive.split("  ")[-1].strip() == "title: fire +3.00, price >= 2.5 +0.50"
    assert negative.split()[1:] == ["body:", "fire", "-1.00"]
    assert "title: fire" in format_weights({"weights": weights}, color=True)
