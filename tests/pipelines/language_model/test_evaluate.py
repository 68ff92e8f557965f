import numpy as np
import pytest

from pipelines.data import texts
from pipelines.language_model.evaluate import evaluate, format_measures
from pipelines.support.errors import UserError
from tests.pipelines.language_model.models import TEXT, FakeExport


@pytest.mark.long
def test_a_text_is_measured_as_one_stream_although_it_is_read_in_chunks(lstm, tmp_path, monkeypatch):
    generator = lstm[-1]
    (tmp_path / "a.txt").write_text(TEXT + "\u00e9")  # the last character is unknown
    monkeypatch.setattr(texts, "_CHUNK", 50)
    measures = evaluate(FakeExport(generator), str(tmp_path / "a.txt"))
    scored = generator.score([TEXT + "\u00e9"])
    assert measures["tokens"] == measures["characters"] == len(TEXT) + 1 and measures["unknown_tokens"] == 1
    assert measures["perplexity"] == pytest.approx(float(scored["perplexity"][0]), rel=1e-5)
    assert measures["bits_per_character"] == pytest.approx(measures["loss"] / np.log(2))
    assert (measures["model"], measures["data"]) == ("char-lm/1", "a")


@pytest.mark.long
def test_texts_that_cannot_be_measured(lstm, tmp_path):
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(UserError, match="is empty"):
        evaluate(FakeExport(lstm[-1]), str(tmp_path / "empty.txt"))
    with pytest.raises(UserError, match="not trained on the embedded sample.*--data"):
        evaluate(FakeExport(lstm[-1], sample=False), None)


def test_the_table_names_unknown_tokens_only_where_there_are_any():
    measures = {
        "model": "char-lm/1",
        "data": "a",
        "tokens": 10,
        "characters": 20,
        "unknown_tokens": 0,
        "loss": 1.0,
        "perplexity": 2.7,
        "bits_per_character": 0.7,
    }
    text = format_measures(measures)
    assert "perplexity              2.700" in text and "not in the vocabulary" not in text
    assert "3 tokens are not in the vocabulary" in format_measures(measures | {"unknown_tokens": 3})
