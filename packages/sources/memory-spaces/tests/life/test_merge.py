"""Merging native Spaces (spec/sources.md §4.3)."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from dsh_mnemon_core.errors import CapacityError, InputError
from dsh_mnemon_source_memory_spaces import _merge
from dsh_mnemon_source_memory_spaces._receipts import completion_of
from dsh_mnemon_source_memory_spaces._spaces import NewSpace
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    Graph,
    GraphEdge,
    Page,
    ProviderProtocol,
    ProviderUnavailable,
    RememberRequest,
)
from dsh_mnemon_source_memory_spaces.testing import ReferenceService

PROVEN = ("committed", "failed", "cancelled")


@pytest.fixture
async def filled(life: Any, stores: ReferenceService) -> Any:
    """Three Spaces: ``default`` and two sources, active, with two memories and an edge each."""
    for name in ("Target", "One", "Two"):
        space = await life.spaces.create(NewSpace(name=name, description=name, active=True))
        if name == "Target":
            continue
        held = stores.namespaces[space.id]
        for number in (1, 2):
            request = RememberRequest(content=f"{name} {number}", entities=("E",), tags=("t",))
            held.keep(f"{name}-{number}", request)
        held.join(f"{name}-1", f"{name}-2", "causal", 0.9, f"because {name}")
        held.edges.append((f"{name}-1", "elsewhere", "causal", 0.9))
    return life


@pytest.mark.requirement("memory-spaces:merge:complete")
async def test_all_memories_and_edges_arrive_and_the_sources_rest(
    filled: Any, stores: ReferenceService
) -> None:
    filled.clock.tick()
    details = await filled.spaces.merge("default", ["new-2", "new-3"])
    assert details == {
        "action": "merged",
        "imported": 4,
        "updated": 0,
        "skipped": 0,
        "edges_inserted": 2,
        "targetMemoryBodyId": "default",
    }
    assert completion_of(details) == "committed"
    contents = [item.content for item in stores.namespaces["default"]]
    assert contents == ["One 1", "One 2", "Two 1", "Two 2"]
    kept = stores.namespaces["default"].insights
    (edge, _) = stores.namespaces["default"].edges
    assert [kept[edge[0]].content, kept[edge[1]].content] == ["One 1", "One 2"]
    assert edge[2:] == ("causal", 0.9)
    assert list(stores.namespaces["default"].reasons.values()) == ["because One", "because Two"]
    assert len(stores.namespaces["new-2"].insights) == 2
    catalogue = await filled.spaces.current()
    assert [space.id for space in catalogue.active] == ["default"]
    assert {space.updated_at for space in catalogue.spaces} == {"2026-03-01T00:00:01.000Z"}


@pytest.mark.requirement("memory-spaces:merge:complete")
async def test_a_label_stands_for_a_reason_only_where_nobody_drew_the_edge(
    filled: Any, stores: ReferenceService
) -> None:
    ids = [str(id) for id in stores.namespaces["new-2"].insights]
    own = GraphEdge(
        source_id=ids[0], target_id=ids[1], label="backbone", color="#123abc", type="temporal"
    )
    asked = attrs.evolve(own, label="entity", type="entity", drawn=True, weight=0.0)
    graph = Graph(edges=(own, asked), generated_at="2026-01-01T00:00:00.000Z")
    stores.answer("graph", graph, namespace="new-2")
    await filled.spaces.merge("default", ["new-2"])
    held = stores.namespaces["default"]
    assert [(kind, weight) for *_, kind, weight in held.edges] == [
        ("temporal", 0.5),
        ("entity", 0.0),
    ]
    assert list(held.reasons.values()) == ["backbone"]


@pytest.mark.requirement("memory-spaces:merge:complete")
async def test_a_repeat_adds_nothing_and_is_complete(filled: Any) -> None:
    await filled.spaces.merge("default", ["new-2"], deactivate_sources=False)
    before = (await filled.spaces.current()).get("new-2")
    assert before.active
    details = await filled.spaces.merge("default", ["new-2"], deactivate_sources=True)
    assert (details["action"], details["imported"], details["skipped"]) == ("merged", 0, 2)
    assert not (await filled.spaces.current()).get("new-2").active


@pytest.mark.requirement("memory-spaces:merge:empty")
async def test_empty_sources_are_merged_at_once(filled: Any, stores: ReferenceService) -> None:
    empty = await filled.spaces.create(NewSpace(name="Empty", description="Empty"))
    stores.calls.clear()
    details = await filled.spaces.merge("default", [empty.id])
    assert details == {
        "action": "merged",
        "imported": 0,
        "updated": 0,
        "skipped": 0,
        "edges_inserted": 0,
        "targetMemoryBodyId": "default",
    }
    assert "import_draft" not in [call for call, _ in stores.calls]


@pytest.mark.requirement("memory-spaces:merge:partial")
@pytest.mark.parametrize(
    ("result", "completion", "status"),
    [
        ({"action": "imported", "imported": 3}, "partial", "partial"),
        ({"action": "imported", "imported": 3, "errors": [{"index": 1}]}, "partial", "partial"),
        ({"action": "imported", "imported": 4, "errors": 1}, "partial", "partial"),
        ({"action": "queued"}, "accepted", "accepted"),
        ({"success": False}, "failed", "failed"),
        ({"action": "cancelled"}, "cancelled", "cancelled"),
        ({}, "unknown", "unknown"),
        ({"action": "stored", "imported": True, "skipped": 4, "errors": True}, "committed", None),
    ],
)
async def test_what_is_not_proven_switches_nothing(
    filled: Any,
    stores: ReferenceService,
    result: dict[str, Any],
    completion: str,
    status: str | None,
) -> None:
    stores.answer("import_draft", result)
    before = await filled.spaces.current()
    details = await filled.spaces.merge("default", ["new-2", "new-3"])
    assert details.get("status") == status
    assert completion_of(details) == completion
    after = await filled.spaces.current()
    assert (after.spaces == before.spaces) == (status is not None)
    # What may have arrived in part is not forgotten.
    left = {item.source_id for item in after.pending_merges}
    assert left == (set() if completion in PROVEN else {"new-2", "new-3"})


@pytest.mark.requirement("memory-spaces:merge:refused")
@pytest.mark.parametrize(
    ("target", "sources", "code"),
    [
        ("default", [], "merge-count"),
        ("default", ["default"], "merge-source-is-target"),
        ("default", ["new-2", "new-2"], "id-duplicated"),
        ("default", ["nothing"], "space-unknown"),
        ("nothing", ["default"], "space-unknown"),
        ("alpha-new-4", ["default"], "merge-native-only"),
        ("default", ["alpha-new-4"], "merge-native-only"),
    ],
)
async def test_what_cannot_be_merged_is_refused(
    filled: Any, stores: ReferenceService, target: str, sources: list[str], code: str
) -> None:
    connection = {"endpoint": "http://x", "project": "p"}
    await filled.spaces.create(
        NewSpace(name="Far", description="Far", provider_id="alpha", connection=connection)
    )
    stores.calls.clear()
    with pytest.raises(InputError) as caught:
        await filled.spaces.merge(target, sources)
    assert caught.value.code == code
    assert stores.calls == []


@pytest.mark.requirement("memory-spaces:merge:refused")
async def test_too_many_memories_are_refused_before_anything_is_written(
    filled: Any, stores: ReferenceService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_merge, "_MAX_INSIGHTS", 3)
    with pytest.raises(CapacityError):
        await filled.spaces.merge("default", ["new-2", "new-3"])
    assert "import_draft" not in [call for call, _ in stores.calls]


@pytest.mark.requirement("memory-spaces:merge:pages")
async def test_sources_are_read_page_by_page(
    filled: Any, stores: ReferenceService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_merge, "_PAGE", 1)
    details = await filled.spaces.merge("default", ["new-2"])
    assert details["imported"] == 2
    assert stores.calls.count(("list", "new-2")) == 2


@pytest.mark.requirement("memory-spaces:merge:pages")
async def test_a_provider_that_never_ends_is_stopped(filled: Any, stores: ReferenceService) -> None:
    item = next(iter(stores.namespaces["new-2"]))
    stores.answer("list", Page(items=(item, attrs.evolve(item)), next_cursor="again"))
    with pytest.raises(ProviderProtocol):
        await filled.spaces.merge("default", ["new-2"])


@pytest.mark.requirement("memory-spaces:merge:refused")
async def test_a_source_that_cannot_be_read_stops_the_merge(
    filled: Any, stores: ReferenceService
) -> None:
    stores.fail("graph", ProviderUnavailable("gone"), namespace="new-3")
    with pytest.raises(ProviderUnavailable):
        await filled.spaces.merge("default", ["new-2", "new-3"])
    assert stores.namespaces["default"].insights == {}
