import math

import numpy as np
import pytest
import tensorflow as tf

from pipelines.decoding.options import SAMPLING, defaults
from pipelines.decoding.sampling import sample
from pipelines.language_model.next_tokens import (
    format_next,
    next_tokens,
    next_tokens_on_server,
    rank_tokens,
    shown,
)
from pipelines.text.special_tokens import END, SPECIAL_TOKENS, never_generated
from tests.pipelines.language_model.models import FakeExport, FakeServer, make

NAMES = [*SPECIAL_TOKENS, *"abcdefgh"]
NEVER = never_generated(documents=None)
LOGITS = np.array([3.0, 1.0, 0.0, 0.0, 2.0, 1.9, 1.0, 0.5, 0.0, -1.0, -2.0, -5.0])
PLAIN = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}


def test_probabilities_are_the_softmax_and_special_tokens_have_no_part_in_sampling():
    result = rank_tokens(LOGITS, NAMES, 3, PLAIN, NEVER)
    weights = np.exp(LOGITS)
    assert [each["token"] for each in result["tokens"]] == ["a", "b", "c"]
    for i, each in enumerate(result["tokens"]):
        assert each["probability"] == pytest.approx(weights[4 + i] / weights.sum(), abs=1e-6)
        assert each["sampled"] == pytest.approx(weights[4 + i] / weights[4:].sum(), abs=1e-6)
        assert each["cut"] is None
    assert result["special"] == pytest.approx(weights[:4].sum() / weights.sum(), abs=1e-6)
    assert result["kept"] == {}


@pytest.mark.long
@pytest.mark.parametrize(
    "options",
    [
        {"top_k": 3},
        {"top_p": 0.7},
        {"min_p": 0.3},
        {"temperature": 0.5, "top_k": 5, "top_p": 0.9, "min_p": 0.05},
        {"temperature": 2.0, "top_p": 0.5},
        {"temperature": 0.0},
    ],
)
def test_sampling_draws_each_token_as_often_as_the_table_says(options):
    rows = 4000
    values = defaults(SAMPLING) | PLAIN | options | {"max_length": 1}
    tensors = {name: tf.fill([rows], value) for name, value in values.items() if name != "stop"}
    tensors |= {"seed": tf.range(rows), "top_k": tf.fill([rows], values["top_k"])}
    logits = tf.constant(np.repeat(LOGITS[None], rows, axis=0), tf.float32)
    samples = sample(lambda ids, state: (logits, state), logits, {}, tensors, banned_ids=(0, 1, 2, 3))
    drawn = samples.tokens.numpy()[:, 0]
    result = rank_tokens(LOGITS, NAMES, 8, PLAIN | options, NEVER)
    for each in result["tokens"]:
        share = (drawn == NAMES.index(each["token"])).mean()
        assert share == pytest.approx(each["sampled"], abs=4 * math.sqrt(0.25 / rows))
        assert (each["cut"] is None) == (share > 0) or each["sampled"] < 0.005


def test_the_first_option_that_leaves_a_token_out_is_named():
    result = rank_tokens(LOGITS, NAMES, 8, PLAIN | {"top_k": 5, "top_p": 0.9, "min_p": 0.3}, NEVER)
    assert [each["cut"] for each in result["tokens"]] == [None, None, None, "min_p", "top_p", "top_k", "top_k", "top_k"]
    assert result["kept"] == {"top_k": 5, "top_p": 4, "min_p": 3}


def test_a_model_of_documents_can_generate_the_end():
    logits = LOGITS.copy()
    logits[END] = 4.0
    result = rank_tokens(logits, NAMES, 2, PLAIN, never_generated("line"))
    assert [each["token"] for each in result["tokens"]] == ["<end>", "a"]
    assert rank_tokens(logits, NAMES, 2, PLAIN, NEVER)["tokens"][0]["token"] == "a"


def test_the_table_has_a_line_per_token_and_per_option():
    text = format_next(rank_tokens(LOGITS, NAMES, 2, PLAIN | {"top_k": 1}, NEVER))
    assert text.splitlines()[1].startswith("  a") and "cut by --top-k" in text
    assert "others" in text and "unknown and special tokens" in text and "--top-k 1 leaves 1 token" in text
    greedy = format_next(rank_tokens(LOGITS, NAMES, 2, PLAIN | {"temperature": 0}, NEVER))
    assert "cut by --temperature 0" in greedy


def test_spaces_and_control_characters_are_visible():
    tokens = (" the", "\n", "\x1b", "")
    assert [shown(token) for token in tokens] == ["␣the", "↵", "\N{REPLACEMENT CHARACTER}", "<unknown>"]


@pytest.mark.long
@pytest.mark.parametrize("documents", [None, "line"])
def test_an_export_and_a_server_give_the_same(documents):
    generator = make("lstm", documents=documents)[-1]
    export = FakeExport(generator, config={"documents": documents})
    own = next_tokens(export, ["To be", ""], 5, {"top_k": 3})
    served = next_tokens_on_server(FakeServer(generator), "mine", ["To be", ""], 5, {"top_k": 3})
    assert own == served and [result["prompt"] for result in own] == ["To be", ""]
    assert sum(each["cut"] is None for each in own[0]["tokens"]) <= 3
    assert next_tokens(export, ["To \u00e9"], 1, {})[0]["note"].startswith("1 of the prompt")
