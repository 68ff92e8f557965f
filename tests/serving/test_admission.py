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


async def predict(admission, function, num_bytes=10):
    with admission.reservation() as reservation:
        reservation.add(num_bytes)
        return await admission.predict(reservation, function)


def test_predictions_beyond_the_limit_are_refused_and_slots_become_free_again():
    async def main():
        admission, release = Admission(Limits(max_requests=1)), threading.Event()
        running = asyncio.create_task(predict(admission, release.wait))
        await until(lambda: admission.num_running == 1)
        for refused in (predict(admission, release.wait), asyncio.to_thread(admission.check_free)):
            with pytest.raises(ServingError, match="try again later") as caught:
                await refused
            assert caught.value.code == Code.RESOURCE_EXHAUSTED
        assert await admission.query(lambda: "status") == "status"
        release.set()
        assert await running is True
        await until(lambda: admission.num_running == admission.num_queued_bytes == 0)
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
        assert (admission.num_running, admission.num_queued_bytes) == (1, 10)
        release.set()
        await until(lambda: admission.num_running == admission.num_queued_bytes == 0)
        admission.close()

    asyncio.run(main())


def test_bytes_beyond_the_limit_are_refused_and_given_back():
    admission = Admission(Limits(max_queued_bytes=10))
    with admission.reservation() as first, admission.reservation() as second:
        first.add(6)
        second.add(4)
        with pytest.raises(ServingError, match="more than 10 bytes wait already") as caught:
            first.add(1)
        assert caught.value.code == Code.RESOURCE_EXHAUSTED and admission.num_queued_bytes == 10
    assert admission.num_queued_bytes == 0


def test_an_error_of_a_prediction_is_raised_and_frees_its_slot():
    async def main():
        admission = Admission(Limits(max_requests=1))
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await predict(admission, lambda: 1 / 0)
            await until(lambda: admission.num_running == 0)
        admission.close()

    asyncio.run(main())
