"""Rows that no model reads: found, left out, counted."""

import pandas as pd
import pytest

from pipelines.data.text_chunks import Chunk
from pipelines.predicting.file_steps import NOT_UNICODE, add_counts, predict_chunk

NOT_UTF_8 = b"caf\xe9".decode("utf-8", "surrogateescape")


def chunk_of(texts):
    return Chunk(pd.DataFrame({"id": [str(i) for i in range(len(texts))], "text": texts}, dtype=object), "text", 0)


class Model:
    """Returns texts in upper case; fails for a batch with one of the given texts."""

    def __init__(self, *failing):
        self.failing, self.calls = failing, 0

    def __call__(self, texts):
        self.calls += 1
        for text in self.failing:
            if text in texts:
                raise ValueError(f"cannot read {text}\nat line 7")
        return [text.upper() for text in texts]


def test_a_chunk_without_poison_is_predicted_in_one_call():
    model, chunk = Model(), chunk_of(["a", "", "\N{SNOWMAN}"])
    predicted, reasons = predict_chunk(model, chunk)
    assert (predicted.outputs, reasons, model.calls) == (["A", "", "\N{SNOWMAN}"], {}, 1)
    assert predicted.chunk.rows is chunk.rows and not predicted.poisoned.any()


def test_each_text_that_fails_is_found_in_few_calls():
    texts = [f"text {i}" for i in range(1000)]
    model = Model("text 17", "text 998")
    predicted, reasons = predict_chunk(model, chunk_of(texts))
    assert reasons == {17: "ValueError: cannot read text 17", 998: "ValueError: cannot read text 998"}
    assert predicted.poisoned.nonzero()[0].tolist() == [17, 998]
    assert [predicted.outputs[i] for i in (16, 17, 18)] == ["TEXT 16", "", "TEXT 18"]
    assert predicted.chunk.rows["text"].tolist() == texts
    assert model.calls < 50


def test_a_row_with_bytes_that_are_not_unicode_is_not_given_to_the_model():
    chunk = chunk_of(["good", NOT_UTF_8, "\ud83d alone", "fine"])
    chunk.rows.loc[3, "id"] = NOT_UTF_8
    model = Model(NOT_UTF_8, "\ud83d alone")
    predicted, reasons = predict_chunk(model, chunk)
    assert reasons == dict.fromkeys([1, 2, 3], NOT_UNICODE) and model.calls == 1
    assert predicted.outputs == ["GOOD", "", "", ""]
    assert predicted.chunk.rows.to_numpy().tolist() == [
        ["0", "good"],
        ["1", "caf\N{REPLACEMENT CHARACTER}"],
        ["2", "\N{REPLACEMENT CHARACTER} alone"],
        ["caf\N{REPLACEMENT CHARACTER}", "fine"],
    ]
    assert chunk.rows["text"][1] == NOT_UTF_8


def test_a_model_that_fails_for_an_empty_text_is_broken():
    with pytest.raises(ValueError, match="cannot read"):
        predict_chunk(Model("a", ""), chunk_of(["a"]))


def test_counts_are_added_by_name():
    total = {}
    add_counts(total, {"rows": 2, "labels": {"a": 1}})
    add_counts(total, {"rows": 1, "labels": {"a": 1, "b": 2}, "empty": 1})
    assert total == {"rows": 3, "labels": {"a": 2, "b": 2}, "empty": 1}
