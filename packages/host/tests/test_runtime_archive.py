"""A full MEMORY.md goes to a Memory Space, and nothing is lost (host.md §15.2, sources.md §5.3)."""

import hashlib
import json

import anyio
import pytest
from dsh_mnemon_core.errors import AuthorityError, ConflictError, MnemonError, SourceFault
from dsh_mnemon_host.work.destinations import Destinations
from dsh_mnemon_host.work.runtime_archive import entry_source
from dsh_mnemon_source_memory_spaces.testing import EVERYTHING, Namespace

SMALL = "runtimeMemory: {memoryLimitBytes: 120}\n"
MORE = "the new fact that needs forty-five bytes here"
FACTS = {
    "critical 关键规则 one": "critical",
    "normal entry two": "normal",
    "low entry three": "low",
    "normal entry four": "normal",
}


def add(content, **more):
    return {"action": "add", "target": "memory", "content": content, **more}


async def fill(host):
    """Bring MEMORY.md to 85 of 120 bytes."""
    for content, importance in FACTS.items():
        await host.people.write_runtime(add(content, importance=importance))


def contents(home):
    return [entry["content"] for entry in home.stored()]


def lines(home, name):
    file = home.data / "runtime" / "archived" / name
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    return [json.loads(line) for line in text.splitlines()]


# -- where entries go -----------------------------------------------------------------------------


@pytest.mark.requirement("host:capacity:spaces")
@pytest.mark.parametrize("by", ["named tool", "generic tool", "child", "person"])
async def test_one_space_takes_every_entry_and_what_fits_stays_hot(home, full, by):
    async with full.open(settings=SMALL) as host:
        space = await full.space(host, "Project")
        await fill(host)
        async with host.agent().turn() as turn:
            if by == "named tool":
                result = await turn.call("mnemon_runtime_memory", add(MORE))
                assert result["memoryReceipt"]["completion"] == "committed"
            elif by == "generic tool":
                action = {"offerId": "source:mnemon-source-runtime/mutate", "input": add(MORE)}
                result = (await turn.call("mnemon_view_action", action))["details"]
            elif by == "child":
                child = await host.agent().child("b")
                async with child.turn() as own:
                    result = await own.call("mnemon_runtime_memory", add(MORE))
            else:
                result = (await host.people.write_runtime(add(MORE))).value
    assert full.kept(space) == list(FACTS)
    assert contents(home) == ["critical 关键规则 one", MORE]
    maintenance = dict(result["maintenance"])
    assert maintenance.pop("runId").startswith("host-")
    assert "Project" in maintenance.pop("summary")
    assert maintenance == {
        "kind": "mnemon-archive", "provider": "host", "memoryBodyIds": maintenance["memoryBodyIds"],
    }  # fmt: skip
    assert list(maintenance["memoryBodyIds"]) == [space]
    assert lines(home, "MEMORY.jsonl") == []


async def test_copies_say_what_an_entry_was_and_lineage_where_it_went(home, full):
    async with full.open(settings=SMALL) as host:
        space = await full.space(host, "Project")
        branch = "feature/" + "x" * 120
        await host.people.write_runtime(
            add("for one branch only", importance="low", branches=[branch])
        )
        await host.people.write_runtime(add("for all of them", importance="critical"))
        plan = await (await host.people.source("runtime")).read("maintenance-plan", add("y" * 90))
        await host.people.write_runtime(add("y" * 90))
    one, other = full.native.namespaces[space]
    assert (one.category, one.source, one.importance) == ("context", "agent", 1)
    assert one.tags == (f"branch:{branch}"[:100],)
    assert (other.importance, other.tags) == (5, ())
    written = lines(home, "lineage.jsonl")
    ends = [row.get("lineage", row) for row in written]
    text = json.dumps(ends, ensure_ascii=False)
    for place, item in enumerate((one, other), 1):
        assert f"runtime:{plan['revision']}:memory:{place}" in text
        assert f"memory-space:{space}/item:{item.id}" in text
        assert hashlib.sha256(item.content.encode()).hexdigest() in text


async def test_of_several_the_native_default_takes_them_else_the_first(home, full):
    full.other.namespaces["team"] = Namespace()
    async with full.open(settings=SMALL) as host:
        await full.space(host, "First")
        second = await full.space(host, "Second")
        await full.connect(host)
        (home.data / "active").write_text(second, encoding="utf-8")
        await fill(host)
        result = (await host.people.write_runtime(add(MORE))).value
        assert list(result["maintenance"]["memoryBodyIds"]) == [second]
        assert full.kept(second) == list(FACTS)
        assert full.kept("default") == full.kept("team", full.other) == []
        request = {"memoryBodyId": second, "active": False}
        await host.people.change("memory-spaces", "body-update", request, capability="write")
        result = (await host.people.write_runtime(add("z" * 60))).value
        assert list(result["maintenance"]["memoryBodyIds"]) == ["default"]


@pytest.mark.parametrize("why", ["no Space", "inactive", "layer off", "manual writes", "damaged"])
async def test_without_any_space_that_could_take_them_entries_stay_local(home, full, why):
    settings = SMALL
    layer = {"layer off": "enabled: false", "manual writes": "participation: {write: manual}"}
    if why in layer:
        settings += f"memoryTopology: {{layers: {{memory-spaces: {{{layer[why]}}}}}}}\n"
    async with full.open(settings=None) as host:
        if why != "no Space":
            await full.space(host, "Project", active=why != "inactive")
        if why == "damaged":
            (home.data / "data" / ".dsh-memory-bodies.json").write_text("{", encoding="utf-8")
    async with full.open(settings=settings) as host:
        await fill(host)
        result = (await host.people.write_runtime(add(MORE))).value
    assert result["maintenance"]["kind"] == "local-archive"
    assert [row["content"] for row in lines(home, "MEMORY.jsonl")] == list(FACTS)[1:]
    assert contents(home) == ["critical 关键规则 one", MORE]
    assert not [call for call in full.native.calls if call[0] == "remember"]


async def test_spaces_that_only_collect_or_cannot_forget_take_nothing(home, full, provider_module):
    """Their content could not be proven, or never be taken back."""
    unfit = {"slow": {"write_mode": "async-extracting"}, "firm": {"forget": False}}
    providers = [
        provider_module(name, full.other, capabilities={**EVERYTHING, **change})
        for name, change in unfit.items()
    ]
    full.other.namespaces["team"] = Namespace()
    async with full.open(settings=SMALL, spaces={"providers": providers}) as host:
        for name in unfit:
            await full.connect(host, name)
        await fill(host)
        result = (await host.people.write_runtime(add(MORE))).value
    assert result["maintenance"]["kind"] == "local-archive"
    assert full.kept("team", full.other) == []


async def test_a_space_beyond_the_scope_of_the_turn_is_not_used_and_says_so(home, full):
    async with full.open(settings=SMALL) as host:
        await fill(host)
        agent = host.agent()
        before = home.stored()
        async with agent.turn() as turn:
            space = await full.space(host, "Made after the View was pinned")
            with pytest.raises(AuthorityError) as caught:
                await turn.call("mnemon_runtime_memory", add(MORE, importance="low"))
        assert caught.value.code == "runtime-archive-out-of-scope"
        assert caught.value.details == {
            "spacesInScope": 0,
            "spacesOutsideScope": 1,
            "pending": {"content": MORE, "importance": "low"},
        }
        assert (home.stored(), full.kept(space)) == (before, [])
        async with agent.turn() as turn:
            await turn.call("mnemon_runtime_memory", add(MORE))
        assert full.kept(space) == list(FACTS)


async def test_a_space_that_this_turn_made_is_in_its_scope(home, full):
    async with full.open(settings=SMALL) as host:
        await fill(host)
        async with host.agent().turn() as turn:
            made = await turn.call(
                "mnemon_memory_body_create", {"name": "New", "description": "New"}
            )
            space = made["memoryBodyId"]
            changes = {"memoryBodyId": space, "active": True}
            await turn.call("mnemon_memory_body_update", changes)
            await turn.call("mnemon_runtime_memory", add(MORE))
        assert full.kept(space) == list(FACTS)


# -- what can go wrong ----------------------------------------------------------------------------

ID = {"id": "x"}


@pytest.mark.requirement("host:capacity:spaces")
@pytest.mark.parametrize(
    "answer",
    [
        {"action": "skipped", **ID},
        {"status": "accepted", **ID},
        {"status": "candidate", **ID},
        {"status": "failed", **ID},
        {"status": "cancelled", **ID},
        {"action": "stored", "errors": ["no"], **ID},
        {"success": True, **ID},
        {},
        "rubbish",
        RuntimeError("boom"),
    ],
    ids=str,
)
async def test_what_proves_nothing_moves_nothing(home, full, answer):
    async with full.open(settings=SMALL) as host:
        space = await full.space(host, "Project")
        await fill(host)
        before = home.stored()
        if isinstance(answer, Exception):
            full.native.fail("remember", answer)
        else:
            full.native.answer("remember", answer)
        with pytest.raises(SourceFault) as caught:
            await host.people.write_runtime(add(MORE))
        assert caught.value.code == "archive-unproven"
        assert caught.value.details["memoryBodyId"] == space
        assert caught.value.details["pending"]["content"] == MORE
        json.dumps(caught.value.to_wire())
        assert home.stored() == before
        assert lines(home, "MEMORY.jsonl") == lines(home, "lineage.jsonl") == []
        full.native.heal()
        await host.people.write_runtime(add(MORE))
    assert contents(home) == ["critical 关键规则 one", MORE]
    assert full.kept(space) == list(FACTS)


async def test_entries_that_are_there_already_count_when_they_are_found_word_for_word(home, full):
    async with full.open(settings=SMALL) as host:
        space = await full.space(host, "Project")
        for content in FACTS:
            memory = {"content": content, "memoryBodyId": space}
            await host.people.change("memory-spaces", "remember", memory, capability="write")
        ids = [item.id for item in full.native.namespaces[space]]
        await fill(host)
        await host.people.write_runtime(add(MORE))
    assert full.kept(space) == list(FACTS)
    text = json.dumps(lines(home, "lineage.jsonl"))
    assert all(f"item:{item}" in text for item in ids)


async def test_copies_that_were_written_before_a_failure_stay(home, full):
    async with full.open(settings=SMALL) as host:
        space = await full.space(host, "Project")
        await fill(host)
        (home.data / "runtime" / "archived").write_text("in the way", encoding="utf-8")
        before = home.stored()
        with pytest.raises(MnemonError) as caught:
            await host.people.write_runtime(add(MORE))
        assert home.stored() == before
        assert full.kept(space) == list(FACTS)
        assert len(caught.value.details["copies"]) == 4
        assert caught.value.details["pending"]["content"] == MORE
        (home.data / "runtime" / "archived").unlink()
        await host.people.write_runtime(add(MORE))
    assert full.kept(space) == list(FACTS), "copies are not doubled by the next try"


async def test_a_cancelled_archive_loses_nothing(home, full):
    async with full.open(settings=SMALL) as host:
        await full.space(host, "Project")
        await fill(host)
        before = home.stored()
        full.native.hang("remember")
        with anyio.move_on_after(0.5):
            await host.people.write_runtime(add(MORE))
        assert home.stored() == before
        full.native.heal()
        await host.people.write_runtime(add(MORE))


# -- over Sources that do as they are told --------------------------------------------------------

FULL = MnemonError("runtime-capacity", "full")
PLAN = {
    "revision": "s1",
    "viewRevision": "r1",
    "target": "memory",
    "entries": ({"content": "a", "importance": "normal"},),
    "pending": {"content": "b"},
    "limit": 100,
    "requiresMaintenance": True,
}
BODY = {
    "id": "s",
    "name": "S",
    "active": True,
    "providerEnabled": True,
    "native": True,
    "capabilities": {"writeMode": "exact", "remember": True, "forget": True},
}
STORED = {"results": [{"action": "stored", "id": "m", "memoryBodyId": "s"}]}


@pytest.fixture
async def bench(home, told, told_rows, source_row, make_told):
    """Return an open Host and what its Memory Spaces answer."""
    spaces = make_told(answer={"body-directory": {"bodies": [BODY]}, "remember-many": STORED})
    told.failures["mutate"] = FULL
    told.answer = {"maintenance-plan": PLAN, "compact-and-mutate": {"done": True}}
    rows = told_rows(strategy={"workflow": "runtime-capacity"})
    row = source_row("spaces", spaces, type_id="memory-spaces", action="remember", grant=("s",))
    async with home.open(*rows, row) as host:
        yield host, spaces


async def write(host):
    async with host.agent().turn() as turn:
        return await turn.call("mnemon_runtime_memory", add("b"))


def phases(told):
    return [phase for phase, _ in told.calls if phase.startswith("manage")]


async def test_a_source_without_a_write_scope_is_kept_to_what_the_view_reads(bench, told):
    host, spaces = bench
    answer = await write(host)
    assert answer["maintenance"]["memoryBodyIds"] == ["s"]
    assert phases(spaces) == ["manage body-directory", "manage remember-many"]
    sent = spaces.calls[-1][1]["requests"]
    assert [dict(item) for item in sent] == [
        {"memoryBodyId": "s", "content": "a", "category": "context", "importance": 3,
         "source": "agent", "tags": ()},
    ]  # fmt: skip
    spaces.answer["body-directory"] = {"bodies": [BODY | {"id": "t"}]}
    with pytest.raises(AuthorityError) as caught:
        await write(host)
    assert caught.value.code == "runtime-archive-out-of-scope"


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ({"results": []}, "archive-unproven"),
        ({}, "archive-unproven"),
        ({"results": [{"action": "stored", "memoryBodyId": "t"}]}, "archive-receipt-foreign"),
    ],
)
async def test_answers_that_do_not_fit_stop_before_runtime_is_touched(bench, told, answers, error):
    host, spaces = bench
    spaces.answer["remember-many"] = answers
    with pytest.raises(MnemonError) as caught:
        await write(host)
    assert caught.value.code == error
    assert "manage compact-and-mutate" not in phases(told)


async def test_a_scope_of_another_view_is_refused(bench, told):
    host, spaces = bench
    scope = {"viewId": "other", "sourceInstanceKey": spaces.key, "memoryBodyIds": ["s"]}
    spaces.answer["body-directory"] = {"bodies": [BODY], "writeScope": scope}
    with pytest.raises(ConflictError) as caught:
        await write(host)
    assert caught.value.code == "write-scope-foreign"
    assert phases(spaces) == ["manage body-directory"]


async def test_a_source_of_another_make_is_no_destination(bench, told):
    host, spaces = bench
    spaces.answer["body-directory"] = {"rooms": [{}]}
    told.answer["archive-and-mutate"] = {"kept": "here"}
    assert (await write(host))["kept"] == "here"


async def test_a_plan_that_moved_stops_before_anything_is_written(bench, told):
    host, spaces = bench
    plans = iter([PLAN, PLAN | {"revision": "s2"}] * 5)

    class Moving(dict):
        def get(self, key, default=None):
            return next(plans) if key == "maintenance-plan" else super().get(key, default)

    told.answer = Moving(told.answer)
    with pytest.raises(ConflictError) as caught:
        await write(host)
    assert caught.value.code == "revision-conflict"
    assert "manage remember-many" not in phases(spaces)


async def test_a_conflict_after_the_copies_names_them_and_is_tried_again(bench, told):
    host, spaces = bench
    told.failures["manage compact-and-mutate"] = ConflictError("revision-conflict", "moved")
    with pytest.raises(ConflictError) as caught:
        await write(host)
    assert caught.value.details["copies"] == ["memory-space:s/item:m"]
    assert caught.value.details["pending"] == {"content": "b"}
    assert phases(spaces).count("manage remember-many") == 5


async def test_more_than_a_thousand_entries_go_in_parts(bench, told):
    host, spaces = bench
    entries = tuple({"content": f"e{n}", "importance": "low"} for n in range(2300))
    told.answer["maintenance-plan"] = PLAN | {"entries": entries}
    sizes = []

    class Counting(dict):
        def get(self, key, default=None):
            if key != "remember-many":
                return super().get(key, default)
            count = len(spaces.calls[-1][1]["requests"])
            sizes.append(count)
            return {"results": [{"action": "stored"}] * count}

    spaces.answer = Counting(spaces.answer)
    await write(host)
    assert sizes == [1000, 1000, 300]
    assert len(told.calls[-1][1]["lineage"]) == 2300


async def test_several_sources_of_the_type_and_no_default_are_an_error(
    bench, told, home, told_rows, source_row, make_told
):
    rows = told_rows(strategy={"workflow": "runtime-capacity"})
    twins = [
        source_row(name, make_told(), type_id="memory-spaces", action="remember")
        for name in ("one", "two")
    ]
    async with home.open(*rows, *twins) as host:
        with pytest.raises(AuthorityError) as caught:
            await write(host)
    assert caught.value.code == "source-ambiguous"


def test_without_a_space_there_is_nothing_to_choose():
    with pytest.raises(AuthorityError) as caught:
        Destinations(outside=1).chosen()
    assert caught.value.code == "memory-space-missing"


def test_the_source_of_lineage_is_the_entry_as_runtime_keeps_it():
    entry = {"content": "新", "importance": "low", "branches": ["b"], "created_at": "now"}
    end = entry_source("r", 2, entry)
    shown = '{"content":"新","importance":"low","branches":["b"]}'
    assert end.reference == "runtime:r:memory:2"
    assert end.digest == hashlib.sha256(shown.encode()).hexdigest()


# -- with the real engine -------------------------------------------------------------------------

ODD = [
    "the of and",
    "!?…",
    "😀😀",
    "是",
    "C++ is not C#",
    'NEAR(a b) OR "x" * -y',
    "字" * 900,
    "word " * 500 + "end",
    "x" * 3000,
    "two kinds of quotes: ' and \"",
]


@pytest.mark.requirement("host:capacity:spaces")
async def test_the_native_engine_takes_anything_and_proves_it_again_the_next_time(home, full):
    native = {"providers": ["dsh_mnemon_provider_mnemon_native"]}
    async with full.open(
        spaces=native, settings="runtimeMemory: {memoryLimitBytes: 40000}\n"
    ) as host:
        await full.space(host, "Project")
        written = [*ODD, *(f"{place}{letter * 8191}" for place in range(3) for letter in "yz")]
        kinds = []
        for content in written:
            importance = "critical" if content in ODD else "low"
            result = (await host.people.write_runtime(add(content, importance=importance))).value
            kinds += [result["maintenance"]["kind"]] if "maintenance" in result else []
        assert len(kinds) > 1, "what stays hot is sent again by the next archive"
        assert set(kinds) == {"mnemon-archive"}
        session = await host.people.source("memory-spaces")
        kept = [item["content"] for item in (await session.read("list", {}))["items"]]
    assert set(ODD) <= set(contents(home)) & set(kept)
    assert set(written) <= set(contents(home)) | set(kept)
    assert len(kept) == len(set(kept))
