"""Creating, changing, activating and removing Spaces (spec/sources.md §4.3)."""

from __future__ import annotations

import json
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from dsh_mnemon_core.errors import ConflictError, InputError, LifecycleError
from dsh_mnemon_source_memory_spaces._spaces import NewSpace
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    ProviderConflict,
    ProviderModule,
    ProviderRejected,
)
from dsh_mnemon_source_memory_spaces.testing import (
    NativeReferenceAdapter,
    ReferenceService,
    reference_manifest,
    reference_provider,
)

Open = Callable[..., Awaitable[Any]]

SERVICE = {"endpoint": "http://localhost:9000", "apiKey": "hush-hush"}


def new(name: str = "First", **changes: Any) -> NewSpace:
    return NewSpace(name=name, description=f"About {name}", **changes)


def external(**changes: Any) -> NewSpace:
    given = {"provider_id": "alpha", "connection": {**SERVICE, "project": "one"}, **changes}
    return new("Far", **given)


class Unready(NativeReferenceAdapter):
    """An engine that cannot work."""

    def ready(self) -> bool:
        return False


@pytest.fixture
def unready() -> ProviderModule:
    manifest = reference_manifest("mnemon-native", origin="native", fields=[], secrets=[])
    return reference_provider(manifest=manifest, adapter=Unready)


async def code_of(call: Awaitable[Any]) -> str:
    with pytest.raises((InputError, ConflictError, LifecycleError)) as caught:
        await call
    return str(caught.value.code)


# -- create ---------------------------------------------------------------------------------------


@pytest.mark.requirement("memory-spaces:create:native")
async def test_the_first_native_space_is_default_and_later_ones_have_ids(life: Any) -> None:
    first = await life.spaces.create(new(active=True))
    second = await life.spaces.create(new(" Second "))
    assert (first.id, second.id, second.name) == ("default", "new-2", "Second")
    assert (first.active, second.active) == (True, False)
    catalogue = await life.spaces.current()
    assert catalogue.spaces == (first, second)
    assert catalogue.native_id == "mnemon-native"
    assert (life.root / "data" / "new-2" / "mnemon.db").exists()


@pytest.mark.requirement("memory-spaces:create:native")
async def test_in_a_root_with_stores_the_first_space_has_an_id(life: Any) -> None:
    (life.root / "data" / "old").mkdir(parents=True)
    (life.root / "data" / "old" / "mnemon.db").touch()
    assert (await life.spaces.create(new())).id == "new-1"


@pytest.mark.requirement("memory-spaces:create:race")
async def test_who_comes_second_gets_an_id_instead_of_default(
    life: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter = life.adapter("mnemon-native")
    real = adapter.create_store

    async def beaten(store_id: str) -> None:
        if store_id == "default":
            await real(store_id)
            raise ProviderConflict("taken")
        await real(store_id)

    monkeypatch.setattr(adapter, "create_store", beaten)
    assert (await life.spaces.create(new())).id == "new-1"
    names = [(space.id, space.name) for space in (await life.spaces.current()).spaces]
    assert names == [("default", "default"), ("new-1", "First")]


@pytest.mark.requirement("memory-spaces:create:race")
async def test_a_store_that_was_found_before_it_was_named_gets_its_name(
    life: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter = life.adapter("mnemon-native")
    real = adapter.create_store

    async def watched(store_id: str) -> None:
        await real(store_id)
        document = {
            "version": 1,
            "bodies": [
                {
                    "id": store_id,
                    "name": store_id,
                    "description": "Existing Mnemon Store discovered on disk.",
                    "active": True,
                    "createdAt": "2026-01-01T00:00:00.000Z",
                    "updatedAt": "2026-01-01T00:00:00.000Z",
                }
            ],
        }
        life.native_file.write_text(json.dumps(document), encoding="utf-8")

    monkeypatch.setattr(adapter, "create_store", watched)
    await life.spaces.create(new())
    (space,) = (await life.spaces.current()).spaces
    assert (space.name, space.active) == ("First", False)


@pytest.mark.requirement("memory-spaces:create:native")
async def test_a_store_that_cannot_be_made_leaves_nothing(
    life: Any, stores: ReferenceService
) -> None:
    stores.fail("create_store", ProviderRejected("no"))
    with pytest.raises(ProviderRejected):
        await life.spaces.create(new())
    assert (await life.spaces.current()).spaces == ()


@pytest.mark.requirement("memory-spaces:create:external")
async def test_an_external_space_brings_its_service_along(life: Any) -> None:
    space = await life.spaces.create(external())
    assert space.id == "alpha-new-1"
    assert (space.metadata_source, space.active) == ("manual", False)
    assert space.connection == {"project": "one", "token": ""}
    document = json.loads(life.external_file.read_bytes())
    assert document["services"]["alpha"] == SERVICE
    assert document["enabled"] == {"alpha": True}
    catalogue = await life.spaces.current()
    assert catalogue.spaces == (space,)
    again = await life.spaces.create(external(connection={"project": "two"}))
    assert [space.id for space in (await life.spaces.current()).spaces] == [space.id, again.id]


@pytest.mark.requirement("memory-spaces:create:external")
@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"connection": {"project": "one"}}, "provider-disabled"),
        ({"connection": {**SERVICE}}, "setting-required"),
        ({"connection": {"apiKey": "x", "project": "one"}}, "setting-required"),
        ({"connection": {**SERVICE, "project": "one", "colour": 1}}, "setting-unknown"),
        ({"provider_id": "beta"}, "provider-unknown"),
        ({"provider_id": "mnemon-native"}, "connection-native"),
    ],
)
async def test_an_external_space_that_does_not_fit_is_refused(
    life: Any, changes: dict[str, Any], code: str
) -> None:
    assert await code_of(life.spaces.create(external(**changes))) == code
    assert not life.external_file.exists()
    assert not life.native_file.exists()


@pytest.mark.requirement("memory-spaces:create:texts")
@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"name": " "}, "text-required"),
        ({"name": "x" * 101}, "text-too-long"),
        ({"description": ""}, "text-required"),
        ({"description": "x" * 1_001}, "text-too-long"),
        ({"name": "\ud800"}, "text-not-unicode"),
    ],
)
async def test_name_and_description_are_checked(
    life: Any, changes: dict[str, str], code: str
) -> None:
    wrong = NewSpace(**{"name": "N", "description": "D", **changes})
    assert await code_of(life.spaces.create(wrong)) == code
    await life.spaces.create(new())
    assert await code_of(life.spaces.update("default", **changes)) == code


# -- the Provider of a new Space ------------------------------------------------------------------


@pytest.mark.requirement("memory-spaces:create:default")
async def test_without_a_choice_the_first_enabled_service_stands_in_for_the_engine(
    open_life: Open, unready: ProviderModule, alpha: ProviderModule
) -> None:
    life = await open_life(unready, alpha)
    assert await code_of(life.spaces.create(new())) == "provider-none-ready"
    chosen = new(provider_id="mnemon-native")
    assert await code_of(life.spaces.create(chosen)) == "provider-not-ready"
    await life.spaces.create(external())
    space = await life.spaces.create(new(connection={"project": "p"}))
    assert space.provider_id == "alpha"


@pytest.mark.requirement("memory-spaces:create:default")
async def test_a_native_provider_that_is_not_mounted_is_told(
    open_life: Open, alpha: ProviderModule
) -> None:
    life = await open_life(alpha)
    chosen = new(provider_id="mnemon-native")
    assert await code_of(life.spaces.create(chosen)) == "provider-unknown"
    assert await code_of(life.spaces.merge("a", ["b"])) == "space-unknown"


@pytest.mark.requirement("memory-spaces:remove:native")
async def test_without_its_engine_no_store_is_deleted(
    open_life: Open, unready: ProviderModule, life: Any
) -> None:
    for _ in range(2):
        await life.spaces.create(new())
    other = await open_life(unready)
    assert await code_of(other.spaces.remove("new-2")) == "provider-not-ready"
    assert (await life.spaces.current()).find("new-2") is not None


@pytest.mark.requirement("memory-spaces:create:fixed")
async def test_the_configured_provider_holds_what_names_none(
    open_life: Open, native: ProviderModule, alpha: ProviderModule
) -> None:
    connection = {**SERVICE, "project": "configured"}
    strategy = {"providerId": "alpha", "providerConnections": {"alpha": connection}}
    life = await open_life(native, alpha, config={"persistenceStrategy": strategy})
    space = await life.spaces.create(new())
    assert (space.provider_id, space.connection["project"]) == ("alpha", "configured")
    offered = {"alpha": {**SERVICE, "project": "offered"}}
    other = await life.spaces.create(new(provider_connections=offered))
    assert other.connection["project"] == "offered"
    assert (await life.spaces.create(new(provider_id="mnemon-native"))).id == "default"


@pytest.mark.requirement("memory-spaces:placement:stored")
async def test_a_placement_by_rules_is_kept_with_the_space(
    open_life: Open, native: ProviderModule, alpha: ProviderModule
) -> None:
    life = await open_life(native, alpha, config={"persistenceStrategy": {"mode": "automatic"}})
    space = await life.spaces.create(new())
    stored = json.loads(life.native_file.read_bytes())["bodies"][0]["placement"]
    assert stored == {
        "mode": "automatic",
        "providerId": "mnemon-native",
        "decidedBy": "rules",
        "reason": stored["reason"],
        "confidence": "high",
        "candidateProviderIds": ["mnemon-native"],
        "appliedRules": ["allowed:mnemon-native", "preference:balanced"],
        "decidedAt": "2026-03-01T00:00:00.000Z",
    }
    assert (await life.spaces.current()).get(space.id).placement == space.placement


@pytest.mark.requirement("memory-spaces:placement:stored")
async def test_several_candidates_need_a_decision(
    open_life: Open, native: ProviderModule, alpha: ProviderModule
) -> None:
    rules = {"allowedProviderIds": ["mnemon-native", "alpha"]}
    strategy = {"mode": "automatic", "prompt": "near", "rules": rules}
    life = await open_life(native, alpha, config={"persistenceStrategy": strategy})
    connections = {"alpha": {**SERVICE, "project": "one"}}
    offer = new(provider_connections=connections)
    assert await code_of(life.spaces.create(offer)) == "placement-required"
    prepared = await life.spaces.placement(provider_connections=connections)
    assert (prepared.prompt, [item.id for item in prepared.candidates]) == (
        "near",
        ["mnemon-native", "alpha"],
    )
    selection = {"providerId": "alpha", "reason": "shared", "confidence": "low"}
    decision = await life.spaces.finalize_placement(
        selection, provider_connections=connections, run_id="run-1"
    )
    assert (decision["decidedBy"], decision["runId"]) == ("llm", "run-1")
    space = await life.spaces.create(new(placement=decision, provider_connections=connections))
    assert (space.provider_id, space.placement) == ("alpha", decision)
    # Without a connection of its own the other Provider is no candidate.
    life = await open_life(
        native, alpha, config={"persistenceStrategy": strategy}, root=life.root.parent / "other"
    )
    assert (await life.spaces.placement()).decision["decidedBy"] == "rules"


@pytest.mark.requirement("memory-spaces:placement:stored")
async def test_what_is_no_decision_is_refused(life: Any) -> None:
    assert await code_of(life.spaces.create(new(placement={"providerId": "alpha"}))) == (
        "field-required"
    )


# -- update ---------------------------------------------------------------------------------------


@pytest.mark.requirement("memory-spaces:update:texts")
async def test_a_text_that_changes_makes_an_external_space_curated(
    life: Any, service: ReferenceService
) -> None:
    service.namespaces.pop("proj/two")
    await life.spaces.service_update("alpha", SERVICE)
    native = await life.spaces.create(new())
    far = (await life.spaces.current()).spaces[1]
    same = await life.spaces.update(far.id, name=far.name)
    assert same == far
    life.clock.tick()
    changed = await life.spaces.update(far.id, description="Other")
    assert (changed.metadata_source, changed.description) == ("manual", "Other")
    assert changed.updated_at == "2026-03-01T00:00:01.000Z"
    renamed = await life.spaces.update(native.id, name="Renamed")
    assert (renamed.metadata_source, renamed.name) == (None, "Renamed")
    assert (await life.spaces.current()).spaces == (renamed, changed)


@pytest.mark.requirement("memory-spaces:update:connection")
async def test_a_connection_is_changed_field_by_field(life: Any) -> None:
    connection = {**SERVICE, "project": "one", "token": "hush"}
    space = await life.spaces.create(external(connection=connection))
    changed = await life.spaces.update(space.id, connection={"project": "two"})
    assert changed.connection == {"project": "two", "token": "hush"}
    assert changed.metadata_source == "manual"
    cleared = await life.spaces.update(space.id, clear_secrets=["token"])
    assert cleared.connection == {"project": "two", "token": ""}
    wrong = life.spaces.update(space.id, connection={"endpoint": "http://x"})
    assert await code_of(wrong) == "setting-unknown"
    native = await life.spaces.create(new())
    assert await code_of(life.spaces.update(native.id, connection={"project": "x"})) == (
        "connection-native"
    )
    assert "hush" not in repr(changed)


@pytest.mark.requirement("memory-spaces:update:connection")
async def test_a_changed_connection_drops_cached_health(
    life: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = await life.spaces.create(external())
    dropped: list[Any] = []
    monkeypatch.setattr(life.adapter("alpha"), "invalidate_status", dropped.append)
    await life.spaces.update(space.id, name="Other")
    await life.spaces.update(space.id, connection={"project": "two"})
    assert dropped == [space.id]


@pytest.mark.requirement("memory-spaces:update:texts")
@pytest.mark.parametrize("call", ["update", "remove", "set_active"])
async def test_an_unknown_space_is_refused(life: Any, call: str) -> None:
    options = {"active": True} if call == "set_active" else {}
    assert await code_of(getattr(life.spaces, call)("nothing", **options)) == "space-unknown"


# -- activation -----------------------------------------------------------------------------------


@pytest.mark.requirement("memory-spaces:activation:committed")
async def test_a_committed_write_activates_and_then_touches(life: Any) -> None:
    space = await life.spaces.create(new())
    first = await life.spaces.committed(space.id)
    second = await life.spaces.committed(space.id)
    assert (first.active, second.active) == (True, True)
    assert first.updated_at == "2026-03-01T00:00:00.001Z"
    assert second.updated_at == "2026-03-01T00:00:00.002Z"
    assert await life.spaces.committed("nothing") is None


@pytest.mark.requirement("memory-spaces:activation:switch")
async def test_any_number_of_spaces_may_be_active(life: Any) -> None:
    one, two = [await life.spaces.create(new()) for _ in range(2)]
    assert (await life.spaces.current()).active == ()
    await life.spaces.set_active(one.id, active=True)
    same = await life.spaces.set_active(one.id, active=True)
    await life.spaces.set_active(two.id, active=True)
    catalogue = await life.spaces.current()
    assert [space.id for space in catalogue.active] == [one.id, two.id]
    assert catalogue.get(one.id) == same
    await life.spaces.set_active(one.id, active=False)
    assert [space.id for space in (await life.spaces.current()).active] == [two.id]


# -- remove ---------------------------------------------------------------------------------------


@pytest.mark.requirement("memory-spaces:remove:external")
async def test_an_external_space_is_only_disconnected(life: Any, service: ReferenceService) -> None:
    space = await life.spaces.create(external())
    calls = list(service.calls)
    assert await life.spaces.remove(space.id) == space
    assert (await life.spaces.current()).spaces == ()
    assert service.calls == calls
    assert json.loads(life.external_file.read_bytes())["services"]["alpha"] == SERVICE


@pytest.mark.requirement("memory-spaces:remove:native")
async def test_the_last_store_stays(life: Any) -> None:
    space = await life.spaces.create(new())
    assert await code_of(life.spaces.remove(space.id)) == "last-store"
    assert (await life.spaces.current()).get(space.id) == space


@pytest.mark.requirement("memory-spaces:remove:native")
@pytest.mark.parametrize(("active", "successor"), [("", "new-2"), ("new-3", "new-3")])
async def test_another_store_becomes_the_default_first(
    life: Any, stores: ReferenceService, active: str, successor: str
) -> None:
    for _ in range(3):
        await life.spaces.create(new())
    if active:
        await life.spaces.set_active(active, active=True)
    stores.calls.clear()
    await life.spaces.remove("default")
    assert stores.calls == [("set_default_store", successor), ("remove_store", "default")]
    catalogue = await life.spaces.current()
    assert [space.id for space in catalogue.spaces] == ["new-2", "new-3"]
    assert catalogue.default_store == successor
    stores.calls.clear()
    other = "new-2" if successor == "new-3" else "new-3"
    await life.spaces.remove(other)
    assert stores.calls == [("remove_store", other)]


@pytest.mark.requirement("memory-spaces:remove:native")
async def test_a_store_that_cannot_be_deleted_stays_registered(
    life: Any, stores: ReferenceService
) -> None:
    for _ in range(2):
        await life.spaces.create(new())
    stores.fail("remove_store", ProviderRejected("no"))
    with pytest.raises(ProviderRejected):
        await life.spaces.remove("new-2")
    assert (await life.spaces.current()).find("new-2") is not None


@pytest.mark.requirement("memory-spaces:remove:native")
async def test_an_entry_whose_store_is_gone_can_be_removed(
    life: Any, stores: ReferenceService
) -> None:
    await life.spaces.create(new())
    store = life.root / "data" / "default"
    (store / "mnemon.db").unlink()
    store.rmdir()
    stores.calls.clear()
    await life.spaces.remove("default")
    assert (await life.spaces.current()).spaces == ()
    assert stores.calls == []


@pytest.mark.requirement("memory-spaces:providers:instances")
async def test_two_instances_of_a_provider_share_nothing(
    tmp_path: Any, open_life: Open, alpha: ProviderModule
) -> None:
    life = await open_life(alpha)
    await life.spaces.create(external())
    other = await open_life(alpha, root=tmp_path / "other")
    assert (await other.spaces.current()).spaces == ()


@pytest.mark.requirement("memory-spaces:native:threads")
async def test_folders_are_looked_at_in_threads(life: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    on_the_loop: list[str] = []
    main = threading.current_thread()

    def watched(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def look(*arguments: Any) -> Any:
            if threading.current_thread() is main:
                on_the_loop.append(name)
            return real(*arguments)

        monkeypatch.setattr(owner, name, look)

    for name in ("names", "exists", "is_taken", "default"):
        watched(type(life.registry.stores), name)
    watched(NativeReferenceAdapter, "ready")
    for name in ("First", "Second"):
        await life.spaces.create(new(name))
    await life.spaces.placement({"mode": "automatic"})
    await life.spaces.remove("default")
    assert [space.name for space in (await life.spaces.current()).spaces] == ["Second"]
    assert on_the_loop == []
