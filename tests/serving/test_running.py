import asyncio

import pytest

from serving.errors import Code, ServingError
from serving.running import Running


def test_abandoned_requests_and_later_ones_have_an_error():
    async def main():
        running, waiting = Running(), asyncio.Event()

        async def answer():
            with running.track():
                waiting.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(answer())
        await waiting.wait()
        running.abandon()
        for request in (task, answer()):
            with pytest.raises(ServingError, match="the server stops") as caught:
                await request
            assert caught.value.code == Code.UNAVAILABLE
        assert task.cancelling() == 0 and not running._tasks

    asyncio.run(main())


def test_a_client_that_goes_away_cancels_its_request():
    async def main():
        running, waiting = Running(), asyncio.Event()

        async def answer():
            with running.track():
                waiting.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(answer())
        await waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not running._tasks

    asyncio.run(main())
