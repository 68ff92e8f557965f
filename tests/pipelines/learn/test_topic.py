import json

import pytest

from pipelines.learn.command import Attention, LessonOf
from pipelines.support.errors import UserError


def test_a_topic_is_printed_or_its_numbers_are(capsys):
    Attention()()
    assert "1. " in capsys.readouterr().out
    Attention(json=True)()
    assert json.loads(capsys.readouterr().out)["steps"]


def test_a_file_has_a_known_suffix_before_anything_is_trained(tmp_path):
    with pytest.raises(UserError, match="must end in .html or .ipynb"):
        LessonOf(number=1, output=tmp_path / "a.svg")()
