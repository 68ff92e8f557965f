"""Batches of requests, with a signature whose runs the test holds back."""

import threading
import time
import types

import numpy as np
import pytest

from serving.batching import Batcher
from serving.errors import Code, ServingError


class Held:
    """Runs that begin when told to: doubles its input and says how many rows went together."""

    batches = True

    def __init__(self):
        self.began, self.go_on = threading.Semaphore(0), threading.Semaphore(0)
        self.runs = []

    def __call__(self, inputs):
        self.runs.append(inputs["x"].tolist())
        self.began.release()
        assert self.go_on.acquire(timeout=30)
        if 13 in inputs["x"]:
            raise ServingError(Code.INVALID_ARGUMENT, "13")
        return {"y": 2 * inputs["x"]}


@pytest.fixture
def held():
    return Held()


def asked(batcher, values, seconds=30.0):
    """A thread that asks; `.got` is its answer or its error."""
    found = types.SimpleNamespace(got=None)

    def ask():
        try:
            found.got = batcher.run({"x": np.array(values)}, time.monotonic() + seconds)["y"].tolist()
        except ServingError as error:
            found.got = error

    found.thread = threading.Thread(target=ask)
    found.thread.start()
    return found


def waiting(batcher, count):
    end = time.monotonic() + 30
    while len(batcher._queue) != count:
        assert time.monotonic() < end
        time.sleep(0.001)


def test_what_waits_goes_together_and_each_gets_its_own(held):
    batcher = Batcher(held, most_rows=4)
    first = asked(batcher, [1])
    assert held.began.acquire(timeout=30)
    others = []
    for i, values in enumerate([[2], [3, 4], [5], [6]]):
        others.append(asked(batcher, values))
        waiting(batcher, i + 1)
    held.go_on.release(3)
    for each in (first, *others):
        each.thread.join(30)
    assert held.runs == [[1], [2, 3, 4, 5], [6]]
    assert [each.got for each in (first, *others)] == [[2], [4], [6, 8], [10], [12]]


def test_the_one_at_fault_alone_is_refused(held):
    batcher = Batcher(held, most_rows=10)
    first = asked(batcher, [1])
    assert held.began.acquire(timeout=30)
    bad, good = asked(batcher, [13]), None
    waiting(batcher, 1)
    good = asked(batcher, [2])
    waiting(batcher, 2)
    held.go_on.release(4)
    for each in (first, bad, good):
        each.thread.join(30)
    assert bad.got.message == "13" and good.got == [4] and held.runs == [[1], [13, 2], [13], [2]]


def test_a_deadline_that_passes_in_the_queue_or_in_a_run(held):
    batcher = Batcher(held, most_rows=10)
    first = asked(batcher, [1])
    assert held.began.acquire(timeout=30)
    short = asked(batcher, [2], seconds=0.05)
    short.thread.join(30)
    assert short.got.code == Code.DEADLINE_EXCEEDED and not batcher._queue
    leads, joins = asked(batcher, [3]), None
    waiting(batcher, 1)
    joins = asked(batcher, [4], seconds=0.5)
    waiting(batcher, 2)
    held.go_on.release()
    assert held.began.acquire(timeout=30)
    joins.thread.join(30)
    assert joins.got.code == Code.DEADLINE_EXCEEDED
    held.go_on.release()
    for each in (first, leads):
        each.thread.join(30)
    assert leads.got == [6] and held.runs == [[1], [3, 4]]
    held.go_on.release()
    assert batcher.run({"x": np.array([5])}, time.monotonic() + 30)["y"].tolist() == [10]


def test_one_whose_time_is_over_hands_on(held):
    """Woken to lead at the moment its deadline passes, it must not leave the others waiting."""
    batcher = Batcher(held, most_rows=1)
    first = asked(batcher, [1])
    assert held.began.acquire(timeout=30)
    late = asked(batcher, [2], seconds=0.3)
    waiting(batcher, 1)
    after = asked(batcher, [3])
    waiting(batcher, 2)
    held.go_on.release(3)
    for each in (first, late, after):
        each.thread.join(30)
    assert after.got == [6] and (late.got == [4] or late.got.code == Code.DEADLINE_EXCEEDED)


def test_many_at_once_lose_nothing():
    runs = []

    def signature(inputs):
        runs.append(len(inputs["x"]))
        time.sleep(0.0005)
        return {"y": 2 * inputs["x"]}

    signature.batches = True
    batcher = Batcher(signature, most_rows=16)
    wrong = []

    def ask(i):
        for j in range(100):
            if batcher.run({"x": np.array([1000 * i + j])}, time.monotonic() + 30)["y"].tolist() != [2 * (1000 * i + j)]:
                wrong.append((i, j))

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and sum(runs) == 1600 and max(runs) > 1 and not batcher._busy
