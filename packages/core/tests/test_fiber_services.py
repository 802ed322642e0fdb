"""Services of Fibers: who sees them, who waits for them, who goes with them (core.md §2)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from dsh_mnemon_core.errors import LifecycleError
from dsh_mnemon_core.fiber import Context, Fiber, Plugin, open_root

Apply = Callable[[Context, Any], Awaitable[None] | None]


def plugin(name: str, apply: Apply = lambda ctx, config: None, *requires: str) -> Plugin:
    return Plugin(name=name, apply=apply, requires=requires)


class Trace:
    """Collects what happens, and makes plugins that say when they start and stop."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def plugin(self, name: str, *requires: str, provides: str | None = None) -> Plugin:
        def apply(ctx: Context, _config: object) -> None:
            self.events.append(f"{name} up")
            ctx.defer(lambda: self.events.append(f"{name} down"))
            if provides:
                ctx.provide(provides, name)

        return plugin(name, apply, *requires)

    def take(self) -> list[str]:
        events, self.events = self.events, []
        return events


def tasks() -> set[Any]:
    return asyncio.all_tasks()


def codes(caught: pytest.ExceptionInfo[Any]) -> str:
    return caught.value.code


async def test_service_is_visible_to_siblings_and_their_descendants() -> None:
    seen: list[tuple[str, Any]] = []

    async def deep(ctx: Context, _config: object) -> None:
        seen.append(("deep", ctx.require("key")))

    async def sibling(ctx: Context, _config: object) -> None:
        seen.append(("sibling", ctx.get("key")))
        await ctx.mount(plugin("deep", deep))

    def owner(ctx: Context, _config: object) -> None:
        ctx.provide("key", "value")
        seen.append(("owner", ctx.get("key")))

    async with open_root() as root:
        with pytest.raises(LifecycleError) as caught:
            root.require("key")
        assert codes(caught) == "service-missing"
        await root.mount(plugin("owner", owner))
        await root.mount(plugin("sibling", sibling))
        assert root.get("key") == "value"
    assert seen == [("owner", "value"), ("sibling", "value"), ("deep", "value")]


async def test_service_of_a_child_stays_inside_its_parent() -> None:
    async def parent(ctx: Context, _config: object) -> None:
        await ctx.mount(Trace().plugin("child", provides="inner"))
        assert ctx.get("inner") == "child"

    async with open_root() as root:
        await root.mount(plugin("parent", parent))
        assert root.get("inner") is None


async def test_service_is_hidden_while_its_owner_loads() -> None:
    gate = anyio.Event()

    async def owner(ctx: Context, _config: object) -> None:
        ctx.provide("key", 1)
        await gate.wait()

    async with open_root() as root, anyio.create_task_group() as group:
        group.start_soon(root.mount, plugin("owner", owner))
        await anyio.wait_all_tasks_blocked()
        assert root.get("key") is None
        waiting = await root.mount(plugin("user", lambda ctx, config: None, "key"))
        assert waiting.state == "pending"
        gate.set()
        await waiting.wait()
        assert root.get("key") == 1


async def test_second_provider_in_one_scope_is_refused() -> None:
    async with open_root() as root:
        dispose = root.provide("key", 1)
        with pytest.raises(LifecycleError) as caught:
            root.provide("key", 2)
        assert codes(caught) == "service-duplicated"
        await dispose()
        root.provide("key", 3)
        assert root.get("key") == 3


async def test_fiber_follows_the_services_it_requires() -> None:
    trace = Trace()
    async with open_root() as root:
        user = await root.mount(trace.plugin("user", "a", "b"))
        assert user.state == "pending"
        withdraw = root.provide("a", 1)
        await user.settled()
        assert user.state == "pending"
        owner = await root.mount(trace.plugin("owner", provides="b"))
        await user.wait()
        assert trace.take() == ["owner up", "user up"]
        await owner.dispose()
        assert user.state == "pending"
        assert trace.take() == ["user down", "owner down"]
        await root.mount(trace.plugin("other", provides="b"))
        await user.wait()
        assert trace.take() == ["other up", "user up"]
        await withdraw()
        assert user.state == "pending"
        assert trace.take() == ["user down"]


async def test_dependents_are_unloaded_last_started_first_before_the_owner() -> None:
    trace = Trace()
    async with open_root() as root:
        owner = await root.mount(trace.plugin("owner", provides="key"))
        await root.mount(trace.plugin("a", "key"))
        await root.mount(trace.plugin("b", "key", provides="b"))
        await root.mount(trace.plugin("c", "b"))
        trace.take()
        await owner.dispose()
        assert trace.take() == ["c down", "b down", "a down", "owner down"]


async def test_services_of_one_owner_are_withdrawn_last_first() -> None:
    trace = Trace()

    def apply(ctx: Context, _config: object) -> None:
        ctx.provide("first", 1)
        ctx.provide("second", 2)

    async with open_root() as root:
        owner = await root.mount(plugin("owner", apply))
        await root.mount(trace.plugin("b", "second"))
        await root.mount(trace.plugin("a", "first"))
        trace.take()
        await owner.dispose()
        assert trace.take() == ["b down", "a down"]


async def test_loading_fiber_is_interrupted_when_its_service_goes() -> None:
    trace = Trace()

    async def apply(ctx: Context, _config: object) -> None:
        ctx.defer(lambda: trace.events.append("undone"))
        await anyio.sleep_forever()

    mounted: list[Fiber] = []

    async def mount(root: Context) -> None:
        mounted.append(await root.mount(plugin("user", apply, "key")))

    async with open_root() as root, anyio.create_task_group() as group:
        withdraw = root.provide("key", 1)
        group.start_soon(mount, root)
        await anyio.wait_all_tasks_blocked()
        await withdraw()
        await anyio.wait_all_tasks_blocked()
        assert trace.events == ["undone"]
        assert [fiber.state for fiber in mounted] == ["pending"]


async def test_nearer_provider_takes_over() -> None:
    seen: list[Any] = []

    async def parent(ctx: Context, _config: object) -> None:
        await ctx.mount(plugin("user", lambda ctx, config: seen.append(ctx.get("key")), "key"))
        contexts.append(ctx)

    contexts: list[Context] = []
    async with open_root() as root:
        root.provide("key", "far")
        await root.mount(plugin("parent", parent))
        near = await contexts[0].mount(Trace().plugin("near", provides="key"))
        await anyio.wait_all_tasks_blocked()
        await near.dispose()
        await anyio.wait_all_tasks_blocked()
    assert seen == ["far", "near", "far"]


async def test_fiber_may_provide_the_key_it_requires() -> None:
    async def apply(ctx: Context, _config: object) -> None:
        ctx.provide("key", ("wrapped", ctx.get("key")))

    async def parent(ctx: Context, _config: object) -> None:
        await ctx.mount(plugin("wrapper", apply, "key"))
        seen.append(ctx.get("key"))

    seen: list[Any] = []
    async with open_root() as root:
        root.provide("key", 1)
        await root.mount(plugin("parent", parent))
    assert seen == [("wrapped", 1)]


async def test_late_start_that_fails_is_kept_and_tried_again_with_another_provider(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.ERROR)

    def apply(ctx: Context, _config: object) -> None:
        if ctx.get("key") == "bad":
            raise KeyError("bad")

    async with open_root() as root:
        user = await root.mount(plugin("user", apply, "key"))
        withdraw = root.provide("key", "bad")
        with pytest.raises(KeyError):
            await user.wait()
        assert user.state == "failed"
        assert "bad" in caplog.text
        await withdraw()
        await user.settled()
        assert (user.state, user.error) == ("pending", None)
        root.provide("key", "good")
        await user.wait()


async def test_failure_to_undo_a_dependent_is_logged_not_raised(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with open_root() as root:
        withdraw = root.provide("key", 1)
        await root.mount(plugin("user", lambda ctx, c: ctx.defer(lambda: 1 / 0) and None, "key"))
        await withdraw()
    assert "ZeroDivisionError" in caplog.text
