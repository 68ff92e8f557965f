import asyncio

import pytest

from serving.errors import Code, ServingError
from serving.running import Running


async def answer(running, has_started):
    """A request that never ends."""
    with running.track():
        has_started.set()
        await asyncio.Event().wait()


async def started(running):
    """Returns the task of such a request, which waits."""
    has_started = asyncio.Event()
    task = asyncio.create_task(answer(running, has_started))
    await has_started.wait()
    return task


def test_abandoned_requests_and_later_ones_have_an_error():
    async def main():
        running = Running()
        task = await started(running)
        running.abandon()
        for request in (task, answer(running, asyncio.Event())):
            with pytest.raises(ServingError, match="the server stops") as caught:
                await request
            assert caught.value.code == Code.UNAVAILABLE
        assert task.cancelling() == 0 and not running._tasks

    asyncio.run(main())


def test_a_client_that_goes_away_cancels_its_request():
    async def main():
        running = Running()
        task = await started(running)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not running._tasks

    asyncio.run(main())
