"""Mounting profiles and changing their rows (spec/core.md §19.4, D27)."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from threading import enumerate as enumerate_threads
from types import ModuleType
from typing import Any

import anyio
import pytest
from dsh_mnemon_core.errors import ConfigurationError, LifecycleError
from dsh_mnemon_core.fiber import Context, Fiber, Plugin, open_root
from dsh_mnemon_core.profile import (
    MountedProfile,
    Profile,
    Row,
    load_plugin,
    load_profile,
    mount_profile,
)
from pydantic import BaseModel, ConfigDict, Field, model_validator


class Numbered(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    number: int = Field(default=0, alias="numberOf")


class Modules:
    """Importable modules made of plugins, and the trace of what those do."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.events: list[str] = []

    def add(self, name: str, **attributes: Any) -> None:
        module = ModuleType(name)
        vars(module).update(attributes)
        self._monkeypatch.setitem(sys.modules, name, module)

    def plugin(self, name: str, *requires: str, provides: str | None = None) -> None:
        def apply(ctx: Context, config: Numbered) -> None:
            self.events.append(f"{ctx.entry_id} up {config.number}")
            ctx.defer(lambda: self.events.append(f"{ctx.entry_id} down"))
            if provides:
                ctx.provide(provides, self)
            if config.number == 13:
                raise ValueError("an s3cret in the text of an exception")
            if config.number == 14:
                raise LifecycleError("chosen-code", "chosen words")

        plugin = Plugin(name=name, apply=apply, config_model=Numbered, requires=requires)
        self.add(name, plugin=plugin)

    def take(self) -> list[str]:
        events, self.events = self.events, []
        return events


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Modules:
    made = Modules(monkeypatch)
    for name in ("good", "better"):
        made.plugin(name)
    made.plugin("user", "service")
    made.plugin("owner", provides="service")
    return made


def rows(*specs: Any, **numbers: int) -> tuple[Row, ...]:
    """Rows named ``id`` or ``id=module``; a leading ``-`` turns one off."""
    made: list[Row] = []
    for spec in specs:
        row_id, _, module = spec.lstrip("-").partition("=")
        config = {"numberOf": numbers[row_id]} if row_id in numbers else {}
        made.append(Row(id=row_id, module=module or row_id, enabled=spec[0] != "-", config=config))
    return tuple(made)


def states(mounted: MountedProfile) -> dict[str, str]:
    return {item.id: item.state for item in mounted.report()}


async def test_every_row_reports_and_none_harms_another(
    modules: Modules,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "profile_test_inner.py").write_text("import profile_test_nowhere", "utf-8")
    (tmp_path / "profile_test_exit.py").write_text("raise SystemExit(3)", "utf-8")
    modules.add("no_plugin", plugin="text")
    profile = Profile(
        rows=(
            *rows("first=good", "-off=profile_test_nowhere", "absent=profile_test_nowhere.deep"),
            *rows("inner=profile_test_inner", "exit=profile_test_exit", "no=no_plugin"),
            Row(id="typo", module="good", config={"numberof": 1}),
            *rows("start=good", "chosen=good", "user", "last=better", start=13, chosen=14),
        )
    )
    async with open_root() as root:
        mounted = await mount_profile(root, profile)
        report = {item.id: item for item in mounted.report()}
    assert [(item.id, item.state, item.code) for item in report.values()] == [
        ("first", "active", None),
        ("off", "disabled", None),
        ("absent", "absent", "module-absent"),
        ("inner", "failed", "module-import-failed"),
        ("exit", "failed", "module-import-failed"),
        ("no", "failed", "plugin-missing"),
        ("typo", "failed", "config-invalid"),
        ("start", "failed", "row-failed"),
        ("chosen", "failed", "chosen-code"),
        ("user", "pending", None),
        ("last", "active", None),
    ]
    assert "profile_test_nowhere" in str(report["inner"].message)
    for part in ("row 'typo'", "numberof", "(did you mean 'numberOf'?)"):
        assert part in str(report["typo"].message)
    assert report["chosen"].message == "chosen words"
    assert "service" in str(report["user"].message)
    assert not any("s3cret" in str(item) for item in report.values())
    assert "an s3cret in the text of an exception" in caplog.text
    assert modules.events[-2:] == ["last down", "first down"]


async def test_a_row_with_a_problem_fails_alone(modules: Any) -> None:
    loaded = load_profile("version: 1\nentries: [text, {id: a, module: good}]", strict=False)
    async with open_root() as root:
        mounted = await mount_profile(root, loaded)
        assert [(item.state, item.code) for item in mounted.report()] == [
            ("failed", "config-invalid"),
            ("active", None),
        ]


async def test_only_modules_of_enabled_rows_are_imported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    source = "from dsh_mnemon_core.fiber import Plugin\nplugin = Plugin(name='p', apply=print)\n"
    for name in ("profile_test_on", "profile_test_off", "profile_test_unlisted"):
        (tmp_path / f"{name}.py").write_text(source, "utf-8")
    async with open_root() as root:
        await mount_profile(root, Profile(rows=rows("a=profile_test_on", "-b=profile_test_off")))
    loaded = {name for name in sys.modules if name.startswith("profile_test_o")}
    monkeypatch.delitem(sys.modules, "profile_test_on")
    assert loaded == {"profile_test_on"}
    assert "profile_test_unlisted" not in sys.modules


async def test_missing_parent_package_counts_as_absent_but_a_namesake_does_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "profile_test_longer.py").write_text("import profile_test_long", "utf-8")
    for name, code in (
        ("profile_test_none", "module-absent"),
        ("profile_test_none.child", "module-absent"),
        ("profile_test_longer", "module-import-failed"),
        ("profile_test_longer.child", "module-import-failed"),
    ):
        with pytest.raises(ConfigurationError) as caught:
            await load_plugin(name)
        assert caught.value.code == code


_HOSTILE = {
    "base": "class B(BaseException): pass\nraise B('own')",
    "cancel": "import asyncio\nraise asyncio.CancelledError",
    "generator": "raise GeneratorExit",
    "interrupt": "raise KeyboardInterrupt",
    "speechless": "class E(Exception):\n def __str__(self): raise ValueError\nraise E",
    "getattr": "def __getattr__(name): raise OSError(name)",
}


@pytest.mark.requirement("core:foreign:contained")
@pytest.mark.parametrize("text", _HOSTILE.values(), ids=_HOSTILE)
async def test_whatever_an_import_raises_fails_its_row_alone(
    modules: Modules, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "profile_test_hostile.py").write_text(text, "utf-8")
    async with open_root() as root:
        mounted = await mount_profile(root, Profile(rows=rows("bad=profile_test_hostile", "good")))
        bad, good = mounted.report()
    monkeypatch.delitem(sys.modules, "profile_test_hostile", raising=False)
    assert (bad.code, good.state) == ("module-import-failed", "active")
    kind = text.rpartition("raise ")[2].partition("(")[0].rpartition(".")[2]
    assert kind in str(bad.message)


class Pretender:
    """Claims to be a plugin."""

    __class__ = Plugin


async def test_an_object_that_pretends_to_be_a_plugin_is_none(modules: Modules) -> None:
    modules.add("pretender", plugin=Pretender())
    with pytest.raises(ConfigurationError) as caught:
        await load_plugin("pretender")
    assert caught.value.code == "plugin-missing"


async def test_an_import_that_never_ends_fails_its_row(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    gate = Event()
    monkeypatch.setattr(sys, "profile_test_gate", gate, raising=False)
    text = "import sys\nsys.profile_test_gate.wait()\nraise SystemExit"
    (tmp_path / "profile_test_endless.py").write_text(text, "utf-8")
    try:
        with pytest.raises(ConfigurationError) as caught:
            await load_plugin("profile_test_endless", seconds=0.01)
        assert caught.value.code == "module-import-timeout"
        (left,) = [item for item in enumerate_threads() if item.name.startswith("import ")]
        assert left.daemon  # the process may end while it hangs
    finally:
        gate.set()
    await anyio.to_thread.run_sync(left.join, 20)
    assert not left.is_alive()


async def test_a_configuration_model_that_tries_to_end_the_process_fails_its_row_alone(
    modules: Modules,
) -> None:
    class Rude(BaseModel):
        @model_validator(mode="after")
        def leave(self) -> Any:
            raise SystemExit(3)

    plugin = Plugin(name="rude", apply=lambda _ctx, _config: None, config_model=Rude)
    modules.add("rude", plugin=plugin)
    async with open_root() as root:
        mounted = await mount_profile(root, Profile(rows=rows("rude", "good")))
        assert states(mounted) == {"rude": "failed", "good": "active"}


async def test_row_starts_when_a_later_row_brings_its_service(modules: Modules) -> None:
    async with open_root() as root:
        mounted = await mount_profile(root, Profile(rows=rows("user", "owner")))
        assert states(mounted) == {"user": "active", "owner": "active"}
        await mounted.apply(rows("user", "-owner"))
        assert states(mounted) == {"user": "pending", "owner": "disabled"}
        assert modules.take() == ["owner up 0", "user up 0", "user down", "owner down"]


async def test_late_failure_of_a_pending_row_is_reported(
    modules: Modules, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_root() as root:
        mounted = await mount_profile(root, Profile(rows=rows("user", user=13)))
        assert states(mounted) == {"user": "pending"}
        await mounted.apply(rows("user", "owner", user=13))
        assert [item.code for item in mounted.report()] == ["row-failed", None]
        assert "an s3cret" in caplog.text
        await mounted.apply(rows("user", "owner"))
        assert states(mounted) == {"user": "active", "owner": "active"}


async def test_change_unmounts_then_restarts_then_mounts(modules: Modules) -> None:
    async with open_root() as root:
        mounted = await mount_profile(
            root, Profile(rows=rows("a=good", "b=good", "c=good", "d=good", "-e=good", "same=good"))
        )
        modules.take()
        await mounted.apply(
            rows("new=good", "a=good", "b=better", "-c=good", "e=good", "same=good", a=1)
        )
        assert modules.take() == [
            "d down",
            "c down",
            "b down",
            "a down",
            "a up 1",
            "new up 0",
            "b up 0",
            "e up 0",
        ]
        assert states(mounted) == {
            "new": "active",
            "a": "active",
            "b": "active",
            "c": "disabled",
            "e": "active",
            "same": "active",
        }
        await mounted.dispose()
        assert mounted.report() == ()
        assert modules.take() == ["same down", "e down", "b down", "a down", "new down"]


async def test_invalid_change_is_refused_as_a_whole(modules: Modules) -> None:
    async with open_root() as root:
        mounted = await mount_profile(root, Profile(rows=rows("a=good", "b=good")))
        before = modules.take()
        wrong = Row(id="a", module="good", config={"numberOf": "s3cret"})
        worse = Row(id="c", module="good", config={"numbrOf": 1})
        with pytest.raises(ConfigurationError) as caught:
            await mounted.apply((wrong, worse))
        assert caught.value.code == "config-invalid"
        assert set(caught.value.details["rows"]) == {"a", "c"}
        assert "row 'c'" in caught.value.message
        assert "s3cret" not in caught.value.message
        with pytest.raises(ConfigurationError) as caught:
            await mounted.apply(rows("a=good", "a=good"))
        assert caught.value.code == "row-duplicated"
        assert modules.take() == []
        assert before == ["a up 0", "b up 0"]
        assert states(mounted) == {"a": "active", "b": "active"}


async def test_row_that_was_invalid_from_the_start_does_not_block_changes(
    modules: Modules,
) -> None:
    wrong = Row(id="a", module="good", config={"numberOf": "many"})
    async with open_root() as root:
        mounted = await mount_profile(root, Profile(rows=(wrong,)))
        await mounted.apply((wrong, *rows("b=good")))
        assert states(mounted) == {"a": "failed", "b": "active"}
        await mounted.apply(rows("a=good", "b=good"))
        assert states(mounted) == {"a": "active", "b": "active"}


async def test_absent_row_is_tried_again(modules: Modules) -> None:
    async with open_root() as root:
        mounted = await mount_profile(root, Profile(rows=rows("late=profile_test_late")))
        assert states(mounted) == {"late": "absent"}
        modules.plugin("profile_test_late")
        await mounted.apply(rows("late=profile_test_late"))
        assert states(mounted) == {"late": "active"}


async def test_restart_that_fails_is_reported_and_tried_again(modules: Modules) -> None:
    async with open_root() as root:
        mounted = await mount_profile(root, Profile(rows=rows("a=good", "b=good")))
        await mounted.apply(rows("a=good", "b=good", a=14))
        assert [(item.state, item.code) for item in mounted.report()] == [
            ("failed", "chosen-code"),
            ("active", None),
        ]
        modules.take()
        await mounted.apply(rows("a=good", "b=good", a=14))
        assert modules.take() == ["a up 14", "a down"]
        await mounted.apply(rows("a=good", "b=good"))
        assert states(mounted) == {"a": "active", "b": "active"}


async def test_row_disposed_elsewhere_is_reported_and_mounted_anew(modules: Modules) -> None:
    fibers: list[Fiber] = []

    def apply(ctx: Context, _config: object) -> None:
        fibers.append(ctx.fiber)

    modules.add("own", plugin=Plugin(name="own", apply=apply))
    async with open_root() as root:
        mounted = await mount_profile(root, Profile(rows=rows("own")))
        await fibers[0].dispose()
        assert [(item.state, item.code) for item in mounted.report()] == [
            ("failed", "fiber-inactive")
        ]
        await mounted.apply(rows("own"))
        assert states(mounted) == {"own": "active"}


async def test_failing_disposers_are_raised_after_the_change_is_complete(
    modules: Modules,
) -> None:
    def apply(ctx: Context, _config: object) -> None:
        ctx.defer(lambda: 1 / 0)

    modules.add("messy", plugin=Plugin(name="messy", apply=apply))
    async with open_root() as root:
        mounted = await mount_profile(root, Profile(rows=rows("a=messy", "b=messy", "c=good")))
        with pytest.raises(ExceptionGroup) as caught:
            await mounted.apply(rows("c=good", "d=good"))
        assert [type(error) for error in caught.value.exceptions] == [ZeroDivisionError] * 2
        assert states(mounted) == {"c": "active", "d": "active"}


async def test_row_that_is_loading_is_reported_as_pending(modules: Modules) -> None:
    gate = anyio.Event()

    async def apply(ctx: Context, _config: object) -> None:
        await gate.wait()

    modules.add("slow", plugin=Plugin(name="slow", apply=apply))
    async with open_root() as root, anyio.create_task_group() as group:
        mounted = await mount_profile(root, Profile(rows=()))
        group.start_soon(mounted.apply, rows("a=slow"))
        while not mounted.report():
            await anyio.wait_all_tasks_blocked()
        assert states(mounted) == {"a": "pending"}
        gate.set()


async def test_cancelled_mounting_unmounts_what_was_mounted(modules: Modules) -> None:
    scope = anyio.CancelScope()

    async def apply(ctx: Context, _config: object) -> None:
        scope.cancel()
        await anyio.sleep_forever()

    modules.add("hangs", plugin=Plugin(name="hangs", apply=apply))
    async with open_root() as root:
        with scope:
            await mount_profile(root, Profile(rows=rows("a=good", "b=hangs")))
        assert scope.cancelled_caught
        assert modules.take() == ["a up 0", "a down"]


# Batches


class Runtime:
    """Counts what a memory runtime would: compositions, one at the end of each batch."""

    def __init__(self) -> None:
        self.depth = 0
        self.changed = False
        self.compositions = 0

    def change(self) -> None:
        self.changed = True
        self.settle()

    def settle(self) -> None:
        if self.depth == 0 and self.changed:
            self.changed = False
            self.compositions += 1

    @contextmanager
    def batch(self) -> Iterator[None]:
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
            self.settle()


@pytest.mark.parametrize("names", [("host", "a", "b"), ("a", "host", "b"), ("a", "b", "host")])
async def test_runtime_composes_once_for_all_rows(modules: Modules, names: tuple[str, ...]) -> None:
    runtime = Runtime()

    def host(ctx: Context, _config: object) -> None:
        ctx.provide("memory", runtime)

    def member(ctx: Context, _config: object) -> None:
        ctx.require("memory").change()
        ctx.defer(runtime.change)

    modules.add("host", plugin=Plugin(name="host", apply=host))
    modules.add("member", plugin=Plugin(name="member", apply=member, requires=("memory",)))
    listed = [name if name == "host" else f"{name}=member" for name in names]
    async with open_root() as root:
        mounted = await mount_profile(root, Profile(rows=rows(*listed)), batch=runtime.batch)
        assert runtime.compositions == 1
        await mounted.apply(rows("host", "b=member", "c=member", "d=member"))
        assert (runtime.compositions, runtime.depth) == (2, 0)
        await mounted.dispose()
        assert runtime.depth == 0
