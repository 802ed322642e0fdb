"""The three enhancements with both shipped main Strategies, switched between turns."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest
from dsh_mnemon_core.checks import truncate
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.fiber import Plugin
from dsh_mnemon_core.plugin import Contributions
from dsh_mnemon_core.source import (
    ProjectRequest,
    SourceContext,
    SourceDefinition,
    SourceRuntime,
)
from dsh_mnemon_core.view import Contribution, View
from dsh_mnemon_core.wire import to_wire
from dsh_mnemon_strategy_auto_capture import plugin as auto_capture
from dsh_mnemon_strategy_default_three_tier import plugin as layered
from dsh_mnemon_strategy_general import plugin as general
from dsh_mnemon_strategy_light_context import plugin as light_context
from dsh_mnemon_strategy_scoped import plugin as scoped
from dsh_mnemon_testing import MemoryRunner, open_runner
from dsh_mnemon_testing.fakes import fake_extension

FakeSource = Callable[..., SourceDefinition]
BOTH = pytest.mark.parametrize("strategy", [layered, general], ids=["layered", "general"])
CAPTURE = "MNEMON OPTIONAL AUTO CAPTURE"


def described(type_id: str, role: str, routes: tuple[str, ...], actions: tuple[str, ...]) -> Any:
    operation = {"description": "Do it.", "inputSchema": {"type": "object"}}
    return {
        "manifest": {
            "typeId": type_id,
            "role": role,
            "capabilities": ["project", "search", "write"],
            "routes": [
                {"id": name, "capability": "search", "maxCalls": 4, **operation} for name in routes
            ],
            "actions": [{"id": name, "capability": "write", **operation} for name in actions],
        },
        "project": {"text": f"About {type_id}.", "grant": True},
        "mutate": {},
    }


SOURCES = {
    "runtime": described("runtime", "working-context", (), ("mutate",)),
    "documents": described("documents", "narrative", ("search",), ("create",)),
    "spaces": described("memory-spaces", "durable-evidence", ("recall",), ("remember",)),
}


def clipped(definition: SourceDefinition) -> SourceDefinition:
    """Make a fake keep to the characters it is asked for, as every real Source does."""

    def create(context: SourceContext) -> SourceRuntime:
        source: Any = definition.create(context)
        whole = source.project

        async def project(request: ProjectRequest) -> Contribution:
            answer = await whole(request)
            fragments = (
                attrs.evolve(item, text=truncate(item.text, request.max_characters))
                for item in answer.fragments
            )
            shown: Contribution = attrs.evolve(answer, fragments=tuple(fragments))
            return shown

        source.project = project
        made: SourceRuntime = source
        return made

    return attrs.evolve(definition, create=create)


@asynccontextmanager
async def composed(strategy: Plugin, fake_source: FakeSource) -> AsyncGenerator[MemoryRunner]:
    """Have the three default kinds of Source and one main Strategy serve."""
    async with open_runner() as runner:
        for entry_id, description in SOURCES.items():
            sources = (clipped(fake_source(**description)),)
            runner.install(entry_id, Contributions(sources=sources))
        await runner.mount(strategy)
        yield runner


async def view_of(runner: MemoryRunner) -> View:
    with await runner.begin_turn() as turn:
        return turn.view


def body(view: View) -> dict[str, Any]:
    """Return what two equal Views have in common (spec/README.md D24)."""
    wire = to_wire(view)
    for key in ("id", "digest", "createdAt", "runtimeGeneration"):
        del wire[key]
    return dict(wire)


@BOTH
@pytest.mark.parametrize(
    ("enhancement", "config"),
    [
        (scoped, {"sourceKeys": ["source:documents"], "writableSourceKeys": []}),
        (light_context, {"maxProjectionCharacters": 30}),
        (auto_capture, {}),
    ],
    ids=["scoped", "light-context", "auto-capture"],
)
async def test_off_again_is_as_before(
    strategy: Plugin, enhancement: Plugin, config: Any, fake_source: FakeSource
) -> None:
    async with composed(strategy, fake_source) as runner:
        before = await view_of(runner)
        with await runner.begin_turn() as open_turn:
            unmount = await runner.mount(enhancement, config=config)
            assert body(open_turn.view) == body(before)
            switched = await view_of(runner)
            assert body(switched) != body(before)
            assert switched.id != before.id
            await unmount()
            assert body(await view_of(runner)) == body(before)


@BOTH
async def test_scoped_chooses_orders_and_withholds_writing(
    strategy: Plugin, fake_source: FakeSource
) -> None:
    config = {
        "sourceKeys": ["source:spaces", "source:runtime"],
        "writableSourceKeys": ["source:runtime"],
    }
    async with composed(strategy, fake_source) as runner:
        await runner.mount(scoped, config=config)
        view = await view_of(runner)
    shown = [fragment.source_instance_key for fragment in view.projection]
    assert shown == ["source:spaces", "source:runtime"]
    assert [offer.id for offer in view.action_offers] == ["source:runtime/mutate"]
    assert [route.id for route in view.routes] == ["source:spaces/recall"]


@BOTH
async def test_light_context_narrows_what_is_shown_and_nothing_else(
    strategy: Plugin, fake_source: FakeSource
) -> None:
    async with composed(strategy, fake_source) as runner:
        before = await view_of(runner)
        await runner.mount(light_context, config={"maxProjectionCharacters": 1})
        view = await view_of(runner)
    assert sum(len(fragment.text) for fragment in view.projection) <= 1
    assert (view.routes, view.action_offers) == (before.routes, before.action_offers)
    assert view.guidance == before.guidance


@BOTH
async def test_auto_capture_invites_where_there_is_a_target(
    strategy: Plugin, fake_source: FakeSource
) -> None:
    async with composed(strategy, fake_source) as runner:
        await runner.mount(auto_capture)
        view = await view_of(runner)
        assert view.guidance is not None
        assert CAPTURE in (view.guidance.system or "")
        assert "Eligible Sources: source:spaces\n" in (view.guidance.system or "")
        await runner.mount(scoped, config={"writableSourceKeys": []})
        read_only = await view_of(runner)
        assert read_only.guidance is not None
        assert CAPTURE not in (read_only.guidance.system or "")


@BOTH
async def test_all_three_work_together(strategy: Plugin, fake_source: FakeSource) -> None:
    async with composed(strategy, fake_source) as runner:
        for enhancement in (scoped, light_context, auto_capture):
            await runner.mount(enhancement)
        view = await view_of(runner)
    slots = [item.slot for item in view.strategy_extensions or ()]
    assert sorted(slots) == ["capture", "projection", "selection"]


@BOTH
@pytest.mark.parametrize(
    ("contribute", "code"),
    [("counter", "extension-not-deterministic"), ("large", "extension-too-large")],
)
async def test_a_fickle_or_boundless_enhancement_is_refused_by_name(
    strategy: Plugin, contribute: str, code: str, fake_source: FakeSource
) -> None:
    manifest = {
        "typeId": "odd",
        "packageName": "odd",
        "strategyTypeId": "*",
        "slot": "capture",
        "deterministic": True,
    }
    odd = fake_extension({"manifest": manifest, "contribute": contribute})
    async with composed(strategy, fake_source) as runner:
        with await runner.begin_turn() as open_turn:
            remove = runner.install("odd", Contributions(strategy_extensions=(odd,)))
            with pytest.raises(MnemonError) as caught:
                await view_of(runner)
            assert caught.value.code == code
            assert "strategy-extension:odd" in caught.value.message
            receipt = await open_turn.execute_action("source:runtime/mutate", {}, authorize=True)
            assert receipt.completion == "committed"
            await remove()
            assert body(await view_of(runner)) == body(open_turn.view)


async def test_scoped_lifts_the_ambiguity_of_layered_until_it_is_off(
    fake_source: FakeSource,
) -> None:
    async with composed(layered, fake_source) as runner:
        more = (clipped(fake_source(**SOURCES["documents"])),)
        runner.install("more", Contributions(sources=more))
        with pytest.raises(MnemonError) as caught:
            await view_of(runner)
        assert caught.value.code == "layered-ambiguous-role"
        unmount = await runner.mount(scoped)
        assert len((await view_of(runner)).projection) == 4
        await unmount()
        with pytest.raises(MnemonError) as caught:
            await view_of(runner)
        assert caught.value.code == "layered-ambiguous-role"


async def test_a_source_that_is_not_there_is_refused_by_name_and_skipped_by_general(
    fake_source: FakeSource,
) -> None:
    config = {"sourceKeys": ["source:ghost", "source:runtime"]}
    async with composed(layered, fake_source) as runner:
        with await runner.begin_turn() as open_turn:
            unmount = await runner.mount(scoped, config=config)
            with pytest.raises(MnemonError) as caught:
                await view_of(runner)
            assert caught.value.code == "selection-source-not-installed"
            assert "source:ghost" in caught.value.message
            receipt = await open_turn.execute_action("source:runtime/mutate", {}, authorize=True)
            assert receipt.completion == "committed"
        await unmount()
        assert len((await view_of(runner)).projection) == 3
    async with composed(general, fake_source) as runner:
        await runner.mount(scoped, config=config)
        [fragment] = (await view_of(runner)).projection
        assert fragment.source_instance_key == "source:runtime"
