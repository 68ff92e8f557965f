import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from pipelines import exporting, models, sentiment, verify_export
from pipelines.configs.base import resolved
from pipelines.configs.sentiment import DEFAULT_MODELS, PRESETS, SentimentConfig
from pipelines.data import sample_reviews
from pipelines.data.splits import Labelled, Splits
from pipelines.errors import UserError

CLASSES = ("negative", "positive")
TEXTS = ["A dull film.", "", "\U0001f600", "It was not bad &amp; not dull. " * 30]
CARD = {"classes": list(CLASSES)}
ONE_SIGNATURE = {"serving_default": {"text": TEXTS}}
REQUESTS = ONE_SIGNATURE | {"explain": {"text": TEXTS}}


def make(tokens):
    config = resolved(SentimentConfig(tokens=tokens, vocabulary_size=90, ngram_buckets=500, max_tokens=50), PRESETS, DEFAULT_MODELS)
    train = Labelled(sample_reviews.generate(40)[0], np.zeros(40, np.int32))
    splits = Splits(train, train, None, CLASSES, {})
    tokenizer = sentiment.tokenizer(config, splits)
    return sentiment.servable(sentiment.build(config, tokenizer, splits, training=False), tokenizer, config, splits)


@pytest.fixture(scope="module")
def servable():
    return make("word")


@pytest.fixture(scope="module")
def exported(servable, tmp_path_factory):
    return exporting.export(servable, "demo", tmp_path_factory.mktemp("saved"), CARD, REQUESTS)


# What a user types who has tensorflow and tensorflow_text, and nothing of ours.
CLIENT = """
import json, sys
import tensorflow as tf, tensorflow_text
for path in sys.argv[2:]:
    outputs = tf.saved_model.load(path).signatures["serving_default"](text=tf.constant(json.loads(sys.argv[1])))
    labels = [value.decode() for value in outputs["label"].numpy()]
    print(json.dumps([labels, outputs["score"].numpy().tolist(), outputs["probabilities"].numpy().tolist()]))
assert "pipelines" not in sys.modules and "keras" in sys.modules
"""


def test_they_answer_where_none_of_our_code_is_even_after_a_move(tmp_path, unverified):
    expected, moved = [], []
    for tokens in ("word", "subword", "character"):
        servable = make(tokens)
        expected.append(servable.classify(tf.constant(TEXTS)))
        moved.append(tmp_path / "elsewhere" / tokens / "7")
        shutil.copytree(exporting.export(servable, tokens, tmp_path / "saved", CARD, REQUESTS).path, moved[-1])
    result = subprocess.run(
        [sys.executable, "-I", "-c", CLIENT, json.dumps(TEXTS), *map(str, moved)], capture_output=True, text=True, cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    for outputs, line in zip(expected, result.stdout.splitlines(), strict=True):
        labels, scores, probabilities = json.loads(line)
        assert labels == [value.decode() for value in outputs["label"].numpy()]
        np.testing.assert_allclose(scores, outputs["score"].numpy(), atol=1e-5)
        np.testing.assert_allclose(probabilities, outputs["probabilities"].numpy(), atol=1e-5)


def test_the_signature(exported):
    signature = tf.saved_model.load(str(exported.path)).signatures["serving_default"]
    assert signature.structured_input_signature == ((), {"text": tf.TensorSpec([None], tf.string, name="text")})
    assert {name: (spec.dtype, spec.shape.as_list()) for name, spec in signature.structured_outputs.items()} == {
        "label": (tf.string, [None]),
        "score": (tf.float32, [None]),
        "probabilities": (tf.float32, [None, 2]),
    }
    assert signature(text=tf.constant([], tf.string))["probabilities"].shape == (0, 2)


def test_tf_hub_loads_it(exported):
    import tensorflow_hub as hub

    assert hub.load(str(exported.path)).signatures["serving_default"](text=tf.constant(["x"]))["label"].shape == (1,)


def test_warm_up_requests_replay(exported):
    from tensorflow_serving.apis import prediction_log_pb2

    signatures = tf.saved_model.load(str(exported.path)).signatures
    records = list(tf.data.TFRecordDataset(str(exported.path / "assets.extra" / "tf_serving_warmup_requests")).as_numpy_iterator())
    warmed = []
    for record in records:
        request = prediction_log_pb2.PredictionLog.FromString(record).predict_log.request
        assert request.model_spec.name == "demo"
        warmed.append(request.model_spec.signature_name)
        assert signatures[warmed[-1]](text=tf.constant(tf.make_ndarray(request.inputs["text"])))["label"].shape[0] >= 1
    assert warmed == ["serving_default"] * 2 + ["explain"] * 2


def test_no_op_needs_xla_and_no_path_of_this_machine_is_inside(exported):
    from tensorflow.core.protobuf import saved_model_pb2

    proto = saved_model_pb2.SavedModel.FromString((exported.path / "saved_model.pb").read_bytes())
    assert not [name for name in verify_export.ops_of(proto) if name.startswith("Xla")]
    here = os.getcwd().encode()
    for path in exported.path.rglob("*"):
        assert path.is_dir() or here not in path.read_bytes(), path


def test_versions_count_up_and_leftovers_go(servable, tmp_path, unverified):
    (tmp_path / "demo" / "9").mkdir(parents=True)
    leftover = tmp_path / "demo" / ".tmp-999999999"
    leftover.mkdir()
    alive = tmp_path / "demo" / f".tmp-{os.getppid()}"
    alive.mkdir()
    assert exporting.export(servable, "demo", tmp_path, CARD, REQUESTS).version == 10
    assert not leftover.exists() and alive.exists()
    assert models.versions(tmp_path / "demo") == [9, 10]


class Wrong(tf.Module):
    """Answers with how often it was asked before, which it keeps in a file: reloaded, it gives another answer."""

    def __init__(self, file):
        super().__init__()
        self.file = str(file)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def answer(self, text):
        asked = tf.io.read_file(self.file)
        tf.io.write_file(self.file, asked + "x")
        return {"score": tf.fill(tf.shape(text), tf.cast(tf.strings.length(asked), tf.float32))}

    def signatures(self):
        return {"serving_default": self.answer.get_concrete_function()}


def test_an_export_that_answers_otherwise_does_not_appear(tmp_path):
    (tmp_path / "asked").write_text("")
    with pytest.raises(RuntimeError, match="does not answer as the trained model does"):
        exporting.export(Wrong(tmp_path / "asked"), "demo", tmp_path, CARD, ONE_SIGNATURE)
    assert list((tmp_path / "demo").iterdir()) == []


class NeedsXla(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def answer(self, text):
        from keras import ops

        return {"score": ops.slice_update(tf.zeros([tf.shape(text)[0]]), [0], tf.ones([1]))}

    def signatures(self):
        return {"serving_default": self.answer.get_concrete_function()}


def test_an_export_that_tf_serving_cannot_run_does_not_appear(tmp_path):
    needy = NeedsXla()
    with pytest.raises(RuntimeError, match="ops that TF Serving cannot run: XlaDynamicUpdateSlice"):
        exporting.export(needy, "demo", tmp_path, CARD, ONE_SIGNATURE)
    assert list((tmp_path / "demo").iterdir()) == []


XLA = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import tensorflow as tf, keras
from pipelines.verify_export import disable_xla
if not disable_xla(Path(tf.__file__).parent):
    sys.exit(77)
tf.function(lambda x: keras.ops.slice_update(x, [0], tf.ones([1])))(tf.zeros([3]))
"""


def test_xla_is_really_disabled():
    result = subprocess.run([sys.executable, "-c", XLA, os.getcwd()], capture_output=True, text=True)
    if result.returncode == 77:
        pytest.skip("this TensorFlow's library does not let XLA be disabled from outside")
    assert result.returncode == 1
    assert "XLA compilation disabled" in result.stderr


def make_versions(root, *titles):
    for title in titles:
        (root / title).mkdir(parents=True)
        (root / title / models.CARD).write_text("{}")


def test_which_model_answers(tmp_path):
    make_versions(tmp_path, "sentiment-sample/3", "other/1")
    assert models.find(tmp_path, "sentiment").title == "sentiment-sample/3"
    make_versions(tmp_path, "sentiment/2", "sentiment/10", "sentiment/.tmp-1")
    assert models.find(tmp_path, "sentiment").title == "sentiment/10"
    assert models.find(tmp_path, "sentiment", version=2).title == "sentiment/2"
    assert models.find(tmp_path, "sentiment", name="other").title == "other/1"


def test_no_such_model_or_version(tmp_path):
    with pytest.raises(UserError, match="no model 'sentiment' .*nothing has been exported yet.*train sentiment"):
        models.find(tmp_path, "sentiment")
    make_versions(tmp_path, "sentiment/2")
    with pytest.raises(UserError, match="sentiment has no version 3; it has 2"):
        models.find(tmp_path, "sentiment", version=3)
    with pytest.raises(UserError, match="no model 'other' .*there is sentiment"):
        models.find(tmp_path, "sentiment", name="other")
