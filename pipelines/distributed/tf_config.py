"""TF_CONFIG, the environment variable with which Kubeflow, Slurm's launchers and Ray give a process its role.

It is a JSON object: {"cluster": {"worker": ["HOST:PORT", ...]}, "task": {"type": "worker", "index": 0}}. A cluster may
have a "chief" before its workers.
"""

import json
import os
from collections.abc import Mapping

from pipelines.data.part import Part
from pipelines.support.errors import UserError

_NAME = "TF_CONFIG"
_ROLES = ("chief", "worker")


def part(environment: Mapping[str, str] = os.environ) -> Part:
    """Returns the part of this process: its number among the workers, and how many there are; 0 is the chief.

    Raises:
        UserError: TF_CONFIG is not such an object, or gives this process another role.
    """
    text = environment.get(_NAME)
    if not text:
        return Part()
    try:
        value = json.loads(text)
        cluster, task = value.get("cluster", {}), value.get("task", {})
        addresses = [(role, i) for role in _ROLES for i, _ in enumerate(cluster.get(role, []))]
        role = task.get("type", "worker"), int(task.get("index", 0))
    except (ValueError, TypeError, AttributeError) as error:
        raise UserError(f"{_NAME} is not the JSON object of a cluster and a task ({error}): {text[:200]}") from None
    if not addresses:
        return Part()  # a cluster of one process may be left out
    if role not in addresses:
        given = ", ".join(f"{name} {i}" for name, i in addresses)
        raise UserError(f"{_NAME} gives this process the task {role[0]} {role[1]}: training has {given}")
    return Part(addresses.index(role), len(addresses))


def address(index: int, environment: Mapping[str, str] = os.environ) -> str:
    """Returns HOST:PORT of a worker, counted as in `part`, whose TF_CONFIG `part` has checked."""
    cluster = json.loads(environment[_NAME])["cluster"]
    return [address for role in _ROLES for address in cluster.get(role, [])][index]
