"""Tables of pairs: nothing is learned from a header or an id, and unclear columns are refused."""

import gzip
import json

import pandas as pd
import pytest

from pipelines.data import pairs
from pipelines.data.pair_options import PairOptions
from pipelines.support.errors import UserError

ROWS = [(f'He said "word {i}".', f"Er sagte, Wort {i}.") for i in range(30)]
NAMES = ("english", "german")


def frame(names=NAMES, **others):
    """Returns the pairs as a table, with other columns before them."""
    return pd.DataFrame(others | dict(zip(names, zip(*ROWS, strict=True), strict=True)))


def read(path, pair=None, **options):
    return pairs.read(str(path), None, pair, options=PairOptions(**options))["train"]


def as_tuples(part):
    return list(zip(part.source.tolist(), part.target.tolist(), strict=True))


def language_pair(path, **options):
    return pairs.language_pair(str(path), None, None, PairOptions(**options))


@pytest.mark.parametrize(
    ("names", "pair"),
    [(NAMES, "en-de"), (("eng", "deu"), "en-de"), (("EN", "DE"), "en-de"), (("text_en", "text_de"), "en-de")],
)
def test_a_header_of_languages_is_no_pair_and_states_the_languages(tmp_path, names, pair):
    frame(names).to_csv(tmp_path / "a.tsv", sep="\t", index=False)
    part = read(tmp_path / "a.tsv")
    assert as_tuples(part) == ROWS and part.dropped == {}
    assert language_pair(tmp_path / "a.tsv") == pair
    assert as_tuples(read(tmp_path / "a.tsv", "de-en")) == [row[::-1] for row in ROWS]


@pytest.mark.parametrize("names", [("source", "target"), ("src", "tgt"), ("sentence", "translation text")])
def test_other_names_of_columns_are_no_pair_either(tmp_path, names):
    frame(names, id=range(30)).to_csv(tmp_path / "a.csv", index=False)
    assert as_tuples(read(tmp_path / "a.csv")) == ROWS == as_tuples(read(tmp_path / "a.csv", "en-de"))
    assert language_pair(tmp_path / "a.csv") is None


@pytest.mark.parametrize("ids", [range(30), [f"s{i}" for i in range(30)], [i / 7 for i in range(30)]])
def test_an_id_is_never_a_sentence(tmp_path, ids):
    table = frame(id=ids)
    table.to_csv(tmp_path / "head.tsv", sep="\t", index=False)
    table.to_csv(tmp_path / "plain.tsv", sep="\t", index=False, header=False)
    frame().to_csv(tmp_path / "index.tsv", sep="\t")
    for name in ("head", "plain", "index"):
        assert as_tuples(read(tmp_path / f"{name}.tsv")) == ROWS


def test_rows_with_tabs_in_a_file_of_any_name(tmp_path):
    rows = [f"{source}\t{target}\tCC-BY 2.0 #{i}" for i, (source, target) in enumerate(ROWS)]
    (tmp_path / "spa.txt").write_text("\n".join(rows))
    assert as_tuples(read(tmp_path / "spa.txt")) == ROWS
    (tmp_path / "spa.txt").write_text("\n".join(["english\tspanish\tlicence", *rows]))
    assert as_tuples(read(tmp_path / "spa.txt")) == ROWS and language_pair(tmp_path / "spa.txt") == "en-es"
    (tmp_path / "spa.txt").write_text("\n".join(row.replace("\t", "|") for row in rows))
    assert as_tuples(read(tmp_path / "spa.txt", separator="|")) == ROWS


def test_a_quote_of_another_kind_and_quotes_as_text(tmp_path):
    (tmp_path / "a.csv").write_text("".join(f"'a house, {i}',ein Haus {i}\n" for i in range(30)))
    houses = [(f"a house, {i}", f"ein Haus {i}") for i in range(30)]
    assert as_tuples(read(tmp_path / "a.csv", quote="'")) == houses
    (tmp_path / "b.csv").write_text("".join(f'"house" {i},"Haus" {i}\n' for i in range(30)))
    assert as_tuples(read(tmp_path / "b.csv", quote="none"))[3] == ('"house" 3', '"Haus" 3')


def test_rows_that_cannot_be_read_are_counted_by_their_reason(tmp_path):
    rows = [f"a house {i},ein Haus {i}" for i in range(30)]
    (tmp_path / "a.csv").write_text("\n".join(["one,cell,too many", *rows, ""]))
    part = read(tmp_path / "a.csv", no_header=True)
    assert len(part) == 30 and part.dropped == {"too many cells in the row": 1}


@pytest.mark.parametrize("name", ["a.csv.gz", "a.jsonl", "a.parquet", "a.xlsx"])
def test_the_formats_are_those_of_tables_of_labels(tmp_path, name):
    path = tmp_path / name
    {
        "a.csv.gz": lambda table: path.write_bytes(gzip.compress(table.to_csv(index=False).encode())),
        "a.jsonl": lambda table: path.write_text("\n".join(map(json.dumps, table.to_dict("records")))),
        "a.parquet": lambda table: table.to_parquet(path),
        "a.xlsx": lambda table: table.to_excel(path, index=False),
    }[name](frame(id=range(30)))
    assert as_tuples(read(path)) == ROWS and language_pair(path) == "en-de"


def test_an_encoding(tmp_path):
    (tmp_path / "a.tsv").write_bytes("caf\u00e9\tKaffee\n".encode("cp1252") * 3)
    assert as_tuples(read(tmp_path / "a.tsv", encoding="cp1252"))[0] == ("caf\u00e9", "Kaffee")
    for language in ("en", "de"):
        (tmp_path / f"train.{language}").write_bytes("caf\u00e9\n".encode("cp1252"))
    sides = [str(tmp_path / f"train.{language}") for language in ("en", "de")]
    for data, target in ((sides[0], sides[1]), (str(tmp_path), None)):
        found = pairs.read(data, target, "en-de", options=PairOptions(encoding="cp1252"))["train"]
        assert as_tuples(found) == [("caf\u00e9", "caf\u00e9")]


def test_the_user_names_the_columns(tmp_path):
    frame(("a", "b"), note=["x y"] * 30).to_csv(tmp_path / "a.csv", index=False)
    assert as_tuples(read(tmp_path / "a.csv", source_column="A", target_column="b")) == ROWS
    assert as_tuples(read(tmp_path / "a.csv", source_column="b", target_column="a")) == [row[::-1] for row in ROWS]
    plain = tmp_path / "plain.csv"
    frame(note=["x y"] * 30).to_csv(plain, index=False, header=False)
    assert as_tuples(read(plain, source_column="2", target_column="3")) == ROWS
    frame().to_csv(plain, index=False, header=True)
    assert as_tuples(read(plain, no_header=True))[:2] == [NAMES, ROWS[0]]


@pytest.mark.parametrize(
    ("names", "others", "options", "message"),
    [
        (("en", "de"), {"fr": ROWS}, {}, "has the columns fr, en, de: name two languages with --pair, such as en-de"),
        (("en", "de"), {}, {"pair": "en-fr"}, "--pair en-fr: .*a.csv has the columns en, de"),
        (
            ("a", "b"),
            {"c": ROWS, "id": range(30)},
            {},
            "has the columns c, id, a, b: name those of the pairs with --so",
        ),
        (NAMES, {}, {"source_column": "x"}, "--source-column x: .*a.csv has no such column; its columns are: english"),
        (NAMES, {}, {"target_column": "3"}, "--target-column 3: .*a.csv has no such column"),
        (NAMES, {}, {"source_column": "2", "target_column": "german"}, "a.csv: column 2 has both sides"),
    ],
)
def test_unclear_columns_are_refused(tmp_path, names, others, options, message):
    frame(names, **others).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(UserError, match=message) as error:
        read(tmp_path / "a.csv", **options)
    assert "\n" not in str(error.value)


def test_a_column_with_one_value_is_no_side_of_the_pairs(tmp_path):
    frame(language=["en"] * 30).to_csv(tmp_path / "a.csv", index=False, header=False)
    with pytest.raises(UserError, match=r"has 3 columns: name those .* \(column 1 has 'en' in all rows\)"):
        read(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("data", "target", "options", "message"),
    [
        (None, None, {"no_header": True}, "--no-header has no effect: the embedded sample is no file"),
        ("a.en", "a.de", {"source_column": "1"}, "--source-column has no effect: .* are two files of sentences"),
        (".", None, {"separator": ","}, "--separator has no effect: . is a folder, and not a table"),
        ("multi30k", None, {"encoding": "cp1252"}, "--encoding has no effect: multi30k is a corpus"),
    ],
)
def test_options_without_effect_are_refused(tmp_path, monkeypatch, data, target, options, message):
    monkeypatch.chdir(tmp_path)
    for name in ("a.en", "a.de"):
        (tmp_path / name).write_text("a\n")
    with pytest.raises(UserError, match=message):
        pairs.find(data, target, None if data is None else "en-de", options=PairOptions(**options))
