"""What tests of Providers, and of the Source, are built from."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from dsh_mnemon_core.errors import AuthorityError, ConfigurationError, InputError, LifecycleError
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    DraftInsight,
    ListRequest,
    NativeAdapter,
    ProviderConflict,
    ProviderNotFound,
    ProviderRejected,
    ProviderUnauthenticated,
    RememberRequest,
    SearchRequest,
)
from dsh_mnemon_source_memory_spaces.testing import (
    MountedProvider,
    ProviderFixture,
    ReferenceAdapter,
    ReferenceService,
    SpaceSetup,
    mount_provider,
    provider_fixture,
    reference_manifest,
    reference_provider,
)

pytestmark = pytest.mark.requirement("memory-spaces:provider-testing")

TEA = RememberRequest(content="Tea at four.", category="preference", entities=("tea",))


def fixture(mounted: MountedProvider, tmp_path: Path, **more: Any) -> ProviderFixture:
    return provider_fixture(mounted.manifest, tmp_path, **more)


async def test_a_fixture_reads_settings_as_the_source_does(tmp_path: Path) -> None:
    manifest = reference_manifest()
    made = provider_fixture(
        manifest,
        tmp_path,
        spaces=[SpaceSetup(id="a", memory={"project": " p "}), SpaceSetup(id="b", active=False)],
        service={"apiKey": "k"},
    )
    authority = made.authority
    assert [(space.id, space.name, space.active) for space in made.spaces] == [
        ("a", "A", True),
        ("b", "B", False),
    ]
    assert authority.connection("a") == {"apiKey": "k", "project": "p"}
    assert authority.connection("b") == {"apiKey": "k"}
    assert authority.service() == {"apiKey": "k"}
    assert authority.data_dir() == tmp_path
    with pytest.raises(AuthorityError):
        authority.connection("c")
    with pytest.raises(InputError):
        provider_fixture(manifest, tmp_path, service={"apikey": "k"})
    assert made.native is None
    assert provider_fixture(reference_manifest(origin="native"), tmp_path).native is not None


async def test_a_mounted_provider_closes_what_it_opened(tmp_path: Path) -> None:
    service = ReferenceService("one")
    async with mount_provider(reference_provider(service), instance_id="mine") as mounted:
        made = fixture(mounted, tmp_path)
        first, second = mounted.adapter(made), mounted.adapter(made)
        assert first is not second
        assert isinstance(first, ReferenceAdapter)
        assert first.context.instance_id == mounted.child.instance_id == "mine"
        await mounted.close(first)
        assert service.closed == 1
        await mounted.close(first)
        assert service.closed == 1
    assert service.closed == 2
    assert mounted.child.failure is not None


async def test_a_failed_closing_is_told(tmp_path: Path) -> None:
    service = ReferenceService("one")
    async with mount_provider(reference_provider(service)) as mounted:
        for _ in range(2):
            mounted.adapter(fixture(mounted, tmp_path))
        service.fail("aclose", RuntimeError("no"))
        with pytest.raises(ExceptionGroup) as caught:
            await mounted.aclose()
        assert len(caught.value.exceptions) == 2


async def test_what_cannot_be_mounted_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        async with mount_provider("no_such_provider_module"):
            pytest.fail("mounted")


async def test_an_adapter_that_breaks_its_manifest_is_refused(tmp_path: Path) -> None:
    class Scoreless(ReferenceAdapter):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.score_semantics = None

    async with mount_provider(reference_provider(adapter=Scoreless)) as mounted:
        with pytest.raises(LifecycleError):
            mounted.adapter(fixture(mounted, tmp_path))


async def test_the_reference_does_what_it_is_told(tmp_path: Path) -> None:
    service = ReferenceService("one", "two")
    spaces = [SpaceSetup(id="a", external_id="one"), SpaceSetup(id="b", external_id="two")]
    async with mount_provider(reference_provider(service)) as mounted:
        adapter = mounted.adapter(fixture(mounted, tmp_path, spaces=spaces))
        one, two = (setup.view() for setup in spaces)
        await adapter.remember(one, TEA)
        assert service.calls == [("remember", "one")]
        service.answer("search", 42, namespace="one")
        service.fail("list", RuntimeError("rubbish"))
        service.hang("status", namespace="two")
        assert await adapter.search(one, SearchRequest(query="tea")) == 42
        assert (await adapter.search(two, SearchRequest(query="tea"))).results == ()
        with pytest.raises(RuntimeError):
            await adapter.list(one, ListRequest())
        assert (await adapter.status(one)).healthy
        with anyio.move_on_after(0.02) as scope:
            await adapter.status(two)
        assert scope.cancelled_caught
        service.heal()
        assert len((await adapter.list(one, ListRequest(query="TEA"))).items) == 1


async def test_the_reference_checks_key_and_namespace(tmp_path: Path) -> None:
    service = ReferenceService("one", key="right-key")
    async with mount_provider(reference_provider(service)) as mounted:
        made = fixture(mounted, tmp_path, service={"apiKey": "wrong-key"})
        adapter = mounted.adapter(made)
        [space] = made.spaces
        with pytest.raises(ProviderUnauthenticated):
            await adapter.remember(space, TEA)
        with pytest.raises(ProviderUnauthenticated):
            await adapter.discover(made.authority.service())
        assert (await adapter.status(space)).healthy is False
        made.authority.settings["apiKey"] = "right-key"
        await adapter.remember(space, TEA)
        [found] = await adapter.discover(made.authority.service())
        assert (found.external_id, found.name) == ("one", "One")
        service.namespaces.clear()
        with pytest.raises(ProviderNotFound):
            await adapter.remember(space, TEA)


async def test_the_reference_skips_what_it_has(tmp_path: Path) -> None:
    service = ReferenceService("one")
    async with mount_provider(reference_provider(service)) as mounted:
        made = fixture(mounted, tmp_path)
        adapter = mounted.adapter(made)
        [space] = made.spaces
        kept = await adapter.remember(space, TEA)
        again = await adapter.remember(space, TEA)
        assert (again["action"], again["id"]) == ("skipped", kept["id"])


async def test_the_native_reference_keeps_folders(tmp_path: Path) -> None:
    module = reference_provider(manifest=reference_manifest(origin="native"))
    async with mount_provider(module) as mounted:
        made = fixture(mounted, tmp_path)
        adapter = mounted.adapter(made)
        assert isinstance(adapter, NativeAdapter)
        await adapter.create_store("one")
        assert await anyio.Path(tmp_path / "data/one/mnemon.db").is_file()
        with pytest.raises(ProviderConflict):
            await adapter.create_store("one")
        with pytest.raises(ProviderRejected):
            await adapter.create_store("../one")
        await adapter.set_default_store("one")
        assert await anyio.Path(tmp_path / "active").read_text(encoding="utf-8") == "one"
        with pytest.raises(ProviderRejected):
            await adapter.remove_store("one")
        answer = await adapter.import_draft(made.spaces[0], [DraftInsight(content="x")], [])
        assert (answer["imported"], answer["skipped"]) == (1, 0)


def test_the_source_is_imported_without_pytest() -> None:
    code = """
import sys
import dsh_mnemon_source_memory_spaces
import dsh_mnemon_source_memory_spaces.provider_sdk
assert not {"pytest", "dsh_mnemon_testing", "httpx"} & set(sys.modules), "too much is imported"
"""
    subprocess.run([sys.executable, "-c", code], check=True)
