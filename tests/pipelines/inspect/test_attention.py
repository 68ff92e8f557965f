import dataclasses

import numpy as np
import pytest

from pipelines.inspect import attention
from pipelines.inspect.trace import Attention
from pipelines.support.errors import UserError
from tests.pipelines.inspect.exports import attentive, make_trace, picture


def test_what_a_head_looks_at():
    weights = np.array([[1.0, 0, 0], [1.0, 0, 0], [0, 1.0, 0]])
    assert attention.looks_at(weights, False) == pytest.approx(
        {"itself": 1 / 3, "the token before": 2 / 3, "the token after": 0, "the first token": 0, "others": 0}
    )
    crossed = attention.looks_at(np.array([[0, 0, 1.0], [0, 1.0, 0]]), True)
    assert crossed["the last token"] == 0.5 and crossed["the same position"] == 0.5


def test_the_entropy_of_uniform_attention_is_that_of_its_keys():
    rows = attention.head_rows({"layer_1": Attention(np.full((1, 4, 4), 0.25), list("abcd"), list("abcd"), False)})
    assert rows["entropy"].tolist() == pytest.approx([2.0])


def test_the_picture_of_attention():
    weights = np.full((2, 3, 4), 0.25)
    (figure,) = attention.figures(attentive(weights, list("abc"), list("wxyz"), True))
    assert len(figure.data["weights"]) == 24 and picture(figure).height > 300
    with pytest.raises(UserError, match="small/1 has no attention"):
        attention.figures(make_trace())


def test_a_translator_without_attention_is_a_line():
    trace = dataclasses.replace(make_trace(), tokens={"encoder": ["a"], "decoder": ["b", " "]})
    assert attention.without_attention(trace).endswith("from its state alone, and writes b \N{OPEN BOX}")
