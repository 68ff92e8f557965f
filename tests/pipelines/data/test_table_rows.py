import pytest

from pipelines.data import table_rows
from pipelines.support.errors import UserError


def sizes(rows, limit=100, names=None):
    return [(len(frame), left_out) for frame, left_out in table_rows.chunks("a.csv", rows, limit, names)]


def test_rows_that_are_left_out_belong_to_the_chunk_before_them():
    a, bad = {"x": "a"}, "it is bad"
    assert sizes([bad, a, a, bad, bad, a, bad], limit=2) == [(2, {bad: 3}), (1, {bad: 1})]
    assert sizes([a, a, bad], limit=2) == [(2, {bad: 1})]
    assert sizes([bad]) == [(0, {bad: 1})]


def test_columns_grow_with_the_rows_unless_they_are_named():
    rows = [{"x": "a"}, {"x": "b", "y": 1}]
    ((frame, _),) = table_rows.chunks("a.jsonl", rows, 10)
    assert frame.to_dict("records") == [{"x": "a", "y": ""}, {"x": "b", "y": "1"}]
    ((frame, _),) = table_rows.chunks("a.jsonl", rows, 10, ["y", "z"])
    assert frame.to_dict("records") == [{"y": "", "z": ""}, {"y": "1", "z": ""}]


def test_rows_with_long_cells_or_many_of_them_come_in_small_chunks(monkeypatch):
    monkeypatch.setattr(table_rows, "_MAX_CHARACTERS", 1000)
    assert [rows for rows, _ in sizes([{"x": "a" * 600}] * 5)] == [2, 2, 1]
    monkeypatch.setattr(table_rows, "_MAX_CELLS", 30)
    assert [rows for rows, _ in sizes([dict.fromkeys(range(10), "a")] * 7)] == [3, 3, 1]


def test_a_new_name_in_each_row_is_refused_where_all_columns_are_read():
    rows = [{f"{i}-{j}": "" for j in range(100)} | {"text": str(i)} for i in range(400)]
    with pytest.raises(UserError, match="a.csv has more than 32,768 different names of columns"):
        sizes(rows, limit=2000)
    assert sizes(rows, limit=2000, names=["text"]) == [(400, {})]


def test_each_column_has_a_name_of_its_own():
    names = table_rows.header_names(["a", "", "a", "a.1", "a", None, 3.0])
    assert names == ["a", "Unnamed: 1", "a.1", "a.1.1", "a.2", "Unnamed: 5", "3"]
