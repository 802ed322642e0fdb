"""Services, discovery and what a Provider may ask (spec/sources.md §4.3, §4.4)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from dsh_mnemon_core.errors import AuthorityError, ConflictError, InputError
from dsh_mnemon_source_memory_spaces import _services
from dsh_mnemon_source_memory_spaces._services import ChildAuthority
from dsh_mnemon_source_memory_spaces._spaces import NewSpace
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    ExternalSpace,
    ProviderAdapter,
    ProviderModule,
    ProviderTimeout,
    ProviderUnavailable,
)
from dsh_mnemon_source_memory_spaces.testing import (
    ReferenceAdapter,
    ReferenceService,
    reference_provider,
)

SETTINGS = {"endpoint": "http://localhost:9000/", "apiKey": "hush-hush"}
ONE = ExternalSpace(external_id="one", connection={"project": "one"})


def stored(life: Any) -> Any:
    return json.loads(life.external_file.read_text(encoding="utf-8"))


@pytest.mark.requirement("memory-spaces:service:enable")
async def test_switching_on_discovers_and_saves(life: Any, service: ReferenceService) -> None:
    service.answer("discover", [ONE])
    record = await life.spaces.service_update("alpha", SETTINGS)
    assert (record.enabled, record.configured) == (True, True)
    saved = stored(life)["services"]["alpha"]
    assert saved == {
        "endpoint": "http://localhost:9000",
        "apiKey": "hush-hush",
        "home": "one",
    }
    catalogue = await life.spaces.current()
    assert [space.name for space in catalogue.active] == ["one"]
    assert catalogue.service("alpha") == record
    assert "hush" not in repr(catalogue)


@pytest.mark.requirement("memory-spaces:service:keep")
async def test_what_is_not_entered_stays_and_secrets_are_cleared_by_name(life: Any) -> None:
    await life.spaces.service_update("alpha", SETTINGS)
    await life.spaces.service_update("alpha", {"endpoint": "http://other"})
    assert stored(life)["services"]["alpha"]["apiKey"] == "hush-hush"
    await life.spaces.service_update("alpha", {}, clear_secrets=["apiKey"])
    assert stored(life)["services"]["alpha"]["apiKey"] == ""


@pytest.mark.requirement("memory-spaces:service:disable")
async def test_switching_off_keeps_the_settings_and_drops_the_spaces(
    life: Any, service: ReferenceService
) -> None:
    await life.spaces.service_update("alpha", SETTINGS)
    record = await life.spaces.service_update("alpha", {}, enabled=False)
    assert (record.enabled, record.configured) == (False, True)
    assert (await life.spaces.current()).spaces == ()
    assert stored(life)["services"]["alpha"]["apiKey"] == "hush-hush"
    assert stored(life)["enabled"] == {"alpha": False}
    assert [call for call, _ in service.calls] == ["discover"]
    again = await life.spaces.service_update("alpha", {"endpoint": "http://x"}, enabled=False)
    assert again.settings["endpoint"] == "http://x"


@pytest.mark.requirement("memory-spaces:service:disable")
async def test_a_service_that_was_never_set_up_can_be_switched_off(life: Any) -> None:
    record = await life.spaces.service_update("alpha", {}, enabled=False)
    assert (record.enabled, record.configured) == (False, False)


@pytest.mark.requirement("memory-spaces:service:failure")
async def test_a_failed_discovery_changes_nothing(life: Any, service: ReferenceService) -> None:
    await life.spaces.service_update("alpha", SETTINGS)
    before = life.external_file.read_bytes()
    service.fail("discover", ProviderUnavailable("gone"))
    with pytest.raises(ProviderUnavailable):
        await life.spaces.service_update("alpha", {"endpoint": "http://other"})
    service.heal()
    service.answer("discover", [ONE, ONE])
    with pytest.raises(Exception, match="twice"):
        await life.spaces.service_update("alpha", {"endpoint": "http://other"})
    assert life.external_file.read_bytes() == before


@pytest.mark.requirement("memory-spaces:service:failure")
async def test_a_discovery_that_never_ends_is_given_up(
    life: Any, service: ReferenceService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_services, "_DISCOVERY_SECONDS", 0.01)
    service.hang("discover")
    with pytest.raises(ProviderTimeout):
        await life.spaces.service_update("alpha", SETTINGS)
    assert not life.external_file.exists()


@pytest.mark.requirement("memory-spaces:service:race")
async def test_settings_that_change_during_discovery_are_a_conflict(
    life: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await life.spaces.service_update("alpha", SETTINGS)

    async def discover(_connection: Any) -> list[ExternalSpace]:
        # Meanwhile somebody else saves other settings.
        document = stored(life)
        document["services"]["alpha"]["endpoint"] = "http://else"
        await anyio.Path(life.external_file).write_text(json.dumps(document), encoding="utf-8")
        return [ONE]

    monkeypatch.setattr(life.adapter("alpha"), "discover", discover)
    with pytest.raises(ConflictError) as caught:
        await life.spaces.service_update("alpha", {"home": "mine"})
    assert (caught.value.code, caught.value.retryable) == ("service-changed", True)
    assert stored(life)["services"]["alpha"]["endpoint"] == "http://else"


@pytest.mark.requirement("memory-spaces:service:enable")
@pytest.mark.parametrize(
    ("provider", "settings", "code"),
    [
        ("mnemon-native", {}, "service-native"),
        ("beta", {}, "provider-unknown"),
        ("alpha", {}, "setting-required"),
        ("alpha", {"endpoint": "ftp://x"}, "setting-invalid"),
        ("alpha", {"endpoint": "http://x", "project": "x"}, "setting-unknown"),
    ],
)
async def test_what_does_not_fit_is_refused(
    life: Any, provider: str, settings: dict[str, Any], code: str
) -> None:
    with pytest.raises(InputError) as caught:
        await life.spaces.service_update(provider, settings)
    assert caught.value.code == code
    assert not life.external_file.exists()


class Mute(ReferenceAdapter):
    """A Provider that cannot discover."""

    discover = ProviderAdapter.discover


@pytest.mark.requirement("memory-spaces:service:mute")
async def test_a_provider_that_cannot_discover_keeps_its_spaces(
    open_life: Callable[..., Awaitable[Any]], alpha_manifest: Callable[..., Any]
) -> None:
    module = reference_provider(manifest=alpha_manifest(), adapter=Mute)
    life = await open_life(module)
    new = NewSpace(
        name="Mine",
        description="By hand",
        provider_id="alpha",
        connection={**SETTINGS, "project": "p"},
    )
    created = await life.spaces.create(new)
    await life.spaces.service_update("alpha", {"endpoint": "http://y"})
    assert [space.id for space in (await life.spaces.current()).spaces] == [created.id]


# -- authority ------------------------------------------------------------------------------------


@pytest.fixture
async def authorities(life: Any, service: ReferenceService) -> dict[str, ChildAuthority]:
    service.answer("discover", [ONE])
    await life.spaces.create(NewSpace(name="Native", description="Native"))
    await life.spaces.service_update("alpha", SETTINGS)
    return {name: life.adapter(name).context.memory_spaces for name in ("alpha", "mnemon-native")}


@pytest.mark.requirement("memory-spaces:authority:own")
async def test_a_provider_is_shown_its_own_spaces_only(
    life: Any, authorities: dict[str, ChildAuthority]
) -> None:
    alpha, native = authorities["alpha"], authorities["mnemon-native"]
    assert [space.external_id for space in alpha.list()] == ["one"]
    assert [space.id for space in native.list()] == ["default"]
    assert alpha.data_dir() == native.data_dir() == life.root
    own = alpha.list()[0].id
    assert alpha.connection(own) == {
        "endpoint": "http://localhost:9000",
        "apiKey": "hush-hush",
        "home": "one",
        "project": "one",
        "token": "",
    }
    assert alpha.service() == {
        "endpoint": "http://localhost:9000",
        "apiKey": "hush-hush",
        "home": "one",
    }
    assert native.connection("default") == {}
    for authority, foreign in ((alpha, "default"), (native, own), (alpha, "nothing")):
        with pytest.raises(AuthorityError) as caught:
            authority.connection(foreign)
        assert caught.value.code == "space-foreign"


@pytest.mark.requirement("memory-spaces:authority:own")
async def test_a_provider_that_is_off_has_no_spaces(
    life: Any, authorities: dict[str, ChildAuthority]
) -> None:
    own = authorities["alpha"].list()[0].id
    await life.spaces.service_update("alpha", {}, enabled=False)
    assert authorities["alpha"].list() == ()
    with pytest.raises(AuthorityError):
        authorities["alpha"].connection(own)


@pytest.mark.requirement("memory-spaces:authority:own")
async def test_what_was_never_read_is_read_when_a_provider_asks(
    open_life: Callable[..., Awaitable[Any]], alpha: ProviderModule, life: Any
) -> None:
    await life.spaces.service_update("alpha", SETTINGS)
    other = await open_life(alpha)
    assert other.adapter("alpha").context.memory_spaces.service()["apiKey"] == "hush-hush"
