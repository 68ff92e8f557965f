"""What workers send one another: with two real processes."""

import json
import subprocess
import sys

import numpy as np
import pytest

from pipelines.data.part import Part
from pipelines.support.errors import UserError
from pipelines.training.group import Group
from tests.command_line import ROOT
from tests.pipelines.distributed import worker_processes

PROGRAM = """
import json, sys
import numpy as np
from pipelines.distributed import tf_config
from pipelines.support.errors import UserError
from pipelines.support.quiet import import_tensorflow

part = tf_config.part()
import contextlib
stack = contextlib.ExitStack()

def join():
    from pipelines.training import group
    stack.enter_context(group.joined(part))

import_tensorflow(before_first_operation=join)
import tensorflow as tf
from pipelines.training import group
here = group.current()
answers = {}
answers["exchange"] = [here.exchange(value) for value in ({"worker": part.index}, [1.5, None], "x" * (10 + part.index))]
answers["from_chief"] = here.from_chief({"loss": float("nan"), "name": "\u00e9"} if part.index == 0 else None)
problems = []
for failing in (None, 0, 1):
    try:
        with here.together():
            if part.index == failing:
                raise UserError(f"no file at {failing}")
        problems.append(None)
    except UserError as error:
        problems.append(str(error))
answers["together"] = problems
rows = np.arange(6, dtype=np.float32).reshape(3, 2)
answers["rows"] = here.join_rows(rows[part.rows(3)], 3).tolist()
for kind in (np.float32, np.int64, np.uint32):
    array = np.full([2, 2], 2**24 - 1 if part.index == 0 else 7).astype(kind)
    answers[kind.__name__] = here.array_from_chief(array).tolist()
values = tf.range(300_000, dtype=tf.float32) * (part.index + 1)
answers["sum"] = bool(tf.reduce_all(tf.function(here.sum_step)(values) == tf.range(300_000, dtype=tf.float32) * 3))
indices = [4, 4] if part.index == 0 else [2]
values = tf.ones([len(indices), 3]) * (part.index + 1)
slices = tf.IndexedSlices(values, tf.constant(indices, tf.int64), tf.constant([9, 3]))
gathered, = tf.function(lambda: here.gather_slices([slices]))()
dense = tf.convert_to_tensor(gathered).numpy()
answers["gathered"] = dense[:, 0].tolist()
answers["squares"] = float(tf.reduce_sum(gathered.values**2))
stack.close()
print(json.dumps(answers))
"""


def test_alone_it_sends_nothing():
    alone = Group(Part())
    assert alone.is_chief
    assert alone.exchange(3) == [3]
    assert alone.from_chief("x") == "x"
    with pytest.raises(UserError, match="^no file$"):
        with alone.together():
            raise UserError("no file")
    rows = np.ones((2, 3))
    assert alone.join_rows(rows, 2) is rows


@pytest.mark.long
def test_two_workers():
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            cwd=ROOT,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for env in worker_processes.environments(2)
    ]
    outputs = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    answers = [json.loads(out) for out, _ in outputs]
    for each in answers:
        assert each["exchange"] == [
            [{"worker": 0}, {"worker": 1}],
            [[1.5, None], [1.5, None]],
            ["x" * 10, "x" * 11],
        ]
        assert np.isnan(each["from_chief"]["loss"]) and each["from_chief"]["name"] == "\u00e9"
        assert each["together"][:2] == [None, "no file at 0"]
        assert each["together"][2].startswith("worker 1 on ") and each["together"][2].endswith(": no file at 1")
        assert each["rows"] == [[0, 1], [2, 3], [4, 5]]
        assert each["float32"] == each["int64"] == each["uint32"] == [[2**24 - 1] * 2] * 2
        assert each["sum"] is True
        assert each["gathered"] == [0, 0, 2, 0, 2, 0, 0, 0, 0]
        assert each["squares"] == 2 * 3 + 4 * 3  # the rows of the same token are not added
