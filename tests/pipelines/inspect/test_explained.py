"""What is explained is what the exports answer."""

import dataclasses

import numpy as np
import pytest

from pipelines.inspect import explained, models, salience
from pipelines.support.errors import UserError
from tests.pipelines.classification import conftest as classifiers
from tests.pipelines.inspect.conftest import REVIEW

pytestmark = pytest.mark.long  # they train or load models


def found_in(saved, name, text, **wanted):
    return explained.explain(models.find(saved(name), (name,))[0], text, explained.Wanted(**wanted))


def test_what_is_explained_of_a_classifier_is_its_answer(saved):
    probabilities = models.find(saved("gru"), ("gru",))[0].ask("serving_default", text=[REVIEW])["probabilities"][0]
    for label, probability in zip(classifiers.CLASSES[3], probabilities, strict=True):
        found = found_in(saved, "gru", REVIEW, label=label)
        assert found.target == f"the label {label}"
        assert float(found.value(found.vectors)[0]) == pytest.approx(np.log(probability / (1 - probability)), abs=1e-4)


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


def test_a_tagger_of_two_members_is_refused(saved, monkeypatch):
    (model,) = models.find(saved("tagger"), ("tagger",))
    monkeypatch.setattr(type(model), "kind", "best")
    with pytest.raises(UserError, match="is a network and a linear model: train one with --model lstm"):
        explained.explain(model, "Anna sees it.", explained.Wanted())
