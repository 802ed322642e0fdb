"""Documents by named and generic tools, under Layered and under General (host.md §8, D56)."""

import json

import pytest
from dsh_mnemon_core.errors import AuthorityError, ConflictError, InputError, MnemonError

BOTH = pytest.mark.parametrize("general", [False, True], ids=["layered", "general"])
MANAGE = "source:mnemon-source-documents/manage"


async def create(host, title="Release", content="Build with nox.", **more):
    answer = await host.people.write_document(
        {"action": "create", "title": title, "content": content, **more}
    )
    return answer["document"]["id"]


# -- a conversation -------------------------------------------------------------------------------


@pytest.mark.requirement("host:tools:documents")
@BOTH
async def test_a_document_is_created_found_read_updated_archived_and_restored(full, general):
    async with full.open(general=general) as host:
        agent = host.agent()
        async with agent.turn() as turn:
            made = await turn.call(
                "mnemon_document_create",
                {"title": "发布流程", "content": "先打标签 then build", "sourcePaths": ["nox.py"]},
            )
            assert made["action"] == "created"
            assert made["memoryReceipt"]["completion"] == "committed"
            assert list(made["document"]["sessionIds"]) == ["main"]
        id = made["document"]["id"]
        async with agent.turn() as turn:
            found = await turn.call("mnemon_document_search", {"query": "打标签"})
            (row,) = found["results"]
            assert (row["id"], row["title"], row["revision"]) == (id, "发布流程", 1)
            assert "先打标签" in row["content"]
            assert (found["total"], found["includeArchived"]) == (1, False)
            page = await turn.call("mnemon_document_read", {"id": id})
            assert (page["content"], page["revision"]) == ("先打标签 then build", 1)
            assert "nextOffset" not in page
            update = {"action": "update", "id": id, "content": "new text"}
            with pytest.raises(InputError) as caught:
                await turn.call("mnemon_document_manage", update)
            assert caught.value.code == "revision-required"
            with pytest.raises(ConflictError) as caught:
                await turn.call("mnemon_document_manage", {**update, "revision": 7})
            assert caught.value.code == "revision-conflict"
            changed = await turn.call("mnemon_document_manage", {**update, "revision": 1})
            assert (changed["action"], changed["document"]["revision"]) == ("updated", 2)
            archive = {"action": "archive", "id": id, "revision": 2}
            gone = await turn.call("mnemon_document_manage", archive)
            assert gone["action"] == "archived"
            assert gone["memoryReceipt"]["completion"] == "committed"
            assert gone["maintenance"]["archivedDocumentIds"] == [id]
        async with agent.turn() as turn:
            assert (await turn.call("mnemon_document_search", {"query": "new"}))["results"] == []
        async with agent.turn() as turn:
            both = {"query": "new", "includeArchived": True}
            (row,) = (await turn.call("mnemon_document_search", both))["results"]
            assert row["status"] == "archived"
            back = await turn.call("mnemon_document_manage", {"action": "restore", "id": id})
            assert back["action"] == "created"
            assert back["document"]["content"] == "new text"
            assert back["memoryReceipt"]["status"] == "succeeded"


@pytest.mark.requirement("host:tools:envelope")
async def test_layered_searches_once_a_turn_and_says_so_the_second_time(full):
    async with full.open() as host:
        for n in range(6):
            await create(host, f"Release {n}", f"release {n} " + "x" * 5000)
        agent = host.agent()
        async with agent.turn() as turn:
            found = await turn.call("mnemon_document_search", {"query": "release", "limit": 9})
            again = await turn.call("mnemon_document_search", {"query": "other"})
            page = await turn.call("mnemon_document_read", {"id": found["results"][0]["id"]})
        assert len(found["results"]) <= 4
        assert sum(len(row["content"]) for row in found["results"]) <= 6000
        assert all(len(row["content"]) <= 2600 for row in found["results"])
        assert found["results"][0]["truncated"] is True
        assert (again["notRun"], again["results"], again["query"]) == (True, [], "other")
        assert len(page["content"]) > 5000, "reading a whole document is not the search"
        async with agent.turn() as turn:
            assert (await turn.call("mnemon_document_search", {"query": "release"}))["results"]


@pytest.mark.requirement("host:tools:documents")
@BOTH
async def test_a_long_document_is_read_in_pages(full, general):
    async with full.open(general=general) as host:
        text = "".join(f"{n:07d}\n" for n in range(3200)).strip()
        id = await create(host, "Long", text)
        async with host.agent().turn() as turn:
            pages, offset = [], None
            while True:
                page = await turn.call("mnemon_document_read", {"id": id, "offset": offset})
                assert page["revision"] == 1
                pages.append(page["content"])
                offset = page.get("nextOffset")
                if offset is None:
                    break
        assert "".join(pages) == text
        assert [len(item) for item in pages] == [12_000, 12_000, len(text) - 24_000]


@BOTH
async def test_where_nothing_matches_the_latest_ones_are_suggested(full, general):
    async with full.open(general=general) as host:
        await create(host)
        async with host.agent().turn() as turn:
            found = await turn.call("mnemon_document_search", {"query": "zebra"})
        assert found["results"] == []
        (row,) = found["suggestions"]
        assert row["title"] == "Release"
        assert ("suggestionHint" in found) is not general


@BOTH
async def test_a_body_that_cannot_be_read_is_named_and_the_others_are_found(full, general):
    async with full.open(general=general) as host:
        await create(host, "Good", "release")
        bad = await create(host, "Bad", "release")
        source = await host.people.source("documents")
        record = await source.read("document", {"id": bad})
        (host.live.current.layout.root / record["relativePath"]).write_bytes(b"\xff\xfe")
        async with host.agent().turn() as turn:
            found = await turn.call("mnemon_document_search", {"query": "release"})
        assert [row["title"] for row in found["results"]] == ["Good"]
        assert "Bad" in found["unavailable"]


@pytest.mark.requirement("host:tools:documents")
async def test_a_model_gets_the_figures_of_the_snapshot_and_no_paths(full):
    figures = {
        "generatedAt", "revision", "limitBytes", "activeBytes", "activeCount", "archivedCount",
        "total",
    }  # fmt: skip
    body = {"title": "Release", "content": "Build with nox."}
    async with full.open() as host:
        id = await create(host)
        agent = host.agent()
        async with agent.turn() as turn:
            answers = [await turn.call("mnemon_document_create", {**body, "title": "New"})]
            changes = (
                {"action": "create", **body, "title": "Other"},
                {"action": "update", "id": id, "description": "How we release"},
                {"action": "archive", "id": id},
                {"action": "restore", "id": id},
            )
            answers += [await turn.call("mnemon_document_manage", change) for change in changes]
            child = await agent.child("b")
            async with child.turn() as inner:
                change = {"action": "create", **body, "title": "Child's"}
                answers.append(await inner.call("mnemon_document_manage", change))
        for answer in answers:
            assert set(answer["snapshot"]) == figures
            assert str(full.home.data) not in json.dumps(answer)
            assert str(full.home.workspace) not in json.dumps(answer)
        assert answers[-1]["snapshot"]["activeCount"] == 4
        person = await host.people.write_document({"action": "create", **body, "title": "Mine"})
        assert person["snapshot"]["directory"].startswith(str(full.home.data))
        assert len(person["snapshot"]["documents"]) == 6


# -- who may do what ------------------------------------------------------------------------------


@pytest.mark.requirement("host:documents:children")
async def test_a_child_creates_and_updates_and_never_archives(full):
    async with full.open(documents={"limitBytes": 1200}) as host:
        id = await create(host)
        async with host.agent().turn():
            child = await host.agent().child("b")
            async with child.turn() as turn:
                change = {"action": "update", "id": id, "content": "by a child", "revision": 1}
                changed = await turn.call("mnemon_document_manage", change)
                assert changed["document"]["revision"] == 2
                for action in ("archive", "restore"):
                    with pytest.raises(AuthorityError) as caught:
                        await turn.call("mnemon_document_manage", {"action": action, "id": id})
                    assert caught.value.code == "child-may-not-archive"
                large = {"action": "create", "title": "Large", "content": "x" * 700}
                with pytest.raises(MnemonError) as caught:
                    await turn.call("mnemon_document_manage", large)
                assert caught.value.code == "document-capacity"
        answer = await host.people.write_document(large)
        assert answer["maintenance"]["archivedDocumentIds"] == [id]


@pytest.mark.requirement("host:tools:documents")
async def test_a_root_makes_room_and_create_never_does(full):
    async with full.open(documents={"limitBytes": 1200}) as host:
        await full.space(host, "Project")
        id = await create(host)
        large = {"title": "Large", "content": "x" * 700}
        async with host.agent().turn() as turn:
            with pytest.raises(MnemonError) as caught:
                await turn.call("mnemon_document_create", large)
            assert caught.value.code == "document-capacity"
            made = await turn.call("mnemon_document_manage", {"action": "create", **large})
        assert made["maintenance"]["archivedDocumentIds"] == [id]
        assert made["maintenance"]["memoryBodyIds"] == ["default"]
        assert made["memoryReceipt"]["completion"] == "committed"


@pytest.mark.requirement("host:tools:documents")
async def test_the_generic_tool_asks_for_the_revision_too_and_archives_nothing(full):
    async with full.open(documents={"limitBytes": 1200}) as host:
        id = await create(host)
        async with host.agent().turn() as turn:

            async def act(**input):
                return await turn.call("mnemon_view_action", {"offerId": MANAGE, "input": input})

            with pytest.raises(InputError) as caught:
                await act(action="update", id=id, content="new")
            assert caught.value.code == "revision-required"
            receipt = await act(action="update", id=id, content="new", revision="1")
            assert receipt["completion"] == "committed"
            with pytest.raises(MnemonError) as caught:
                await act(action="create", title="Large", content="x" * 900)
            assert caught.value.code == "document-capacity"
            for action in ("archive", "restore"):
                with pytest.raises(InputError):
                    await act(action=action, id=id)


@pytest.mark.requirement("host:documents:room")
async def test_what_is_refused_anyway_archives_nothing(full):
    async with full.open(documents={"limitBytes": 1200}) as host:
        await create(host)
        async with host.agent().turn() as turn:
            late = await create(host, "Made after the View was pinned")
            update = {"action": "update", "id": late, "content": "x" * 700, "revision": 1}
            with pytest.raises(AuthorityError) as caught:
                await turn.call("mnemon_document_manage", update)
        assert caught.value.code == "document-outside-grant"
        snapshot = await (await host.people.source("documents")).read("snapshot")
        assert snapshot["activeCount"] == 2


@pytest.mark.parametrize(
    ("input", "field"),
    [
        ({"action": "create", "title": "x"}, "content"),
        ({"action": "create", "content": "x"}, "title"),
        ({"action": "update", "title": "x"}, "id"),
        ({"action": "archive"}, "id"),
        ({"action": "restore", "id": ""}, "id"),
        ({"action": "update", "id": "x", "content": "x"}, "revision"),
        ({"action": "erase", "id": "x"}, "action"),
        ({"action": "update", "id": "x", "revision": 0}, "revision"),
    ],
)
async def test_inputs_that_do_not_fit_name_the_field(full, input, field):
    async with full.open() as host, host.agent().turn() as turn:
        with pytest.raises(InputError) as caught:
            await turn.call("mnemon_document_manage", input)
        assert caught.value.details == {"field": field}


# -- the generic routes ---------------------------------------------------------------------------


@pytest.mark.requirement("host:tools:generic")
@BOTH
async def test_every_operation_is_reached_by_its_id(full, general):
    async with full.open(general=general) as host:
        await full.space(host, "Project")
        id = await create(host)
        agent = host.agent()
        async with agent.turn() as turn:
            sections = {section.name: section.text for section in turn.sections}
            if general:
                for source in ("runtime", "documents", "memory-spaces"):
                    assert f"source:mnemon-source-{source} " in sections["mnemon:routing"]
            view = host.lifecycle.memory("main").view
            inputs = {
                "search": {"query": "nox"},
                "read": {"id": id},
                "inspect": {"section": "health"},
                "recall": {"query": "nox"},
                "related": {"id": "x", "memoryBodyId": "default"},
            }
            assert {route.source_route_id for route in view.routes} == set(inputs)
            for route in view.routes:
                asked = {"routeId": route.id, "input": inputs[route.source_route_id]}
                if general and route.source_route_id == "related":
                    with pytest.raises(AuthorityError):
                        await turn.call("mnemon_view_route", asked)
                else:
                    json.dumps(await turn.call("mnemon_view_route", asked))
            actions = {
                "runtime/mutate": {"action": "add", "target": "memory", "content": "x"},
                "documents/create": {"title": "x", "content": "x"},
                "documents/manage": {"action": "update", "id": id, "title": "y"},
                "memory-spaces/remember": {"content": "x"},
                "memory-spaces/manage-spaces": {
                    "operation": "update", "memoryBodyId": "default", "name": "y",
                },
            }  # fmt: skip
            for name, input in actions.items():
                offer = f"source:mnemon-source-{name}"
                receipt = await turn.call("mnemon_view_action", {"offerId": offer, "input": input})
                assert receipt["completion"] == "committed"


@pytest.mark.requirement("host:capacity:other-strategy")
async def test_general_rejects_a_runtime_write_above_the_limit(home, full):
    async with full.open(general=True, settings="runtimeMemory: {memoryLimitBytes: 20}\n") as host:
        await full.space(host, "Project")
        add = {"action": "add", "target": "memory"}
        async with host.agent().turn() as turn:
            await turn.call("mnemon_runtime_memory", {**add, "content": "x" * 15})
            with pytest.raises(MnemonError) as caught:
                await turn.call("mnemon_runtime_memory", {**add, "content": "y" * 15})
        assert caught.value.code == "runtime-capacity"
        assert [entry["content"] for entry in home.stored()] == ["x" * 15]
        assert full.kept("default") == []


# -- the Wake -------------------------------------------------------------------------------------


async def test_the_wake_names_the_tools_and_shows_the_covers(full):
    async with full.open() as host:
        await full.space(host, "Project")
        await create(host)
        async with host.agent().turn() as turn:
            text = turn.messages[-1].text
    tools = next(line for line in text.split("\n") if line.startswith("MNEMON VIEW TOOLS"))
    for name in (
        "mnemon_document_search", "mnemon_document_read", "mnemon_recall", "mnemon_related",
        "mnemon_memory_bodies / mnemon_status", "mnemon_runtime_memory", "mnemon_document_manage",
        "mnemon_document_create", "mnemon_remember", "mnemon_link", "mnemon_forget",
        "mnemon_memory_body_create / mnemon_memory_body_update / mnemon_memory_body_merge",
    ):  # fmt: skip
        assert name in tools
    assert "1 active project Document" in text
    assert "1 active of 1 configured Memory Space" in text
    assert '"routes":[]' in text, "every operation has a tool, the cover is shown all the same"


async def test_what_does_not_go_with_an_action_is_named(full):
    async with full.open() as host, host.agent().turn() as turn:
        for action in ("archive", "restore"):
            with pytest.raises(InputError, match=f"content does not go with action={action}"):
                await turn.call(
                    "mnemon_document_manage", {"action": action, "id": "x", "content": "lost?"}
                )
