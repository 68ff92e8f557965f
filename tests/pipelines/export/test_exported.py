import json
import shutil
from pathlib import Path

import pytest
import tensorflow as tf

from pipelines.export.card import CARD
from pipelines.export.exported import Exported, difference, files_of, find_export, version_of, versions
from pipelines.support.errors import UserError


def make_versions(root, *titles, task=None):
    for title in titles:
        (root / title).mkdir(parents=True)
        (root / title / CARD).write_text(json.dumps({"task": task} if task else {}))


def test_versions_are_numbers_in_their_order(tmp_path):
    make_versions(tmp_path, "demo/10", "demo/9", "demo/.tmp-1", "demo/old", "demo/007")
    (tmp_path / "demo" / "11").write_text("a file")
    assert versions(tmp_path / "demo") == [9, 10]
    assert versions(tmp_path / "nowhere") == []


def test_the_newest_version_is_found_and_the_sample_is_used_only_if_there_is_no_other(tmp_path):
    make_versions(tmp_path, "sentiment-sample/3", "other/1")
    assert find_export(tmp_path, "sentiment").title == "sentiment-sample/3"
    make_versions(tmp_path, "sentiment/2", "sentiment/10", "sentiment/.tmp-1")
    assert find_export(tmp_path, "sentiment").title == "sentiment/10"
    assert find_export(tmp_path, "sentiment", version=2).title == "sentiment/2"
    assert find_export(tmp_path, "sentiment", name="other").title == "other/1"


def test_a_default_name_replaces_the_name_of_the_task(tmp_path):
    make_versions(tmp_path, "nmt/1", "nmt-en-de/2", "nmt-en-es-sample/4")
    assert find_export(tmp_path, "nmt", default_name="nmt-en-de").title == "nmt-en-de/2"
    assert find_export(tmp_path, "nmt", default_name="nmt-en-es").title == "nmt-en-es-sample/4"
    assert find_export(tmp_path, "nmt", name="nmt", default_name="nmt-en-de").title == "nmt/1"


def test_a_missing_model_or_version_is_reported_with_the_existing_ones(tmp_path):
    with pytest.raises(
        UserError, match="no model 'sentiment' .*no sentiment model has been exported yet.*train sentiment"
    ):
        find_export(tmp_path, "sentiment")
    make_versions(tmp_path, "sentiment/2")
    with pytest.raises(UserError, match="sentiment has no version 3; it has 2"):
        find_export(tmp_path, "sentiment", version=3)
    with pytest.raises(UserError, match="no model 'other' .*existing: sentiment"):
        find_export(tmp_path, "sentiment", name="other")


def test_without_a_name_the_only_export_of_the_task_is_found(tmp_path):
    make_versions(tmp_path, "classification-sample/1", "spam/1", "spam/2", task="classification")
    make_versions(tmp_path, "sentiment/1", task="sentiment")
    assert find_export(tmp_path, "classification").title == "spam/2"
    assert find_export(tmp_path, "sentiment").title == "sentiment/1"
    make_versions(tmp_path, "news/1", task="classification")
    with pytest.raises(UserError, match=r"several classification models .* choose one with --name \(news, spam\)"):
        find_export(tmp_path, "classification")


def test_an_export_of_another_task_is_refused_and_those_that_fit_are_listed(tmp_path):
    make_versions(tmp_path, "spam/1", task="classification")
    make_versions(tmp_path, "sentiment/1", task="sentiment")
    make_versions(tmp_path, "plays/1", task="char-lm")
    with pytest.raises(
        UserError, match=r"spam is a model of the task classification, not of char-lm \(existing: plays\)"
    ):
        find_export(tmp_path, "char-lm", name="spam")
    with pytest.raises(UserError, match=r"plays is a model of the task char-lm, .*existing: sentiment, spam"):
        find_export(tmp_path, "sentiment", name="plays")
    assert find_export(tmp_path, "sentiment", name="spam").title == "spam/1"  # the same folder, so the same signatures
    assert find_export(tmp_path, "language-model", name="plays").title == "plays/1"


def test_the_card_is_read(tmp_path):
    make_versions(tmp_path, "demo/1")
    assert Exported("demo", 1, tmp_path / "demo" / "1").card() == {}


@pytest.mark.parametrize("content", [b"{", b"\xff", b"", b"[" * 100_000, b"[]", b"3", b'{"task": []}'])
def test_a_damaged_card_is_reported(tmp_path, content):
    (tmp_path / CARD).write_bytes(content)
    with pytest.raises(UserError, match="model_card.json is damaged.*: train the model again") as error:
        Exported("demo", 1, tmp_path).card()
    assert "\n" not in str(error.value)


def test_an_odd_card_does_not_hide_the_other_exports(tmp_path):
    make_versions(tmp_path, "spam/1", task="classification")
    for number, content in enumerate(
        [b'{"task": ["classification"]}', b'{"task": {}}', b"[]", b"[" * 100_000, b"\xff"]
    ):
        make_versions(tmp_path, f"odd-{number}/1")
        (tmp_path / f"odd-{number}" / "1" / CARD).write_bytes(content)
    make_versions(tmp_path, "missing/1")
    (tmp_path / "missing" / "1" / CARD).unlink()
    assert find_export(tmp_path, "classification", name="spam").title == "spam/1"
    assert find_export(tmp_path, "classification").title == "spam/1"
    with pytest.raises(UserError, match="missing has no model_card.json|/1 has no model_card.json"):
        Exported("missing", 1, tmp_path / "missing" / "1").card()


def test_versions_are_digits_of_ascii(tmp_path):
    make_versions(tmp_path, "demo/2", "demo/\u00b2", "demo/\u0663", "demo/-1")
    assert versions(tmp_path / "demo") == [2]
    assert [version_of(Path(name)) for name in ("0", "12", "\u00b2", "\u0663", "007", "x")] == [0, 12, *[None] * 4]


def test_a_difference_to_the_files_of_an_export_is_found_but_not_an_added_file(tmp_path):
    (tmp_path / "1" / "variables").mkdir(parents=True)
    (tmp_path / "1" / "graph").write_text("graph")
    (tmp_path / "1" / "variables" / "data").write_text("data")
    files = files_of(tmp_path / "1")
    assert {name: file["bytes"] for name, file in files.items()} == {"graph": 5, "variables/data": 4}
    (tmp_path / "1" / "notes").write_text("mine")
    assert difference(tmp_path / "1", files) is None
    assert difference(tmp_path / "2", files) == "it does not exist"
    (tmp_path / "1" / "graph").write_text("Graph")
    assert difference(tmp_path / "1", files) == "graph has changed"
    (tmp_path / "1" / "graph").write_text("")
    assert difference(tmp_path / "1", files) == "graph has 0 bytes instead of 5"
    (tmp_path / "1" / "graph").unlink()
    assert difference(tmp_path / "1", files) == "graph is missing"


def test_an_export_is_loaded_with_its_signatures(tmp_path):
    class Servable(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
        def call(self, text):
            return {"length": tf.strings.length(text)}

    servable = Servable()
    signatures = {"serving_default": servable.call.get_concrete_function()}
    tf.saved_model.save(servable, str(tmp_path), signatures)
    loaded = Exported("demo", 1, tmp_path).load()
    assert loaded.signatures["serving_default"](text=tf.constant(["abc"]))["length"].numpy().tolist() == [3]


@pytest.mark.parametrize("content", [None, b"", b"nonsense"])
def test_a_folder_without_a_saved_model_is_reported(tmp_path, content):
    if content is not None:
        (tmp_path / "saved_model.pb").write_bytes(content)
    with pytest.raises(UserError, match="no SavedModel that can be loaded .*: train it again"):
        Exported("demo", 1, tmp_path).load()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An export with a variable and an asset."""
    folder = tmp_path_factory.mktemp("whole")
    words = folder / "words.txt"
    words.write_text("one\ntwo\n")

    class Servable(tf.Module):
        def __init__(self):
            self.weights = tf.Variable(tf.random.stateless_normal([100], [1, 2]))
            start = tf.lookup.TextFileInitializer(
                str(words), tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
            )
            self.table = tf.lookup.StaticHashTable(start, -1)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
        def call(self, text):
            return {"weight": tf.gather(self.weights, self.table.lookup(text) + 1)}

    servable = Servable()
    tf.saved_model.save(servable, str(folder / "1"), {"serving_default": servable.call.get_concrete_function()})
    return folder / "1"


FILES = ["saved_model.pb", "variables/variables.index", "variables/variables.data-00000-of-00001", "assets/words.txt"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("left", [None, 0, 0.5, 0.95], ids=["removed", "empty", "half", "cut"])
def test_a_damaged_export_is_reported_in_one_line(whole, tmp_path, name, left):
    folder = tmp_path / "1"
    shutil.copytree(whole, folder)
    path = folder / name
    if left is None:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[: int(left * path.stat().st_size)])
    if name.startswith("assets") and left:  # TensorFlow reads any text as a list of words
        Exported("demo", 1, folder).load()
        return
    with pytest.raises(UserError, match="holds no SavedModel that can be loaded .*: train it again") as error:
        Exported("demo", 1, folder).load()
    assert "\n" not in str(error.value) and len(str(error.value)) < 600


def test_a_saved_model_without_the_default_signature_is_reported(tmp_path):
    tf.saved_model.save(tf.Module(), str(tmp_path))
    with pytest.raises(UserError, match="no SavedModel that can be loaded"):
        Exported("demo", 1, tmp_path).load()
