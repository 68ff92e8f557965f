"""The role of a process from TF_CONFIG."""

import json

import pytest

from pipelines.data.part import Part
from pipelines.distributed import tf_config
from pipelines.support.errors import UserError


def environment(cluster, task):
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": task})}


@pytest.mark.parametrize(
    "cluster, task, part",
    [
        ({"worker": ["a:1", "b:1"]}, {"type": "worker", "index": 1}, Part(1, 2)),
        ({"chief": ["c:1"], "worker": ["a:1", "b:1"]}, {"type": "worker", "index": 1}, Part(2, 3)),
        ({"chief": ["c:1"], "worker": ["a:1", "b:1"]}, {"type": "chief", "index": 0}, Part(0, 3)),
        ({"worker": ["a:1"]}, {"type": "worker", "index": 0}, Part()),
        ({}, {}, Part()),
    ],
)
def test_part_of_tf_config(cluster, task, part):
    assert tf_config.part(environment(cluster, task)) == part


def test_without_tf_config_there_is_one_worker():
    assert tf_config.part({}) == Part()


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "ps", "index": 0}}', '{"cluster": 3}']
    + ['{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 2}}'],
)
def test_a_wrong_tf_config_is_named(text):
    with pytest.raises(UserError, match="TF_CONFIG"):
        tf_config.part({"TF_CONFIG": text})
