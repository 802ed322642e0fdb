"""Provider children in one generation: their adapters come and go."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest
from dsh_mnemon_core.errors import DefinitionError, InputError, LifecycleError
from dsh_mnemon_core.fiber import Context, open_root
from dsh_mnemon_source_memory_spaces import _children
from dsh_mnemon_source_memory_spaces._children import (
    ChildEntry,
    Children,
    MountedChildren,
    check_adapter,
    mount_children,
)
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    NativeSettings,
    ProviderAdapter,
    ProviderConfig,
    ProviderContext,
    ProviderManifest,
    ProviderModule,
)
from dsh_mnemon_source_memory_spaces.testing import (
    EVERYTHING,
    FixtureAuthority,
    ReferenceAdapter,
    ReferenceService,
    reference_manifest,
    reference_provider,
)
from pydantic import BaseModel, ConfigDict, SecretBytes, SecretStr

pytestmark = pytest.mark.requirement("memory-spaces:children")


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    ranking: str = "hybrid"
    folder: Path = Path("somewhere")
    keys: tuple[SecretStr, ...] = ()
    raw: SecretBytes = SecretBytes(b"")


class Nothing(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


@pytest.fixture
async def root() -> AsyncGenerator[Context]:
    async with open_root() as context:
        yield context


def module(type_id: str = "reference", **changes: Any) -> ProviderModule:
    manifest = reference_manifest(type_id, **changes)
    return reference_provider(ReferenceService("one"), manifest=manifest, config_model=Settings)


def made(apply: Any, type_id: str = "reference") -> ProviderModule:
    return ProviderModule(id=type_id, apply=apply, config_model=Nothing)


def opened(mounted: MountedChildren, tmp_path: Path, **more: Any) -> Children:
    authority = FixtureAuthority(tmp_path, {}, [])
    return Children(mounted, authority=lambda _: authority, config=ProviderConfig(), **more)


async def mount(root: Context, *entries: Any, **more: Any) -> MountedChildren:
    listed = [item if isinstance(item, ChildEntry) else ChildEntry(use=item) for item in entries]
    return await mount_children(root, "spaces", listed, **more)


class Seen(ReferenceAdapter):
    contexts: ClassVar[list[ProviderContext]] = []
    closed: ClassVar[list[str]] = []

    def __init__(self, context: ProviderContext, service: ReferenceService) -> None:
        super().__init__(context, service)
        self.contexts.append(context)

    async def aclose(self) -> None:
        self.closed.append(self.context.instance_id)


@pytest.fixture
def seen() -> type[Seen]:
    Seen.contexts.clear()
    Seen.closed.clear()
    return Seen


async def test_adapters_are_made_when_first_used(
    root: Context, tmp_path: Path, seen: type[Seen]
) -> None:
    provider = reference_provider(adapter=seen)
    mounted = await mount(root, provider, ChildEntry(use=provider, instance_id="again"))
    children = opened(mounted, tmp_path, native=NativeSettings(data_dir=tmp_path))
    assert seen.contexts == []
    again = children.get("again")
    assert again.adapter is again.adapter
    [context] = seen.contexts
    assert (context.instance_id, context.manifest.type_id) == ("again", "reference")
    assert context.native is None, "only for a native Provider"
    assert children.get("again") is again
    assert children.find("reference") is not None
    await children.aclose()
    assert seen.closed == ["reference", "again"], "last made, first closed"
    await children.aclose()
    assert len(seen.closed) == 2
    with pytest.raises(InputError) as caught:
        children.get("nobody")
    assert caught.value.code == "provider-unknown"


async def test_a_native_child_gets_what_is_native(root: Context, tmp_path: Path) -> None:
    native = module("own", origin="native")
    mounted = await mount(root, module(), native)
    settings = NativeSettings(data_dir=tmp_path)
    children = opened(mounted, tmp_path, native=settings)
    child = children.native
    assert child is not None
    assert (child.instance_id, child.adapter.context.native) == ("own", settings)
    assert opened(await mount(root, module()), tmp_path).native is None
    assert children.digest == mounted.digest


async def test_a_factory_that_fails_leaves_its_child_out_alone(
    root: Context, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(ReferenceAdapter):
        def __init__(self, context: ProviderContext, service: ReferenceService) -> None:
            raise RuntimeError("with a secret in it")

    mounted = await mount(root, reference_provider(adapter=Broken), module("good"))
    bad, good = opened(mounted, tmp_path)
    assert (bad.state, bad.code, good.state) == ("failed", "provider-failed", "ready")
    assert "secret" not in f"{bad.reason} {caplog.text}"
    assert "RuntimeError" in caplog.text
    assert "Broken.__init__" in caplog.text
    assert bad.manifest.type_id == "reference", "what it says of itself is still known"
    with pytest.raises(LifecycleError):
        _ = bad.adapter


async def test_closing_tries_every_adapter_and_gathers_failures(
    root: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_children, "_PATIENCE", 0.05)
    services = [ReferenceService("one") for _ in range(3)]
    services[0].hang("aclose")
    services[1].fail("aclose", RuntimeError("no"))
    listed = [
        reference_provider(service, manifest=reference_manifest(f"p{number}"))
        for number, service in enumerate(services)
    ]
    children = opened(await mount(root, *listed), tmp_path)
    assert len(children.ready) == 3
    with pytest.raises(ExceptionGroup) as caught:
        await children.aclose()
    first, second = caught.value.exceptions
    assert isinstance(first, RuntimeError)
    assert isinstance(second, LifecycleError)
    assert second.code == "provider-close-timeout"
    assert [service.closed for service in services] == [0, 0, 1]


async def test_closing_goes_on_when_it_is_cancelled(root: Context, tmp_path: Path) -> None:
    service = ReferenceService("one")
    children = opened(await mount(root, reference_provider(service)), tmp_path)
    assert children.ready
    with anyio.CancelScope() as scope:
        scope.cancel()
        await children.aclose()
    assert service.closed == 1


async def test_no_adapter_is_made_after_the_end(root: Context, tmp_path: Path) -> None:
    children = opened(await mount(root, module()), tmp_path)
    await children.aclose()
    [child] = children
    assert (child.state, child.code) == ("failed", "provider-not-ready")


class Bare(ProviderAdapter):
    id = "reference"
    score_semantics = "normalized-relevance"


def check(adapter: object, **changes: Any) -> str | None:
    manifest: ProviderManifest = reference_manifest(**changes)
    try:
        check_adapter(manifest, adapter)
    except DefinitionError as error:
        return error.code
    return None


@pytest.mark.parametrize(
    "flag", ["search", "browse", "graph", "related", "remember", "link", "forget"]
)
def test_a_declared_capability_needs_its_method(flag: str) -> None:
    assert check(Bare(), capabilities={flag: True}) == "adapter-method-missing"
    assert check(Bare(), capabilities={}) is None


def test_entities_may_be_told_by_status() -> None:
    assert check(Bare(), capabilities={"entities": True}) is None


def test_an_adapter_keeps_what_its_manifest_says() -> None:
    class Whole(ReferenceAdapter):
        def __init__(self) -> None:
            self.id = "reference"
            self.score_semantics = "normalized-relevance"

    whole = Whole()
    assert check(whole, capabilities=EVERYTHING) is None
    assert check(whole, origin="native") == "adapter-invalid"
    assert check(object()) == "adapter-invalid"
    whole.score_semantics = None
    assert check(whole) == "adapter-scores-undeclared"
    assert check(whole, score_semantics="provider-native") is None
    whole.id = "another"
    assert check(whole) == "adapter-id-mismatch"
