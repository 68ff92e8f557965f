import numpy as np
import pytest

from pipelines.support.answers import Answers, compare
from pipelines.translation import metrics
from pipelines.translation.answers import measure

REFERENCES = [f"the {color} dog number {i} runs in the park" for i in range(15) for color in ("red", "old")]


def test_the_measures_are_those_of_evaluate():
    bad = ["a dog runs" if i % 3 else text for i, text in enumerate(REFERENCES)]
    good = [text.replace("runs", "ran") for text in REFERENCES]
    measured = [measure(Answers(REFERENCES, REFERENCES, each), {}) for each in (bad, good)]
    found = compare(*measured)
    assert list(found) == ["bleu", "chrf"] and {each.verdict for each in found.values()} == {"better"}
    for each, name in ((bad, "first"), (good, "second")):
        expected = metrics.corpus_scores(each, REFERENCES)
        assert getattr(found["bleu"], name) == pytest.approx(expected["bleu"])
        assert getattr(found["chrf"], name) == pytest.approx(expected["chrf"])
    assert measured[0].errors[0] == pytest.approx(0) and measured[0].errors[1] > measured[1].errors[1] > 0


def test_empty_translations_count():
    measured = measure(Answers(REFERENCES, REFERENCES, [""] * len(REFERENCES)), {})
    np.testing.assert_array_equal(measured.errors, 100)
    found = compare(measured, measured)
    assert found["bleu"].first == 0 and found["chrf"].first == 0
