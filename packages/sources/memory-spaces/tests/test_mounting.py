"""Provider children as private Fibers: imported, configured, started, or left out."""

import sys
import textwrap
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio
import pytest
from dsh_mnemon_core.errors import ConfigurationError, LifecycleError
from dsh_mnemon_core.fiber import Context, Fiber, Plugin, open_root
from dsh_mnemon_source_memory_spaces._children import (
    ChildEntry,
    Children,
    MountedChildren,
    mount_children,
)
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    ProviderConfig,
    ProviderDefinition,
    ProviderHost,
    ProviderModule,
)
from dsh_mnemon_source_memory_spaces.testing import (
    FixtureAuthority,
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


async def test_children_have_keys_of_their_own(root: Context) -> None:
    entry = ChildEntry(use=module("second"), instance_id="another", config={"ranking": "plain"})
    mounted = await mount(root, module(), entry)
    assert [(child.instance_id, child.key, child.use) for child in mounted] == [
        ("reference", "spaces/provider:reference", "reference"),
        ("another", "spaces/provider:another", "second"),
    ]
    assert [child.failure for child in mounted] == [None, None]


async def test_one_type_may_be_mounted_twice(root: Context) -> None:
    one = module()
    mounted = await mount(root, one, ChildEntry(use=one, instance_id="again"))
    assert [child.manifest == reference_manifest() for child in mounted] == [True, True]


async def test_an_empty_list_is_refused(root: Context) -> None:
    with pytest.raises(ConfigurationError) as caught:
        await mount(root)
    assert caught.value.code == "providers-empty"


async def test_a_repeated_id_is_refused_before_anything_starts(root: Context) -> None:
    started: list[str] = []

    def apply(ctx: Context, host: ProviderHost, config: Any) -> None:
        started.append("one")

    with pytest.raises(ConfigurationError) as caught:
        await mount(root, ChildEntry(use=made(apply, "b"), instance_id="a"), made(apply, "a"))
    assert caught.value.code == "provider-duplicated"
    assert started == []


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose modules can be imported during the test."""
    monkeypatch.syspath_prepend(str(tmp_path))
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        if name.startswith("children_of_a_test"):
            del sys.modules[name]


def write(folder: Path, name: str, text: str) -> str:
    (folder / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
    return name


async def test_a_module_is_imported_by_its_name(root: Context, modules: Path) -> None:
    name = write(
        modules,
        "children_of_a_test",
        """
        from dsh_mnemon_source_memory_spaces.testing import reference_provider
        provider = reference_provider()
        """,
    )
    [child] = await mount(root, name)
    assert (child.instance_id, child.use) == ("reference", name)


@pytest.mark.parametrize(
    ("text", "state", "code"),
    [
        (None, "absent", "module-absent"),
        ("import children_of_nobody_at_all", "failed", "module-import-failed"),
        ("raise SystemExit(3)", "failed", "module-import-failed"),
        ("1 / 0", "failed", "module-import-failed"),
        ("provider = 3", "failed", "provider-missing"),
        ("", "failed", "provider-missing"),
    ],
)
async def test_a_child_that_cannot_be_loaded_is_left_out_alone(
    root: Context, modules: Path, tmp_path: Path, text: str | None, state: str, code: str
) -> None:
    name = "children_of_a_test_left_out"
    if text is not None:
        write(modules, name, text)
    entry = ChildEntry(use=name, instance_id="wanted")
    children = opened(await mount(root, entry, module()), tmp_path)
    left_out, good = children
    assert (left_out.state, left_out.code, left_out.instance_id) == (state, code, "wanted")
    assert left_out.reason
    assert (good.state, good.code, good.reason) == ("ready", None, None)
    assert children.ready == (good,)
    with pytest.raises(LifecycleError):
        _ = left_out.manifest
    with pytest.raises(LifecycleError):
        _ = left_out.adapter
    assert children.find("wanted") is None
    with pytest.raises(LifecycleError) as caught:
        children.get("wanted")
    assert caught.value.code == "provider-not-ready"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise ValueError('a-secret-of-the-module')", "ValueError; the log has more"),
        ("import no_such_thing", "ModuleNotFoundError, there is no module no_such_thing"),
    ],
)
async def test_a_failed_import_is_told_without_foreign_words(
    root: Context, modules: Path, caplog: pytest.LogCaptureFixture, text: str, said: str
) -> None:
    name = write(modules, "children_of_a_test_failing", text)
    left_out, _ = await mount(root, name, module())
    assert left_out.failure is not None
    assert str(left_out.failure) == f"importing {name} failed: {said}"
    assert f"{name}.py:1, in <module>" in caplog.text
    assert "a-secret-of-the-module" not in caplog.text


async def test_an_absent_module_is_named_by_what_was_asked(root: Context) -> None:
    absent, _ = await mount(root, "no_such_provider_module", module())
    assert absent.instance_id == "no_such_provider_module"


def install(*definitions: Any) -> Any:
    def apply(ctx: Context, host: ProviderHost, config: Any) -> None:
        for definition in definitions:
            host.install(ctx, definition)

    return apply


def definition(type_id: str = "reference") -> ProviderDefinition:
    return ProviderDefinition(manifest=reference_manifest(type_id), create=lambda _: None)


async def fails(ctx: Context, host: ProviderHost, config: Any) -> None:
    raise RuntimeError("with a secret in it")


@pytest.mark.parametrize(
    ("apply", "code"),
    [
        (install(), "provider-missing"),
        (install(definition(), definition()), "provider-installed-twice"),
        (install(definition("other")), "provider-type-mismatch"),
        pytest.param(install({"manifest": 1}), "provider-invalid", id="no definition"),
        pytest.param(
            install(ProviderDefinition(manifest={"type_id": "reference"}, create=bool)),
            "provider-invalid",
            id="no manifest",
        ),
        (fails, "provider-failed"),
    ],
)
async def test_a_child_that_does_not_start_is_left_out_alone(
    root: Context, tmp_path: Path, caplog: pytest.LogCaptureFixture, apply: Any, code: str
) -> None:
    mounted = await mount(root, made(apply), module("good"))
    bad, good = opened(mounted, tmp_path)
    assert (bad.state, bad.code) == ("failed", code)
    assert "secret" not in f"{bad.reason} {caplog.text}"
    assert "Provider spaces/provider:reference is left out" in caplog.text
    assert good.state == "ready"
    assert [child.config_digest is None for child in mounted] == [True, False]


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        (ChildEntry(use=module(), config={"rankin": 1}), "config-invalid"),
        (ChildEntry(use=module(), instance_id="Upper Case"), "id-format"),
    ],
)
async def test_a_wrong_entry_is_left_out_alone(
    root: Context, tmp_path: Path, entry: ChildEntry, code: str
) -> None:
    bad, good = opened(await mount(root, entry, module("good")), tmp_path)
    assert (bad.state, bad.code) == ("failed", code)
    assert good.state == "ready"


async def test_a_child_that_never_starts_is_given_up(root: Context, tmp_path: Path) -> None:
    async def hang(ctx: Context, host: ProviderHost, config: Any) -> None:
        await anyio.sleep_forever()

    bad, good = opened(await mount(root, made(hang), module("good"), patience=0.05), tmp_path)
    assert (bad.state, bad.code) == ("failed", "provider-start-timeout")
    assert good.state == "ready"


async def test_when_none_is_left_mounting_fails_and_says_why(root: Context) -> None:
    with pytest.raises(ConfigurationError) as caught:
        await mount(root, "no_such_provider_module", made(fails))
    assert caught.value.code == "providers-failed"
    assert [item["code"] for item in caught.value.details["providers"]] == [
        "module-absent",
        "provider-failed",
    ]
    assert "secret" not in caught.value.message


async def test_a_child_cannot_install_later(root: Context) -> None:
    kept: list[Any] = []

    def apply(ctx: Context, host: ProviderHost, config: Any) -> None:
        host.install(ctx, definition())
        kept.extend((ctx, host))

    await mount(root, made(apply))
    ctx, host = kept
    with pytest.raises(LifecycleError):
        host.install(ctx, definition())


async def test_a_child_that_breaks_later_has_failed(root: Context, tmp_path: Path) -> None:
    go = anyio.Event()

    async def apply(ctx: Context, host: ProviderHost, config: Any) -> None:
        tasks = await ctx.enter(anyio.create_task_group())

        async def burn() -> None:
            await go.wait()
            raise RuntimeError("burnt")

        tasks.start_soon(burn)
        reference = reference_provider(ReferenceService("one"))
        reference.apply(ctx, host, config)

    children = opened(await mount(root, made(apply)), tmp_path)
    [child] = children
    assert child.state == "ready"
    go.set()
    with anyio.fail_after(5):
        while child.state == "ready":  # noqa: ASYNC110
            await anyio.sleep(0.001)
    assert child.state == "failed"
    with pytest.raises(LifecycleError):
        _ = child.adapter


async def test_children_end_with_the_source() -> None:
    undone: list[str] = []

    def child(name: str) -> ProviderModule:
        def apply(ctx: Context, host: ProviderHost, config: Any) -> None:
            host.install(ctx, definition(name))
            ctx.defer(lambda: undone.append(name))

        return made(apply, name)

    async def source(ctx: Context, config: Any) -> None:
        mounted.append(await mount(ctx, child("first"), child("second")))

    mounted: list[MountedChildren] = []
    async with open_root() as root:
        fiber: Fiber = await root.mount(Plugin(name="source", apply=source))
        await fiber.dispose()
        assert undone == ["second", "first"]
        assert [item.failure.code for item in mounted[0]] == ["fiber-inactive"] * 2


# -- digests ---------------------------------------------------------------------------------------


async def test_the_digest_covers_what_matters(root: Context) -> None:
    async def digest(*entries: Any, source: str = "spaces") -> str:
        listed = [i if isinstance(i, ChildEntry) else ChildEntry(use=i) for i in entries]
        return (await mount_children(root, source, listed)).digest

    def configured(**config: Any) -> ChildEntry:
        return ChildEntry(use=module(), config=config)

    plain = await digest(module())
    assert await digest(module(label="Another", summary="Another.")) == plain
    assert await digest(module("b"), module("a")) == await digest(module("a"), module("b"))
    assert await digest(module(), "no_such_provider_module") == plain
    others = [
        await digest(module(version="0.2.0")),
        await digest(module(capabilities={"search": True})),
        await digest(module(), source="other"),
        await digest(ChildEntry(use=module(), instance_id="renamed")),
        await digest(configured(ranking="plain")),
        await digest(configured(folder="/elsewhere")),
        await digest(configured(keys=["one"])),
        await digest(configured(keys=["two"])),
        await digest(configured(raw="one")),
    ]
    assert len({plain, *others}) == len(others) + 1
    assert await digest(configured(keys=["one"])) == others[6]


async def test_the_effective_digest_joins_children_and_configuration(root: Context) -> None:
    mounted = await mount(root, module())
    one, two = (mounted.effective_digest({"timeoutMs": value}) for value in (1, 2))
    assert one.startswith("providers:")
    assert len(one) == len("providers:") + 64
    assert one != two
    assert mounted.source_instance_id == "spaces"
