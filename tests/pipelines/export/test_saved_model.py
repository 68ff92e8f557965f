import contextlib
import json
import os
import shutil
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from pipelines.export import saved_model, verify
from pipelines.export.card import CARD
from pipelines.export.exported import files_of, versions
from pipelines.support.temporary import create_file
from pipelines.text.tokenizers import train_tokenizer
from tests.forked import forked_verifier

pytestmark = pytest.mark.usefixtures("fresh_verifier")

TEXTS = ["A dull film.", "", "\U0001f600", "It was not bad &amp; not dull. " * 30]
CLASSES = ["negative", "positive"]
TEXT = tf.TensorSpec([None], tf.string, name="text")
REQUESTS = {"serving_default": {"text": TEXTS}, "tokenize": {"text": TEXTS, "padding": [0, 1, 2, 3], "offset": 7}}


class Classifier(tf.Module):
    """A classifier with a tokenizer, a Keras model, and two signatures."""

    def __init__(self, kind):
        super().__init__()
        keras.utils.set_random_seed(1)  # a later one would destroy a SentencePiece tokenizer
        self._tokenizer = train_tokenizer(kind, TEXTS * 3, 90, 200)
        ids = keras.Input((None,), dtype="int32")
        vectors = keras.layers.Embedding(self._tokenizer.vocabulary_size, 4)(ids)
        outputs = keras.layers.Dense(2, activation="softmax")(keras.layers.GlobalAveragePooling1D()(vectors))
        model = keras.Model(ids, outputs)
        self._variables = [weight.value for weight in model.weights]
        self._model = lambda ids: model(ids, training=False)

    @tf.function(input_signature=[TEXT])
    def classify(self, text):
        probabilities = self._model(self._tokenizer.encode(text).to_tensor())
        best = tf.argmax(probabilities, axis=-1)
        return {
            "label": tf.gather(tf.constant(CLASSES), best),
            "score": tf.reduce_max(probabilities, axis=-1),
            "probabilities": probabilities,
        }

    @tf.function(
        input_signature=[TEXT, tf.TensorSpec([None], tf.int32, "padding"), tf.TensorSpec([], tf.int32, "offset")]
    )
    def tokenize(self, text, padding, offset):
        lengths = tf.cast(self._tokenizer.encode(text).row_lengths(), tf.int32)
        return {"tokens": self._tokenizer.tokens(text).to_tensor(), "lengths": lengths + padding + offset}

    def signatures(self):
        return {
            "serving_default": self.classify.get_concrete_function(),
            "tokenize": self.tokenize.get_concrete_function(),
        }


@pytest.fixture(scope="module")
def servable():
    return Classifier("character")


@pytest.fixture(scope="module")
def path(servable, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(saved_model, "verifier_process", contextlib.nullcontext)
        patch.setattr(saved_model, "_verify", lambda *arguments: None)
        return saved_model.export(servable, "demo", folder, {"classes": CLASSES}, REQUESTS).path


def test_saving_traces_no_function_again(tmp_path, without_verification):
    class Upper(tf.Module):
        """Counts how often its method is traced."""

        traces = 0

        def __init__(self):
            super().__init__()
            self._suffix = tf.Variable("!")

        @tf.function(input_signature=[TEXT])
        def upper(self, text):
            Upper.traces += 1
            return {"upper": tf.strings.upper(text) + self._suffix}

        def signatures(self):
            return {"serving_default": self.upper.get_concrete_function()}

    requests = {"serving_default": {"text": ["a"]}}
    folder = saved_model.export(Upper(), "upper", tmp_path, {}, requests).path
    assert Upper.traces == 1
    loaded = tf.saved_model.load(str(folder))
    assert loaded.signatures["serving_default"](text=tf.constant(["b"]))["upper"].numpy().tolist() == [b"B!"]
    assert not hasattr(loaded, "upper")


# A user's program that has tensorflow and tensorflow_text but not our code.
CLIENT = """
import json, sys
import tensorflow as tf, tensorflow_text
for path in sys.argv[2:]:
    outputs = tf.saved_model.load(path).signatures["serving_default"](text=tf.constant(json.loads(sys.argv[1])))
    labels = [value.decode() for value in outputs["label"].numpy()]
    print(json.dumps([labels, outputs["score"].numpy().tolist(), outputs["probabilities"].numpy().tolist()]))
assert "pipelines" not in sys.modules
"""


@pytest.mark.slow
@pytest.mark.long
def test_a_moved_export_gives_the_same_results_in_a_process_without_our_code(tmp_path, without_verification):
    expected, moved = [], []
    for kind in ("word", "subword", "character"):
        servable = Classifier(kind)
        expected.append(servable.classify(tf.constant(TEXTS)))
        moved.append(tmp_path / "elsewhere" / kind / "7")
        shutil.copytree(saved_model.export(servable, kind, tmp_path / "saved", {}, REQUESTS).path, moved[-1])
    command = [sys.executable, "-I", "-c", CLIENT, json.dumps(TEXTS), *map(str, moved)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    for outputs, line in zip(expected, result.stdout.splitlines(), strict=True):
        labels, scores, probabilities = json.loads(line)
        assert labels == [value.decode() for value in outputs["label"].numpy()]
        np.testing.assert_allclose(scores, outputs["score"].numpy(), atol=1e-5)
        np.testing.assert_allclose(probabilities, outputs["probabilities"].numpy(), atol=1e-5)


def test_the_signature_has_named_inputs_and_outputs(path):
    loaded = tf.saved_model.load(str(path))
    signature = loaded.signatures["serving_default"]
    assert signature.structured_input_signature == ((), {"text": TEXT})
    assert {name: (spec.dtype, spec.shape.as_list()) for name, spec in signature.structured_outputs.items()} == {
        "label": (tf.string, [None]),
        "score": (tf.float32, [None]),
        "probabilities": (tf.float32, [None, 2]),
    }
    assert signature(text=tf.constant([], tf.string))["probabilities"].shape == (0, 2)


def test_tf_hub_loads_an_export(path):
    import tensorflow_hub as hub

    loaded = hub.load(str(path))
    assert loaded.signatures["serving_default"](text=tf.constant(["x"]))["label"].shape == (1,)


def test_the_card_is_in_the_export(path):
    assert json.loads((path / CARD).read_text()) == {"classes": CLASSES}


def test_every_signature_has_two_warm_up_requests(path):
    from tensorflow_serving.apis import prediction_log_pb2

    loaded = tf.saved_model.load(str(path))
    file = path / "assets.extra" / "tf_serving_warmup_requests"
    warmed = []
    for record in tf.data.TFRecordDataset(str(file)).as_numpy_iterator():
        request = prediction_log_pb2.PredictionLog.FromString(record).predict_log.request
        assert request.model_spec.name == "demo"
        inputs = {name: tf.constant(tf.make_ndarray(value)) for name, value in request.inputs.items()}
        loaded.signatures[request.model_spec.signature_name](**inputs)
        warmed.append((request.model_spec.signature_name, len(inputs["text"])))
        assert "offset" not in inputs or inputs["offset"].numpy() == 7  # one value for the request
    assert warmed == [("serving_default", 1), ("serving_default", 4), ("tokenize", 1), ("tokenize", 4)]


def test_an_export_has_no_xla_operation_and_no_path_of_this_machine(path):
    from tensorflow.core.protobuf import saved_model_pb2

    proto = saved_model_pb2.SavedModel.FromString((path / "saved_model.pb").read_bytes())
    assert not [name for name in verify.ops_of(proto) if name.startswith("Xla")]
    here = os.getcwd().encode()
    files = [file for file in path.rglob("*") if file.is_file()]
    assert files and not [file for file in files if here in file.read_bytes()]


def test_versions_count_up_and_leftovers_of_dead_processes_are_removed(servable, tmp_path, without_verification):
    (tmp_path / "demo" / "9").mkdir(parents=True)
    lock, file = create_file(tmp_path / "demo", suffix=".lock")
    file.close()
    leftover = lock.with_suffix("")
    leftover.mkdir()
    exported = saved_model.export(servable, "demo", tmp_path, {}, REQUESTS)
    assert (exported.name, exported.version, exported.path) == ("demo", 10, tmp_path / "demo" / "10")
    assert not leftover.exists() and not lock.exists()
    assert versions(tmp_path / "demo") == [9, 10]


def test_the_plan_has_the_files_of_the_export_before_it_appears(servable, tmp_path, without_verification):
    planned = []

    def plan(files):
        assert versions(tmp_path / "demo") == []
        planned.append(files)

    exported = saved_model.export(servable, "demo", tmp_path, {}, REQUESTS, plan)
    assert planned == [files_of(exported.path)] and "saved_model.pb" in planned[0]


def test_a_version_that_another_run_takes_at_the_same_moment_is_not_overwritten(servable, tmp_path, monkeypatch):
    def take_version_1(*arguments):
        (tmp_path / "demo" / "1").mkdir()
        (tmp_path / "demo" / "1" / "file").write_text("of another run")

    listed = iter([[], [1]])
    monkeypatch.setattr(saved_model, "verifier_process", contextlib.nullcontext)
    monkeypatch.setattr(saved_model, "_verify", take_version_1)
    monkeypatch.setattr(saved_model, "versions", lambda folder: next(listed))
    assert saved_model.export(servable, "demo", tmp_path, {}, REQUESTS).version == 2
    assert (tmp_path / "demo" / "1" / "file").read_text() == "of another run"


def test_a_signature_without_an_example_request_is_a_value_error(servable, tmp_path):
    requests = {"serving_default": REQUESTS["serving_default"]}
    with pytest.raises(ValueError, match=r"the signature 'tokenize' has no example request: .*example_requests\(\)"):
        saved_model.export(servable, "demo", tmp_path, {}, requests)
    assert not (tmp_path / "demo").exists()


def test_an_example_request_without_an_input_is_a_value_error(servable, tmp_path):
    requests = REQUESTS | {"tokenize": {"text": TEXTS}}
    with pytest.raises(ValueError, match="request of the signature 'tokenize' has no input 'padding'"):
        saved_model.export(servable, "demo", tmp_path, {}, requests)


class Counter(tf.Module):
    """Returns the number of its calls, which is in a file: the reloaded model gives another result."""

    def __init__(self, file):
        super().__init__()
        self.file = str(file)

    @tf.function(input_signature=[TEXT])
    def call(self, text):
        calls = tf.io.read_file(self.file)
        tf.io.write_file(self.file, calls + "x")
        return {"score": tf.fill(tf.shape(text), tf.cast(tf.strings.length(calls), tf.float32))}

    def signatures(self):
        return {"serving_default": self.call.get_concrete_function()}


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("forked", [False, True])  # the process that takes the place of the fresh one in other tests
def test_an_export_with_other_results_does_not_appear(forked, tmp_path, monkeypatch, servable):
    if forked:
        monkeypatch.setattr(saved_model, "verifier_process", forked_verifier)
        assert saved_model.export(servable, "right", tmp_path, {}, REQUESTS).title == "right/1"
    (tmp_path / "calls").write_text("")
    with pytest.raises(
        RuntimeError, match="(?s)gives other results than the trained model:.*serving_default: score is"
    ):
        saved_model.export(Counter(tmp_path / "calls"), "demo", tmp_path, {}, {"serving_default": {"text": TEXTS}})
    assert list((tmp_path / "demo").iterdir()) == []


class NeedsXla(tf.Module):
    @tf.function(input_signature=[TEXT])
    def call(self, text):
        from keras import ops

        return {"score": ops.slice_update(tf.zeros([tf.shape(text)[0]]), [0], tf.ones([1]))}

    def signatures(self):
        return {"serving_default": self.call.get_concrete_function()}


@pytest.mark.long
def test_an_export_that_tf_serving_cannot_run_does_not_appear(tmp_path):
    with pytest.raises(RuntimeError, match="operations that TF Serving cannot run: XlaDynamicUpdateSlice"):
        saved_model.export(NeedsXla(), "demo", tmp_path, {}, {"serving_default": {"text": TEXTS}})
    assert list((tmp_path / "demo").iterdir()) == []


def test_a_copy_has_its_own_name_and_gives_the_same_answers(path, tmp_path, monkeypatch):
    verified = []
    monkeypatch.setattr(saved_model, "verifier_process", contextlib.nullcontext)
    monkeypatch.setattr(saved_model, "_verify", lambda *arguments: verified.append(arguments))
    loaded = tf.saved_model.load(str(path))
    copies = [saved_model.copy(path, loaded, "other", tmp_path) for _ in range(2)]
    assert [copy.title for copy in copies] == ["other/1", "other/2"]
    assert saved_model.copy(path, loaded, "other", tmp_path, version=9).title == "other/9"
    warm_up = os.path.join("assets.extra", "tf_serving_warmup_requests")
    source, copy = files_of(path), files_of(copies[0].path)
    assert {name for name in source if source[name] != copy[name]} == {warm_up} and source.keys() == copy.keys()
    assert (
        b"other" in (copies[0].path / warm_up).read_bytes() and b"demo" not in (copies[0].path / warm_up).read_bytes()
    )
    _, _, signatures, requests = verified[0]
    assert set(signatures) == set(requests) == set(REQUESTS)
    for name, inputs in REQUESTS.items():
        assert requests[name]["text"].numpy().tolist() == [text.encode() for text in inputs["text"]]


def test_a_copy_does_not_replace_a_version(path, tmp_path, monkeypatch):
    monkeypatch.setattr(saved_model, "verifier_process", contextlib.nullcontext)
    monkeypatch.setattr(saved_model, "_verify", lambda *arguments: None)
    loaded = tf.saved_model.load(str(path))
    saved_model.copy(path, loaded, "other", tmp_path, version=3)
    with pytest.raises(OSError):
        saved_model.copy(path, loaded, "other", tmp_path, version=3)
    assert versions(tmp_path / "other") == [3]


def test_an_export_that_is_verified_later_appears_at_once(servable, tmp_path, monkeypatch):
    monkeypatch.setattr(saved_model, "_verify", lambda *arguments: pytest.fail("verified"))
    assert saved_model.export(servable, "demo", tmp_path, {}, REQUESTS, verify=False).title == "demo/1"
