"""What is sent of a text while it is generated."""

import numpy as np
import pytest

from serving.generation import Batch, Text, concatenated, generate


def pieces(decoded, stops=(), lead="", end="stop"):
    """The texts of the pieces, for what is decoded after each run; the last one has the end."""
    text = Text(stops)
    text.lead = lead
    ends = [""] * (len(decoded) - 1) + [end]
    found = []
    for each, end in zip(decoded, ends, strict=True):
        text.decoded = each
        found.append(text.piece(end, ()).text)
    return found


def test_each_piece_is_what_is_new():
    assert pieces(["a", "ab", "ab", "abcd"]) == ["a", "b", "", "cd"]


def test_the_lead_stands_before_the_first_token():
    assert pieces(["", "a", "ab"], lead=" ") == ["", " a", "b"] and pieces(["", ""], lead=" ") == ["", ""]


def test_an_incomplete_character_waits_for_its_other_bytes():
    assert pieces(["a\ufffd", "a\ufffd\ufffd", "a\u00e4b"]) == ["a", "", "\u00e4b"]
    assert pieces(["a\ufffd", "a\ufffd"]) == ["a", "\ufffd"]  # the text ends with it


@pytest.mark.parametrize(
    ("stops", "expected"),
    [
        (["cd"], ["a", "b", "", ""]),
        (["cx"], ["a", "b", "", "cde"]),
        (["bcx", "de"], ["a", "", "", "bc"]),
        (["a"], ["", "", "", ""]),
        ([""], ["a", "b", "c", "de"]),
    ],
)
def test_what_may_become_a_stop_text_waits(stops, expected):
    assert pieces(["a", "ab", "abc", "abcde"], stops) == expected


def test_a_stop_text_ends_the_text_whatever_the_model_says():
    for end in ("", "length"):
        text = Text(["b"])
        text.decoded = "abc"
        assert text.piece(end, ()).end == "stop"


def test_new_tokens_are_decoded_after_the_last_ones():
    text = Text()
    text.extend(range(20), "a \ufffd")
    text.extend([1], "a \u00e4 b", "b")
    assert text.decoded == "a \u00e4 b" and text.context_start == 13
    text.extend([2], "bc", "  ")  # a context of spaces is not taken
    text.extend([3], "bc d")
    assert text.decoded == "a \u00e4 bc d" and text.num_tokens == 23 and text.context_start == 13


def test_rows_of_other_sizes_are_padded_at_the_end():
    first = {"x": np.ones((1, 2, 3), np.float32), "alive": np.array([True])}
    second = {"x": np.full((2, 1, 4), 2, np.float32), "alive": np.array([False, True])}
    joined = concatenated(first, second)
    assert joined["alive"].tolist() == [True, False, True]
    assert joined["x"][0].tolist() == [[1, 1, 1, 0], [1, 1, 1, 0]] and joined["x"][2].tolist() == [[2] * 4, [0] * 4]
    assert joined["x"].dtype == np.float32


class Counting:
    """A model whose tokens count from the number that is the prompt, up to 9."""

    def __call__(self, name, inputs):
        if name == "decode":
            digits = ["".join(str(each - 1) for each in row if each) for row in inputs["ids"]]
            return {"text": np.array([each.encode() for each in digits], object)}
        if name == "sample_start":
            number = np.array([int(text) for text in inputs["text"]])
            zero = np.zeros(len(number), np.int32)
            alive = inputs["max_length"] > 0
            rows = {"alive": alive, "lengths": zero, "max_length": inputs["max_length"], "state_0": number}
            return rows | {"lead": np.array([b""] * len(number), object), "num_read": zero + 1}
        steps = int(inputs.pop("num_steps").max())
        tokens = np.zeros((len(inputs["alive"]), steps), np.int32)
        rows = {key: value.copy() for key, value in inputs.items()}
        for step in range(steps):
            alive = rows["alive"]
            tokens[alive, step] = rows["state_0"][alive] + 1
            rows["lengths"] += alive
            rows["state_0"] += alive
            rows["alive"] = alive & (rows["lengths"] < rows["max_length"]) & (rows["state_0"] < 10)
        top = np.zeros((*tokens.shape, 1))
        return rows | {"tokens": tokens, "log_probabilities": top[..., 0], "top_ids": top, "top_log_probabilities": top}


def row(prompt, max_length):
    return {"text": np.array([prompt], object), "max_length": np.array([max_length], np.int32)}


def test_a_text_that_has_ended_leaves_and_the_others_go_on():
    batch, texts = Batch(Counting()), [Text(), Text(), Text()]
    batch.join(texts[:2], {name: np.concatenate([row("3", 2)[name], row("0", 8)[name]]) for name in row("0", 1)})
    found = dict.fromkeys(texts, "")
    ends = {}
    for run in range(9):
        if run == 1:
            batch.join(texts[2:], row("7", 100))
        for text, piece in batch.advance() if len(batch) else []:
            found[text] += piece.text
            ends[text] = piece.end
    assert list(found.values()) == ["34", "01234567", "789"] and list(ends.values()) == ["length", "length", "stop"]
    assert not len(batch) and [text.num_tokens for text in texts] == [2, 8, 3] and texts[0].num_read == 1


def test_a_text_leaves_when_it_is_told_to():
    batch, texts = Batch(Counting()), [Text(), Text()]
    for text in texts:
        batch.join([text], row("1", 6))
    batch.advance()
    batch.leave(texts[:1])
    assert [text for text, _ in batch.advance()] == texts[1:] and len(batch) == 1


@pytest.mark.parametrize("max_length", [0, 1, 5, 50])
def test_generate_yields_the_pieces_of_one_text(max_length):
    found = list(generate(Counting(), row("4", max_length)))
    assert "".join(found) == "456789"[:max_length] and (max_length < 2 or len(found) > 1)
