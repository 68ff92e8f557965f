import json
import math

import pytest

from serving import cards
from serving.cards import Words


def test_the_words_of_a_card(tmp_path):
    (tmp_path / cards.CARD).write_text(json.dumps({"classes": ["negative", "\u00fcber"], "example_text": "<b>" * 200}))
    assert cards.read(tmp_path) == Words(("negative", "\u00fcber"), "<b>" * 100, {})


def test_a_card_may_have_one_of_them(tmp_path):
    (tmp_path / cards.CARD).write_text(json.dumps({"classes": ["a"], "example_text": 3}))
    assert cards.read(tmp_path) == Words(("a",), "", {})
    (tmp_path / cards.CARD).write_text(json.dumps({"classes": ["a", 1], "example_text": "a text"}))
    assert cards.read(tmp_path) == Words((), "a text", {})


def test_an_example_row_has_texts_and_finite_numbers(tmp_path):
    row = {"title": "t" * 400, "price": 2.5, "year": 7, "none": None, "new": True, "list": [1.0], "large": math.inf}
    (tmp_path / cards.CARD).write_text(json.dumps({"example_row": row}))
    assert cards.read(tmp_path) == Words((), "", {"title": "t" * 300, "price": 2.5, "year": 7})
    (tmp_path / cards.CARD).write_text(json.dumps({"example_row": [row], "example_text": "a text"}))
    assert cards.read(tmp_path) == Words((), "a text", {})


def test_the_defaults_of_generation_are_texts_and_finite_numbers(tmp_path):
    options = {"max_length": 60, "temperature": 0.5, "stop": "", "beam": None, "top_k": math.nan}
    (tmp_path / cards.CARD).write_text(json.dumps({"generation_defaults": options}))
    assert cards.read(tmp_path).generation == {"max_length": 60, "temperature": 0.5, "stop": ""}
    (tmp_path / cards.CARD).write_text(json.dumps({"generation_defaults": [1]}))
    assert cards.read(tmp_path).generation == {}


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "1", "{}", '{"classes": 3}', '{"classes": ["a", 1]}', '{"classes": null}', "[" * 5000]
)
def test_any_other_card_says_nothing(tmp_path, content):
    (tmp_path / cards.CARD).write_text(content)
    assert cards.read(tmp_path) == cards.Words()


def test_no_card_says_nothing(tmp_path, monkeypatch):
    assert cards.read(tmp_path) == cards.Words()
    (tmp_path / cards.CARD).write_bytes(b'{"classes": ["\xff"]}')
    assert cards.read(tmp_path) == cards.Words()
    (tmp_path / cards.CARD).write_text('{"classes": ["a"]}')
    monkeypatch.setattr(cards, "_MAX_BYTES", 3)
    assert cards.read(tmp_path) == cards.Words()
