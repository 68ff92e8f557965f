import math

import pytest
import tensorflow as tf

from pipelines.translation.scores import format_scores, score_pairs, score_pairs_on_server


class Export:
    def __init__(self, translator):
        self.signatures = {"score": lambda text, translation: translator.score(text, translation)}

    def load(self):
        return self


@pytest.mark.long
def test_the_surprisals_sum_to_the_log_probability(small_decoder, pairs):
    texts, translations = pairs.source[:3].tolist(), [*pairs.target[:2].tolist(), ""]
    results = score_pairs(Export(small_decoder.translator), texts, translations)
    expected = small_decoder.translator.score(tf.constant(texts), tf.constant(translations))
    for i, result in enumerate(results):
        assert (result["text"], result["translation"]) == (texts[i], translations[i])
        assert result["log_probability"] == pytest.approx(float(expected["log_probability"][i]), abs=1e-3)
        assert result["perplexity"] == pytest.approx(math.exp(-result["log_probability"] / result["tokens"]), rel=1e-3)
        assert len(result["surprisal"]) == result["tokens"] and result["surprisal"][-1][0] == "<end>"
        bits = sum(surprisal for _, surprisal in result["surprisal"])
        assert bits * math.log(2) == pytest.approx(-result["log_probability"], abs=0.05)


def test_a_server_is_asked_for_the_same():
    class Server:
        def ask(self, model, inputs, signature):
            assert (model, signature) == ("mine", "score") and inputs == {"text": ["a"], "translation": ["b"]}
            return {"log_probability": [-3.0], "score": [-1.0], "tokens": [3]}

    (result,) = score_pairs_on_server(Server(), "mine", ["a"], ["b"])
    assert result["perplexity"] == pytest.approx(math.e, abs=1e-3) and "surprisal" not in result
    assert format_scores([result]).startswith("a -> b\n  log-probability -3.000   perplexity 2.72")


def test_several_translations_of_a_text_are_compared():
    result = {"text": "a", "translation": "b", "log_probability": -3.0, "tokens": 3, "perplexity": 2.7}
    better = result | {"translation": "c", "log_probability": -1.0, "surprisal": [["c", 0.4], ["<end>", 0.1]]}
    text = format_scores([result, better])
    assert "a -> c(0.4) <end>(0.1)" in text and text.endswith("the most probable: c")
    assert "most probable" not in format_scores([result, better | {"text": "other"}])
