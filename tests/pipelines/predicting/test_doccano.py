import functools
import json
from pathlib import Path

import pandas as pd
import pytest

from pipelines.data.table_options import DEFAULTS, TableOptions
from pipelines.predicting import engine
from pipelines.predicting.doccano import LABELS, doccano_steps
from pipelines.predicting.row_files import RowTask
from tests.pipelines.predicting.parts import parts_of


def load(exported):
    """A model that gives a text its letters as labels, and fails for a text with the word poison."""

    def letters(texts):
        if any("poison" in text for text in texts):
            raise ValueError("a text is poison")
        return {LABELS: [sorted(set(text) & set("abc")) for text in texts], "score": [0.5] * len(texts)}

    return letters


TASK = RowTask((LABELS, "score"), load)
steps = functools.partial(doccano_steps, TASK, DEFAULTS)


def written(source, target="out.jsonl") -> list[dict]:
    engine.predict_files(None, source, Path(target), steps())
    return [json.loads(line) for line in Path(target).read_text().splitlines()]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_record_has_the_text_its_labels_and_the_other_columns(folder):
    (folder / "in.jsonl").write_text(
        '{"n": 7, "review": "ab\\n\U0001f600", "tags": ["x", null]}\n{"n": null, "review": "-"}\n'
    )
    assert written("in.jsonl") == [
        {"n": 7, "text": "ab\n\U0001f600", "tags": ["x", None], "label": ["a", "b"], "score": 0.5},
        {"n": None, "text": "-", "label": [], "score": 0.5},
    ]


def test_columns_of_the_user_with_the_names_of_doccano_get_others(folder, capsys):
    own = pd.DataFrame({"label": ["x"], "review": ["a"], "score": ["8"], "input_label": ["y"], "id": ["1"]})
    own.to_csv("in.csv", index=False)
    expected = {"text": "a", "label": ["a"], "score": 0.5, "id": "1", "input_label": "y"}
    assert written("in.csv") == [expected | {"input_2_label": "x", "input_2_score": "8"}]
    own[["review"]].assign(text="b").to_csv("two.csv", index=False)
    options = TableOptions(text_column="review")
    engine.predict_files(None, "two.csv", Path("two.jsonl"), doccano_steps(TASK, options))
    record = json.loads(Path("two.jsonl").read_text())
    assert record == {"text": "a", "input_text": "b", "label": ["a"], "score": 0.5}
    assert not capsys.readouterr().err


def test_rows_without_a_prediction_are_left_out_here_and_in_parts(folder, capsys):
    (folder / "in.csv").write_text("text\na\npoison\nb\n")
    assert [record["text"] for record in written("in.csv")] == ["a", "b"]
    assert "row 2 has no prediction" in capsys.readouterr().err
    ((content, record),) = parts_of(steps(), None, folder / "in.csv")
    assert content == (folder / "out.jsonl").read_bytes() and list(record["poisoned"]) == [1]
    (folder / "poison.csv").write_text("text\npoison\n")
    assert written("poison.csv", "none.jsonl") == []


def test_several_files_with_other_columns_for_the_text(folder):
    (folder / "a.csv").write_text("id,review\n1,a\n")
    (folder / "b.csv").write_text("review,id\nb,2\n")
    assert [(each["text"], each["id"]) for each in written(("a.csv", "b.csv"))] == [("a", "1"), ("b", "2")]
