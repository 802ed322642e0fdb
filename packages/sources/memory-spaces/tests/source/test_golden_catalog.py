"""The recorded catalogue: what a model sees of many Spaces (spec/sources.md §4.6)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_source_memory_spaces._catalog import Overview, compact, fitted
from dsh_mnemon_source_memory_spaces._children import Children, MountedChildren
from dsh_mnemon_source_memory_spaces._config import Config
from dsh_mnemon_source_memory_spaces._registry.records import (
    Catalogue,
    ServiceRecord,
    SpaceRecord,
)
from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderConfig, SpaceStatus
from dsh_mnemon_source_memory_spaces.testing.reference import reference_manifest
from dsh_mnemon_testing.golden import golden

pytestmark = pytest.mark.requirement("memory-spaces:catalog")

GOLDEN = golden(Path(__file__).parents[1] / "golden", "spaces-catalog").data
EXPECTED = GOLDEN["expected"]
PROVIDERS = {"on": True, "off": False}
TIME = "2026-03-01T00:00:00.000Z"


def space(number: int, status: str, active: bool) -> SpaceRecord:
    return SpaceRecord(
        id=f"space-{number}",
        name="n" * 300 if number == 0 else f"Space {number}",
        description="d" * 900 if number == 0 else f"About {number}",
        active=active,
        provider_id="off" if status == "provider-disabled" else "on",
        created_at=TIME,
        updated_at=TIME,
    )


@pytest.fixture
def overview() -> Overview:
    """As many Spaces as the case has, with the recorded states; the rest is healthy."""
    count = GOLDEN["input"]["count"]
    states = [*EXPECTED["statuses"], *["healthy"] * count][:count]
    wanted = EXPECTED["activeCount"]
    spaces: list[SpaceRecord] = []
    for number, state in enumerate(states):
        active = state != "provider-disabled" and sum(item.active for item in spaces) < wanted
        spaces.append(space(number, state, active))
    known = {
        f"space-{number}": SpaceStatus(healthy=state == "healthy", error="e" * 900)
        for number, state in enumerate(states)
        if state in ("healthy", "unhealthy")
    }
    catalogue = Catalogue(
        spaces=tuple(spaces),
        services=tuple(
            ServiceRecord(provider_id=name, enabled=enabled, configured=True)
            for name, enabled in PROVIDERS.items()
        ),
        manifests={name: reference_manifest(name) for name in PROVIDERS},
    )
    nobody = Children(
        MountedChildren("x", []),
        authority=lambda _: None,
        config=ProviderConfig(),  # type: ignore[arg-type, return-value]
    )
    return Overview(catalogue=catalogue, known=known, children=nobody, config=Config())


def test_the_catalogue_is_as_recorded(overview: Overview) -> None:
    shown = overview.directory([item.id for item in overview.catalogue.spaces])
    items = shown["items"]
    assert list(shown) == EXPECTED["keys"]
    assert list(items[0]) == EXPECTED["itemKeys"]
    assert len(items) == EXPECTED["count"]
    for key in ("omittedCount", "total", "activeCount"):
        assert shown[key] == EXPECTED[key]
    assert [item["status"] for item in items] == EXPECTED["statuses"]
    assert max(len(item["name"]) for item in items) == EXPECTED["nameLength"]
    assert max(len(item["description"]) for item in items) == EXPECTED["descriptionLength"]
    assert max(len(item.get("error", "")) for item in items) == EXPECTED["errorLength"]
    assert all(("error" in item) == (item["status"] == "unhealthy") for item in items)


@pytest.mark.parametrize("case", GOLDEN["jsonFit"])
def test_what_does_not_fit_gives_way_from_the_end(overview: Overview, case: dict[str, Any]) -> None:
    ids = [item.id for item in overview.catalogue.spaces]
    shown = overview.directory(ids)
    del shown["persistenceStrategy"]  # the recorded catalogue had none
    text = fitted(shown, "items", "omittedCount", case["maximum"])
    fits = json.loads(text)
    assert len(text) <= case["maximum"]
    assert fits["items"] == shown["items"][: len(fits["items"])]
    assert len(fits["items"]) + fits["omittedCount"] == shown["total"]
    assert fits.get("unavailable") == case["unavailable"]
    if len(fits["items"]) < len(shown["items"]):
        one_more = {**fits, "items": shown["items"][: len(fits["items"]) + 1]}
        assert len(compact(one_more)) > case["maximum"]
    if case["items"] in (0, len(shown["items"])):
        assert (len(fits["items"]), fits["omittedCount"]) == (case["items"], case["omittedCount"])
    if case["items"] == 0:
        assert len(text) == case["length"]


def test_where_nothing_fits_a_short_object_says_so(overview: Overview) -> None:
    shown = overview.directory([])
    assert list(json.loads(fitted(shown, "items", "omittedCount", 20))) == ["unavailable"]
