"""Samples for maintenance, and what it writes (spec/sources.md §4.3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_source_memory_spaces._spaces import NewSpace
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    ProviderUnavailable,
    RememberRequest,
    SearchAnswer,
)
from dsh_mnemon_source_memory_spaces.testing import ReferenceService, reference_provider

SETTINGS = {"endpoint": "http://localhost:9000", "apiKey": "hush-hush"}


def update(name: str = "default", **changes: Any) -> dict[str, Any]:
    return {"memoryBodyId": name, "title": "Title", "description": "Described", **changes}


@pytest.mark.requirement("memory-spaces:metadata:update")
async def test_texts_of_a_worker_are_marked_as_such(life: Any) -> None:
    for _ in range(2):
        await life.spaces.create(NewSpace(name="N", description="D", active=True))
    life.clock.tick()
    one, two = await life.spaces.update_metadata([update(), update("new-2", title=" T ")])
    assert (one.name, two.name) == ("Title", "T")
    assert (one.metadata_source, one.updated_at) == ("ai", "2026-03-01T00:00:01.000Z")
    assert (await life.spaces.current()).spaces == (one, two)


@pytest.mark.requirement("memory-spaces:metadata:update")
@pytest.mark.parametrize(
    ("updates", "code"),
    [
        ([], "array-empty"),
        ([update()] * 21, "array-too-long"),
        ([update(), update("default")], "id-duplicated"),
        ([update(), update("nothing")], "space-unknown"),
        ([update(title="x" * 49)], "text-too-long"),
        ([update(description="x" * 201)], "text-too-long"),
        ([update(title=" ")], "text-required"),
        ([update(colour="red")], "key-unknown"),
        ([7], "not-an-object"),
    ],
)
async def test_one_that_does_not_fit_stops_all(life: Any, updates: list[Any], code: str) -> None:
    before = await life.spaces.create(NewSpace(name="N", description="D"))
    with pytest.raises(InputError) as caught:
        await life.spaces.update_metadata(updates)
    assert caught.value.code == code
    assert (await life.spaces.current()).spaces == (before,)


# -- samples --------------------------------------------------------------------------------------


def fill(service: ReferenceService, namespace: str, count: int = 8) -> None:
    for number in range(count):
        request = RememberRequest(
            content=f"Memory {number} " + "x" * 1_000,
            category="fact",
            entities=tuple(f"E{n}" for n in range(12)) if number else (),
        )
        service.namespaces[namespace].keep(f"{namespace}-{number}", request)


@pytest.mark.requirement("memory-spaces:metadata:sample")
async def test_a_sample_is_a_few_short_memories(life: Any, stores: ReferenceService) -> None:
    await life.spaces.create(NewSpace(name="N", description="D", active=True))
    fill(stores, "default")
    (sample,) = await life.spaces.sample_metadata(["default"])
    assert {key: sample[key] for key in ("memoryBodyId", "name", "description", "providerId")} == {
        "memoryBodyId": "default",
        "name": "N",
        "description": "D",
        "providerId": "mnemon-native",
    }
    first, second, *others = sample["items"]
    assert len(others) == 4
    assert len(first["content"]) == 720
    assert first["category"] == "fact"
    assert "entities" not in first
    assert second["entities"] == [f"E{n}" for n in range(8)]
    assert "error" not in sample


@pytest.mark.requirement("memory-spaces:metadata:cheapest")
@pytest.mark.parametrize("kind", ["openviking", "searching", "alpha"])
async def test_a_provider_that_lists_badly_is_searched(
    open_life: Callable[..., Awaitable[Any]],
    alpha_manifest: Callable[..., Any],
    service: ReferenceService,
    kind: str,
) -> None:
    changes: dict[str, Any] = {"type_id": kind, "package_name": "p"}
    if kind == "searching":
        changes["capabilities"] = {"search": True}
    module = reference_provider(service, manifest=alpha_manifest(**changes))
    life = await open_life(module)
    await life.spaces.service_update(kind, SETTINGS)
    one, two = (await life.spaces.current()).spaces
    await life.spaces.update(one.id, description="d" * 500)
    fill(service, "proj/one", 1)
    (memory,) = service.namespaces["proj/one"]
    asked: list[Any] = []
    adapter = life.adapter(kind)
    real = adapter.search

    async def search(space: Any, request: Any) -> SearchAnswer:
        asked.append(request)
        await real(space, request)
        return SearchAnswer(results=(memory,))

    adapter.search = search
    samples = await life.spaces.sample_metadata([two.id, one.id])
    assert [sample["memoryBodyId"] for sample in samples] == [two.id, one.id]
    if kind == "alpha":
        assert asked == []
        assert [call for call, _ in service.calls].count("list") == 2
    else:
        assert {(item.mode, item.limit) for item in asked} == {("basic", 6)}
        queries = {item.query for item in asked}
        assert queries == {"d" * 400, two.description}
        assert len(samples[1]["items"]) == 1


@pytest.mark.requirement("memory-spaces:metadata:faults")
async def test_a_provider_that_fails_hides_no_other(
    life: Any, service: ReferenceService, stores: ReferenceService
) -> None:
    await life.spaces.create(NewSpace(name="N", description="D", active=True))
    fill(stores, "default")
    await life.spaces.service_update("alpha", SETTINGS)
    far = (await life.spaces.current()).spaces[1]
    service.fail("list", ProviderUnavailable("no way with hush-hush"))
    failed, good = await life.spaces.sample_metadata([far.id, "default"])
    assert failed["items"] == []
    assert "no way" in failed["error"]
    assert "hush" not in failed["error"]
    assert len(good["items"]) == 6


@pytest.mark.requirement("memory-spaces:metadata:sample")
@pytest.mark.parametrize(
    ("names", "code"),
    [
        ([], "metadata-count"),
        (["default"] * 2, "id-duplicated"),
        (["nothing"], "space-unknown"),
        (["new-2"], "space-inactive"),
    ],
)
async def test_only_active_spaces_are_sampled(life: Any, names: list[str], code: str) -> None:
    await life.spaces.create(NewSpace(name="N", description="D", active=True))
    await life.spaces.create(NewSpace(name="N", description="D"))
    with pytest.raises(InputError) as caught:
        await life.spaces.sample_metadata(names)
    assert caught.value.code == code
