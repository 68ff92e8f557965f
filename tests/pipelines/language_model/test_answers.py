import math

import numpy as np
import pytest

from pipelines.data import texts
from pipelines.language_model.answers import PASSAGE, measure
from pipelines.language_model.evaluate import answers, evaluate
from pipelines.support.answers import Answers, compare
from tests.pipelines.language_model import models


def test_losses_are_per_character_and_per_word():
    passages = ["ab cd", "abcdefgh ij"] * 6
    measured = [measure(Answers(passages, [""] * 12, [""] * 12, [loss] * 12), {}) for loss in (2.0, 1.0)]
    found = compare(*measured)
    assert found["bits_per_character"].first == pytest.approx(2 / math.log(2) / 8)
    assert found["loss_per_word"].second == pytest.approx(0.5)
    assert {each.verdict for each in found.values()} == {"better"}


@pytest.mark.long
@pytest.mark.slow
def test_the_passages_of_a_text_have_its_loss(lstm, tmp_path, monkeypatch):
    export = models.FakeExport(lstm[3])
    export._card |= {"task": "char-lm", "data": {"fingerprint": "unknown"}}
    path = tmp_path / "text.txt"
    path.write_text(models.TEXT * 12)
    monkeypatch.setattr(texts, "_CHUNK", 900)  # the model reads at most 1,000 bytes at a time
    found, whole = answers(export, str(path)), evaluate(export, str(path))
    assert "".join(found.texts) == models.TEXT * 12 and max(map(len, found.texts)) <= PASSAGE
    assert sum(found.scores) / math.log(2) / whole["characters"] == pytest.approx(whole["bits_per_character"], rel=1e-5)
    assert found.right == [""] * len(found.texts) and found.given[0].endswith(" bits per character") and not found.doubt
    path.write_text("\N{SNOWMAN}" * 5)
    assert answers(export, str(path)).doubt == "5 tokens of the text are unknown to it, which makes its loss too low"
    assert not np.isnan(found.scores).any()
