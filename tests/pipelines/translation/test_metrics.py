import pytest

from pipelines.translation import metrics

REFERENCES = ["Ein Mann f\u00e4hrt Fahrrad .", "Zwei Hunde laufen im Park ."]


def test_the_references_themselves_have_perfect_scores():
    scores = metrics.measures(["a b", "c d e f g h i j k"], REFERENCES, REFERENCES)
    assert scores["bleu"] == pytest.approx(100) and scores["chrf"] == pytest.approx(100) and scores["ter"] == 0
    assert scores["rows"] == 2 and scores["rougeL"] == pytest.approx(100) and scores["exact_match"] == 100
    assert metrics.bleu(REFERENCES, REFERENCES) == pytest.approx(100)


def test_the_signatures_are_those_of_cased_text_and_the_default_tokenizer():
    scores = metrics.measures(["a", "b"], REFERENCES, REFERENCES)
    assert "tok:13a" in scores["bleu_signature"] and "case:mixed" in scores["bleu_signature"]
    assert "version:" in scores["chrf_signature"] and "version:" in scores["ter_signature"]


def test_other_texts_have_a_low_score():
    scores = metrics.measures(["a", "b"], ["x", "y"], REFERENCES)
    assert scores["bleu"] < 5 and scores["ter"] >= 100 and scores["rouge1"] == 0 and scores["exact_match"] == 0


def test_bleu_is_also_computed_by_the_number_of_words_of_the_source():
    sources = ["a b", "one two three four five six seven eight", " ".join("x" * 45)]
    buckets = metrics.measures(sources, [*REFERENCES, "x"], [*REFERENCES, "y"])["bleu_by_length"]
    assert [bucket["words"] for bucket in buckets] == ["1 to 7", "8 to 10", "40 or more"]
    assert [bucket["rows"] for bucket in buckets] == [1, 1, 1]
    assert [round(bucket["bleu"]) for bucket in buckets] == [100, 100, 0]


def test_the_interval_contains_the_score_and_empty_translations_are_counted():
    translations = [*(REFERENCES * 10)[:-4], "", " ", "Zwei Hunde.", "x"]
    scores = metrics.measures([*["a"] * 17, "", "a", "a"], translations, REFERENCES * 10)
    low, high = scores["bleu_interval"]
    assert low < scores["bleu"] < high < 100 and scores["empty"] == 1
    assert "bleu_interval" not in metrics.measures(["a"], ["x"], ["x"])


def test_a_draw_of_all_pairs_has_the_corpus_bleu(monkeypatch):
    translations = ["Ein Mann f\u00e4hrt .", "Zwei Hunde laufen im Wald ."]
    monkeypatch.setattr(metrics, "resampled_sums", lambda counts: counts.sum(axis=0, keepdims=True))
    assert metrics.bleu_draws(translations, REFERENCES)[0] == pytest.approx(metrics.bleu(translations, REFERENCES))
