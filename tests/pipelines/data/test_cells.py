import pickle

from pipelines.data.cells import TypedCell, parse_fraction, shown, to_cell, to_json


def test_a_cell_is_text_that_remembers_its_value():
    cell = pickle.loads(pickle.dumps(to_cell([1, "a", None])))
    assert isinstance(cell, TypedCell) and cell == "1|a|" and to_json(cell) == [1, "a", None]
    assert to_cell("a") == "a" and not isinstance(to_cell("a"), TypedCell)


def test_a_fraction_is_shown_as_spelled_and_is_a_number_in_json():
    assert shown(parse_fraction("1.50")) == "1.50" and to_json(to_cell(parse_fraction("1.50"))) == 1.5
    assert parse_fraction("1e999") == "1e999"
    assert to_json(to_cell(float("nan"))) is None
