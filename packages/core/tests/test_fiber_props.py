"""Random mounts, disposals, updates and services leave nothing behind (spec/core.md §19.2)."""

import asyncio
import contextlib
from typing import Any

import anyio
from dsh_mnemon_core.errors import LifecycleError
from dsh_mnemon_core.fiber import Context, Fiber, Plugin, open_root
from hypothesis import given, settings
from hypothesis import strategies as st

KEYS = ("a", "b", "c")

actions = st.one_of(
    st.tuples(
        st.just("mount"),
        st.integers(0, 9),
        st.sets(st.sampled_from(KEYS), max_size=2),
        st.sampled_from((None, *KEYS)),
        st.booleans(),
    ),
    st.tuples(st.just("dispose"), st.integers(0, 9)),
    st.tuples(st.just("update"), st.integers(0, 9)),
    st.tuples(st.just("mount-cancelled"), st.integers(0, 9)),
)


class World:
    """A tree of Fibers under random treatment, with the ledger of what each one holds."""

    def __init__(self, root: Context) -> None:
        self.contexts: list[Context] = [root]
        self.fibers: list[Fiber] = []
        self.held: list[object] = []

    def plugin(self, requires: tuple[str, ...], provides: str | None, works: bool) -> Plugin:
        async def apply(ctx: Context, _config: object) -> None:
            mark = object()
            for key in requires:
                assert ctx.require(key) == key
            self.held.append(mark)
            ctx.defer(lambda: self.undo(mark, ctx))
            group = await ctx.enter(anyio.create_task_group())
            ctx.defer(group.cancel_scope.cancel)
            group.start_soon(anyio.sleep_forever)
            if provides and ctx.get(provides) is None:
                ctx.provide(provides, provides)
            self.contexts.append(ctx)
            if not works:
                raise KeyError("does not work")

        return Plugin(name="p", apply=apply, requires=requires)

    def undo(self, mark: object, ctx: Context) -> None:
        self.held.remove(mark)
        if ctx in self.contexts:
            self.contexts.remove(ctx)

    async def do(self, action: tuple[Any, ...]) -> None:
        kind, number = action[0], action[1]
        if kind == "mount":
            context = self.contexts[number % len(self.contexts)]
            plugin = self.plugin(tuple(sorted(action[2])), action[3], action[4])
            with contextlib.suppress(KeyError, LifecycleError):
                self.fibers.append(await context.mount(plugin))
        elif kind == "mount-cancelled":
            with anyio.CancelScope() as scope:
                scope.cancel()
                await self.contexts[number % len(self.contexts)].mount(self.plugin((), None, True))
        elif self.fibers:
            fiber = self.fibers[number % len(self.fibers)]
            if kind == "dispose":
                await fiber.dispose()
                assert fiber.state == "disposed"
            else:
                with contextlib.suppress(KeyError, LifecycleError):
                    await fiber.update({})


def left_behind(world: World, before: set[Any]) -> list[object]:
    alive = [fiber for fiber in world.fibers if fiber.state != "disposed"]
    return [*world.held, *alive, *(asyncio.all_tasks() - before)]


@settings(max_examples=150, deadline=None)
@given(st.lists(actions, max_size=25))
async def test_any_history_leaves_no_task_and_no_effect_behind(history: list[Any]) -> None:
    before = asyncio.all_tasks()
    async with open_root() as root:
        world = World(root)
        for action in history:
            await world.do(action)
            for fiber in world.fibers:
                await fiber.settled()
    assert left_behind(world, before) == []


@settings(max_examples=150, deadline=None)
@given(st.lists(actions, max_size=25), st.integers(0, 9))
async def test_concurrent_histories_leave_nothing_behind_even_when_cancelled(
    history: list[Any], checkpoints: int
) -> None:
    before = asyncio.all_tasks()
    async with open_root() as root:
        world = World(root)
        async with anyio.create_task_group() as group:
            for action in history:
                group.start_soon(world.do, action)
            for _ in range(checkpoints):
                await anyio.lowlevel.checkpoint()
            if checkpoints % 2:
                group.cancel_scope.cancel()
    assert left_behind(world, before) == []
