import io

import numpy as np
import pytest
import tensorflow as tf

from pipelines.data import text_chunks
from pipelines.data.table_options import TableOptions
from pipelines.encoder import predict
from pipelines.export.exported import Exported
from pipelines.predicting import engine
from pipelines.predicting.file_steps import Predicted
from pipelines.support.errors import UserError
from tests.pipelines.predicting.parts import parts_of

VECTORS = {"bank": [1.0, 0.0], "river": [0.0, 1.0], "savings": [1.0, 1.0]}


class Fake(tf.Module):
    """An encoder whose words have the mean of their own vector and that of the word before them."""

    def __init__(self):
        super().__init__()
        text = tf.TensorSpec([None], tf.string, name="text")
        tokens = tf.TensorSpec([None, None], tf.string, name="tokens")
        keys = tf.constant(list(VECTORS))
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, tf.range(3)), -1)
        self.table = table
        vectors = tf.constant([*VECTORS.values(), [0.0, 0.0]])

        def encode(text):
            lengths = tf.cast(tf.strings.length(text), tf.float32)
            return {"embedding": tf.stack([lengths, -lengths], axis=1)}

        def words(tokens):
            static = tf.gather(vectors, self.table.lookup(tokens) % 4)
            before = tf.pad(static, [[0, 0], [1, 0], [0, 0]])[:, :-1]
            return {"vectors": (static + before) / 2, "embeddings": static}

        def fill(text):
            rows = tf.shape(text)[0]
            return {
                "tokens": tf.tile([["hungry", "##ing"]], [rows, 1]),
                "probabilities": tf.tile([[0.75, 0.125]], [rows, 1]),
            }

        self.functions = {
            "serving_default": tf.function(encode, input_signature=[text]),
            "words": tf.function(words, input_signature=[tokens]),
            "fill": tf.function(fill, input_signature=[text]),
        }

    @property
    def signatures(self):
        return {name: function.get_concrete_function() for name, function in self.functions.items()}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "encoder" / "1"
    module = Fake()
    tf.saved_model.save(module, str(path), signatures=module.signatures)
    return Exported("encoder", 1, path)


def test_candidates_of_a_blank(exported):
    results = predict.fill_blanks(exported, ["I am [MASK].", "[MASK]"], top=1)
    assert results == [{"text": text, "candidates": [["hungry", 0.75]]} for text in ("I am [MASK].", "[MASK]")]
    (both, _) = predict.fill_blanks(exported, ["I am [MASK].", "[MASK]"], top=2)
    lines = predict.format_candidates(both["candidates"]).splitlines()
    assert lines[0].split() == ["hungry", "█" * 15, "0.7500"] and lines[1].split()[0] == "##ing"


@pytest.mark.parametrize("text", ["I am hungry", "[MASK] [MASK]"])
def test_a_text_without_one_blank_is_refused(exported, text):
    with pytest.raises(UserError, match="write exactly one"):
        predict.fill_blanks(exported, [text], top=1)


def test_a_word_in_two_contexts(exported):
    result = predict.compare_words(exported, ["river bank", "savings bank"], None)
    first, second = np.array([0.5, 0.5]), np.array([1.0, 0.5])
    cosine = first @ second / np.linalg.norm(first) / np.linalg.norm(second)
    assert result["word"] == "bank"
    np.testing.assert_allclose(result["context"], [[1, cosine], [cosine, 1]], atol=1e-4)
    np.testing.assert_allclose(result["static"], 1.0)
    assert f"{cosine:.3f}" in predict.format_comparison(result) and "1.000" in predict.format_comparison(result)


@pytest.mark.parametrize(
    ("texts", "word", "message"),
    [
        (["river bank"], None, "at least two texts"),
        (["river bank", "savings"], None, "no word is in all texts"),
        (["river bank", "savings"], "bank", "'savings' does not have it"),
    ],
)
def test_words_that_cannot_be_compared_are_refused(exported, texts, word, message):
    with pytest.raises(UserError, match=message):
        predict.compare_words(exported, texts, word)


STEPS = predict.file_steps(TableOptions())


def test_the_vectors_of_a_file(exported, tmp_path):
    (tmp_path / "in.csv").write_text("id,text\n1,abc\n2,\n3,a,b\n4,abcde\n")
    counts = engine.predict_files(exported, str(tmp_path / "in.csv"), tmp_path / "out.npy", STEPS)
    assert counts == {"rows": 3, "skipped": 1, "poisoned": 0}
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), [[3, -3], [0, 0], [5, -5]])


def test_a_large_number_of_rows_fits_into_the_header():
    first = Predicted(None, np.zeros([3, 768], np.float32), np.zeros(3, bool))
    assert len(predict._head(first, 0)) == len(predict._head(first, 10**12))


def test_an_export_without_the_signature_is_refused(tmp_path):
    module = tf.Module()
    function = tf.function(lambda text: {"x": text}, input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    module.f = function
    tf.saved_model.save(module, str(tmp_path / "1"), signatures={"serving_default": function.get_concrete_function()})
    with pytest.raises(UserError, match="has no signature 'fill'"):
        predict.fill_blanks(Exported("old", 1, tmp_path / "1"), ["[MASK]"], 1)


def test_the_parts_of_a_distributed_prediction_are_the_vectors_of_the_plain_command(exported, tmp_path, monkeypatch):
    monkeypatch.setattr(text_chunks, "CHUNK_ROWS", 2)
    source = tmp_path / "in.csv"
    source.write_text("text\n" + "".join(f"{'a' * (i % 5)} {i}\n" for i in range(23)))
    engine.predict_files(exported, str(source), tmp_path / "out.npy", STEPS)
    parts = parts_of(STEPS, exported, source, fails_for="a 16")
    assert [record["counts"]["rows"] for _, record in parts] == [10, 10, 3]
    assert list(parts[1][1]["poisoned"]) == [6]
    vectors, expected = np.concatenate([np.load(io.BytesIO(part)) for part, _ in parts]), np.load(tmp_path / "out.npy")
    assert vectors.dtype == np.float32 and np.isnan(vectors[16]).all()
    np.testing.assert_array_equal(np.delete(vectors, 16, 0), np.delete(expected, 16, 0))
