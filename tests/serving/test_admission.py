"""The admission in an event loop of its own, without a network."""

import asyncio
import threading

import pytest

from serving.admission import Admission
from serving.errors import Code, ServingError
from serving.settings import Limits
from tests.serving.conftest import HANG_SECONDS


async def until(condition):
    async with asyncio.timeout(HANG_SECONDS):
        while not condition():
            await asyncio.sleep(0.001)


async def predict(admission, function, num_bytes=10, client="client", model="model"):
    with admission.reservation(client) as reservation:
        reservation.add(num_bytes)
        return await admission.predict(reservation, model, function)


def test_predictions_beyond_the_limit_are_refused_and_slots_become_free_again():
    async def main():
        admission, release = Admission(Limits(max_requests=1)), threading.Event()
        running = asyncio.create_task(predict(admission, release.wait))
        await until(lambda: admission.requests.num_taken == 1)
        for refused in (predict(admission, release.wait), asyncio.to_thread(admission.check_free, "client")):
            with pytest.raises(ServingError, match="try again later") as caught:
                await refused
            assert caught.value.code == Code.RESOURCE_EXHAUSTED
        assert await admission.query(lambda: "status") == "status"
        release.set()
        assert await running is True
        await until(lambda: admission.requests.num_taken == admission.bytes.num_taken == 0)
        assert await predict(admission, lambda: "next") == "next"
        admission.close()

    asyncio.run(main())


def test_a_cancelled_prediction_counts_until_its_thread_ends():
    async def main():
        admission, started, release = Admission(Limits(max_requests=1)), threading.Event(), threading.Event()
        running = asyncio.create_task(predict(admission, lambda: started.set() or release.wait()))
        await until(started.is_set)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (admission.requests.num_taken, admission.bytes.num_taken) == (1, 10)
        release.set()
        await until(lambda: admission.requests.num_taken == admission.bytes.num_taken == 0)
        admission.close()

    asyncio.run(main())


def test_bytes_beyond_the_limit_are_refused_and_given_back():
    admission = Admission(Limits(max_queued_bytes=10))
    with admission.reservation("a") as first, admission.reservation("b") as second:
        first.add(6)
        second.add(4)
        with pytest.raises(ServingError, match="more than 10 bytes wait already") as caught:
            first.add(1)
        assert caught.value.code == Code.RESOURCE_EXHAUSTED and admission.bytes.num_taken == 10
    assert admission.bytes.num_taken == 0


def test_an_error_of_a_prediction_is_raised_and_frees_its_slot():
    async def main():
        admission = Admission(Limits(max_requests=1))
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await predict(admission, lambda: 1 / 0)
            await until(lambda: admission.requests.num_taken == 0)
        admission.close()

    asyncio.run(main())


def test_a_client_with_its_share_of_the_bytes_leaves_room_for_others():
    admission = Admission(Limits(max_queued_bytes=100))
    with (
        admission.reservation("a") as first,
        admission.reservation("a") as second,
        admission.reservation("a") as third,
        admission.reservation("b") as other,
    ):
        first.add(70)
        second.add(10)
        with pytest.raises(ServingError, match="this client hold its share of 100 bytes already") as caught:
            third.add(1)
        assert caught.value.code == Code.RESOURCE_EXHAUSTED
        second.release()
        first.add(15)  # a single request may take more than the share
        other.add(1)
    assert admission.bytes.num_taken == 0 and not admission.bytes._held


def test_a_prediction_that_ends_leaves_no_trace_of_its_client_model_and_lane():
    async def main():
        admission = Admission(Limits(max_requests=4))
        with admission.reservation("a") as reservation:
            assert await admission.predict(reservation, "upper", reservation.join_lane, ("upper", True)) is None
        await until(lambda: admission.requests.num_taken == 0)
        assert not admission.requests._held
        admission.close()

    asyncio.run(main())


@pytest.mark.parametrize(("num_held", "is_free"), [(4, True), (7, True), (8, False)])
def test_a_proxy_always_has_the_minimum_of_a_client(num_held, is_free):
    admission = Admission(Limits(max_requests=64))
    for i in range(63 - num_held):
        admission.requests.take(1, ("client", i))
    admission.requests.take(num_held, ("client", "proxy"))  # more than three times the one that is free
    if is_free:
        admission.check_free("proxy")
    else:
        with pytest.raises(ServingError, match="this client has its share of 64 requests"):
            admission.check_free("proxy")
