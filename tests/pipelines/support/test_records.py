import json

import pytest

from pipelines.support.errors import UserError
from pipelines.support.records import read_record, write_record
from tests.damage import damaged_copies

VALUES = {"text": "caf\u00e9", "numbers": [1, 2.5, None, 1e-300], "nested": {"a": "b"}}


@pytest.fixture
def path(tmp_path):
    write_record(tmp_path / "a.json", VALUES)
    return tmp_path / "a.json"


def test_a_record_is_read_back_and_is_readable_json(path):
    assert read_record(path, "") == VALUES
    text = path.read_text(encoding="utf-8")
    assert json.loads(text) == {"sha256": text.split('"')[3], **VALUES}
    assert "caf\u00e9" in text and text.endswith("}\n") and text.count("\n") > 8


def test_every_damage_is_one_line_with_the_remedy(path):
    for content in damaged_copies(path.read_bytes()):
        path.write_bytes(content)
        with pytest.raises(UserError) as error:
            read_record(path, "get another")
        assert str(error.value) == f"{path} is damaged or was edited: get another"


def test_an_edited_record_is_refused(path):
    path.write_text(path.read_text(encoding="utf-8").replace("2.5", "3.5"), encoding="utf-8")
    with pytest.raises(UserError, match="a.json is damaged or was edited: get another"):
        read_record(path, "get another")


def test_json_without_a_checksum_is_refused(path):
    path.write_text(json.dumps(VALUES))
    with pytest.raises(UserError, match="is damaged or was edited"):
        read_record(path, "")
