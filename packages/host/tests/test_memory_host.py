"""Opening and closing a Host: what goes wrong is told as it is, and nothing is left behind."""

import sys

import anyio
import pytest
from dsh_mnemon_core.errors import (
    CompositionRejected,
    ConfigurationError,
    InputError,
    StorageError,
    TurnError,
)
from dsh_mnemon_core.profile import Profile, Row
from dsh_mnemon_host import MemoryHost

ADD = {"action": "add", "target": "memory", "content": "Build with nox"}


def put(key, value):
    return [{"op": "set", "path": key.split("."), "value": value}]


async def tasks():
    await anyio.wait_all_tasks_blocked()
    return {task.id for task in anyio.get_running_tasks()}


class Boom(Exception):
    pass


async def test_a_profile_file_opens_a_host_that_remembers(home, tmp_path):
    profile = tmp_path / "profile.yaml"
    profile.write_text(
        "version: 1\nentries:\n"
        "  - {id: mnemon, module: dsh_mnemon_host}\n"
        "  - {id: mnemon-source-runtime, module: dsh_mnemon_source_runtime}\n"
        "  - {id: strategy, module: dsh_mnemon_strategy_default_three_tier}\n",
        encoding="utf-8",
    )
    for expected in (0, 1):
        async with home.open(profile=profile) as host:
            assert {row.state for row in host.profile.report()} == {"active"}
            assert len(home.stored()) == expected
            await host.people.write_runtime(ADD)
    [entry] = home.stored()
    assert entry["content"] == "Build with nox"


async def test_defaults_are_the_current_folder_and_the_platforms_settings(
    home, monkeypatch, tmp_path
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("MNEMON_DATA_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.chdir(home.workspace)
    async with MemoryHost.open(profile=Profile(rows=())) as host:
        assert host.workspace == str(home.workspace)
        assert host.settings.path.parent.name == "dsh-mnemon"
        assert host.live.current.layout.root == tmp_path / "elsewhere"


async def test_a_relative_workspace_starts_at_the_current_folder(home, monkeypatch):
    monkeypatch.chdir(home.workspace.parent)
    async with home.open(workspace="workspace/../workspace") as host:
        assert host.workspace == str(home.workspace)


@pytest.mark.requirement("host:open:typed")
@pytest.mark.parametrize(
    ("options", "kind", "code"),
    [
        ({"profile": "missing"}, ConfigurationError, "profile-unreadable"),
        ({"settings": "a: [\n"}, ConfigurationError, "settings-malformed"),
        ({"settings": "timeoutMs: soon\n"}, ConfigurationError, "setting-type"),
        ({"overrides": {"timeoutMs": 1}}, ConfigurationError, "setting-range"),
        ({"settings": "storageScope: custom\n"}, ConfigurationError, None),
        ({"workspace": "\0"}, InputError, "workspace-not-absolute"),
    ],
    ids=["no profile", "no yaml", "wrong type", "out of range", "no dataDir", "no path"],
)
async def test_what_cannot_open_says_why_and_leaves_nothing(
    home, tmp_path, told, told_rows, options, kind, code
):
    before = await tasks()
    if "profile" in options:
        options = {"profile": tmp_path / "missing.yaml"}
    with pytest.raises(kind) as caught:
        async with home.open(*told_rows(), **options):
            pytest.fail("it must not open")
    assert code in (None, caught.value.code)
    assert await tasks() == before
    assert not home.data.exists()


@pytest.mark.requirement("host:open:typed")
async def test_a_composition_that_is_rejected_does_not_open(home, told_rows, strategy_row):
    before = await tasks()
    rows = (*told_rows(), strategy_row("second", type_id="second"))
    with pytest.raises(CompositionRejected) as caught:
        async with home.open(*rows, settings="memoryView: {strategyTypeId: none}\n"):
            pytest.fail("it must not open")
    assert caught.value.code == "strategy-type-unavailable"
    assert await tasks() == before


@pytest.mark.requirement("host:open:unwrapped")
@pytest.mark.parametrize("inside", ["host", "turn", "child task"])
async def test_an_exception_of_the_body_leaves_unwrapped(home, told, told_rows, inside):
    before = await tasks()
    with pytest.raises(Boom):  # noqa: PT012 - the point is where it is raised
        async with home.open(*told_rows()) as host:
            if inside == "host":
                raise Boom
            async with host.agent().turn():
                if inside == "turn":
                    raise Boom
                try:
                    async with anyio.create_task_group():
                        raise Boom
                except* Boom as group:
                    raise group.exceptions[0] from None
    assert await tasks() == before
    assert told.disposed == 1


@pytest.mark.requirement("host:open:unwrapped")
async def test_an_exception_of_the_body_wins_over_one_of_the_closing(home, told, told_rows, caplog):
    told.disposal = ValueError("stuck")
    with pytest.raises(Boom):
        async with home.open(*told_rows()):
            raise Boom
    assert "could not be closed cleanly" in caplog.text
    with pytest.raises(ExceptionGroup) as caught:
        async with home.open(*told_rows()):
            pass
    [error] = caught.value.exceptions
    assert "stuck" in str(error)


@pytest.mark.requirement("host:open:cancelled")
@pytest.mark.parametrize("phase", ["opening", "idle", "composing", "working"])
async def test_cancellation_closes_everything(home, told, told_rows, phase):
    before = await tasks()
    if phase in ("composing", "working"):
        told.hold({"composing": "facts", "working": "query"}[phase])
    with anyio.fail_after(5), anyio.CancelScope() as scope:
        if phase == "opening":
            scope.cancel()
        async with home.open(*told_rows()) as host:
            if phase == "idle":
                scope.cancel()
                await anyio.sleep_forever()
            async with anyio.create_task_group() as group:

                async def stop():
                    await told.reached({"composing": "facts", "working": "query"}[phase])
                    scope.cancel()

                group.start_soon(stop)
                async with host.agent().turn() as turn:
                    look = {"routeId": f"{told.key}/look", "input": {"query": "q"}}
                    await turn.call("mnemon_view_route", look)
    assert scope.cancelled_caught
    assert await tasks() == before
    assert told.disposed == (0 if phase == "opening" else 1)


async def test_closing_ends_the_turns_of_other_tasks(home, told, told_rows):
    told.hold("query")
    failures = []
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:

            async def other(agent):
                async with agent.turn() as turn:
                    look = {"routeId": f"{told.key}/look", "input": {"query": "q"}}
                    try:
                        await turn.call("mnemon_view_route", look)
                    except TurnError as error:
                        failures.append(error.code)

            async with home.open(*told_rows()) as host:
                group.start_soon(other, host.agent("a"))
                await told.reached("query")
    assert failures == ["turn-ended"]
    assert told.disposed == 1


async def test_a_row_that_fails_leaves_the_others(home, told_rows):
    rows = (*told_rows(), Row(id="gone", module="dsh_mnemon_nonesuch"))
    async with home.open(*rows) as host:
        states = {row.id: row.state for row in host.profile.report()}
        assert states == {"mnemon": "active", "told": "active", "plain": "active", "gone": "absent"}
        async with host.agent().turn() as turn:
            assert turn.problem is None


@pytest.mark.requirement("host:open:twice")
async def test_two_hosts_share_one_data_folder(home):
    async with home.open() as one, home.open() as two:
        first, second = one.agent("a"), two.agent("a")
        async with first.turn() as pinned, second.turn() as writing:
            assert (await writing.call("mnemon_runtime_memory", ADD))["entryCount"] == 1
            assert "Build with nox" not in pinned.messages[-1].text
        async with first.turn() as later:
            assert "Build with nox" in later.messages[-1].text

        async def write(host, number):
            await host.people.write_runtime({**ADD, "content": f"Fact {number}"})

        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                for number in range(10):
                    group.start_soon(write, (one, two)[number % 2], number)
        assert len(home.stored()) == 11


async def test_a_candidate_whose_value_cannot_be_stored_is_taken_down(home, told, told_rows):
    async with home.open(*told_rows()) as host:
        former = host.live.current

        def full(*_):
            raise StorageError("store-unwritable", "the disk is full")

        host.settings._file.replace = full
        with pytest.raises(StorageError):
            await host.settings.mutate("mnemon", put("timeoutMs", 999))
        await anyio.wait_all_tasks_blocked()
        assert host.live.current is former
        assert told.disposed == 1
        async with host.agent().turn() as turn:
            assert turn.problem is None
    assert told.disposed == 2


def test_importing_the_package_imports_nothing_heavy(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("dsh_mnemon_host")]:
        monkeypatch.delitem(sys.modules, name)
    import dsh_mnemon_host

    assert "dsh_mnemon_host.memory_host" not in sys.modules
    with pytest.raises(AttributeError, match="Nonesuch"):
        _ = dsh_mnemon_host.Nonesuch
