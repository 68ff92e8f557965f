import re

import pytest
from markdown_it import MarkdownIt

from pipelines.support import markdown

HOSTILE = [
    "<b>bold</b>",
    "*star* _under_ | bar",
    "![i](http://evil/x.png) [l](http://evil)",
    "`code` # ~~ \\ &amp; &lt;",
    "**[x]: y",
]


@pytest.mark.parametrize("words", HOSTILE)
def test_a_text_is_shown_as_it_is(words):
    (inline,) = [each for each in MarkdownIt().parse(f"before *{markdown.text(words)}* after") if each.type == "inline"]
    kinds = [each.type for each in inline.children]
    assert set(kinds) <= {"text", "em_open", "em_close", "text_special"} and kinds.count("em_open") == 1
    shown = "".join(each.content for each in inline.children)
    assert shown == f"before {words} after"


def test_a_text_is_one_line_without_control_characters():
    assert markdown.text("a\nb\t\x00c\x1b[31m \ud800d") == "a b c\\[31m d"
    assert markdown.text(0.5) == "0.5" and markdown.text(None) == "None"


def test_the_middle_of_a_long_name_is_left_out():
    shown = markdown.text("a" * 10_000 + "end")
    assert len(shown) == markdown.MAX_NAME and shown.endswith("aend") and "\N{HORIZONTAL ELLIPSIS}" in shown
    assert markdown.text("a" * 100, None) == "a" * 100
    assert (
        markdown.quoted("word " * 100, 20)
        == "\N{LEFT DOUBLE QUOTATION MARK}word word word word ...\N{RIGHT DOUBLE QUOTATION MARK}"
    )


def test_letters_from_right_to_left_are_isolated_and_overrides_are_gone():
    hebrew = "\N{HEBREW LETTER ALEF}\N{HEBREW LETTER BET}"
    assert markdown.text(hebrew) == f"\N{FIRST STRONG ISOLATE}{hebrew}\N{POP DIRECTIONAL ISOLATE}"
    assert markdown.text("\N{RIGHT-TO-LEFT OVERRIDE}abc\N{POP DIRECTIONAL ISOLATE}") == "abc"


def test_a_block_of_code_ends_after_its_last_line():
    lines = markdown.fenced(["```", "x", "`````"], "text")
    (block,) = MarkdownIt().parse("\n".join(lines))
    assert block.content == "```\nx\n`````\n" and block.info == "text"
    assert markdown.fenced(["x"]) == ["```", "x", "```"]
    assert not re.search("`{4}", "".join(markdown.fenced(["a ` b"])))
