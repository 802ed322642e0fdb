"""The one thread of a store (spec/mnemon-native.md §2.6)."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncGenerator

import anyio
import pytest
from anyio.from_thread import BlockingPortal
from dsh_mnemon_provider_mnemon_native._store.worker import Worker

pytestmark = pytest.mark.requirement("native:worker")


@pytest.fixture
async def worker(anyio_backend: str) -> AsyncGenerator[Worker]:
    del anyio_backend
    made = Worker("test")
    yield made
    await made.aclose()


async def test_calls_run_in_order_in_one_thread(worker: Worker) -> None:
    order: list[int] = []
    threads: set[int] = set()

    async def call(number: int) -> None:
        def work() -> None:
            order.append(number)
            threads.add(threading.get_ident())

        await worker.run(work)

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(call, number)
    assert order == list(range(20))
    assert len(threads) == 1
    assert threading.get_ident() not in threads


async def test_an_exception_is_raised_to_its_caller_only(worker: Worker) -> None:
    with pytest.raises(ZeroDivisionError):
        await worker.run(lambda: 1 // 0)
    assert await worker.run(lambda: "fine") == "fine"


async def test_a_call_that_is_cancelled_before_its_turn_never_runs(worker: Worker) -> None:
    gate, ran = threading.Event(), list[str]()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(worker.run, gate.wait)
        await anyio.wait_all_tasks_blocked()
        with anyio.move_on_after(0.01):
            await worker.run(lambda: ran.append("too late"))
        gate.set()
    assert await worker.run(lambda: list(ran)) == []


async def test_a_call_that_runs_is_waited_for_when_it_is_cancelled(worker: Worker) -> None:
    started, gate, ended = anyio.Event(), threading.Event(), list[str]()
    async with BlockingPortal() as portal:

        def work() -> None:
            portal.call(started.set)
            gate.wait(5)
            ended.append("whole")

        async def cancelled() -> None:
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(worker.run, work)
                    await started.wait()
                    scope.cancel()
                    gate.set()
            assert ended == ["whole"]

        await cancelled()


async def test_what_nobody_waits_for_runs_before_the_end(worker: Worker) -> None:
    done: list[str] = []
    worker.later(lambda: done.append("later"))
    await worker.aclose()
    assert done == ["later"]
    assert await worker.run(lambda: "again") == "again"


async def test_what_nobody_waits_for_leaves_type_and_place_when_it_fails(
    worker: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise LookupError("the words of a memory")

    with caplog.at_level(logging.ERROR):
        worker.later(fail)
        assert await worker.run(lambda: "goes on") == "goes on"
    (message,) = caplog.messages
    assert "LookupError" in message
    line = fail.__code__.co_firstlineno + 1
    assert f"test_worker.py:{line}" in message
    assert "memory" not in caplog.text


async def test_a_worker_that_was_never_used_closes(worker: Worker) -> None:
    await Worker("idle").aclose()


def test_a_loop_that_ended_does_not_stop_the_thread() -> None:
    worker, gate = Worker("ending"), threading.Event()

    async def leave() -> None:
        async with anyio.create_task_group() as tasks:
            with anyio.CancelScope(shield=False) as scope:
                tasks.start_soon(worker.run, lambda: gate.wait(5))
                await anyio.sleep(0.01)
                gate.set()
                scope.cancel()

    anyio.run(leave)

    async def use() -> int:
        value = await worker.run(lambda: 7)
        await worker.aclose()
        return value

    assert anyio.run(use) == 7
