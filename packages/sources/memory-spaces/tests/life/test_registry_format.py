"""The two files in every version (spec/sources.md §4.2)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from dsh_mnemon_source_memory_spaces._registry.content import Content, advance
from dsh_mnemon_source_memory_spaces._registry.faults import Damage
from dsh_mnemon_source_memory_spaces._registry.format import encode_external, encode_native
from dsh_mnemon_source_memory_spaces._registry.migrations import (
    DISCOVERED,
    joined,
    read_external,
    read_native,
)

TIMES = {"createdAt": "2026-01-01T00:00:00.000Z", "updatedAt": "2026-01-02T00:00:00.000Z"}
BODY = {"id": "one", "name": "One", "description": "About", "active": True, **TIMES}
PLACEMENT = {"mode": "automatic", "providerId": "alpha", "appliedRules": ["preference:balanced"]}
EXTERNAL = {
    "id": "alpha-1",
    "externalId": "proj/one",
    "name": "Eins",
    "description": "Über eins",
    "metadataSource": "manual",
    "active": False,
    "providerId": "alpha",
    "placement": PLACEMENT,
    "connection": {"project": "one", "limit": 2, "deep": False},
    **TIMES,
}


def dumped(value: Any) -> bytes:
    return f"{json.dumps(value, ensure_ascii=False, indent=2)}\n".encode()


@pytest.fixture
def manifests(alpha_manifest: Callable[..., Any]) -> dict[str, Any]:
    return {"alpha": alpha_manifest()}


@pytest.mark.requirement("memory-spaces:registry:bytes")
def test_both_files_are_written_as_they_were_read() -> None:
    rich = {
        "id": "two",
        "name": "记忆",
        "description": "",
        "active": False,
        "metadataSource": "ai",
        "placement": PLACEMENT,
        **TIMES,
    }
    native = dumped({"version": 1, "bodies": [BODY, rich]})
    assert encode_native(read_native(native, {}).native) == native
    external = dumped(
        {
            "version": 4,
            "services": {"alpha": {"endpoint": "http://x", "apiKey": "k"}, "beta": {}},
            "enabled": {"alpha": True, "beta": False},
            "bodies": [EXTERNAL],
        }
    )
    assert encode_external(read_external(external, {})) == external


@pytest.mark.requirement("memory-spaces:registry:bytes")
def test_without_services_and_spaces_there_is_no_external_file() -> None:
    assert encode_external(Content()) is None
    saved = Content().with_service("alpha", {}, enabled=False)
    assert encode_external(saved) is not None


def damage(read: Callable[..., Content], document: Any) -> Damage:
    data = document if isinstance(document, bytes) else dumped(document)
    with pytest.raises(Damage) as caught:
        read(data, {})
    return caught.value


@pytest.mark.requirement("memory-spaces:registry:damaged")
@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (b"", "not-json"),
        (b"\xff", "not-json"),
        (b'{"version": NaN, "bodies": []}', "not-json"),
        (b"[" * 100_000, "not-json"),
        ([], "wrong-version"),
        ({"bodies": []}, "wrong-version"),
        ({"version": True, "bodies": []}, "wrong-version"),
        ({"version": "1", "bodies": []}, "wrong-version"),
        ({"version": 0, "bodies": []}, "wrong-version"),
        ({"version": 1}, "wrong-version"),
        ({"version": 9, "bodies": []}, "newer-version"),
    ],
)
@pytest.mark.parametrize("read", [read_native, read_external])
def test_what_is_no_registry_is_damage(
    read: Callable[..., Content], document: Any, reason: str
) -> None:
    assert damage(read, document).reason == reason


@pytest.mark.requirement("memory-spaces:registry:damaged")
@pytest.mark.parametrize(
    "change",
    [
        {"id": "-"},
        {"id": 7},
        {"name": None},
        {"name": "\ud800"},
        {"description": 1},
        {"active": "yes"},
        {"createdAt": 5},
        {"updatedAt": None},
        {"externalId": 5},
        {"providerId": "Alpha"},
        {"providerId": None},
        {"placement": {"n": 2**60}},
    ],
)
def test_a_space_that_is_none_is_damage_at_its_place(change: dict[str, Any]) -> None:
    document = {"version": 4, "bodies": [EXTERNAL, {**EXTERNAL, "id": "alpha-2", **change}]}
    found = damage(read_external, json.dumps(document).encode())
    assert (found.reason, found.index) == ("invalid-entry", 1)


@pytest.mark.requirement("memory-spaces:registry:damaged")
def test_an_id_twice_and_an_entry_that_is_no_object_are_damage() -> None:
    assert damage(read_native, {"version": 1, "bodies": [BODY, BODY]}).reason == "duplicate-id"
    found = damage(read_native, {"version": 1, "bodies": [BODY, 7]})
    assert (found.reason, found.index) == ("invalid-entry", 1)
    services = {"version": 4, "services": [], "bodies": []}
    assert damage(read_external, services).reason == "wrong-version"


@pytest.mark.requirement("memory-spaces:registry:sanitised")
def test_values_that_no_setting_can_have_are_dropped() -> None:
    settings = {
        "text": "x",
        "number": 1.5,
        "flag": True,
        "long": "x" * 8_001,
        "none": None,
        "list": [1],
        "Upper": "x",
        "bad": "\ud800",
    }
    row = {**EXTERNAL, "connection": settings, "metadataSource": "guess", "placement": "no"}
    document = {"version": 4, "services": {"alpha": settings, "beta": 7}, "bodies": [row]}
    content = read_external(json.dumps(document).encode(), {})
    kept = {"text": "x", "number": 1.5, "flag": True}
    (space,) = content.external
    assert space.connection == kept
    assert (space.metadata_source, space.placement) == (None, None)
    assert content.services == {"alpha": kept, "beta": {}}
    assert content.enabled == {"alpha": False, "beta": False}


# -- migrations -----------------------------------------------------------------------------------


@pytest.mark.requirement("memory-spaces:registry:migration")
@pytest.mark.parametrize("version", [1, 2])
def test_whole_connections_are_split_by_the_fields(version: int, manifests: dict[str, Any]) -> None:
    whole = {"endpoint": "http://x", "apiKey": "k", "project": "one", "token": "t"}
    other = {"endpoint": "http://y", "apiKey": "k", "project": "two"}
    rows = [
        {**EXTERNAL, "connection": whole},
        {**EXTERNAL, "id": "alpha-2", "connection": other},
    ]
    content = read_external(dumped({"version": version, "bodies": rows}), manifests)
    assert content.services == {"alpha": {"endpoint": "http://x", "apiKey": "k"}}
    assert content.enabled == {"alpha": True}
    one, two = content.external
    assert one.connection == {"project": "one", "token": "t"}
    assert two.connection == {"endpoint": "http://y", "project": "two"}


@pytest.mark.requirement("memory-spaces:registry:migration")
def test_without_a_manifest_nothing_of_a_connection_is_lost() -> None:
    whole = {"endpoint": "http://x", "project": "one"}
    document = {"version": 2, "bodies": [{**EXTERNAL, "connection": whole}]}
    content = read_external(dumped(document), {})
    assert content.services == {"alpha": whole}
    assert content.external[0].connection == whole


@pytest.mark.requirement("memory-spaces:registry:migration")
def test_before_version_4_every_saved_service_is_on() -> None:
    document = {"version": 3, "services": {"alpha": {"endpoint": "http://x"}}, "bodies": []}
    content = read_external(dumped(document), {})
    assert content.is_enabled("alpha")
    assert not content.is_enabled("beta")


@pytest.mark.requirement("memory-spaces:registry:migration")
def test_spaces_of_providers_leave_the_native_file(manifests: dict[str, Any]) -> None:
    legacy = {
        "version": 2,
        "bodies": [
            {**BODY, "providerId": "mnemon-native"},
            {**BODY, "id": "plain"},
            {**BODY, "id": "a", "providerId": "alpha", "connection": {"project": "one"}},
            {**BODY, "id": "v", "openViking": {"endpoint": "http://v"}},
        ],
    }
    content = read_native(dumped(legacy), manifests)
    assert [space.id for space in content.native] == ["one", "plain"]
    assert [(space.id, space.provider_id) for space in content.external] == [
        ("a", "alpha"),
        ("v", "openviking"),
    ]
    assert content.services == {"alpha": {}, "openviking": {"endpoint": "http://v"}}


@pytest.mark.requirement("memory-spaces:registry:migration")
def test_what_the_external_file_has_wins_over_a_legacy_row() -> None:
    legacy = Content(
        services=read_external(
            dumped({"version": 3, "services": {"a": {"k": "old"}, "b": {}}, "bodies": []}), {}
        ).services,
        external=read_external(dumped({"version": 4, "bodies": [EXTERNAL]}), {}).external,
    )
    newer = read_external(
        dumped(
            {
                "version": 4,
                "services": {"a": {"k": "new"}},
                "enabled": {"a": False},
                "bodies": [{**EXTERNAL, "name": "Newer"}],
            }
        ),
        {},
    )
    both = joined(legacy, newer)
    assert both.services == {"a": {"k": "new"}, "b": {}}
    assert [space.name for space in both.external] == ["Newer"]


@pytest.mark.requirement("memory-spaces:registry:migration")
def test_the_made_up_default_space_gets_its_name_of_today() -> None:
    old = {**BODY, "id": "default", "name": "默认记忆体", "description": "Some fixed text"}
    curated = {**old, "metadataSource": "ai"}
    (space,) = read_native(dumped({"version": 1, "bodies": [old]}), {}).native
    assert (space.name, space.description) == ("default", DISCOVERED)
    (kept,) = read_native(dumped({"version": 1, "bodies": [curated]}), {}).native
    assert kept.name == "默认记忆体"


# -- time -----------------------------------------------------------------------------------------


@pytest.mark.requirement("memory-spaces:registry:advance")
def test_a_time_is_always_later_than_the_one_before(clock: Any) -> None:
    now = "2026-03-01T00:00:00.000Z"
    assert advance("2026-02-01T00:00:00.000Z", clock.now) == now
    assert advance("nonsense", clock.now) == now
    assert advance(now, clock.now) == "2026-03-01T00:00:00.001Z"
    assert advance("2026-03-01T01:00:00+01:00", clock.now) == "2026-03-01T00:00:00.001Z"
    assert advance("2030-01-01T00:00:00.999Z", clock.now) == "2030-01-01T00:00:01.000Z"
