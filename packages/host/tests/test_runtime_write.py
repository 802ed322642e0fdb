"""What follows when a Runtime limit would be passed (host.md §15)."""

import json
from functools import partial

import anyio
import pytest
from dsh_mnemon_core.errors import CapacityError, ConflictError, ManagementError, MnemonError
from dsh_mnemon_host.work.runtime_write import host_budget

SMALL = "runtimeMemory: {memoryLimitBytes: 120, userLimitBytes: 60}\n"
RANKED = {
    "critical": "critical 关键规则 one",
    "normal": "normal entry two",
    "low": "low entry three",
}


def add(content, target="memory", **more):
    return {"action": "add", "target": target, "content": content, **more}


def archived(home):
    file = home.data / "runtime" / "archived" / "MEMORY.jsonl"
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def contents(home):
    return [entry["content"] for entry in home.stored()]


def files(home):
    return {
        path.name: path.read_bytes()
        for path in sorted((home.data / "runtime").iterdir())
        if path.suffix in (".md", ".json") and not path.name.startswith(".")
    }


async def fill(host):
    """Bring MEMORY.md to 85 of 120 bytes."""
    for importance, content in RANKED.items():
        await host.people.write_runtime(add(content, importance=importance))
    await host.people.write_runtime(add("normal entry four"))


@pytest.mark.parametrize(
    ("plan", "budget"),
    [
        ({"limit": 10_240, "pending": {"content": "新条目"}, "entries": [1]}, 7_155),
        ({"limit": 10_240, "pending": {"content": "新条目"}, "entries": []}, 7_159),
        ({"limit": 10_240, "entries": [1]}, 7_168),
        ({"limit": 11, "entries": [1]}, 7),
        ({"limit": 10, "pending": {"content": "x" * 9}, "entries": [1]}, 0),
    ],
)
def test_budget_is_seven_tenths_less_the_pending_entry(plan, budget):
    assert host_budget(plan) == budget


@pytest.mark.requirement("host:capacity:local-archive")
@pytest.mark.parametrize("by", ["named tool", "generic tool", "child", "person"])
async def test_a_full_memory_is_archived_locally_in_the_same_commit(home, by):
    async with home.open(settings=SMALL) as host:
        await fill(host)
        pending = add("the new fact that needs forty-five bytes here")
        async with host.agent().turn() as turn:
            if by == "named tool":
                result = await turn.call("mnemon_runtime_memory", pending)
            elif by == "generic tool":
                action = {"offerId": "source:mnemon-source-runtime/mutate", "input": pending}
                receipt = await turn.call("mnemon_view_action", action)
                assert receipt["completion"] == "committed"
                assert receipt["status"] == "succeeded"
                assert receipt["offerId"] == action["offerId"]
                result = receipt["details"]
            elif by == "child":
                child = await host.agent().child("b")
                async with child.turn() as own:
                    result = await own.call("mnemon_runtime_memory", pending)
            else:
                result = (await host.people.write_runtime(pending)).value
    # 120 * 7 // 10 - 45 - 4 = 35 bytes stay: the critical entry, and nothing beside it.
    assert contents(home) == ["critical 关键规则 one", pending["content"]]
    assert [entry["content"] for entry in archived(home)] == [
        "normal entry two",
        "low entry three",
        "normal entry four",
    ]
    assert result["added"] == pending["content"]
    assert result["maintenance"]["kind"] == "local-archive"
    assert result["maintenance"]["provider"] == "host"
    assert result["maintenance"]["memoryBodyIds"] in ([], ())


@pytest.mark.requirement("host:capacity:user-needs-model")
@pytest.mark.parametrize("by", ["tool", "person"])
async def test_a_full_user_profile_asks_for_a_model_and_loses_nothing(home, by):
    async with home.open(settings=SMALL) as host:
        await host.people.write_runtime(add("Prefers short answers in British English", "user"))
        before = files(home)
        pending = add("Works in Berlin and speaks German", "user", importance="critical")
        async with host.agent().turn() as turn:
            call = partial(turn.call, "mnemon_runtime_memory")
            with pytest.raises(CapacityError) as caught:
                await (call if by == "tool" else host.people.write_runtime)(pending)
        assert caught.value.code == "model-unavailable"
        assert caught.value.details["pending"] == {
            "content": pending["content"],
            "importance": "critical",
        }
        json.dumps(caught.value.to_wire())
        assert files(home) == before
        assert archived(home) == []


@pytest.mark.requirement("host:capacity:nothing-to-move")
async def test_an_entry_that_nothing_can_make_room_for_is_refused(home):
    async with home.open(settings=SMALL) as host:
        pending = add("x" * 121)
        with pytest.raises(CapacityError) as caught:
            await host.people.write_runtime(pending)
        assert caught.value.code == "runtime-capacity"
        assert caught.value.details["pending"]["content"] == pending["content"]
        assert not (home.data / "runtime" / "memories.json").exists()


async def test_an_entry_above_the_limit_leaves_the_others_alone(home):
    async with home.open(settings=SMALL) as host:
        await fill(host)
        before = files(home)
        with pytest.raises(CapacityError):
            await host.people.write_runtime(add("x" * 121))
        assert files(home) == before
        assert archived(home) == []


@pytest.mark.requirement("host:capacity:other-strategy")
async def test_a_strategy_without_the_rule_gets_the_plain_refusal(home, strategy_row):
    from dsh_mnemon_core.profile import Row

    runtime = Row(id="mnemon-source-runtime", module="dsh_mnemon_source_runtime")
    async with home.open(runtime, strategy_row("plain"), settings=SMALL) as host:
        await fill(host)
        before = files(home)
        pending = add("the new fact that needs forty-five bytes here")
        async with host.agent().turn() as turn:
            for call in (
                lambda: turn.call("mnemon_runtime_memory", pending),
                lambda: turn.call(
                    "mnemon_view_action",
                    {"offerId": "source:mnemon-source-runtime/mutate", "input": pending},
                ),
                lambda: host.people.write_runtime(pending),
            ):
                with pytest.raises(CapacityError) as caught:
                    await call()
                assert caught.value.code == "runtime-capacity"
        assert files(home) == before
        assert archived(home) == []


@pytest.mark.requirement("host:capacity:conflict")
async def test_a_plan_that_somebody_overtook_changes_nothing(home):
    """Another process writes between the plan and the archive."""
    async with home.open(settings=SMALL) as host, home.open(settings=SMALL) as other:
        await fill(host)
        source = await host.people.source("runtime")
        plan = await source.read("maintenance-plan", add("y" * 45))
        await other.people.write_runtime(add("z"))
        before = files(home)
        request = {"revision": plan["revision"], "mutation": add("y" * 45), "maxBytes": 35}
        with pytest.raises(MnemonError) as caught:
            await source.mutate("archive-and-mutate", request, plan["viewRevision"])
        assert caught.value.code in ("revision-conflict", "management-revision-conflict")
        assert files(home) == before
        assert archived(home) == []


# -- the queue, over a Source that does as it is told ---------------------------------------------

FULL = CapacityError("runtime-capacity", "full", details={"used": 1})
PLAN = {
    "revision": "s1",
    "viewRevision": "r1",
    "target": "memory",
    "entries": ({"content": "a"},),
    "pending": {"content": "b"},
    "limit": 100,
    "requiresMaintenance": True,
}


@pytest.fixture
async def bench(home, told, told_rows):
    async with home.open(*told_rows(strategy={"workflow": "runtime-capacity"})) as host:
        yield host


def phases(told):
    return [phase for phase, _ in told.calls if phase.startswith(("manage", "mutate"))]


async def write(host):
    async with host.agent().turn() as turn:
        return await turn.call("mnemon_runtime_memory", add("b"))


async def test_plan_and_archive_follow_a_refusal(bench, told):
    told.failures["mutate"] = FULL
    told.answer = {"maintenance-plan": PLAN, "archive-and-mutate": {"done": True}}
    answer = await write(bench)
    assert phases(told) == ["mutate", "manage maintenance-plan", "manage archive-and-mutate"]
    assert told.calls[-1][1] == {
        "revision": "s1",
        "mutation": add("b"),
        "maxBytes": 100 * 7 // 10 - 1 - 4,
    }
    assert answer["done"] is True
    assert answer["revision"] == "r1"


async def test_a_plan_that_needs_nothing_commits_again(bench, told):
    told.answer = {"maintenance-plan": {**PLAN, "requiresMaintenance": False}}
    told.failures["mutate"] = FULL
    with pytest.raises(CapacityError):
        await write(bench)
    assert phases(told) == ["mutate", "manage maintenance-plan", "mutate"]


async def test_other_refusals_are_passed_on(bench, told):
    told.failures["mutate"] = ConflictError("entry-ambiguous", "two")
    with pytest.raises(ConflictError):
        await write(bench)
    assert phases(told) == ["mutate"]


ROUND = ["mutate", "manage maintenance-plan", "manage archive-and-mutate"]


@pytest.mark.requirement("host:capacity:conflict")
async def test_a_plan_that_was_overtaken_is_made_again(bench, told):
    class Once(dict):
        def __getitem__(self, phase):
            return self.pop(phase) if phase.startswith("manage") else super().__getitem__(phase)

    moved = ManagementError("management-revision-conflict", "moved")
    told.failures = Once({"mutate": FULL, "manage archive-and-mutate": moved})
    told.answer = {"maintenance-plan": PLAN, "archive-and-mutate": {"done": True}}
    assert (await write(bench))["done"] is True
    assert phases(told) == ROUND * 2


async def test_a_store_that_never_rests_is_given_up(bench, told):
    told.failures["mutate"] = FULL
    told.failures["manage archive-and-mutate"] = ConflictError("revision-conflict", "moved")
    told.answer = {"maintenance-plan": PLAN}
    with pytest.raises(ConflictError) as caught:
        await write(bench)
    assert caught.value.code == "revision-conflict"
    assert phases(told) == ROUND * 5


async def test_writes_come_one_after_another(bench, told):
    release = told.hold("mutate")
    done = []

    async def run(name):
        async with bench.agent(name).turn() as turn:
            await turn.call("mnemon_runtime_memory", add(name))
            done.append(name)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, "a")
            await told.reached("mutate")
            for name in ("b", "c"):
                tasks.start_soon(run, name)
                await anyio.wait_all_tasks_blocked()
            assert phases(told) == ["mutate"]
            release()
    assert done == ["a", "b", "c"]


async def test_a_waiting_write_that_is_cancelled_leaves_the_queue(bench, told):
    release = told.hold("mutate")
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            scope = anyio.CancelScope()

            async def first():
                async with bench.agent("a").turn() as turn:
                    await turn.call("mnemon_runtime_memory", add("a"))

            async def waiting():
                with scope:
                    async with bench.agent("b").turn() as turn:
                        await turn.call("mnemon_runtime_memory", add("b"))

            tasks.start_soon(first)
            await told.reached("mutate")
            tasks.start_soon(waiting)
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
            await anyio.wait_all_tasks_blocked()
            release()
    assert phases(told) == ["mutate"]
    assert (await write(bench))["memoryReceipt"]["completion"] == "committed"
