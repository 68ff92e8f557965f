import dataclasses
import json

from pipelines.support.run_result import FACTS, RunRecord, RunResult
from tests.pipelines.results import make_result


def test_a_result_is_read_back_from_json():
    result = make_result(classes=["a", "b"], rows={"train": 90, "valid": 10}, grammar="own", tree=None)
    assert result.about == {"classes": ["a", "b"], "grammar": "own"}
    values = json.loads(json.dumps(result.to_json()))
    assert RunResult.of(**values) == result
    assert values["classes"] == ["a", "b"] and values["grammar"] == "own" and "about" not in values


def test_a_result_contains_the_record():
    assert {field.name for field in dataclasses.fields(RunRecord)} < {f.name for f in dataclasses.fields(RunResult)}


def test_facts_that_a_task_does_not_state_are_null():
    result = make_result()
    assert (result.rows, result.notes, result.about) == ({}, {}, {})
    assert all(result.to_json()[name] is None for name in (*FACTS, "unit"))
