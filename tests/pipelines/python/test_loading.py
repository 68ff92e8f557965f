import json
import tarfile

import pytest

import unroll
from pipelines.task import TASKS
from tests.command_line import ROOT

GOLDEN = ROOT / "tests" / "golden" / "0.9.0"


@pytest.fixture
def golden(tmp_path):
    def unpack(name):
        with tarfile.open(GOLDEN / f"{name}.tar.xz") as archive:
            archive.extractall(tmp_path, filter="data")
        (path,) = {path.parent for path in tmp_path.rglob("saved_model.pb")}
        return path

    return unpack


@pytest.mark.long
def test_a_classifier_of_the_command_line(golden):
    path = golden("sentiment")
    classifier = unroll.load(path)
    assert isinstance(classifier, unroll.TextClassifier) and classifier.classes_.tolist() == ["negative", "positive"]
    assert classifier(["A wonderful film."])[0] in ("negative", "positive")
    config, parameters = classifier.card_["config"], classifier.get_params()
    assert (parameters["preset"], parameters["model"]) == (config["preset"], config["model"])
    assert parameters["max_tokens"] is None  # the preset's
    assert unroll.load(str(path.parent)).card_ == classifier.card_


@pytest.mark.long
def test_a_language_model_of_the_command_line(golden):
    model = unroll.load(golden("char-lm"))
    assert isinstance(model, unroll.LanguageModel)
    assert len(model("The ", max_length=5, seed=3)) == 5
    assert model.generate(["The ", "A"], max_length=4, seed=3)[0] == model.generate("The ", max_length=4, seed=3)
    assert model.score(["The cat", "sat"]) < 0 and model.score_samples(["The cat", "sat"]).shape == (2,)
    with pytest.raises(unroll.UserError, match="temperature"):
        model.generate("The ", temperature=-1)
    assert model.generate([]) == []


@pytest.mark.long
def test_a_translator_of_the_command_line(golden):
    translator = unroll.load(golden("nmt"))
    assert isinstance(translator, unroll.Translator)
    one, several = translator("the house"), translator.translate(["the house", ""], beam_width=1)
    assert isinstance(one, str) and len(several) == 2 and translator.translate([]) == []
    assert 0 <= translator.score(["the house"], ["la casa"]) <= 100
    with pytest.raises(unroll.UserError, match="beam"):
        translator.translate(["the house"], beam_width=0)


@pytest.mark.long
def test_an_encoder_of_the_command_line(golden):
    encoder = unroll.load(golden("encoder"))
    assert isinstance(encoder, unroll.TextEncoder)
    vectors = encoder(["The cat sat on the mat.", "A dog."])
    assert vectors.shape[0] == 2 and (vectors == encoder.transform(["The cat sat on the mat.", "A dog."])).all()


def test_every_task_has_an_estimator():
    for entry in TASKS.values():
        assert getattr(unroll, entry.estimator_class().__name__) is entry.estimator_class()
        assert TASKS[entry.estimator_class().task].estimator == entry.estimator


def test_a_folder_without_an_export_is_refused(tmp_path):
    with pytest.raises(unroll.UserError, match="no export in .*spam: give the folder of a version"):
        unroll.load(tmp_path / "spam")


@pytest.mark.parametrize(
    ("card", "part"),
    [(None, "no model_card.json"), ("{", "damaged"), ("[3]", "damaged"), (json.dumps({"task": "x"}), "task x")],
)
def test_an_export_without_a_usable_card_is_refused(tmp_path, card, part):
    (tmp_path / "saved_model.pb").touch()
    if card:
        (tmp_path / "model_card.json").write_text(card)
    with pytest.raises(unroll.UserError, match=part):
        unroll.load(tmp_path)


def test_a_damaged_saved_model_is_refused(tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"?")
    (tmp_path / "model_card.json").write_text('{"task": "sentiment", "config": {}, "classes": [], "scores": {}}')
    with pytest.raises(unroll.UserError, match="no SavedModel that can be loaded"):
        unroll.load(tmp_path)


def test_a_home_folder_that_does_not_exist_is_refused():
    with pytest.raises(unroll.UserError, match="~nobody-of-this-name/x: there is no home folder of this user"):
        unroll.load("~nobody-of-this-name/x")
