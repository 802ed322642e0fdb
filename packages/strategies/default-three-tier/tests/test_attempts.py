"""Joining, replaying and giving back the few reads of a turn."""

import anyio
import pytest
from dsh_mnemon_strategy_default_three_tier._attempts import Attempts


class Reader:
    """Answers after its gate opens, or raises; records what it was told of earlier answers."""

    def __init__(self, answer=None, error=None):
        self.answer, self.error = answer, error
        self.gate = anyio.Event()
        self.earlier = []

    async def __call__(self, earlier):
        self.earlier.append(earlier)
        await self.gate.wait()
        if self.error:
            raise self.error
        return self.answer

    def opened(self):
        self.gate.set()
        return self


async def into(results, name, awaitable):
    """Store what an awaitable comes to under a name."""
    try:
        results[name] = await awaitable
    except ValueError as error:
        results[name] = error


@pytest.mark.requirement("layered:recall:join")
async def test_equal_requests_share_one_running_read():
    attempts, reader, results = Attempts(2), Reader("one"), {}
    async with anyio.create_task_group() as group:
        group.start_soon(into, results, "owner", attempts.settle("a", reader))
        group.start_soon(into, results, "joined", attempts.settle("a", reader))
        await anyio.wait_all_tasks_blocked()
        reader.opened()
    assert results == {"owner": ("one", "fresh"), "joined": ("one", "repeated")}
    assert len(reader.earlier) == 1
    assert attempts.open


@pytest.mark.requirement("layered:recall:join")
async def test_a_different_request_waits_for_the_one_before():
    attempts, first, second, results = Attempts(2), Reader("one"), Reader("two").opened(), {}
    async with anyio.create_task_group() as group:
        group.start_soon(into, results, "first", attempts.settle("a", first))
        await anyio.wait_all_tasks_blocked()
        group.start_soon(into, results, "second", attempts.settle("b", second))
        await anyio.wait_all_tasks_blocked()
        assert second.earlier == []
        first.opened()
    assert second.earlier == [("one",)]
    assert results["second"] == ("two", "fresh")
    assert not attempts.open


@pytest.mark.requirement("layered:recall:replay")
async def test_beyond_the_maximum_the_latest_answer_is_replayed():
    attempts = Attempts(2)
    await attempts.settle("a", Reader("one").opened())
    await attempts.settle("b", Reader("two").opened())
    unused = Reader("three")
    assert await attempts.settle("c", unused) == ("two", "exhausted")
    assert await attempts.settle("a", unused) == ("one", "repeated")
    assert unused.earlier == []


@pytest.mark.requirement("layered:recall:failure")
async def test_a_failure_reaches_those_who_joined_and_frees_the_place():
    attempts, reader, results = Attempts(1), Reader(error=ValueError("down")), {}
    async with anyio.create_task_group() as group:
        group.start_soon(into, results, "owner", attempts.settle("a", reader))
        group.start_soon(into, results, "joined", attempts.settle("a", reader))
        await anyio.wait_all_tasks_blocked()
        reader.opened()
    assert results["owner"] is results["joined"] is reader.error
    assert len(reader.earlier) == 1
    assert await attempts.settle("a", Reader("again").opened()) == ("again", "fresh")


@pytest.mark.requirement("layered:recall:failure")
async def test_a_waiting_request_goes_first_when_the_one_before_fails():
    attempts, results = Attempts(2), {}
    first, second = Reader(error=ValueError("down")), Reader("two").opened()
    async with anyio.create_task_group() as group:
        group.start_soon(into, results, "first", attempts.settle("a", first))
        await anyio.wait_all_tasks_blocked()
        group.start_soon(into, results, "second", attempts.settle("b", second))
        await anyio.wait_all_tasks_blocked()
        first.opened()
    assert second.earlier == [()]
    assert results["second"] == ("two", "fresh")
    assert attempts.open


@pytest.mark.requirement("layered:recall:failure")
async def test_a_request_beyond_the_maximum_takes_a_place_that_comes_free():
    attempts, results = Attempts(2), {}
    first, second, third = Reader(error=ValueError("down")), Reader("two"), Reader("three")
    async with anyio.create_task_group() as group:
        for name, reader in (("a", first), ("b", second), ("c", third)):
            group.start_soon(into, results, name, attempts.settle(name, reader))
            await anyio.wait_all_tasks_blocked()
        for reader in (first, second, third):
            reader.opened()
    assert results["b"] == ("two", "fresh")
    assert results["c"] == ("three", "fresh")
    assert third.earlier == [("two",)]


@pytest.mark.requirement("layered:recall:cancel")
async def test_a_cancelled_owner_hands_the_read_to_a_waiter():
    attempts, owner, waiter, results = Attempts(1), Reader("never"), Reader("two").opened(), {}
    scope = anyio.CancelScope()

    async def owned():
        with scope:
            await attempts.settle("a", owner)

    async with anyio.create_task_group() as group:
        group.start_soon(owned)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(into, results, "waiter", attempts.settle("a", waiter))
        group.start_soon(into, results, "other", attempts.settle("b", waiter))
        await anyio.wait_all_tasks_blocked()
        scope.cancel()
    assert scope.cancelled_caught
    assert results == {"waiter": ("two", "fresh"), "other": ("two", "exhausted")}
    assert waiter.earlier == [()]


@pytest.mark.requirement("layered:recall:cancel")
async def test_a_cancelled_waiter_ends_only_its_own_wait():
    attempts, reader, results = Attempts(1), Reader("one"), {}
    scope = anyio.CancelScope()

    async def waiting():
        with scope:
            await attempts.settle("a", reader)

    async with anyio.create_task_group() as group:
        group.start_soon(into, results, "owner", attempts.settle("a", reader))
        await anyio.wait_all_tasks_blocked()
        group.start_soon(waiting)
        await anyio.wait_all_tasks_blocked()
        scope.cancel()
        await anyio.wait_all_tasks_blocked()
        reader.opened()
    assert results == {"owner": ("one", "fresh")}


@pytest.mark.requirement("layered:recall:cancel")
async def test_a_request_cancelled_while_it_waits_its_turn_gives_its_place_back():
    attempts, first, results = Attempts(2), Reader("one"), {}
    scope = anyio.CancelScope()

    async def second():
        with scope:
            await attempts.settle("b", Reader("two"))

    async with anyio.create_task_group() as group:
        group.start_soon(into, results, "first", attempts.settle("a", first))
        await anyio.wait_all_tasks_blocked()
        group.start_soon(second)
        await anyio.wait_all_tasks_blocked()
        scope.cancel()
        first.opened()
    assert attempts.open
    assert await attempts.settle("b", Reader("two").opened()) == ("two", "fresh")
