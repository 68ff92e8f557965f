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


def test_facts_that_a_task_does_not_state_are_absent():
    result = make_result()
    assert (result.rows, result.notes, result.about, result.findings) == ({}, {}, {}, {})
    assert not set(FACTS) & set(result.to_json())


def test_findings_of_a_record_of_schema_3_stood_beside_the_other_values():
    result = make_result(schema=3, folds={"mean": {}}, attempts=None, pair=None)
    assert result.findings == {"folds": {"mean": {}}} and result.about == {}
