"""Readers and actors of a batch prediction, called without Ray."""

import io
import json
import pickle
import re
import sys
import tempfile
import types

import numpy as np
import pandas as pd
import pytest

from pipelines.data import text_chunks
from pipelines.data.table_options import DEFAULTS
from pipelines.data.text_chunks import Columns
from pipelines.distributed import cluster
from pipelines.labelled.predict import file_steps
from pipelines.predicting import batch_workers
from pipelines.predicting.file_steps import table_steps
from pipelines.predicting.row_files import RowTask, row_steps

VERSIONS = cluster.versions()


def lengths(exported):
    return lambda texts: np.array([len(text) for text in texts])


def write(predicted, num_before):
    rows = [f"{num_before} {text} {n}" for each in predicted for text, n in zip(each.chunk.rows["text"], each.outputs)]
    return "\n".join(rows).encode(), {"rows": len(rows)}


STEPS = table_steps(DEFAULTS, ".txt", 2, lengths, write)


def read(path, done=(), first=None, file=3):
    jobs = {"file": np.array([file]), "path": np.array([str(path)]), "done": [np.array(done, int)]}
    return list(batch_workers.read_units(jobs, STEPS, first))


def records(units):
    return [json.loads(unit["record"][0]) for unit in units]


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setattr(text_chunks, "CHUNK_ROWS", 2)
    path = tmp_path / "in.csv"
    path.write_text("id,text\n" + "".join(f"{i},{'x' * i}\n" for i in range(9)))
    return path


def test_a_file_is_cut_into_units_and_those_that_are_done_are_left_out(table):
    units = read(table)
    assert [unit["number"] for unit in units] == [[0], [1], [2], [3]]
    assert records(units) == [{}, {}, {}, {"parts": 3}]
    chunks = [pickle.loads(unit["content"][0]) for unit in units[:-1]]
    assert [[len(chunk.rows) for chunk in each] for each, _ in chunks] == [[2, 2], [2, 2], [1]]
    assert [before for _, before in chunks] == [0, 4, 8]
    some = read(table, done=[0, 2])
    assert [unit["number"] for unit in some] == [[1], [3]]
    ((chunk, _), before) = pickle.loads(some[0]["content"][0])
    assert before == 4 and chunk.rows["id"].tolist() == ["4", "5"]
    assert records(some)[-1] == {"parts": 3}


def test_a_file_with_other_columns_than_the_first_one_is_an_error(table):
    first = Columns(["text", "id"], "text", "/first.csv")
    (chunk, *_), _ = pickle.loads(read(table, first=first)[0]["content"][0])
    assert list(chunk.rows) == ["text", "id"]  # the order of the first file
    (answer,) = records(read(table, first=first._replace(names=["text", "name"])))
    assert "has no column name, and also id, unlike /first.csv" in answer["error"]


def test_an_actor_loads_the_model_once_and_predicts_each_unit(table, monkeypatch):
    for variable in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):
        monkeypatch.setenv(variable, "9")
    loads = []
    steps = STEPS._replace(load=lambda exported: loads.append(exported.title) or lengths(exported))
    predictor = batch_workers.Predictor({"name": "m", "version": 2, "path": "/m"}, steps, VERSIONS, 1)
    units = [answer for unit in read(table) for answer in predictor(unit)]
    assert loads == ["m/2"]
    assert [unit["content"][0] for unit in units] == [
        b"0  0\n0 x 1\n0 xx 2\n0 xxx 3",
        b"4 xxxx 4\n4 xxxxx 5\n4 xxxxxx 6\n4 xxxxxxx 7",
        b"8 xxxxxxxx 8",
        b"",
    ]
    assert [unit["file"] for unit in units] == [[3]] * 4
    assert records(units)[1:] == [{"counts": {"rows": 4}, "poisoned": {}}, {"counts": {"rows": 1}, "poisoned": {}}] + [
        {"parts": 3}
    ]


def test_the_files_of_a_model_that_is_sent_are_written_where_the_actor_runs(exported, tmp_path, monkeypatch):
    monkeypatch.setenv("TF_NUM_INTRAOP_THREADS", "1")
    monkeypatch.setenv("TF_NUM_INTEROP_THREADS", "1")
    ray = types.SimpleNamespace(get=lambda reference: reference())
    monkeypatch.setitem(sys.modules, "ray", ray)
    files = {str(path.relative_to(exported.path)): path.read_bytes() for path in exported.path.rglob("*.*")}
    model = {"name": "sentiment", "version": 1, "files": lambda: files}
    steps = file_steps(exported, DEFAULTS, ".csv")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    predictor = batch_workers.Predictor(model, steps, VERSIONS, 1)
    (tmp_path / "in.txt").write_text("good\n")
    unit, _ = batch_workers.read_units({"file": [0], "path": [str(tmp_path / "in.txt")], "done": [[]]}, steps, None)
    assert not list(temporary.iterdir())
    (answer,) = predictor(unit)
    assert answer["content"][0].decode().splitlines()[1] == "good,positive,0.900000,0.100000,0.900000"


def test_a_machine_with_other_packages_is_one_line(monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setattr("ray.util.get_node_ip_address", lambda: "10.0.0.7")
    predictor = batch_workers.Predictor({}, STEPS, VERSIONS | {"tensorflow-text": "9.9", "other": "1"}, 1)
    (answer,) = predictor({"file": [0], "number": [0], "content": [b"x"], "record": ["{}"]})
    (record,) = records([answer])
    message = r"the machine 10\.0\.0\.7 .* tensorflow-text \S+ \(here 9\.9\), other is missing \(here 1\): install"
    assert re.match(message, record["error"])


def test_a_part_is_converted_to_its_format(table):
    task = RowTask(("length",), lengths, lambda outputs: {"length": outputs})
    steps = row_steps(task, DEFAULTS, ".parquet").bound(Columns(["id", "text"], "text", str(table)))
    units = read(table)
    content, record = batch_workers.predict_unit(lengths(None), steps, units[1]["content"][0])
    assert pd.read_parquet(io.BytesIO(content)).length.tolist() == [4, 5, 6, 7] and record["counts"]["rows"] == 4
