import asyncio
import time

import anyio
import pytest
from dsh_mnemon_core._engine.reading import read_each
from dsh_mnemon_core.errors import InputError, SourceFault, ViewRejected
from dsh_mnemon_core.view import Diagnostic


async def read(*callbacks, judge=lambda _item, answer: answer, timeout_ms=5_000, kind=str):
    """Read callbacks named 0, 1, 2 …"""
    with anyio.fail_after(20):
        return await read_each(
            list(enumerate(callbacks)),
            key=lambda item: f"source:{item[0]}",
            phase="facts",
            timeout_ms=timeout_ms,
            kind=kind,
            read=lambda item: item[1](),
            judge=judge,
        )


def outage(answer):
    assert isinstance(answer, Diagnostic)
    assert answer.contribution_instance_key == "source:0"
    return answer.code


async def fine():
    return "fine"


async def test_answers_keep_the_order_of_the_items_and_run_at_once():
    gate = anyio.Event()

    async def first():
        await gate.wait()
        return "first"

    async def second():
        gate.set()
        return "second"

    assert await read(first, second) == ("first", "second")
    assert await read() == ()


async def test_hanging_source_is_a_timeout():
    (answer,) = await read(anyio.sleep_forever, timeout_ms=1)
    assert outage(answer) == "source-facts-timeout"


@pytest.mark.parametrize(
    "error",
    [
        TimeoutError("hush"),
        SourceFault("own", "hush"),
        OSError("hush"),
        SystemExit("hush"),
        KeyboardInterrupt("hush"),
        GeneratorExit("hush"),
        BaseException("hush"),
        BaseExceptionGroup("hush", [KeyboardInterrupt()]),
        asyncio.CancelledError("hush"),
    ],
    ids=repr,
)
@pytest.mark.requirement("core:diagnostics:no-source-text")
async def test_any_exception_is_a_failure_without_its_text(error):
    async def fail():
        raise error

    answer, other = await read(fail, fine)
    assert outage(answer) == "source-facts-failed"
    assert answer.message == "source:0: facts failed."
    assert other == "fine"


class Liar:
    """Claims to be a text."""

    __class__ = str


@pytest.mark.parametrize(
    "value", [None, {"availability": "ready"}, Liar()], ids=["none", "mapping", "liar"]
)
async def test_an_answer_of_another_type_is_a_failure(value):
    async def wrong():
        return value

    answer, other = await read(wrong, fine)
    assert outage(answer) == "source-facts-failed"
    assert other == "fine"


@pytest.mark.requirement("core:reads:standstill")
async def test_time_in_which_the_loop_stands_still_is_nobodys(monkeypatch):
    loop = asyncio.get_running_loop()
    now, held_up = loop.time, [0.0]
    monkeypatch.setattr(loop, "time", lambda: now() + held_up[0])

    async def block():
        held_up[0] = 6.0
        return "slow"

    async def innocent():
        for _ in range(5):
            await anyio.to_thread.run_sync(time.monotonic)
        return "fine"

    assert await read(innocent, block, timeout_ms=5_000) == ("fine", "slow")


async def test_late_answers_are_timeouts_in_whatever_form_they_come():
    async def swallow():
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            return "too late"  # a Source should not do this

    async def turn():
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            raise OSError("aborted") from None

    for late in (swallow, turn):
        (answer,) = await read(late, timeout_ms=1)
        assert outage(answer) == "source-facts-timeout"


async def test_a_cancellation_of_the_sources_own_making_is_its_failure():
    async def stray():
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    async def other():
        await anyio.lowlevel.checkpoint()
        return "other"

    answer, untouched = await read(stray, other)
    assert outage(answer) == "source-facts-failed"
    assert untouched == "other"


@pytest.mark.requirement("core:reads:cancelled")
@pytest.mark.parametrize("stubborn", [False, True])
async def test_cancellation_from_outside_is_no_outage(stubborn):
    started = anyio.Event()

    async def hang():
        started.set()
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            if stubborn:
                raise OSError("aborted") from None
            raise

    answers = []
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:

            async def reader():
                answers.append(await read(hang))

            group.start_soon(reader)
            await started.wait()
            group.cancel_scope.cancel()
    assert answers == []


@pytest.mark.requirement("core:reads:malformed")
async def test_a_refused_answer_ends_the_other_reads():
    ended = []

    async def hang():
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("other")

    def judge(item, answer):
        raise InputError("text-too-long", "too long")

    with pytest.raises(ViewRejected) as caught:
        await read(hang, fine, judge=judge)
    assert caught.value.code == "text-too-long"
    assert "source:1" in caught.value.message
    assert ended == ["other"]


async def test_of_several_refusals_the_first_in_order_is_told():
    def judge(item, _answer):
        raise ViewRejected(f"bad-{item[0]}", "no")

    with pytest.raises(ViewRejected) as caught:
        await read(fine, fine, judge=judge)
    assert caught.value.code == "bad-0"


async def test_answers_of_foreign_types_are_malformed():
    with pytest.raises(ViewRejected) as caught:
        await read(fine, judge=lambda _item, answer: answer.revision)
    assert caught.value.code == "facts-malformed"
