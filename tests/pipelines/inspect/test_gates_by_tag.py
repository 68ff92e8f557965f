import numpy as np
import pandas as pd
import pytest

from pipelines.inspect import gates_by_tag
from pipelines.inspect.trace import traces
from pipelines.support.errors import UserError
from tests.pipelines.inspect.exports import outputs_of


@pytest.mark.parametrize(
    ("tokens", "words", "expected"),
    [
        (["<start>", "The", "cat", "."], ["The", "cat", "."], [1, 2, 3]),
        (["<start>", *"a cat"], ["a", "cat"], [1, 5]),
        (["<start>", "\u2581the", "\u2581c", "at", "<end>"], ["The", "cat"], [1, 3]),
        (["<start>", "a", "dog"], ["a", "cat"], None),
        (["<start>", "a"], ["a", "cat"], None),
    ],
)
def test_the_last_token_of_each_word(tokens, words, expected):
    assert gates_by_tag.last_tokens(tokens, words) == expected


def test_the_means_are_those_of_the_words():
    found = [traces("small/1", outputs_of(seed=seed))[0] for seed in range(3)]
    sentences, tags = [["a", "b"], ["a", "b"], ["x"]], [["DET", "NOUN"], ["DET", "NOUN"], ["X"]]
    rows = gates_by_tag.gate_rows(found, sentences, tags)
    nouns = rows[(rows.tag == "NOUN") & (rows.gate == "forget gate")]
    expected = [trace.recurrent["layer_1"]["forget_gate"][3].mean() for trace in found[:2]]
    np.testing.assert_allclose(nouns["value"], expected)
    assert "X" not in set(rows["tag"]), "its tokens do not spell its words"
    with pytest.raises(UserError, match="no part of speech has 20 words"):
        gates_by_tag.by_tag(rows)
    with pytest.raises(UserError, match="no sentence of the treebank"):
        gates_by_tag.gate_rows(found[:1], [["x"]], [["X"]])


def test_the_interval_is_that_of_a_bootstrap_over_sentences():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"layer": "layer_1", "gate": "forget gate", "tag": "NOUN", "sentence": np.arange(400)})
    rows = gates_by_tag.by_tag(frame.assign(value=rng.normal(0.5, 0.1, 400)))
    (row,) = rows.itertuples()
    assert row.words == 400 and row.low < row.mean < row.high
    assert row.high - row.low == pytest.approx(2 * 1.96 * 0.1 / 20, rel=0.2)
    assert gates_by_tag.figure("small/1", rows).png().startswith(b"\x89PNG")
