import numpy as np
import pandas as pd
import pytest

from pipelines.data import fields, labelled_texts, pair_fields
from pipelines.data.fields import NUMBER, Field
from pipelines.data.table_options import TableOptions
from pipelines.support.errors import UserError
from pipelines.text.special_tokens import FIELD_MARK

ROWS = pd.DataFrame(
    {
        "title": [f"title {i}" for i in range(60)],
        "body": [f"body {i} {FIELD_MARK} end" for i in range(60)],
        "price": [str(i / 4) if i % 10 else "" for i in range(60)],
        "country": ["DE", "FR", "IT"] * 20,
        "label": ["a", "b"] * 30,
    }
)


def test_fields_are_divided_by_the_mark_and_numbers_are_words():
    found = fields.of_table("x.csv", ROWS, ["title", "body"], ["price", "country"])
    assert [each.kind for each in found] == ["text", "text", NUMBER, "text"]
    title, body, price, country = fields.composed(found, ROWS)[3].split(f" {FIELD_MARK} ")
    assert title == "title 3" and body == "body 3   end" and country == "DE"
    assert set(price.split()) <= {"below", *found[2].words()[-1].split()}


def test_a_number_has_one_word_for_each_limit_that_it_reaches():
    field = Field("p", NUMBER, (1.0, 2.5, 4.0))
    rows = pd.DataFrame({"p": ["", "0", "1", "2.4", "2.5", "1e9", "nan"]})
    expected = ["missing", "below", "na", "na", "na nb", "na nb nc", "missing"]
    assert fields.composed([field], rows).tolist() == expected


def test_limits_are_few_different_numbers_or_quantiles():
    few, many = ([str(i % n) for i in range(400)] for n in (5, 300))
    of_few = fields.of_table("x", pd.DataFrame({"p": few, "t": few}), ["t"], ["p"])[1]
    of_many = fields.of_table("x", pd.DataFrame({"p": many, "t": many}), ["t"], ["p"])[1]
    assert of_few.limits == (0, 1, 2, 3, 4) and len(of_many.limits) == 20
    assert list(of_many.limits) == sorted(of_many.limits)


def test_cells_of_the_command_line_follow_each_other():
    known = (Field("a"), Field("p", NUMBER, (1.0,)))
    assert fields.of_cells(known, ["x", "3", "y", ""]) == [f"x {FIELD_MARK} na", f"y {FIELD_MARK} missing"]
    with pytest.raises(UserError, match="reads 2 columns, a, p"):
        fields.of_cells(known, ["x"])
    with pytest.raises(UserError, match="the command line: the column 'p' has numbers, and one cell is 'cheap'"):
        fields.of_cells(known, ["x", "cheap"])


def test_fields_survive_the_card():
    found = (*fields.of_pair("a b", "c", True), Field("p", NUMBER, (1.0,)))
    assert fields.from_card([each.to_json() for each in found]) == found
    assert found[0].input == "a_b" and fields.columns_of(found) == ["a b", "c", "p"]
    assert fields.from_card(None) == ()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (TableOptions(text_column="title,nothing"), "has no column 'nothing'"),
        (TableOptions(text_column="title,body", feature_columns=("body",)), "name 'body' twice"),
        (TableOptions(text_column="title", feature_columns=("nothing",)), "has no column 'nothing'"),
        (TableOptions(pair_columns=("title", "nothing")), "has no column 'nothing'"),
        (TableOptions(pair_columns=("title", "PRICE")), r"; did you mean price\?"),
    ],
)
def test_columns_that_are_not_there_are_one_line(tmp_path, options, reason):
    ROWS.to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(UserError, match=reason) as caught:
        labelled_texts.read(str(tmp_path / "x.csv"), options)
    assert "\n" not in str(caught.value)


def test_a_column_whose_name_has_a_comma_is_one_column(tmp_path):
    ROWS.rename(columns={"title": "title,body", "body": "x"}).to_csv(tmp_path / "x.csv", index=False)
    read = labelled_texts.read(str(tmp_path / "x.csv"), TableOptions(text_column="title,body"))["train"]
    assert read.fields == () and read.texts[0] == "title 0"


def test_a_feature_beside_the_usual_column_of_text(tmp_path):
    ROWS.rename(columns={"body": "text"}).to_csv(tmp_path / "x.csv", index=False)
    read = labelled_texts.read(str(tmp_path / "x.csv"), TableOptions(feature_columns=("price",)))["train"]
    assert [each.name for each in read.fields] == ["text", "price"] and len(read) == 60


def test_names_that_only_signs_tell_apart_are_refused():
    rows = pd.DataFrame({"a b": ["x"], "a-b": ["y"]})
    with pytest.raises(UserError, match="only signs tell apart"):
        fields.of_table("x.csv", rows, ["a b", "a-b"], [])


def test_texts_for_people_have_names_and_ranges_but_no_internal_words():
    found = fields.of_table("x.csv", ROWS, ["title", "body"], ["price", "country"])
    low, high = (f"{limit:.6g}" for limit in (found[2].limits[0], found[2].limits[-1]))
    rows = ROWS.assign(price=["", "-1", "1e9", *ROWS.price[3:]])
    shown = fields.readable(found, fields.composed(found, rows))
    assert shown[0] == "title: title 0; body: body 0   end; price missing; country: DE"
    assert f"; price < {low}; " in shown[1] and f"; price >= {high}; " in shown[2]
    assert not any(" na" in each or FIELD_MARK in each for each in shown)
    assert fields.readable((), ["a text"]) == ["a text"]


@pytest.mark.parametrize(
    ("is_symmetric", "shown"),
    [(False, "a: red cat; b: cat "), (True, "common: cat; different: red; shared >= 0.5")],
)
def test_what_a_pair_has_in_common_is_shown_where_the_texts_themselves_are_not_known(is_symmetric, shown):
    pair = fields.of_pair("a", "b", is_symmetric)
    table = pd.DataFrame({"a": ["red cat"], "b": ["cat "]})
    known = fields.composed(pair, table)
    texts = list(map(str, known))
    assert fields.readable(pair, texts) == [shown]
    assert list(known) == list(texts) and fields.readable(pair, known) == ["a: red cat; b: cat "]
    assert fields.cells_of(pair, known[0]) == {"a": "red cat", "b": "cat "}
    assert fields.cells_of(pair, texts[0]) == ({} if is_symmetric else {"a": "red cat", "b": "cat "})


def test_the_cells_of_a_text_give_the_text_again():
    found = fields.of_table("x.csv", ROWS, ["title", "body"], ["price", "country"])
    rows = ROWS.assign(price=["", "-1", "1e9", *ROWS.price[3:]])
    texts = fields.composed(found, rows)
    cells = [fields.cells_of(found, text) for text in texts]
    assert cells[0] == {"title": "title 0", "body": "body 0   end", "country": "DE"}  # a missing price has no cell
    again = pd.DataFrame([{name: str(cell) for name, cell in each.items()} for each in cells]).fillna("")
    assert fields.composed(found, again).tolist() == texts.tolist()


@pytest.mark.parametrize("is_symmetric", [False, True])
def test_a_pair_with_an_empty_side_is_left_out_of_a_training(tmp_path, is_symmetric):
    path = tmp_path / "a.csv"
    path.write_text("a,b,label\nred cat,cat,x\n,dog,y\nblue,  ,x\nold dog,dog,y\n")
    options = TableOptions(pair_columns=("a", "b"), is_symmetric=is_symmetric)
    rows = labelled_texts.read(str(path), options)["train"]
    assert rows.labels.tolist() == ["x", "y"] and rows.dropped == {"empty text": 2}


@pytest.mark.parametrize("is_symmetric", [False, True])
def test_an_empty_side_is_known_of_a_pair_alone(is_symmetric):
    pair = fields.of_pair("a", "b", is_symmetric)
    table = pd.DataFrame({"a": ["red cat", "\u200b", "cat"], "b": ["cat", "dog", ""]})
    assert [fields.has_empty_side(pair, text) for text in fields.composed(pair, table)] == [False, True, True]
    both = tuple(map(Field, ("a", "b")))
    assert not any(fields.has_empty_side(both, text) for text in fields.composed(both, table))


def test_pairs_of_the_same_texts_are_equal_without_their_order():
    pair = fields.of_pair("a", "b", is_symmetric=False)
    table = pd.DataFrame({"a": ["red cat", "a dog", "cat"], "b": ["a dog", "red cat", "a dog"]})
    keys = fields.without_order(pair, fields.composed(pair, table)).tolist()
    assert keys[0] == keys[1] != keys[2]
    assert fields.without_order((), np.array(["a b"], object)).tolist() == ["a b"]


def test_a_pair_with_bytes_that_are_not_in_the_encoding_of_its_file_is_compared():
    assert pair_fields.compared("M\udcfcnchen ist", "ist M\udcfcnchen")["common"] == "ist m\udcfcnchen"


def test_numbers_that_are_not_finite_or_too_large_for_32_bits():
    rows = pd.DataFrame({"t": list("abcdef"), "p": ["1", "2", "3", "1e39", "inf", "nan"]})
    found = fields.of_table("x", rows, ["t"], ["p"])
    assert found[1].limits == (1, 2, 3)
    numbers = pd.DataFrame({"t": list("abcd"), "p": ["1e39", "-inf", "nan", "-1e400"]})
    shown = [each.split("; ")[1] for each in fields.readable(found, fields.composed(found, numbers))]
    assert shown == ["p >= 3", "p < 1", "p missing", "p < 1"]


def test_too_many_columns_are_one_line():
    rows = pd.DataFrame({f"c{i}": ["x"] for i in range(10_000)})
    with pytest.raises(UserError, match="name 10,000 columns: name at most 200$"):
        fields.of_table("x.csv", rows, ["c0"], list(rows)[1:])


def test_the_cells_of_a_command_line_as_values_of_columns():
    known = (Field("a"), Field("p", NUMBER))
    a, p = fields.values_of_cells(known, ["x", "3", "y", ""])
    assert a == ["x", "y"] and p[0] == 3 and p[1] != p[1]
    with pytest.raises(UserError, match="reads 2 columns, a, p"):
        fields.values_of_cells(known, ["x"])
