import json

import pytest

from serving import cards


def test_the_names_of_the_classes(tmp_path):
    (tmp_path / cards.CARD).write_text(json.dumps({"classes": ["negative", "\u00fcber"]}))
    assert cards.class_names(tmp_path) == ("negative", "\u00fcber")


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "1", "{}", '{"classes": 3}', '{"classes": ["a", 1]}', '{"classes": null}', "[" * 5000]
)
def test_any_other_card_names_no_classes(tmp_path, content):
    (tmp_path / cards.CARD).write_text(content)
    assert cards.class_names(tmp_path) == ()


def test_no_card_names_no_classes(tmp_path, monkeypatch):
    assert cards.class_names(tmp_path) == ()
    (tmp_path / cards.CARD).write_bytes(b'{"classes": ["\xff"]}')
    assert cards.class_names(tmp_path) == ()
    (tmp_path / cards.CARD).write_text('{"classes": ["a"]}')
    monkeypatch.setattr(cards, "_MAX_BYTES", 3)
    assert cards.class_names(tmp_path) == ()
