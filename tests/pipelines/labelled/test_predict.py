import csv
import io
import json

import numpy as np
import pytest

from pipelines.data import tables, text_chunks
from pipelines.data.table_options import TableOptions
from pipelines.labelled.predict import file_steps, predict_texts, uncertainty
from pipelines.predicting import engine
from pipelines.predicting.file_steps import add_counts
from pipelines.support.errors import UserError
from tests.pipelines.predicting.parts import label_file, parts_of


def test_each_text_has_a_label_a_score_and_probabilities(exported):
    results = predict_texts(exported, ["good", "", "\U0001f600", "g" * 2000])
    assert results[0] == {
        "text": "good",
        "label": "positive",
        "score": 0.9,
        "probabilities": {"negative": 0.1, "positive": 0.9},
    }
    assert [result.get("note") for result in results] == [
        None,
        "empty",
        "without letters or digits",
        "longer than 1000 bytes, cut",
    ]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
def test_the_columns_of_a_table_are_followed_by_the_prediction(exported, tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(text_chunks, "CHUNK_ROWS", 2)
    source, target = tmp_path / "in.csv", tmp_path / f"out{suffix}"
    source.write_text('id,review\n1,good\n2,"bad, bad"\n3,\n4,two,many\n5,great\n')
    counts = label_file(exported, str(source), target)
    assert counts == {"rows": 4, "labels": {"negative": 2, "positive": 2}, "skipped": 1, "poisoned": 0, "empty": 1}
    if suffix == ".jsonl":
        rows = [json.loads(line) for line in target.read_text().splitlines()]
    else:
        rows = list(csv.DictReader(target.read_text().splitlines(), delimiter="\t" if suffix == ".tsv" else ","))
    assert [row["id"] for row in rows] == ["1", "2", "3", "5"]
    assert [row["predicted"] for row in rows] == ["positive", "negative", "negative", "positive"]
    assert float(rows[0]["p(negative)"]) == pytest.approx(0.1) and float(rows[0]["score"]) == pytest.approx(0.9)


def test_several_tables_are_labelled_as_one(exported, tmp_path):
    (tmp_path / "a.csv").write_text("id,review\n1,good\n")
    (tmp_path / "b.jsonl").write_text('{"review": "bad", "id": 2}\n')
    (tmp_path / "c.csv").write_text("review,identity\nbad,3\n")
    files = tuple(str(tmp_path / name) for name in ("a.csv", "b.jsonl"))
    assert label_file(exported, files, tmp_path / "out.csv")["rows"] == 2
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    assert [(row["id"], row["review"], row["predicted"]) for row in rows] == [
        ("1", "good", "positive"),
        ("2", "bad", "negative"),
    ]
    with pytest.raises(UserError, match=r"c.csv has no column id, and also identity, unlike .*a.csv"):
        label_file(exported, (files[0], str(tmp_path / "c.csv")), tmp_path / "other.csv")
    assert not (tmp_path / "other.csv").exists()


def test_lines_of_a_file_are_texts(exported, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(text_chunks, "CHUNK_BYTES", 4)
    (tmp_path / "in.txt").write_bytes("\ufeffgood\r\n\nbad".encode())
    assert label_file(exported, str(tmp_path / "in.txt"), None)["rows"] == 3
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["text"], row["predicted"]) for row in rows] == [
        ("good", "positive"),
        ("", "negative"),
        ("bad", "negative"),
    ]


@pytest.mark.parametrize(
    ("name", "content", "arguments", "message"),
    [
        ("in.csv", None, {}, "no such file"),
        ("in.csv", b"", {}, "is empty"),
        ("in.csv", b"foo,bar\n1,2\n", {}, "--text-column"),
        ("in.txt", b"caf\xe9\n" * 5, {}, "is not UTF-8 .*--encoding cp1252"),
        ("in.txt", b"text\n", {"text_column": "x"}, "--text-column, .* have no effect"),
    ],
)
def test_a_file_that_cannot_be_labelled_is_one_line(exported, tmp_path, name, content, arguments, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        label_file(exported, str(tmp_path / name), tmp_path / "out.csv", TableOptions(arguments.get("text_column")))
    assert sorted(path.name for path in tmp_path.iterdir()) == ([name] if content is not None else [])


def test_a_text_has_several_labels_or_none(topics):
    both, none = predict_texts(topics, ["sport and food", "nothing"])
    assert both == {
        "text": "sport and food",
        "labels": ["food", "sport"],
        "probabilities": {"food": 0.8, "sport": 0.8},
    }
    assert none["labels"] == []


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_several_labels_are_one_cell_of_a_table_and_a_list_in_json(topics, tmp_path, suffix):
    (tmp_path / "in.txt").write_text("sport and food\nsport\nnothing\n")
    counts = label_file(topics, str(tmp_path / "in.txt"), tmp_path / f"out{suffix}")
    assert counts == {"rows": 3, "labels": {"food": 1, "sport": 2}, "skipped": 0, "poisoned": 0, "no label": 1}
    lines = (tmp_path / f"out{suffix}").read_text().splitlines()
    rows = list(map(json.loads, lines)) if suffix == ".jsonl" else list(csv.DictReader(lines))
    expected = [["food", "sport"], ["sport"], []]
    assert [row["predicted"] for row in rows] == (expected if suffix == ".jsonl" else ["food|sport", "sport", ""])
    assert list(rows[0]) == ["text", "predicted", "p(food)", "p(sport)"]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
def test_the_parts_of_a_distributed_prediction_are_the_file_of_the_plain_command(
    exported, tmp_path, monkeypatch, suffix
):
    monkeypatch.setattr(text_chunks, "CHUNK_ROWS", 2)
    source, target = tmp_path / "in.csv", tmp_path / f"out{suffix}"
    source.write_text("id,review\n" + "".join(f'{i},"{"g" * (i % 3)}, {i}"\n' for i in range(23)))
    counts = label_file(exported, str(source), target)
    parts = parts_of(file_steps(exported, TableOptions(), suffix), exported, source)
    assert len(parts) == 3
    header = 0 if suffix == ".jsonl" else 1
    lines = [line for i, (part, _) in enumerate(parts) for line in part.decode().splitlines(True)[header * (i > 0) :]]
    assert "".join(lines) == target.read_text()
    total = {}
    for _, record in parts:
        add_counts(total, record["counts"])
    assert total | {"poisoned": 0} == counts


@pytest.mark.parametrize("name", ["exported", "topics"])
@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_a_poisoned_row_has_no_label_and_is_not_counted_as_one(name, request, tmp_path, suffix):
    classifier = request.getfixturevalue(name)
    (tmp_path / "in.csv").write_bytes(b"text\ng sport\nno \xff UTF-8 g\npoison g\nfood g\n")
    steps = file_steps(classifier, TableOptions(), suffix)
    ((part, record),) = parts_of(steps, classifier, tmp_path / "in.csv", fails_for="poison")
    assert record["poisoned"] == {1: "not valid Unicode", 2: "ValueError: a text has 'poison'"}
    assert record["counts"]["rows"] == 4 and sum(record["counts"]["labels"].values()) == 2
    if suffix == ".csv":
        rows = list(csv.DictReader(part.decode().splitlines()))
        assert [bool(row["predicted"]) for row in rows] == [True, False, False, True]
        assert {row[name] for row in rows[1:3] for name in row if name != "text"} == {""}
    else:
        rows = [json.loads(line) for line in part.decode().splitlines()]
        assert not any(value for row in rows[1:3] for name, value in row.items() if name != "text")
    assert [row["text"] for row in rows] == ["g sport", "no \N{REPLACEMENT CHARACTER} UTF-8 g", "poison g", "food g"]


def test_a_model_that_fails_for_any_text_is_an_error(exported, tmp_path):
    (tmp_path / "in.txt").write_text("a\nb\n")
    with pytest.raises(ValueError, match="a text has ''"):
        parts_of(file_steps(exported, TableOptions(), ".csv"), exported, tmp_path / "in.txt", fails_for="")


@pytest.mark.parametrize("classes", [2, 3, 9])
def test_the_uncertainty_is_one_minus_the_margin(classes):
    probabilities = np.random.default_rng(0).dirichlet(np.ones(classes), 50).astype(np.float32)
    probabilities[0], probabilities[1] = 0, 1 / classes
    probabilities[0, 1] = 1
    expected = [1 - (sorted(row)[-1] - sorted(row)[-2]) for row in probabilities.tolist()]
    found = uncertainty({"probabilities": probabilities})
    assert found == pytest.approx(expected, abs=1e-6) and found[:2].tolist() == pytest.approx([0, 1])


def test_the_uncertainty_of_several_labels_is_that_of_the_least_sure_one():
    probabilities = np.array([[0.0, 1.0, 0.5], [0.9, 0.2, 0.0], [0.0, 1.0, 1.0]])
    found = uncertainty({"probabilities": probabilities, "labels": np.full((3, 3), "")})
    assert found == pytest.approx([1, 0.4, 0])


def sorted_by(exported, source, target, limit=None, tool=None):
    steps = file_steps(exported, TableOptions(), target.suffix, sort=True, tool=tool)
    return engine.predict_files(exported, str(source), target, steps, limit)


def test_the_least_sure_texts_come_first(exported, tmp_path):
    (tmp_path / "in.csv").write_text("id,text\n1,good\n2,bad\n3,great\n4,bad\n5,\n6,dull\n")
    counts = sorted_by(exported, tmp_path / "in.csv", tmp_path / "out.csv", limit=3)
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    assert [(row["id"], row["predicted"], row["score"], row["uncertainty"]) for row in rows] == [
        ("2", "negative", "0.700000", "0.600000"),
        ("6", "negative", "0.700000", "0.600000"),
        ("1", "positive", "0.900000", "0.200000"),
    ]
    assert counts == {
        "rows": 3,
        "read": 6,
        "empty": 1,
        "labels": {"negative": 2, "positive": 1},
        "skipped": 0,
        "poisoned": 0,
    }


@pytest.mark.parametrize("sort", [False, True])
def test_what_doccano_gets_can_be_trained_on(exported, topics, tmp_path, sort):
    (tmp_path / "in.csv").write_text("label,review\nmine,good\nmine,bad\nmine,sport and food\n")
    for export, options, expected in (
        (exported, TableOptions(), ["positive", "negative", "negative"]),
        (topics, TableOptions(labels_separator="|"), [(), (), ("food", "sport")]),
    ):
        target = tmp_path / f"{export.name}.jsonl"
        steps = file_steps(export, TableOptions(), ".jsonl", sort=sort, tool="doccano")
        engine.predict_files(export, str(tmp_path / "in.csv"), target, steps)
        texts, labels, *_ = tables.read([target], options)
        assert dict(zip(texts, labels)) == dict(zip(["good", "bad", "sport and food"], expected))
        record = json.loads(target.read_text().splitlines()[0])
        added = ["score"] * (export is exported) + ["uncertainty"] * sort
        assert set(record) == {"input_label", "text", "label", *added}
        assert isinstance(record["label"], list)
