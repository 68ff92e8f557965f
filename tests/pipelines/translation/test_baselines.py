import types

import numpy as np
import pytest

from pipelines.data.pairs import Pairs
from pipelines.translation import baselines, metrics

ROWS = [
    ("The dog barks.", "El perro ladra."),
    ("A dog sleeps.", "Un perro duerme."),
    ("The cat sleeps.", "El gato duerme."),
    ("A cat barks.", "Un gato ladra."),
]
TRAIN = Pairs.of(ROWS)


def reference(source, target, iterations):
    """IBM model 1 as in the equations, with dictionaries."""
    source = [["", *words] for words in source]
    t = dict.fromkeys(((f, e) for es, fs in zip(source, target, strict=True) for e in es for f in fs), 1.0)
    for _ in range(iterations):
        counts = dict.fromkeys(t, 0.0)
        for es, fs in zip(source, target, strict=True):
            for f in fs:
                for e in es:
                    counts[f, e] += t[f, e] / sum(t[f, other] for other in es)
        totals = {}
        for (_, e), count in counts.items():
            totals[e] = totals.get(e, 0) + count
        t = {(f, e): count / totals[e] for (f, e), count in counts.items()}
    words = {e for _, e in t if e}
    return {e: max((f for f, other in t if other == e), key=lambda f, e=e: t[f, e]) for e in words}


def test_the_words_are_those_of_the_equations():
    rng = np.random.default_rng(0)
    names = {w: f"t{w}" for w in range(12)}
    source = [[str(w) for w in rng.integers(0, 12, rng.integers(1, 7))] for _ in range(60)]
    target = [[names[int(w)] for w in rng.permutation(words)] + [f"n{rng.integers(3)}"] for words in source]
    found = baselines.most_probable_words(source, target)
    assert found == reference(source, target, 5)
    assert found == {str(w): name for w, name in names.items()}


def test_sentences_are_translated_word_by_word():
    found = baselines.word_table(TRAIN, ["A dog barks.", "the zebra sleeps", "", "(The cat)?"])
    assert found == ["Un perro ladra.", "el zebra duerme", "", "(El gato)?"]


def test_pairs_with_an_empty_side_are_allowed():
    assert baselines.word_table(Pairs.of([*ROWS, ("", "Hola."), ("Hi", "")]), ["The dog"]) == ["El perro"]
    assert baselines.word_table(Pairs.of([("", "")]), ["The dog"]) == ["The dog"]


def test_the_scores_stand_beside_those_of_the_model():
    valid = Pairs.of(ROWS * 5)
    translations = [each.replace("El", "Un") for each in valid.target]
    scores = {"validation": metrics.measures(valid.source, translations, valid.target)}
    baselines.add(scores, TRAIN, {"validation": valid}, {"validation": translations})
    copied, table = scores["validation"]["baselines"]
    assert copied["name"] == "the source, copied" and copied["bleu"] < 10
    assert copied["difference_interval"][0] > 0
    assert table["bleu"] == pytest.approx(100) and table["difference_interval"][1] < 0


def test_many_words_and_prepared_pairs_have_no_table(monkeypatch):
    valid = {"validation": Pairs.of(ROWS)}
    translations = {"validation": list(TRAIN.target)}
    monkeypatch.setattr(baselines, "ShardedPairs", types.SimpleNamespace)
    scores = {"validation": {}}
    baselines.add(scores, types.SimpleNamespace(), valid, translations)
    assert "prepared data" in scores["validation"]["baselines"][1]["left_out"]
    monkeypatch.setattr(baselines, "MAX_CELLS", 30)
    baselines.add(scores, TRAIN, valid, translations)
    copied, table = scores["validation"]["baselines"]
    assert copied["bleu"] >= 0 and "too many for a table in memory" in table["left_out"]
