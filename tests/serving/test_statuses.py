import pytest

from serving import statuses
from serving.core import Core, ModelSpec
from serving.errors import Code, ServingError
from serving.manager import Manager
from serving.metrics import Metrics
from serving.models_config import find_models
from serving.settings import Limits, LoadRetries
from serving.versions import State
from tests.serving import small_models


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    small_models.save(root, "upper", 1)
    (root / "upper" / "2").mkdir()
    (root / "upper" / "2" / "saved_model.pb").write_bytes(b"nonsense")
    manager = Manager(lambda: find_models(root), Limits(), LoadRetries(number=0), lambda event, **fields: None)
    manager.refresh()
    yield Core(manager, Limits(), Metrics())
    manager.close()


def test_the_status_contains_the_error_of_a_broken_version(core):
    broken, good = statuses.status(core, ModelSpec("upper")).model_version_status
    assert (broken.version, broken.state) == (2, State.END)
    assert broken.status.error_code == Code.UNKNOWN.value[0] and broken.status.error_message
    assert (good.version, good.state, good.status.error_code) == (1, State.AVAILABLE, 0)


def test_the_metadata_contains_the_signatures_of_the_version(core):
    response = statuses.metadata(core, ModelSpec("upper"))
    assert (response.model_spec.name, response.model_spec.version.value) == ("upper", 1)
    definitions = statuses.signature_definitions(response).signature_def
    assert {"serving_default", "repeat", "words", "add"} <= set(definitions)
    assert set(definitions["add"].inputs) == {"ids", "flag", "scale"}


@pytest.mark.parametrize(("method", "noun"), [("classify", "classification"), ("regress", "regression")])
def test_a_method_that_does_not_fit_is_named_with_the_right_one(core, method, noun):
    error = statuses.wrong_method(core, ModelSpec("upper"), method)
    assert error.code == Code.INVALID_ARGUMENT
    assert error.message == (
        f"Expected {noun} signature method_name to be tensorflow/serving/{method}. Was: tensorflow/serving/predict"
    )


def test_a_method_of_a_missing_signature_or_model_has_its_own_error(core):
    error = statuses.wrong_method(core, ModelSpec("upper", signature="no"), "classify")
    assert error.message == "No signature was found with the name: no"
    with pytest.raises(ServingError, match="Servable not found for request"):
        statuses.wrong_method(core, ModelSpec("nobody"), "classify")


def test_the_version_is_free_after_each_answer(core):
    statuses.metadata(core, ModelSpec("upper"))
    statuses.wrong_method(core, ModelSpec("upper"), "regress")
    with core.manager.hold("upper") as version:
        assert version.servable._num_users == 1
