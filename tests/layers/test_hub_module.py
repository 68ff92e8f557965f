import functools
import http.server
import io
import os
import tarfile
import threading

import keras
import numpy as np
import pytest

if keras.backend.backend() != "tensorflow":
    pytest.skip("TF Hub modules need TensorFlow", allow_module_level=True)

import tensorflow as tf

from layers.hub_module import InputError, Module, resolve
from tests.layers import hub_modules

TEXTS = tf.constant(["a gripping story", "the film was not gripping", ""])


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("modules")
    return {
        "bert": hub_modules.save_bert(root / "bert"),
        "preprocess": hub_modules.save_preprocessor(root / "preprocess"),
        "sentences": hub_modules.save_sentences(root / "sentences"),
        "two_signatures": hub_modules.save_two_signatures(root / "two_signatures"),
    }


def module(folders, name, signature=None):
    return Module(resolve(folders[name]), signature, name)


def sentence_vectors(folder):
    """The mean of the word vectors in NumPy."""
    table = tf.saved_model.load(folder).vectors.numpy()
    vectors = np.zeros((len(TEXTS), hub_modules.SIZE), "float32")
    for row, text in enumerate(TEXTS.numpy()):
        ids = [int(tf.strings.to_hash_bucket_fast(word, len(table))) for word in text.split()]
        vectors[row] = table[ids].mean(axis=0) if ids else 0
    return vectors


def test_a_folder_resolves_to_itself_and_an_archive_to_the_same_module(folders, tmp_path):
    assert str(resolve(folders["sentences"])) == folders["sentences"]
    with tarfile.open(tmp_path / "module.tar.gz", "w:gz") as archive:
        archive.add(folders["sentences"], "some/folder")
    extracted = resolve(str(tmp_path / "module.tar.gz"))
    assert (extracted / "saved_model.pb").is_file()
    assert resolve(str(tmp_path / "module.tar.gz")) == extracted  # extracted only once


def test_an_archive_without_a_module_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("no module")
    with tarfile.open(tmp_path / "notes.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "notes.txt", "notes.txt")
    with pytest.raises(ValueError, match="has no saved_model.pb"):
        resolve(str(tmp_path / "notes.tar.gz"))
    (tmp_path / "broken.tar.gz").write_bytes(b"not an archive")
    with pytest.raises(ValueError, match="cannot be read as an archive"):
        resolve(str(tmp_path / "broken.tar.gz"))


def test_a_hostile_archive_is_one_error_that_names_it(tmp_path):
    for i, names in enumerate([["../outside"], ["a", "a/b"]]):
        path = tmp_path / f"{i}.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            for name in names:
                archive.addfile(tarfile.TarInfo(name))
        with pytest.raises(ValueError, match=f"{path} (was not|cannot be) extracted") as error:
            resolve(str(path))
        assert "\n" not in str(error.value)


@pytest.fixture
def served(tmp_path, monkeypatch):
    """Serves `tmp_path`/www; returns that folder and its URL."""
    monkeypatch.setenv("TFHUB_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "www").mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    handler = functools.partial(Handler, directory=tmp_path / "www")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield tmp_path / "www", f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_a_hostile_archive_behind_a_url_is_refused_and_leaves_nothing(served, tmp_path, monkeypatch):
    monkeypatch.setattr("layers.hub_archive._SMALL", 2**20)
    folder, url = served
    member = tarfile.TarInfo("saved_model.pb")
    member.size = 2**22
    with tarfile.open(folder / "large.tar.gz", "w:gz") as archive:
        archive.addfile(member, io.BytesIO(bytes(member.size)))
    with tarfile.open(folder / "outside.tar.gz", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("../../outside"))
    for name, message in (("large", "more than 1 MiB"), ("outside", "not a plain file below its folder")):
        with pytest.raises(ValueError, match=f"^{url}/{name}.tar.gz was not extracted: .*{message}$"):
            resolve(f"{url}/{name}.tar.gz")
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_a_pipe_is_no_module(tmp_path):
    for name in ("pipe", "pipe.tar.gz"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(ValueError, match="there is no such (file|folder)"):
            resolve(str(tmp_path / name))


@pytest.mark.parametrize("signature", [None, "embed"])
def test_the_module_and_its_signature_compute_the_mean_of_the_word_vectors(folders, signature):
    outputs = module(folders, "sentences", signature)(TEXTS, training=False)
    vectors = outputs["output_0"] if signature else outputs
    np.testing.assert_allclose(vectors, sentence_vectors(folders["sentences"]), atol=1e-6)


def test_variables_are_listed_once_and_trainable_ones_are_known(folders):
    bert = module(folders, "bert")
    names = [variable.name.split(":")[0] for variable in bert.variables]
    assert len(names) == len(set(names)) == 3 + 2 * hub_modules.DEPTH
    trainable = {name for name, variable in zip(names, bert.variables, strict=True) if id(variable) in bert.trainable}
    assert trainable == set(names) - {"calls"}
    assert len(bert.losses) == 1 and not bert.is_tf1_format


def test_only_modules_with_a_training_argument_take_it(folders):
    assert module(folders, "bert").takes_training
    assert not module(folders, "sentences").takes_training
    assert not module(folders, "sentences", "embed").takes_training


def test_a_module_that_is_not_callable_needs_the_name_of_a_signature(folders):
    with pytest.raises(ValueError, match="is not callable, and its signatures are double, negative: give one"):
        module(folders, "two_signatures")
    negative = module(folders, "two_signatures", "negative")
    np.testing.assert_array_equal(negative(tf.constant([1.0, -2.0]), training=False)["output_0"], [-1.0, 2.0])
    with pytest.raises(ValueError, match="no signature 'other': its signatures are double, negative"):
        module(folders, "two_signatures", "other")


def test_wrong_inputs_are_described(folders):
    with pytest.raises(InputError, match="takes a dict of input_mask, input_type_ids, input_word_ids"):
        module(folders, "bert")(TEXTS, training=False)
    with pytest.raises(InputError, match=r"does not take a dict of input_word_ids \(float32 with 1 axes\)"):
        module(folders, "bert")({"input_word_ids": tf.constant([1.0])}, training=False)
    with pytest.raises(InputError, match="does not take int32 with 1 axes"):
        module(folders, "sentences")(tf.constant([1]), training=False)
