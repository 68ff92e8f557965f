import re

import pytest
from rich.cells import cell_len

from pipelines.tagging.format import format_tags


def plain(text: str) -> str:
    return re.sub("\033\\[[0-9]+m", "", text)


def test_tags_are_under_their_tokens():
    text = format_tags(["Jim", "bought", "300", "shares"], ["PROPN", "VERB", "NUM", "NOUN"], [0.9] * 4, 80, False)
    assert text == "Jim    bought  300  shares\nPROPN  VERB    NUM  NOUN"


def test_a_tag_with_a_low_probability_has_a_question_mark():
    text = format_tags(["a", "b"], ["X", "Y"], [0.5, 0.49], 80, False)
    assert text == "a  b\nX  Y?"


def test_a_long_text_has_several_blocks():
    tokens = [f"word{i}" for i in range(20)]
    lines = format_tags(tokens, ["NOUN"] * 20, [0.9] * 20, 30, False).split("\n")
    assert all(len(line) <= 30 for line in lines)
    assert " ".join(lines[0::3]).split() == tokens
    assert set(" ".join(lines[1::3]).split()) == {"NOUN"}
    assert set(lines[2::3]) == {""}
    assert lines[0] == "word0  word1  word2  word3"


def test_a_token_that_is_wider_than_the_terminal_has_its_own_block():
    tokens = ["see", "https://example.com/a/very/long/address", "now"]
    lines = format_tags(tokens, ["VERB", "X", "ADV"], [0.9] * 3, 20, False).split("\n\n")
    assert [line.split("\n")[0] for line in lines] == tokens


def test_wide_characters_take_two_columns():
    tokens, tags = ["東京", "に", "caf\u0065\u0301", "行く"], ["PROPN", "ADP", "X", "VERB"]
    above, below = format_tags(tokens, tags, [0.9] * 4, 80, False).split("\n")
    for token, tag in zip(tokens, tags):
        assert cell_len(above[: above.index(token)]) == cell_len(below[: below.index(tag)])


def test_entities_have_colors_on_a_terminal():
    tokens, tags = ["Ann", "Smith", "of", "Acme"], ["B-PER", "I-PER", "O", "B-ORG"]
    text = format_tags(tokens, tags, [0.9] * 4, 80, True)
    assert plain(text) == format_tags(tokens, tags, [0.9] * 4, 80, False)
    colors = {token: color for color, token in re.findall("\033\\[1m\033\\[([0-9]+)m(\\w+)\033\\[0m", text)}
    assert colors.keys() == {"Ann", "Smith", "Acme"}
    assert colors["Ann"] == colors["Smith"] != colors["Acme"]


def test_the_labels_of_newswire_have_different_colors():
    text = format_tags(list("abcd"), ["B-PER", "B-LOC", "B-ORG", "B-MISC"], [0.9] * 4, 80, True)
    assert len(set(re.findall("\033\\[1m\033\\[([0-9]+)m[abcd]", text))) == 4


@pytest.mark.parametrize("color", [False, True])
def test_control_characters_of_a_text_do_not_reach_the_terminal(color):
    text = format_tags(["\033[31mred", "a\rb"], ["X", "X"], [0.9, 0.9], 80, color)
    assert text == "\ufffd[31mred  a\ufffdb\nX         X"


def test_a_text_without_tokens():
    assert format_tags([], [], [], 80, True) == "(no tokens)"
