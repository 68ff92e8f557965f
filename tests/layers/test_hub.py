import functools
import gc
import http.server
import os
import shutil
import subprocess
import sys
import tarfile
import threading

import keras
import numpy as np
import pytest

if keras.backend.backend() != "tensorflow":
    pytest.skip("HubEncoder needs TensorFlow", allow_module_level=True)

import tensorflow as tf
import tensorflow_hub as hub
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2

from layers.hub import HubEncoder
from tests.conftest import CORPORA
from tests.layers import hub_modules

TEXTS = ["a gripping story", "the film was not gripping", ""]
LABELS = np.array([1.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    root = tmp_path_factory.mktemp("modules")
    return {
        "bert": hub_modules.save_bert(root / "bert"),
        "preprocess": hub_modules.save_preprocessor(root / "preprocess"),
        "sentences": hub_modules.save_sentences(root / "sentences"),
        "images": hub_modules.save_images(root / "images"),
    }


def classifier(modules, trainable=True, output_key="pooled_output"):
    """Preprocessing, encoder and head in one functional model, as in the TensorFlow tutorial."""
    text = keras.Input((), dtype="string", name="text")
    encoder = HubEncoder(modules["bert"], trainable=trainable, output_key=output_key, name="encoder")
    x = encoder(HubEncoder(modules["preprocess"], name="preprocess")(text))
    x = keras.layers.Dense(1, activation="sigmoid", name="head")(x)
    return keras.Model(text, x), encoder


def batch():
    return tf.constant(TEXTS), tf.constant(LABELS)


def values(variables):
    return [np.array(v) for v in variables]


@pytest.mark.long
def test_shapes_and_structures_are_those_of_the_module(modules):
    text = keras.Input((), dtype="string")
    ids = HubEncoder(modules["preprocess"])(text)
    assert {name: (x.shape, x.dtype) for name, x in ids.items()} == dict.fromkeys(
        ("input_word_ids", "input_mask", "input_type_ids"), ((None, 12), "int32")
    )
    outputs = HubEncoder(modules["bert"])(ids)
    assert outputs["pooled_output"].shape == (None, hub_modules.SIZE)
    assert len(outputs["encoder_outputs"]) == hub_modules.DEPTH
    assert outputs["sequence_output"].shape == (None, 12, hub_modules.SIZE)
    assert HubEncoder(modules["sentences"])(text).shape == (None, hub_modules.SIZE)


@pytest.mark.long
def test_the_weights_share_the_storage_of_the_module(modules):
    encoder = HubEncoder(modules["bert"], trainable=True)
    assert len(encoder.trainable_weights) == 2 + 2 * hub_modules.DEPTH and len(encoder.non_trainable_weights) == 1
    for weight, variable in zip(encoder._module_variables, encoder._loaded.variables, strict=True):
        assert weight.value is variable


@pytest.mark.long
@pytest.mark.any_backend
def test_training_changes_unfrozen_weights_and_no_bit_of_frozen_ones(modules):
    model, encoder = classifier(modules, trainable=False)
    model.compile("adam", "binary_crossentropy")
    old_weights = values(encoder.weights)
    model.fit(*batch(), epochs=3, verbose=0)
    for old, new in zip(old_weights, values(encoder.weights), strict=True):
        np.testing.assert_array_equal(old, new)
    encoder.unfreeze(top=2)
    model.compile("adam", "binary_crossentropy")
    model.fit(*batch(), epochs=3, verbose=0)
    groups = encoder.groups()
    assert list(groups) == ["embeddings", "layer_0", "layer_1", "layer_2", "pooler"]
    frozen = {id(v) for name in ("embeddings", "layer_0", "layer_1") for v in groups[name]}
    for weight, old in zip(encoder.weights, old_weights, strict=True):
        must_be_equal = id(weight) in frozen or "calls" in weight.name
        assert np.array_equal(old, np.array(weight)) == must_be_equal, weight.name


def test_groups_by_patterns(modules):
    encoder = HubEncoder(modules["bert"], groups=[("kernels", "kernel$"), ("biases", "bias$")])
    assert list(encoder.groups()) == ["other", "kernels", "biases"]
    encoder.unfreeze(top=1)
    names = [f"transformer.layer_{i}.bias" for i in range(hub_modules.DEPTH)]
    assert [w.name for w in encoder.trainable_weights] == names


def test_top_groups_are_drawn_anew_with_the_deviation_that_they_had(modules):
    encoder = HubEncoder(modules["bert"], trainable=True)
    groups = encoder.groups()
    pooler = groups["pooler"][0]
    kernel, bias = sorted(groups["layer_2"], key=lambda variable: -len(variable.shape))
    kernel.assign(kernel.numpy() * 3)
    before = {name: [variable.numpy() for variable in variables] for name, variables in groups.items()}
    encoder.reset(2, seed=1)
    after = {name: [variable.numpy() for variable in variables] for name, variables in groups.items()}
    for name in ("embeddings", "layer_0", "layer_1"):
        assert all((old == new).all() for old, new in zip(before[name], after[name], strict=True))
    assert (pooler.numpy() != before["pooler"][0]).all() and not bias.numpy().any()
    assert 1.5 < kernel.numpy().std() / pooler.numpy().std() < 6
    again = HubEncoder(modules["bert"], trainable=True)
    again.reset(2, seed=1)
    np.testing.assert_array_equal(again.groups()["pooler"][0].numpy(), after["pooler"][0])
    with pytest.raises(ValueError, match="has 5 groups"):
        encoder.reset(6, seed=1)


def test_dropout_acts_only_in_training_and_only_if_not_frozen(modules):
    ids = HubEncoder(modules["preprocess"])(tf.constant(TEXTS))
    for trainable in (True, False):
        encoder = HubEncoder(modules["bert"], trainable=trainable, output_key="sequence_output")
        at_inference = [np.array(encoder(ids, training=False)) for _ in range(2)]
        in_training = [np.array(encoder(ids, training=True)) for _ in range(2)]
        np.testing.assert_array_equal(*at_inference)
        assert np.array_equal(*in_training) == (not trainable)


def test_regularization_losses_count_while_any_weight_is_trainable(modules):
    model, encoder = classifier(modules)
    model(tf.constant(TEXTS))
    (loss,) = model.losses
    pooler = np.array(encoder.groups()["pooler"][0])
    assert float(loss) == pytest.approx(0.1 * float((pooler**2).sum()), rel=1e-5)
    encoder.unfreeze(0)
    model(tf.constant(TEXTS))
    assert not model.losses


@pytest.mark.filterwarnings("ignore")  # tf_keras itself raises warnings
def test_outputs_and_gradients_equal_those_of_hub_keras_layer(modules):
    ids = HubEncoder(modules["preprocess"])(tf.constant(TEXTS))
    theirs = hub.KerasLayer(modules["bert"], trainable=True)
    ours = HubEncoder(modules["bert"], trainable=True)
    with tf.GradientTape() as tape:
        outputs = theirs(ids, training=False)
        loss = tf.reduce_sum(tf.square(outputs["pooled_output"])) + tf.add_n(theirs.losses)
    expected = tape.gradient(loss, theirs.trainable_weights)
    with tf.GradientTape() as tape:
        got = ours(ids, training=False)
        loss = tf.reduce_sum(tf.square(got["pooled_output"])) + tf.add_n(ours.losses)
    gradients = tape.gradient(loss, [w.value for w in ours.trainable_weights])
    assert set(got) == set(outputs)
    for key in ("pooled_output", "sequence_output"):
        np.testing.assert_array_equal(got[key], outputs[key])
    names = {v.name: g for v, g in zip(theirs.trainable_weights, expected, strict=True)}
    assert len(gradients) == len(names)
    for weight, gradient in zip(ours.trainable_weights, gradients, strict=True):
        other = names[weight.value.name]
        assert (gradient is None) == (other is None)
        np.testing.assert_array_equal(tf.convert_to_tensor(gradient), tf.convert_to_tensor(other))


RELOAD = """
import sys
import keras
import numpy as np
import tensorflow as tf
import layers.hub
model = keras.models.load_model(sys.argv[1], safe_mode=False)
print(np.array(model(tf.constant(sys.argv[3:]))).ravel().tolist())
encoder = model.get_layer("encoder")
old_weights = [np.array(w) for w in encoder.trainable_weights]
assert len(old_weights) == 3, len(old_weights)
model.fit(tf.constant(sys.argv[3:]), np.ones(len(sys.argv) - 3), verbose=0)
assert all((np.array(w) != old).any() for w, old in zip(encoder.trainable_weights, old_weights))
assert all(w.value is v for w, v in zip(encoder._module_variables, encoder._loaded.variables))
model.save(sys.argv[2])
"""


@pytest.mark.long
def test_a_keras_file_contains_the_module(modules, tmp_path):
    """A fresh process without the handles loads the file, trains further and saves it. Then we load it again."""
    here = {name: shutil.copytree(folder, tmp_path / name) for name, folder in modules.items()}
    model, encoder = classifier(here)
    encoder.unfreeze(top=2)
    model.compile("adam", "binary_crossentropy")
    model.fit(*batch(), epochs=2, verbose=0)
    expected = np.array(model(tf.constant(TEXTS))).ravel()
    model.save(tmp_path / "model.keras")
    for folder in here.values():
        shutil.rmtree(folder)
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    command = [sys.executable, "-c", RELOAD, tmp_path / "model.keras", tmp_path / "again.keras", *TEXTS]
    process = subprocess.run(command, capture_output=True, text=True, cwd=root)
    assert process.returncode == 0, process.stderr
    np.testing.assert_allclose(eval(process.stdout.splitlines()[0]), expected, rtol=1e-5)
    retrained = np.array(keras.models.load_model(tmp_path / "again.keras", safe_mode=False)(tf.constant(TEXTS))).ravel()
    assert np.isfinite(retrained).all() and np.abs(retrained - expected).max() > 1e-5


def test_safe_mode_refuses_a_file_and_nothing_of_the_module_runs(modules, tmp_path, monkeypatch):
    classifier(modules)[0].save(tmp_path / "model.keras")
    loaded = []
    monkeypatch.setattr("layers.hub.Module", lambda *arguments: loaded.append(arguments))
    with pytest.raises(ValueError, match="HubEncoder '(preprocess|encoder)' .*safe mode.*load it with safe_mode=False"):
        keras.models.load_model(tmp_path / "model.keras")
    assert loaded == []


def test_safe_mode_refuses_a_serialized_layer(modules):
    config = keras.saving.serialize_keras_object(HubEncoder(modules["sentences"]))
    with pytest.raises(ValueError, match="safe_mode=False"):
        keras.saving.deserialize_keras_object(config)
    assert isinstance(keras.saving.deserialize_keras_object(config, safe_mode=False), HubEncoder)


@pytest.mark.long
def test_an_export_contains_the_vocabulary(modules, tmp_path):
    here = {name: shutil.copytree(folder, tmp_path / name) for name, folder in modules.items()}
    model, _ = classifier(here)
    model.compile("adam", "binary_crossentropy")
    model.fit(*batch(), epochs=1, verbose=0)
    expected = np.array(model(tf.constant(TEXTS)))
    model.export(tmp_path / "exported", verbose=False)
    del model
    gc.collect()
    for folder in here.values():
        shutil.rmtree(folder)
    (tmp_path / "exported").rename(tmp_path / "moved")
    moved = tf.saved_model.load(str(tmp_path / "moved"))
    (got,) = moved.signatures["serving_default"](text=tf.constant(TEXTS)).values()
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_an_archive_gives_the_same_module_as_its_folder(modules, tmp_path):
    with tarfile.open(tmp_path / "bert.tar.gz", "w:gz") as archive:
        archive.add(modules["bert"], ".")
    ids = HubEncoder(modules["preprocess"])(tf.constant(TEXTS))
    handles = (modules["bert"], tmp_path / "bert.tar.gz")
    from_folder, from_archive = (HubEncoder(handle, output_key="pooled_output")(ids) for handle in handles)
    np.testing.assert_array_equal(from_folder, from_archive)


def test_a_url_is_downloaded_once(modules, tmp_path, monkeypatch):
    requests = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            requests.append(self.path)

    monkeypatch.setenv("TFHUB_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "site").mkdir()
    with tarfile.open(tmp_path / "site" / "sentences.tar.gz", "w:gz") as archive:
        archive.add(modules["sentences"], ".")
    handler = functools.partial(Handler, directory=tmp_path / "site")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        encoders = [HubEncoder(f"{url}/sentences.tar.gz") for _ in range(2)]
        with pytest.raises(ValueError, match="cannot be reached .*404.*: download it elsewhere"):
            HubEncoder(f"{url}/gone.tar.gz")
        server.shutdown()
    expected = HubEncoder(modules["sentences"])(tf.constant(TEXTS))
    for encoder in encoders:
        np.testing.assert_array_equal(encoder(tf.constant(TEXTS)), expected)
    assert len([path for path in requests if "sentences" in path]) == 1


def test_a_module_with_its_graph_in_text_format_gives_the_same_outputs(modules, tmp_path):
    folder = shutil.copytree(modules["sentences"], tmp_path / "text")
    graph = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    (folder / "saved_model.pb").unlink()
    (folder / "saved_model.pbtxt").write_text(text_format.MessageToString(graph))
    with tarfile.open(tmp_path / "text.tar.gz", "w:gz") as archive:
        archive.add(folder, "module")
    expected = HubEncoder(modules["sentences"])(tf.constant(TEXTS))
    for handle in (folder, tmp_path / "text.tar.gz"):
        np.testing.assert_array_equal(HubEncoder(handle)(tf.constant(TEXTS)), expected)


def test_the_vocabulary_of_bert_gives_the_ids_of_bert(tmp_path):
    vocabulary = CORPORA / "bert_uncased_vocab.txt"
    if not vocabulary.exists():
        pytest.skip("BERT's vocabulary is not on this machine")
    text = keras.Input((), dtype="string", name="text")
    ids = HubEncoder(hub_modules.save_preprocessor(tmp_path / "preprocess", vocabulary))(text)
    encoder = HubEncoder(
        hub_modules.save_bert(tmp_path / "bert", words=30_522, dropout=0.0), trainable=True, output_key="pooled_output"
    )
    logits = keras.layers.Dense(1)(encoder(ids))
    model = keras.Model(text, [logits, ids["input_word_ids"]])
    _, got = model(tf.constant(["The film was UNAFFABLE!"]))
    # [CLS] the film was una ##ffa ##ble ! [SEP]
    assert np.array(got)[0].tolist() == [101, 1996, 2143, 2001, 14477, 20961, 3468, 999, 102, 0, 0, 0]
    model = keras.Model(text, logits)
    model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
    old_embeddings = np.array(encoder.groups()["embeddings"][0])
    model.fit(*batch(), verbose=0)
    changed = np.flatnonzero((np.array(encoder.groups()["embeddings"][0]) != old_embeddings).any(1))
    assert {1996, 2143} <= set(changed) and len(changed) < 20
    model.export(tmp_path / "exported", verbose=False)
    exported = tf.saved_model.load(str(tmp_path / "exported")).signatures["serving_default"]
    np.testing.assert_allclose(exported(text=tf.constant(TEXTS))["output_0"], model(tf.constant(TEXTS)), rtol=1e-5)


def test_a_signature_gives_the_outputs_of_the_module(modules):
    got = HubEncoder(modules["sentences"], signature="embed", output_key="output_0")(tf.constant(TEXTS))
    np.testing.assert_array_equal(got, HubEncoder(modules["sentences"])(tf.constant(TEXTS)))


def test_weights_set_on_a_copy_are_kept(modules, tmp_path):
    model, encoder = classifier(modules)
    encoder._module_variables[0].assign(encoder._module_variables[0] + 1.0)
    copy = keras.models.clone_model(model)
    copy.set_weights(model.get_weights())
    np.testing.assert_allclose(copy(batch()[0]), model(batch()[0]), rtol=1e-6)


def test_a_copy_can_be_saved_before_its_first_call(modules, tmp_path):
    _, encoder = classifier(modules)
    ids = HubEncoder(modules["preprocess"])(batch()[0])
    clone = keras.models.clone_model(classifier(modules)[0])
    clone.save(tmp_path / "copy.keras")
    loaded = keras.models.load_model(tmp_path / "copy.keras", safe_mode=False).get_layer("encoder")
    np.testing.assert_array_equal(loaded(ids), encoder(ids))


def test_a_layer_can_be_copied_before_its_first_call(modules):
    copy = HubEncoder.from_config(HubEncoder(modules["sentences"]).get_config())
    text = keras.Input((), dtype="string")
    assert keras.Model(text, copy(text))(batch()[0]).shape == (3, hub_modules.SIZE)


def test_a_file_keeps_which_weights_learn(modules, tmp_path):
    model, encoder = classifier(modules, trainable=False)
    for change in (lambda: setattr(encoder, "trainable", True), lambda: encoder.unfreeze(2)):
        change()
        model.save(tmp_path / "model.keras")
        copy = keras.models.load_model(tmp_path / "model.keras", safe_mode=False).get_layer("encoder")
        assert [v.trainable for v in copy.weights] == [v.trainable for v in encoder.weights]
        assert len(copy.trainable_weights) == len(encoder.trainable_weights) > 0


def test_a_layer_that_is_called_twice_counts_its_regularization_once(modules):
    names = ("input_word_ids", "input_mask", "input_type_ids")
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in names}
    encoder = HubEncoder(modules["bert"], trainable=True, output_key="pooled_output")
    one = keras.Model(inputs, encoder(inputs))
    two = keras.Model(inputs, [encoder(inputs), encoder(inputs)])
    ids = HubEncoder(modules["preprocess"])(batch()[0])
    one(ids)
    (once,) = one.losses
    for _ in range(2):
        two(ids)
        (again,) = two.losses
        assert float(again) == float(once)


def test_a_copy_from_the_config_has_the_weights_of_the_module(modules):
    encoder = HubEncoder(modules["sentences"], trainable=True)
    expected = np.array(encoder(tf.constant(TEXTS)))
    copy = HubEncoder.from_config(encoder.get_config())
    np.testing.assert_array_equal(copy(tf.constant(TEXTS)), expected)
    assert copy.trainable


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda m, p: {"handle": p / "nowhere"}, "no such folder"),
        (lambda m, p: {"handle": p}, "is not a SavedModel"),
        (lambda m, p: {"handle": p / "no.tar.gz"}, "no such file"),
        (lambda m, p: {"handle": "https://localhost:1/module/1"}, "download it elsewhere"),
        (lambda m, p: {"handle": m["images"]}, "takes images"),
        (lambda m, p: {"handle": m["preprocess"], "trainable": True}, "no trainable weights"),
        (lambda m, p: {"handle": m["sentences"], "signature": "x"}, "its signatures are embed"),
    ],
)
def test_invalid_arguments_are_refused(modules, tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        HubEncoder(**arguments(modules, tmp_path))


def test_inputs_of_another_type_are_refused(modules):
    message = "takes a dict of input_mask, input_type_ids, input_word_ids: a preprocessing module"
    with pytest.raises(ValueError, match=message):
        HubEncoder(modules["bert"])(batch()[0])
    with pytest.raises(ValueError, match="does not take int32 with 2 axes"):
        HubEncoder(modules["sentences"])(tf.constant([[1]]))


def test_an_unknown_output_is_refused(modules):
    ids = HubEncoder(modules["preprocess"])(tf.constant(TEXTS))
    with pytest.raises(ValueError, match="its outputs are encoder_outputs, pooled_output, sequence_output"):
        HubEncoder(modules["bert"], output_key="x")(ids)
    with pytest.raises(ValueError, match="has 5 groups of weights"):
        HubEncoder(modules["bert"]).unfreeze(6)


def test_a_module_whose_ops_are_missing(modules, tmp_path):
    folder = shutil.copytree(modules["sentences"], tmp_path / "strange")
    data = (folder / "saved_model.pb").read_bytes()
    (folder / "saved_model.pb").write_bytes(data.replace(b"StringToHashBucketFast", b"StringToHashBucketSlow"))
    with pytest.raises(ValueError, match="needs the op StringToHashBucketSlow"):
        HubEncoder(folder)


def test_a_published_module_of_tensorflow_1(tmp_path):
    folder = CORPORA.parent / "hub" / "zh_segmentation_1"
    if not folder.is_dir():
        pytest.skip("the published module is not on this machine")
    text = keras.Input((), dtype="string", name="text")
    with pytest.raises(ValueError, match="has the format of TensorFlow 1"):
        HubEncoder(folder, trainable=True)
    model = keras.Model(text, HubEncoder(folder)(text))
    model.export(tmp_path / "exported", verbose=False)
    texts = tf.constant(["\u65b0\u534e\u793e\u5317\u4eac", ""])
    published, exported = hub.load(str(folder)), tf.saved_model.load(str(tmp_path / "exported"))
    expected = published.signatures["default"](texts)
    got = exported.signatures["serving_default"](text=texts)
    assert len(got) == len(expected) > 0
    for ours, theirs in zip(sorted(map(str, got.values())), sorted(map(str, expected.values())), strict=True):
        assert ours == theirs
