"""How a call ended that was cancelled."""

import anyio
import anyio.lowlevel
from dsh_mnemon_testing.interruption import interrupt


async def test_cancelled_before_it_begins():
    begun = []

    async def call():
        await anyio.lowlevel.checkpoint()
        begun.append(True)

    ending = await interrupt(call, 0)
    assert ending.cancelled
    assert not ending.returned
    assert not begun


async def test_cancelled_while_it_runs():
    begun = []

    async def call():
        begun.append(True)
        await anyio.sleep_forever()

    ending = await interrupt(call, 3)
    assert ending.cancelled
    assert begun


async def test_answered_all_the_same():
    async def call():
        return "answer"

    ending = await interrupt(call, 0)
    assert ending.returned
    assert ending.value == "answer"


async def test_raised_something_else():
    async def call():
        raise ValueError("no")

    ending = await interrupt(call, 0)
    assert not ending.returned
    assert isinstance(ending.error, ValueError)


async def test_went_on_for_a_while():
    async def call():
        with anyio.CancelScope(shield=True):
            await anyio.sleep(0.05)

    ending = await interrupt(call, 1)
    assert ending.seconds >= 0.04
