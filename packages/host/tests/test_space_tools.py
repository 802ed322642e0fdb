"""Long-term memory by named tools, under Layered and under General (host.md §8, core.md §11.1)."""

import json

import attrs
import pytest
from dsh_mnemon_core.errors import AuthorityError, InputError, MnemonError

FACTS = [
    "We chose Postgres because of row level security",
    "The Postgres upgrade to 17 is planned for March",
    "Releases are cut from the main branch on Mondays",
    "Anna owns the billing service",
    "The staging cluster runs in Frankfurt",
    "我们选择了本地优先的架构",
    "Nightly builds run at two in the morning",
    "The API gateway times out after thirty seconds",
    "Feature flags live in the settings service",
    "Invoices are rounded half to even",
]
BOTH = pytest.mark.parametrize("general", [False, True], ids=["layered", "general"])


async def remember(turn, *contents, **more):
    return [
        await turn.call("mnemon_remember", {"content": content, **more}) for content in contents
    ]


async def test_a_memory_that_was_not_kept_is_an_error(full):
    """An answer that looks like any other would be taken for a memory that is kept."""
    native = {"providers": ["dsh_mnemon_provider_mnemon_native"]}
    async with full.open(spaces=native) as host, host.agent().turn() as turn:
        made = await turn.call(
            "mnemon_memory_body_create", {"name": "Project", "description": "All of it"}
        )
        for content in ("x" * 8_001, "字" * 3_000):
            with pytest.raises(MnemonError, match="8000") as caught:
                await remember(turn, content, memoryBodyId=made["memoryBodyId"])
            assert caught.value.code == "invalid-input"
            assert caught.value.message.startswith("nothing was changed: content has ")
            assert caught.value.details["memoryReceipt"]["completion"] == "failed"
        (kept,) = await remember(turn, "Short enough", memoryBodyId=made["memoryBodyId"])
        assert "semantic_candidates" not in kept
        (again,) = await remember(turn, "Short enough", memoryBodyId=made["memoryBodyId"])
        assert (again["action"], again["id"]) == ("skipped", kept["id"])


# -- a conversation -------------------------------------------------------------------------------


@pytest.mark.requirement("host:tools:spaces")
@BOTH
@pytest.mark.parametrize("engine", ["in memory", "native"])
async def test_facts_are_kept_found_followed_and_forgotten(home, full, general, engine):
    native = {"providers": ["dsh_mnemon_provider_mnemon_native"]}
    async with full.open(general=general, spaces=native if engine == "native" else None) as host:
        agent = host.agent()
        async with agent.turn() as turn:
            made = await turn.call(
                "mnemon_memory_body_create", {"name": "Project", "description": "All of it"}
            )
            assert made["memoryReceipt"]["completion"] == "committed"
            assert made["body"]["name"] == "Project"
            kept = await remember(turn, *FACTS, memoryBodyId=made["memoryBodyId"])
            assert all(item["memoryReceipt"]["completion"] == "committed" for item in kept)
        ids = {item.get("id"): content for item, content in zip(kept, FACTS, strict=True)}
        async with agent.turn() as turn:
            found = await turn.call("mnemon_recall", {"query": "why Postgres row level security"})
            assert (found["query"], found["mode"]) == ("why Postgres row level security", "smart")
            first = found["results"][0]
            assert (first["content"], ids[first["id"]]) == (FACTS[0], FACTS[0])
            assert first["memoryBodyName"] == "Project"
            assert ("hint" in found) is not general
            second = await turn.call("mnemon_recall", {"query": "Postgres upgrade"})
            ends = {"sourceId": first["id"], "targetId": second["results"][0]["id"]}
            assert second["results"][0]["content"] == FACTS[1]
            linked = await turn.call("mnemon_link", {**ends, "type": "causal", "reason": "so"})
            assert linked["memoryReceipt"]["completion"] == "committed"
        async with agent.turn() as turn:
            await turn.call("mnemon_recall", {"query": "row level security"})
            near = await turn.call("mnemon_related", {"id": first["id"], "edge": "causal"})
            assert (near["query"], near["mode"]) == (f"related:{first['id']}", "related")
            assert FACTS[1] in [row["content"] for row in near["results"]]
            gone = await turn.call("mnemon_forget", {"id": first["id"]})
            assert gone["memoryReceipt"]["completion"] == "committed"
        async with agent.turn() as turn:
            found = await turn.call("mnemon_recall", {"query": "why Postgres row level security"})
            assert FACTS[0] not in [row["content"] for row in found["results"]]


@pytest.mark.requirement("host:tools:envelope")
async def test_layered_answers_two_queries_and_replays_the_third(full):
    async with full.open() as host:
        await full.space(host, "Project")
        agent = host.agent()
        async with agent.turn() as turn:
            await remember(turn, *(f"billing rule {n} " + "x" * 1500 for n in range(8)))
        async with agent.turn() as turn:
            first = await turn.call("mnemon_recall", {"query": "billing rule", "limit": 20})
            again = await turn.call("mnemon_recall", {"query": "Billing  RULE"})
            second = await turn.call("mnemon_recall", {"query": "rule of billing"})
            third = await turn.call("mnemon_recall", {"query": "rule"})
        assert [row["id"] for row in first["results"]] == [row["id"] for row in again["results"]]
        shown = [*first["results"], *second["results"]]
        assert len(first["results"]) <= 4
        assert len(shown) <= 6
        assert sum(len(row["content"]) for row in first["results"]) <= 3600
        assert sum(len(row["content"]) for row in shown) <= 4800
        assert third["results"] == second["results"]
        assert len([call for call in full.native.calls if call[0] == "search"]) == 2
        assert len({item["hint"] for item in (first, again, second, third)}) == 4


@pytest.mark.requirement("host:tools:spaces")
async def test_general_shows_rows_plainly_within_the_limits_of_the_route(full):
    async with full.open(general=True) as host:
        await full.space(host, "Project")
        agent = host.agent()
        async with agent.turn() as turn:
            await remember(turn, *(f"billing rule {n}" for n in range(8)))
        async with agent.turn() as turn:
            found = await turn.call("mnemon_recall", {"query": "billing rule", "limit": 7})
            assert set(found) == {"query", "mode", "results"}
            row = found["results"][0]
            assert {"id", "content", "score", "revision", "memoryBodyId"} <= set(row)
            assert all(value is not None for value in row.values())
            for _ in range(3):
                await turn.call("mnemon_recall", {"query": "billing rule"})
            with pytest.raises(MnemonError) as caught:
                await turn.call("mnemon_recall", {"query": "billing rule"})
            assert caught.value.code == "route-calls-exhausted"


async def test_general_leaves_out_what_a_row_does_not_have(full):
    native = {"providers": ["dsh_mnemon_provider_mnemon_native"]}
    async with full.open(general=True, spaces=native) as host:
        await full.space(host, "Project")
        async with host.agent().turn() as turn:
            await remember(turn, "rule one")
        async with host.agent().turn() as turn:
            (row,) = (await turn.call("mnemon_recall", {"query": "rule", "mode": "basic"}))[
                "results"
            ]
        assert row["content"] == "rule one"
        assert "score" not in row


@BOTH
async def test_what_no_provider_answered_is_said(full, general):
    async with full.open(general=general, settings="timeoutMs: 100\n") as host:
        await full.space(host, "Project")
        agent = host.agent()
        full.native.hang("search")
        async with agent.turn() as turn:
            found = await turn.call("mnemon_recall", {"query": "anything"})
        assert found["results"] == []
        assert "Project" in found["unavailable"]


async def test_two_providers_and_one_that_hangs_are_one_answer(full):
    full.other.namespaces["team"] = type(full.native)("x").namespaces["x"]
    full.other.namespaces["slow"] = type(full.native)("x").namespaces["x"]
    async with full.open(settings="timeoutMs: 300\n") as host:
        project = await full.space(host, "Project")
        await full.connect(host)
        session = await host.people.source("memory-spaces")
        bodies = (await session.read("body-directory", {}))["bodies"]
        team = next(body["id"] for body in bodies if body["name"] == "Team")
        agent = host.agent()
        async with agent.turn() as turn:
            await remember(turn, "rule one", memoryBodyId=project)
            await remember(turn, "rule two", memoryBodyId=team)
        full.other.hang("search", namespace="slow")
        async with agent.turn() as turn:
            found = await turn.call("mnemon_recall", {"query": "rule"})
        origins = {row["content"]: row["memoryProviderId"] for row in found["results"]}
        assert origins == {"rule one": "native", "rule two": "other"}


# -- what is refused ------------------------------------------------------------------------------


@BOTH
async def test_ids_that_no_recall_showed_are_refused(full, general):
    async with full.open(general=general) as host:
        await full.space(host, "Project")
        agent = host.agent()
        async with agent.turn() as turn:
            (kept,) = await remember(turn, "rule one")
        async with agent.turn() as turn:
            for name, input in (
                ("mnemon_forget", {"id": kept["id"]}),
                ("mnemon_link", {"sourceId": kept["id"], "targetId": kept["id"]}),
            ):
                with pytest.raises(AuthorityError) as caught:
                    await turn.call(name, input)
                assert caught.value.code == "evidence-not-admitted"
            if general:
                with pytest.raises(AuthorityError):
                    await turn.call("mnemon_related", {"id": kept["id"]})
            else:
                near = await turn.call("mnemon_related", {"id": kept["id"]})
                assert near["results"] == []
        assert full.kept("default") == ["rule one"]


async def test_a_space_beyond_the_grant_is_refused(full):
    async with full.open() as host:
        await full.space(host, "Project")
        async with host.agent().turn() as turn:
            late = await full.space(host, "Late")
            with pytest.raises(AuthorityError) as caught:
                await turn.call("mnemon_recall", {"query": "x", "memoryBodyIds": [late]})
            assert caught.value.code == "recall-space-outside-grant"
            with pytest.raises(AuthorityError) as caught:
                await remember(turn, "x", memoryBodyId=late)
            assert caught.value.code == "space-outside-grant"


async def test_one_of_several_spaces_has_to_be_named(full):
    async with full.open() as host:
        ids = [await full.space(host, name) for name in ("One", "Two")]
        async with host.agent().turn() as turn:
            with pytest.raises(InputError) as caught:
                await remember(turn, "x")
            assert caught.value.code == "space-required"
            for id, name in zip(ids, ("One", "Two"), strict=True):
                assert f"{id} ({name})" in caught.value.message


@pytest.mark.parametrize(
    ("name", "input"),
    [
        ("mnemon_recall", {}),
        ("mnemon_recall", {"query": "x", "limit": 0}),
        ("mnemon_recall", {"query": "x", "category": "fact"}),
        ("mnemon_related", {"id": "x", "depth": 6}),
        ("mnemon_remember", {"content": "x" * 8193}),
        ("mnemon_remember", {"content": "x", "entities": ["e"] * 51}),
        ("mnemon_remember", {"content": "x", "importance": 6}),
        ("mnemon_link", {"sourceId": "a", "targetId": "b", "weight": 2}),
        ("mnemon_memory_body_merge", {"targetMemoryBodyId": "a", "sourceMemoryBodyIds": []}),
    ],
)
async def test_inputs_that_do_not_fit_name_the_field(full, name, input):
    async with full.open() as host, host.agent().turn() as turn:
        with pytest.raises(InputError) as caught:
            await turn.call(name, input)
        assert caught.value.code == "input-invalid"


async def test_without_memory_spaces_the_tools_say_that_nothing_is_offered(home):
    async with home.open() as host, host.agent().turn() as turn:
        # They are not published here, but may have been before their Source was switched off.
        turn = attrs.evolve(turn, tools=host._every_tool)
        for name, input in (
            ("mnemon_recall", {"query": "x"}),
            ("mnemon_related", {"id": "x"}),
            ("mnemon_memory_bodies", {}),
            ("mnemon_document_search", {"query": ""}),
        ):
            with pytest.raises(AuthorityError) as caught:
                await turn.call(name, input)
            assert caught.value.code == "route-unavailable"
        for name, input in (
            ("mnemon_remember", {"content": "x"}),
            ("mnemon_forget", {"id": "x"}),
            ("mnemon_document_create", {"title": "x", "content": "x"}),
            ("mnemon_document_manage", {"action": "archive", "id": "x"}),
        ):
            with pytest.raises(AuthorityError) as caught:
                await turn.call(name, input)
            assert caught.value.code == "action-unavailable"


# -- the Spaces themselves ------------------------------------------------------------------------


@pytest.mark.requirement("host:tools:spaces")
@BOTH
async def test_spaces_are_listed_changed_and_merged(full, general):
    async with full.open(general=general) as host:
        await full.space(host, "One")
        two = await full.space(host, "Two")
        agent = host.agent()
        async with agent.turn() as turn:
            await remember(turn, "rule one", memoryBodyId="default")
            await remember(turn, "rule two", memoryBodyId=two)
            shown = await turn.call("mnemon_memory_bodies", {})
            assert (shown["total"], shown["activeCount"], shown["omittedCount"]) == (2, 2, 0)
            assert [item["name"] for item in shown["items"]] == ["One", "Two"]
            assert "connection" not in json.dumps(shown)
            changed = await turn.call(
                "mnemon_memory_body_update", {"memoryBodyId": two, "name": "Zwei"}
            )
            assert changed["body"]["name"] == "Zwei"
            merged = await turn.call(
                "mnemon_memory_body_merge",
                {"targetMemoryBodyId": "default", "sourceMemoryBodyIds": [two]},
            )
            assert (merged["action"], merged["imported"]) == ("merged", 1)
            assert merged["memoryReceipt"]["completion"] == "committed"
        assert full.kept("default") == ["rule one", "rule two"]
        async with agent.turn() as turn:
            shown = await turn.call("mnemon_memory_bodies", {})
            assert [item["active"] for item in shown["items"]] == [True, False]


async def test_a_space_may_be_placed_by_choice_where_placement_is_automatic(full):
    settings = (
        "persistenceStrategy: {mode: automatic, rules: {allowedProviderIds: [native, other]}}\n"
    )
    async with full.open(settings=settings) as host:
        await full.connect(host)
        async with host.agent().turn() as turn:
            choice = {"providerId": "other", "reason": "shared by the team", "confidence": "high"}
            made = await turn.call(
                "mnemon_memory_body_create", {"name": "Team", "description": "x", **choice}
            )
        assert made["body"]["providerId"] == "other"
        assert made["body"]["placement"]["reason"] == "shared by the team"


@BOTH
async def test_an_inspection_that_cannot_be_shown_says_so(full, general, monkeypatch):
    from dsh_mnemon_host.tools import spaces

    read = spaces.read

    async def empty(*arguments):
        evidence = await read(*arguments)
        return attrs.evolve(evidence, items=(), output=None)

    monkeypatch.setattr(spaces, "read", empty)
    async with full.open(general=general) as host, host.agent().turn() as turn:
        assert set(await turn.call("mnemon_memory_bodies", {})) == {"unavailable"}


# -- children and switches ------------------------------------------------------------------------


async def test_a_child_writes_directly_with_the_scope_of_its_view(full):
    async with full.open() as host:
        await full.space(host, "Project")
        async with host.agent().turn():
            child = await host.agent().child("b")
            async with child.turn() as turn:
                (kept,) = await remember(turn, "rule one", source="user")
        assert kept["memoryReceipt"]["completion"] == "committed"
        (item,) = full.native.namespaces["default"]
        assert item.source == "user"


@pytest.mark.requirement("host:writes:live")
async def test_without_writes_the_nine_write_tools_and_the_generic_one_are_gone(full):
    async with full.open() as host:
        await full.space(host, "Project")
        async with host.agent().turn() as turn:
            before = {tool.name for tool in turn.tools}
            off = [{"op": "set", "path": ["writeEnabled"], "value": False}]
            await host.settings.mutate("mnemon", off)
            with pytest.raises(AuthorityError) as caught:
                await remember(turn, "x")
            assert caught.value.code == "writes-disabled"
        async with host.agent().turn() as turn:
            after = {tool.name for tool in turn.tools}
            assert "mnemon_remember" not in turn.messages[-1].text
            await turn.call("mnemon_recall", {"query": "x"})
    assert before - after == {
        "mnemon_document_create", "mnemon_document_manage", "mnemon_forget", "mnemon_link",
        "mnemon_memory_body_create", "mnemon_memory_body_merge", "mnemon_memory_body_update",
        "mnemon_remember", "mnemon_runtime_memory", "mnemon_view_action",
    }  # fmt: skip


# -- health ---------------------------------------------------------------------------------------


@pytest.mark.requirement("host:status:truth")
@BOTH
async def test_status_tells_of_spaces_and_takes_no_offence_at_what_is_not_installed(full, general):
    providers = ["native_in_memory", "not_installed_at_all"]
    async with full.open(general=general, spaces={"providers": providers}) as host:
        await full.space(host, "Project")
        async with host.agent().turn() as turn:
            shown = await turn.call("mnemon_status", {})
            assert shown["healthy"] is True
            assert "error" not in shown
            assert shown["commandFound"] is True
            assert shown["memorySpaces"] == {
                "total": 1, "active": 1, "healthy": 1, "unhealthy": 0, "providerDisabled": 0,
            }  # fmt: skip
            assert shown["aggregate"]["totalInsights"] == 0
        full.native.fail("status", RuntimeError("secret detail"))
        await host.people.change("memory-spaces", "reload", None, capability="maintain")
        async with host.agent().turn() as turn:
            shown = await turn.call("mnemon_status", {})
            assert shown["healthy"] is False
            assert shown["memorySpaces"]["unhealthy"] == 1
            assert "Project" in shown["error"]
            assert "secret detail" not in json.dumps(shown)


async def test_status_goes_on_when_the_inspection_is_refused(full):
    async with full.open() as host, host.agent().turn() as turn:
        for _ in range(4):
            await turn.call("mnemon_memory_bodies", {})
        shown = await turn.call("mnemon_status", {})
        assert shown["healthy"] is False
        assert shown["memorySpaces"]["total"] == 0
