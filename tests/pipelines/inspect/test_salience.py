import dataclasses
import functools

import keras
import numpy as np
import pytest

from pipelines.export import saved_model
from pipelines.inspect import explained, models, salience
from pipelines.support.errors import UserError
from pipelines.text.special_tokens import START, UNKNOWN
from tests.pipelines.classification import conftest as classifiers
from tests.pipelines.inspect.exports import assert_page, assert_refused, run
from tests.pipelines.tagging.small import WORD_TAGS

REVIEW = "the plot was not at all dull"


def of_sums():
    """Ids -> logits [w . (sum of the vectors so far), 0]: log P(0) is a function of a sum over the tokens."""
    ids = keras.Input((None,), dtype="int32")
    vectors = keras.layers.Embedding(9, 4, name="tokens")(ids)
    summed = keras.ops.cumsum(vectors, axis=1)
    network = keras.Model(ids, keras.layers.Dense(2, name="logits")(summed))
    rng = np.random.default_rng(1)
    kernel = np.stack([rng.normal(size=4), np.zeros(4)], axis=1)
    network.set_weights([rng.normal(size=(9, 4)), kernel, np.zeros(2)])
    return network


def with_names(found):
    return dataclasses.replace(found, tokens=["x"] * found.vectors["tokens"].shape[1])


def test_integrated_gradients_are_those_of_the_closed_form():
    network, ids = of_sums(), np.array([START, 5, 6, 5, 8], np.int32)
    vectors, kernel, _ = network.get_weights()
    parts = vectors[ids] @ kernel[:, 0]  # [time]; log P(0) = log sigmoid(sum of the parts)
    log_sigmoid = lambda x: -np.log1p(np.exp(-x))  # noqa: E731
    unknown = vectors[UNKNOWN] @ kernel[:, 0]
    difference = log_sigmoid(parts.sum()) - log_sigmoid(parts[0] + 4 * unknown)
    expected = np.concatenate([[0], (parts[1:] - unknown) * difference / (parts[1:] - unknown).sum()])
    found = with_names(explained.of_next_token(network, ids, 0))
    scores, of_baseline, gap = salience.integrated_gradients(found, steps=200)
    np.testing.assert_allclose(scores, expected, atol=1e-4)
    assert of_baseline == pytest.approx(difference, abs=1e-5) and abs(gap) < 1e-3
    deleted = [log_sigmoid(parts.sum()) - log_sigmoid(parts.sum() - part) for part in parts[1:]]
    np.testing.assert_allclose(salience.occlusion(found), [0, *deleted], atol=1e-5)


CLASSIFIERS = {
    "gru": {"model": "gru", "num_classes": 3},
    "best": {"model": "best", "max_ngrams": 50},
    "several": {"model": "transformer", "labels_separator": "|", "num_heads": 2},
}


@pytest.fixture(scope="module")
def saved(exports, make_small):
    """Returns the folder of the exports of a name: those of conftest.py, the classifiers, and "tagger"."""

    @functools.cache
    def export(name):
        if name == "tagger":
            small = make_small("lstm")
            servable, task, classes = small.tagger, "tagging", WORD_TAGS
        elif name in CLASSIFIERS:
            small = classifiers.make(data="a.csv", scale=0.5, **CLASSIFIERS[name])
            servable, task, classes = small.servable, "classification", small.splits.classes
        else:
            return exports
        requests = {each: {"text": [REVIEW]} for each in servable.signatures()}
        if "tokens" in requests:
            requests["tokens"] = {"tokens": [["a"]]}
        card = {"task": task, "classes": list(classes), "config": dataclasses.asdict(small.config)}
        saved_model.export(servable, name, exports, card, requests, verify=False)
        return exports

    return export


def found_in(saved, name, text, **wanted):
    return explained.explain(models.find(saved(name), (name,))[0], text, explained.Wanted(**wanted))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("small", "abc ab"),
        ("attentive", "abc ab"),
        ("gru", REVIEW),
        pytest.param("best", REVIEW, marks=pytest.mark.long),
        ("tagger", "a sea"),
    ],
)
def test_the_scores_of_a_model_sum_to_what_they_explain(saved, name, text):
    found = found_in(saved, name, text)
    rough, (scores, change, gap) = (salience.integrated_gradients(found, steps) for steps in (1, 256))
    assert abs(gap) < 0.01 * np.abs(scores).sum() and abs(gap) <= abs(rough[2])
    assert scores.sum() + gap == pytest.approx(change, abs=1e-5) and np.abs(scores).max() > 1e-3
    if name != "tagger":
        assert scores[0] == 0 and salience.occlusion(found)[0] == 0  # <start> is in the baseline, too


def test_what_is_explained_of_a_classifier_is_its_answer(saved):
    probabilities = models.find(saved("gru"), ("gru",))[0].ask("serving_default", text=[REVIEW])["probabilities"][0]
    for label, probability in zip(classifiers.CLASSES[3], probabilities, strict=True):
        found = found_in(saved, "gru", REVIEW, label=label)
        assert found.target == f"the label {label}"
        assert float(found.value(found.vectors)[0]) == pytest.approx(np.log(probability / (1 - probability)), abs=1e-4)


@pytest.mark.long
def test_each_of_several_labels_has_its_log_odds(saved):
    several = found_in(saved, "several", REVIEW, label="positive")
    probability = models.find(saved("several"), ("several",))[0].ask("serving_default", text=[REVIEW])["probabilities"][
        0, 1
    ]
    value = float(several.value(several.vectors)[0])
    assert value == pytest.approx(np.log(probability / (1 - probability)), abs=1e-4)
    assert several.attention.sum() == pytest.approx(1, abs=1e-5)


def test_occlusion_of_a_classifier_is_that_of_its_explanations(saved):
    outputs = models.find(saved("gru"), ("gru",))[0].ask("explain", text=[REVIEW])
    np.testing.assert_allclose(
        salience.occlusion(found_in(saved, "gru", REVIEW))[1:-1], outputs["weights"][0], atol=1e-4
    )


def test_what_is_explained_of_a_tagger_is_its_answer(saved):
    outputs = models.find(saved("tagger"), ("tagger",))[0].ask("serving_default", text=["Anna sees it."])
    for word, tag, score in zip(("Anna", "sees", "it", "."), outputs["tags"][0], outputs["scores"][0], strict=True):
        found = found_in(saved, "tagger", "Anna sees it.", word=word)
        assert found.target == f"the tag {tag.decode()} of {word!r}"
        assert float(found.value(found.vectors)[0]) == pytest.approx(np.log(score / (1 - score)), abs=1e-3)
    least = found_in(saved, "tagger", "Anna sees it.")
    assert repr(found.tokens[int(outputs["scores"][0].argmin())]) in least.target
    occlusion = salience.occlusion(least)
    assert occlusion.shape == (4,) and np.abs(occlusion).max() > 1e-3


def test_each_input_of_a_tagger_counts(saved):
    found = found_in(saved, "tagger", "Anna sees it.")
    assert set(found.vectors) == {"word_vectors", "spelling_vectors", "affix_vectors", "character_vectors"}
    for name, vectors in found.vectors.items():
        changed = found.vectors | {name: vectors + 1}
        assert abs(float(found.value(changed)[0] - found.value(found.vectors)[0])) > 1e-5, name


def test_an_export_of_an_older_version(saved, monkeypatch):
    trace = models.Model.trace

    def without_ids(self, texts):
        return [
            dataclasses.replace(each, outputs={name: each.outputs[name] for name in each.outputs if name != "ids"})
            for each in trace(self, texts)
        ]

    monkeypatch.setattr(models.Model, "trace", without_ids)
    with pytest.raises(UserError, match="gru/1 was exported by an older Unroll"):
        found_in(saved, "gru", REVIEW)


def test_agreement_of_scores():
    first = np.array([4.0, 3, 2, 1])
    assert salience.agreement(first, 2 * first + 1) == (pytest.approx(1), 3)
    assert salience.agreement(first, -first) == (pytest.approx(-1), 2)


@pytest.mark.long
def test_the_command(saved, tmp_path, capsys):
    flags = ("--models", "small", "attentive", "--saved-models", saved("small"))
    printed = assert_page(capsys, tmp_path / "page.html", "salience", "ab<b>", "--steps", 8, *flags)
    assert "small/1: rank correlation" in printed and "attentive/1: rank correlation" in printed
    assert_page(capsys, tmp_path / "named.html", "salience", "ab", "--token", "a", *flags)
    assert run(capsys, "salience", "ab", "--output", tmp_path / "picture.png", *flags)[0] == 0
    names = ("gru", "several", "tagger")
    flags = ("--models", *names, "--saved-models", [saved(name) for name in names][0], "--steps", 8)
    printed = assert_page(capsys, tmp_path / "others.html", "salience", "dull <b> film", *flags)
    assert printed.count("rank correlation") == 3 and "tagger/1: the tag " in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a", "--models", "counts"), "salience needs a recurrent model"),
        (("a", "--models", "small", "--steps", "0"), "--steps 0: it must be from 1"),
        (("a", "--models", "small", "--token", "ab"), "--token 'ab': small/1 divides it into 2 tokens"),
        (("a" * 30, "--models", "small"), "the text has 30 tokens for small/1: give one of 1 to 23"),
        (("", "--models", "small"), "the text has 0 tokens"),
        (("a", "--models", "gru", "--label", "odd"), "--label 'odd': gru/1 has the labels bad, fair, good"),
        (("a", "--models", "gru", "--token", "a"), "--token has no effect on gru/1: it takes --label"),
        (("a", "--models", "tagger", "--label", "odd"), "--label 'odd': tagger/1 has the tags NOUN"),
        (("a b", "--models", "tagger", "--word", "c"), "--word 'c': it is not one of the words of the sentence: a b"),
        (("", "--models", "tagger"), "the text has no words"),
    ],
)
def test_mistakes_are_one_line(saved, capsys, arguments, message):
    assert_refused(capsys, message, "salience", *arguments, "--saved-models", saved(arguments[2]))
