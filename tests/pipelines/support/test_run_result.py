import dataclasses
import json

from pipelines.support.run_result import RunRecord, RunResult
from tests.pipelines.results import make_result


def test_a_result_is_read_back_from_json():
    result = make_result(classes=["a", "b"], rows={"train": 90, "valid": 10})
    assert RunResult(**json.loads(json.dumps(dataclasses.asdict(result)))) == result


def test_a_result_contains_the_record():
    assert {field.name for field in dataclasses.fields(RunRecord)} < {f.name for f in dataclasses.fields(RunResult)}


def test_facts_that_a_task_does_not_have_are_empty():
    result = make_result()
    assert (result.rows, result.notes) == ({}, {})
    optional = ("unit", "classes", "class_rows", "pair", "characters", "window", "generation_defaults")
    assert all(getattr(result, name) is None for name in optional)
