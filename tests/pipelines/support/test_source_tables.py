import pytest

from layers import ATTENTION_SCORES
from pipelines.support import source_tables
from pipelines.support.source_tables import table_keys
from pipelines.translation import config


def test_the_command_line_offers_every_attention_score():
    assert table_keys("layers/attention.py", "SCORES") == config.ATTENTION_SCORES == ATTENTION_SCORES


def test_the_keys_of_a_dict_are_read_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(source_tables, "ROOT", tmp_path)
    (tmp_path / "a.py").write_text("import nothing_that_exists\nOTHER = {}\nTABLE = {'b': print, 'a': 1}\n")
    assert table_keys("a.py", "TABLE") == ("b", "a")
    with pytest.raises(ValueError, match="a.py defines no dict MISSING"):
        table_keys("a.py", "MISSING")
