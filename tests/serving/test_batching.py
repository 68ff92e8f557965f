"""Batches of requests, with a signature whose runs the test holds, and deadlines that pass when the test says so."""

import threading
import types

import numpy as np
import pytest

from serving.batching import Batcher
from serving.errors import Code, ServingError
from tests.serving.conftest import HANG_SECONDS, wait_until

NEVER = float("inf")


class HeldSignature:
    """Doubles its input. Each run waits for one `release`. The value 13 is an error."""

    can_batch = True

    def __init__(self):
        self._started, self._released = threading.Semaphore(0), threading.Semaphore(0)
        self.runs, self.time_limits = [], []

    def __call__(self, inputs, seconds):
        self.runs.append(inputs["x"].tolist())
        self.time_limits.append(seconds)
        self._started.release()
        assert self._released.acquire(timeout=HANG_SECONDS)
        if 13 in inputs["x"]:
            raise ServingError(Code.INVALID_ARGUMENT, "13")
        return {"y": 2 * inputs["x"]}

    def wait_for_run(self):
        assert self._started.acquire(timeout=HANG_SECONDS)

    def release(self, num_runs=1):
        self._released.release(num_runs)


class FakeTime:
    """A clock that the test sets. A wait of the batcher ends when the request is woken or its deadline is reached."""

    def __init__(self, monkeypatch):
        self.now, self._changed = 0.0, threading.Condition()
        monkeypatch.setattr(Batcher, "_wait", self._wait)

    def clock(self):
        return self.now

    def set(self, now):
        with self._changed:
            self.now = now
            self._changed.notify_all()

    def _wait(self, request):
        wake = request.woken.set

        def wake_and_notify():
            wake()
            with self._changed:
                self._changed.notify_all()

        request.woken.set = wake_and_notify
        with self._changed:
            assert self._changed.wait_for(lambda: request.woken.is_set() or self.now >= request.deadline, HANG_SECONDS)
            return self.now < request.deadline


@pytest.fixture
def signature():
    return HeldSignature()


@pytest.fixture
def time(monkeypatch):
    return FakeTime(monkeypatch)


def send(batcher, values, deadline=NEVER):
    """Starts a thread that runs the batcher. `.result` is its answer or its error."""
    request = types.SimpleNamespace(result=None)

    def run():
        try:
            request.result = batcher.run({"x": np.array(values)}, deadline)["y"].tolist()
        except ServingError as error:
            request.result = error

    request.thread = threading.Thread(target=run)
    request.thread.start()
    return request


def send_to_queue(batcher, values, deadline=NEVER):
    length = len(batcher._queue)
    request = send(batcher, values, deadline)
    wait_until(lambda: len(batcher._queue) == length + 1)
    return request


def join(*requests):
    for request in requests:
        request.thread.join(HANG_SECONDS)
        assert not request.thread.is_alive()


@pytest.fixture
def batcher(signature, time):
    return Batcher(signature, max_rows=4, max_tokens=100, clock=time.clock)


def test_waiting_requests_run_in_one_batch_and_each_gets_its_own_answer(signature, batcher):
    first = send(batcher, [1])
    signature.wait_for_run()
    others = [send_to_queue(batcher, values) for values in ([2], [3, 4], [5], [6])]
    signature.release(3)
    join(first, *others)
    assert signature.runs == [[1], [2, 3, 4, 5], [6]]
    assert [request.result for request in (first, *others)] == [[2], [4], [6, 8], [10], [12]]


def test_requests_of_different_shapes_run_in_different_batches(signature, batcher):
    first = send(batcher, [1])
    signature.wait_for_run()
    others = [send_to_queue(batcher, values) for values in ([2], [[3]], [[4]])]
    signature.release(3)
    join(first, *others)
    assert signature.runs == [[1], [2], [[3], [4]]]
    assert [request.result for request in others] == [[4], [[6]], [[8]]]


def test_a_signature_that_cannot_batch_runs_one_request_at_a_time(signature, batcher):
    signature.can_batch = False
    first = send(batcher, [1])
    signature.wait_for_run()
    others = [send_to_queue(batcher, values) for values in ([2], [3])]
    signature.release(3)
    join(first, *others)
    assert signature.runs == [[1], [2], [3]]


def test_only_the_invalid_request_of_a_batch_fails(signature, batcher):
    first = send(batcher, [1])
    signature.wait_for_run()
    invalid, valid = send_to_queue(batcher, [13]), send_to_queue(batcher, [2])
    signature.release(4)
    join(first, invalid, valid)
    assert invalid.result.message == "13" and valid.result == [4]
    assert signature.runs == [[1], [13, 2], [13], [2]]


def test_a_request_whose_deadline_passes_in_the_queue_leaves_it(signature, batcher, time):
    first = send(batcher, [1])
    signature.wait_for_run()
    late = send_to_queue(batcher, [2], deadline=5.0)
    time.set(6.0)
    join(late)
    assert late.result.code == Code.DEADLINE_EXCEEDED and not batcher._queue
    signature.release()
    join(first)
    assert first.result == [2] and signature.runs == [[1]]


def test_a_deadline_that_passes_in_a_run_fails_only_its_own_request(signature, batcher, time):
    first = send(batcher, [1])
    signature.wait_for_run()
    leader, late = send_to_queue(batcher, [3]), send_to_queue(batcher, [4], deadline=5.0)
    signature.release()
    signature.wait_for_run()
    time.set(6.0)
    join(late)
    assert late.result.code == Code.DEADLINE_EXCEEDED
    signature.release()
    join(first, leader)
    assert leader.result == [6] and signature.runs == [[1], [3, 4]]
    signature.release()
    assert batcher.run({"x": np.array([5])}, NEVER)["y"].tolist() == [10]


def test_a_leader_whose_deadline_passes_in_its_run_gets_no_answer(signature, batcher, time):
    late = send(batcher, [1], deadline=5.0)
    signature.wait_for_run()
    time.set(6.0)
    signature.release()
    join(late)
    assert late.result.code == Code.DEADLINE_EXCEEDED


def test_a_leader_whose_deadline_has_passed_wakes_the_next_one(signature, time, monkeypatch):
    """The request becomes the leader at the moment its deadline passes. The others must not wait forever."""
    batcher = Batcher(signature, max_rows=1, max_tokens=100, clock=time.clock)
    woken_too_late = threading.Event()
    wait = Batcher._wait

    def return_late(batcher, request):
        woken = wait(request)
        if request.deadline == 5.0:
            assert woken and request.batch
            time.set(6.0)
            woken_too_late.set()
            return False
        return woken

    monkeypatch.setattr(Batcher, "_wait", return_late)
    first = send(batcher, [1])
    signature.wait_for_run()
    late, last = send_to_queue(batcher, [2], deadline=5.0), send_to_queue(batcher, [3])
    signature.release(2)
    join(first, late, last)
    assert woken_too_late.is_set()
    assert late.result.code == Code.DEADLINE_EXCEEDED and last.result == [6] and signature.runs == [[1], [3]]


def test_a_run_may_take_until_the_latest_deadline_of_its_batch_and_holds_no_other_thread(signature, batcher, time):
    first = send(batcher, [1])
    signature.wait_for_run()
    early, latest, late = (send_to_queue(batcher, [2], deadline) for deadline in (5.0, 20.0, 8.0))
    time.set(1.0)
    signature.release()
    signature.wait_for_run()
    assert signature.runs[1] == [2, 2, 2] and signature.time_limits[1] == 19.0
    time.set(10.0)
    join(early, late)
    assert early.result.code == late.result.code == Code.DEADLINE_EXCEEDED
    signature.release()
    join(first, latest)
    assert latest.result == [4]


def test_a_batch_that_is_broken_off_at_its_deadline_does_not_run_again(batcher, time):
    held = threading.Semaphore(0)
    runs = []

    def run(inputs, seconds):
        runs.append(inputs["x"].tolist())
        assert held.acquire(timeout=HANG_SECONDS)
        if len(runs) == 2:
            time.set(9.0)
            raise ServingError(Code.DEADLINE_EXCEEDED, "Timed out")
        return {"y": inputs["x"]}

    run.can_batch = True
    batcher._signature = run
    first = send(batcher, [1])
    wait_until(lambda: runs == [[1]])
    others = [send_to_queue(batcher, [2], deadline) for deadline in (5.0, 9.0)]
    held.release(2)
    join(first, *others)
    assert [request.result.code for request in others] == [Code.DEADLINE_EXCEEDED] * 2
    assert runs == [[1], [2, 2]]


def test_after_an_error_only_the_requests_with_time_left_run_again(signature, batcher, time):
    first = send(batcher, [1])
    signature.wait_for_run()
    invalid, late, last = (send_to_queue(batcher, [x], end) for x, end in ((13, 9.0), (2, 5.0), (3, 9.0)))
    signature.release()
    signature.wait_for_run()
    time.set(6.0)
    signature.release(3)
    join(first, invalid, late, last)
    assert late.result.code == Code.DEADLINE_EXCEEDED and invalid.result.message == "13" and last.result == [6]
    assert signature.runs == [[1], [13, 2, 3], [13], [3]] and signature.time_limits[-1] == 3.0


def test_a_batch_has_at_most_the_maximum_work(signature, time):
    batcher = Batcher(signature, max_rows=100, max_tokens=10, clock=time.clock)
    inputs = {"x": np.array([1]), "max_length": np.array([6])}
    results = []
    threads = []
    for i in range(3):
        threads.append(threading.Thread(target=lambda: results.append(batcher.run(inputs, NEVER))))
        threads[-1].start()
        if i == 0:
            signature.wait_for_run()
        wait_until(lambda i=i: len(batcher._queue) == i)
    signature.release(3)
    for thread in threads:
        thread.join(HANG_SECONDS)
    assert len(results) == 3 and signature.runs == [[1], [1], [1]]


def test_a_deadline_in_the_past_ends_the_wait_at_once(signature):
    batcher = Batcher(signature, max_rows=4, max_tokens=100)
    first = send(batcher, [1])
    signature.wait_for_run()
    with pytest.raises(ServingError, match="Deadline Exceeded"):
        batcher.run({"x": np.array([2])}, deadline=0.0)
    signature.release()
    join(first)


def test_sixteen_threads_lose_no_request():
    batch_sizes = []

    def double(inputs, seconds):
        if not batch_sizes:  # the first run lasts until all other threads wait
            wait_until(lambda: len(batcher._queue) == 15)
        batch_sizes.append(len(inputs["x"]))
        return {"y": 2 * inputs["x"]}

    double.can_batch = True
    batcher = Batcher(double, max_rows=16, max_tokens=100)
    wrong = []

    def run(i):
        for j in range(100):
            value = 1000 * i + j
            if batcher.run({"x": np.array([value])}, NEVER)["y"].tolist() != [2 * value]:
                wrong.append(value)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_SECONDS)
    assert not wrong and sum(batch_sizes) == 1600 and not batcher._busy
    assert batch_sizes[0] == 1 and batch_sizes[1] >= 15
