"""Documents that need room, and archives: index first, move second (host.md §16)."""

import anyio
import pytest
from dsh_mnemon_core.errors import (
    AuthorityError,
    CapacityError,
    ConflictError,
    InputError,
    MnemonError,
    SourceFault,
)
from dsh_mnemon_host.source_session import SourceSession

SMALL = {"limitBytes": 1500}


async def create(host, title, content="word " * 20, **more):
    answer = await host.people.write_document(
        {"action": "create", "title": title, "content": content, **more}
    )
    return answer["document"]["id"]


async def listed(host, status="active"):
    snapshot = await (await host.people.source("documents")).read("snapshot")
    return [row["title"] for row in snapshot["documents"] if row["status"] == status]


async def document(host, document_id):
    return await (await host.people.source("documents")).read("document", {"id": document_id})


# -- room -----------------------------------------------------------------------------------------


@pytest.mark.requirement("host:documents:room")
async def test_what_was_not_used_for_longest_is_archived_until_the_new_one_fits(full):
    async with full.open(documents=SMALL) as host:
        for title in ("First", "Second", "Third"):
            await create(host, title)
        await (await host.people.source("documents")).read("search", {"query": "First"})
        answer = await host.people.write_document(
            {"action": "create", "title": "Large", "content": "x" * 400}
        )
        assert await listed(host) == ["First", "Large"]
        assert await listed(host, "archived") == ["Second", "Third"]
    assert answer["action"] == "created"
    maintenance = answer["maintenance"]
    assert maintenance.pop("runId").startswith("host-")
    assert len(maintenance.pop("archivedDocumentIds")) == 2
    assert maintenance == {
        "provider": "host", "summary": "2 documents archived, without an index.",
        "memoryBodyIds": [],
    }  # fmt: skip


async def test_an_update_makes_room_as_well_and_never_archives_its_own_document(full):
    async with full.open(documents=SMALL) as host:
        first = await create(host, "First")
        await create(host, "Second")
        update = {"action": "update", "id": first, "content": "x" * 900}
        answer = await host.people.write_document(update)
        assert answer["action"] == "updated"
        assert await listed(host) == ["First"]


@pytest.mark.requirement("host:documents:room")
async def test_what_can_never_fit_archives_nothing(full):
    async with full.open(documents=SMALL) as host:
        await create(host, "First")
        # The second is small enough by itself, but not with its front matter.
        for content in ("x" * 1501, "x" * 1499):
            with pytest.raises(CapacityError) as caught:
                await create(host, "Large", content)
            assert caught.value.code == "document-capacity"
            assert caught.value.details["limit"] == 1500
            assert await listed(host) == ["First"]
            assert "archivedDocumentIds" not in caught.value.details


async def test_a_store_that_filled_up_meanwhile_is_met_once_more(full, monkeypatch):
    """Another process wrote between the plan and the commit."""
    async with full.open(documents=SMALL) as host:
        await create(host, "First")
        await create(host, "Second")
        plans = []
        read = SourceSession.read

        async def optimistic(self, operation, input=None):
            answer = await read(self, operation, input)
            if operation != "capacity-plan":
                return answer
            plans.append(answer)
            return {**answer, "fits": True} if len(plans) == 1 else answer

        monkeypatch.setattr(SourceSession, "read", optimistic)
        await create(host, "Large", "x" * 400)
        assert await listed(host) == ["Second", "Large"]
        plans.clear()
        with pytest.raises(CapacityError) as caught:
            await create(host, "Huge", "x" * 1600)
        assert caught.value.__cause__.code == "document-capacity"


async def test_other_refusals_archive_nothing(full):
    async with full.open(documents=SMALL) as host:
        first = await create(host, "First")
        stale = {"action": "update", "id": first, "content": "x" * 2000, "revision": 9}
        with pytest.raises(ConflictError) as caught:
            await host.people.write_document(stale)
        assert caught.value.code == "revision-conflict"
        with pytest.raises(InputError):
            await host.people.write_document({"action": "create", "title": "", "content": "x"})
        assert await listed(host) == ["First"]


# -- archives -------------------------------------------------------------------------------------


@pytest.mark.requirement("host:documents:archive")
async def test_the_index_is_written_first_and_says_where_the_body_lies(full):
    async with full.open() as host:
        space = await full.space(host, "Project")
        made = await create(host, "Release", "Build with nox.", description="How we release")
        before = await document(host, made)
        answer = await host.people.archive_document(made)
        after = await document(host, made)
        assert await listed(host) == []
    name = after["relativePath"].rsplit("/", 1)[-1]
    (index,) = full.native.namespaces[space]
    assert index.content.split("\n") == [
        "Document: Release",
        "How we release",
        f"Document ID: {made}",
        f"Cold path: documents/archived/{name}",
        f"Content SHA-256: {before['contentHash']}",
    ]
    assert (index.category, index.source) == ("context", "agent")
    assert after["relativePath"] == f"documents/archived/{name}"
    assert after["archiveSummary"] == "How we release"
    assert list(after["memoryBodyIds"]) == [space]
    assert answer["action"] == "archived"
    (link,) = answer["lineage"]
    assert link["source"]["reference"] == f"document:{made}:1"
    assert link["source"]["digest"] == before["contentHash"]
    assert link["destination"]["reference"] == f"memory-space:{space}/item:{index.id}"
    assert answer["maintenance"]["memoryBodyIds"] == [space]
    assert answer["maintenance"]["summary"] == "1 document archived, indexed in 1 Memory Space(s)."


async def test_without_a_description_the_beginning_of_the_body_is_the_summary(full):
    async with full.open() as host:
        await full.space(host, "Project")
        made = await create(host, "Long", "字" * 1500)
        await host.people.archive_document(made)
        assert (await document(host, made))["archiveSummary"] == "字" * 1000


async def test_without_a_space_a_document_is_archived_without_an_index(full):
    async with full.open() as host:
        made = await create(host, "Release")
        answer = await host.people.archive_document(made)
        assert answer["maintenance"]["memoryBodyIds"] == []
        assert await listed(host, "archived") == ["Release"]
        assert "lineage" not in answer


@pytest.mark.requirement("host:documents:archive")
@pytest.mark.parametrize("folder", ["documents/archived", ".mnemon/documents/archived"])
async def test_an_index_that_is_there_already_is_used_again(full, folder):
    async with full.open() as host:
        space = await full.space(host, "Project")
        made = await create(host, "Release")
        before = await document(host, made)
        name = before["relativePath"].rsplit("/", 1)[-1]
        text = f"Cold path: {folder}/{name} {before['contentHash']}"
        for content in (f"{before['contentHash']} alone", text):
            memory = {"content": content, "memoryBodyId": space}
            await host.people.change("memory-spaces", "remember", memory, capability="write")
        answer = await host.people.archive_document(made)
        (_, index) = full.native.namespaces[space]
        reference = answer["lineage"][0]["destination"]["reference"]
        assert reference == f"memory-space:{space}/item:{index.id}"


@pytest.mark.requirement("host:documents:archive")
@pytest.mark.parametrize(
    "answer",
    [
        {"action": "skipped", "id": "x"},
        {"status": "accepted"},
        {"status": "failed"},
        {},
        RuntimeError("boom"),
    ],
    ids=str,
)
async def test_without_a_proven_index_a_document_stays_active(full, answer):
    async with full.open() as host:
        await full.space(host, "Project")
        made = await create(host, "Release")
        if isinstance(answer, Exception):
            full.native.fail("remember", answer)
        else:
            full.native.answer("remember", answer)
        with pytest.raises(SourceFault) as caught:
            await host.people.archive_document(made)
        assert caught.value.code == "archive-unproven"
        assert await listed(host) == ["Release"]
        full.native.heal()
        await host.people.archive_document(made)
        assert await listed(host) == []


async def test_a_conflict_after_the_index_leaves_both(full, monkeypatch):
    async with full.open() as host:
        space = await full.space(host, "Project")
        made = await create(host, "Release", "old")
        mutate = SourceSession.mutate

        async def overtaken(self, operation, input, expected_revision=None):
            if operation == "archive":
                update = {"action": "update", "id": made, "content": "new"}
                await mutate(self, "mutate", update)
            return await mutate(self, operation, input, expected_revision)

        monkeypatch.setattr(SourceSession, "mutate", overtaken)
        with pytest.raises(ConflictError) as caught:
            await host.people.archive_document(made)
        assert caught.value.code == "revision-conflict"
        assert await listed(host) == ["Release"]
        assert len(full.kept(space)) == 1


async def test_a_document_that_changed_before_its_index_is_not_indexed(full, monkeypatch):
    async with full.open() as host:
        space = await full.space(host, "Project")
        made = await create(host, "Release", "old")
        read = SourceSession.read

        async def changing(self, operation, input=None):
            answer = await read(self, operation, input)
            if operation == "search":
                update = {"action": "update", "id": made, "content": "new"}
                await (await host.people.source("documents")).mutate("mutate", update)
            return answer

        monkeypatch.setattr(SourceSession, "read", changing)
        with pytest.raises(ConflictError) as caught:
            await host.people.archive_document(made)
        assert caught.value.code == "revision-conflict"
        assert full.kept(space) == []


async def test_stale_and_archived_documents_are_refused_before_anything_is_written(full):
    async with full.open() as host:
        space = await full.space(host, "Project")
        made = await create(host, "Release")
        with pytest.raises(ConflictError) as caught:
            await host.people.archive_document(made, 7)
        assert caught.value.code == "revision-conflict"
        await host.people.archive_document(made, 1)
        with pytest.raises(ConflictError) as caught:
            await host.people.archive_document(made)
        assert caught.value.code == "document-archived"
        assert len(full.kept(space)) == 1


async def test_a_space_beyond_the_scope_takes_no_index(full):
    async with full.open() as host:
        made = await create(host, "Release")
        async with host.agent().turn() as turn:
            await full.space(host, "Late")
            with pytest.raises(AuthorityError) as caught:
                await turn.call("mnemon_document_manage", {"action": "archive", "id": made})
        assert caught.value.code == "document-archive-out-of-scope"
        assert await listed(host) == ["Release"]


# -- restoring ------------------------------------------------------------------------------------


async def test_archived_and_former_bodies_come_back(full):
    async with full.open() as host:
        made = await create(host, "Release", "one")
        await host.people.write_document({"action": "update", "id": made, "content": "two"})
        answer = await host.people.restore_document(made, 1)
        assert (answer["action"], answer["document"]["id"]) == ("updated", made)
        assert (await document(host, made))["content"] == "one"
        await host.people.archive_document(made)
        answer = await host.people.restore_document(made)
        assert answer["action"] == "created"
        assert answer["document"]["id"] != made
        assert await listed(host) == await listed(host, "archived") == ["Release"]


@pytest.mark.requirement("host:documents:room")
async def test_room_is_made_for_what_is_restored(full):
    async with full.open(documents=SMALL) as host:
        made = await create(host, "Large", "x" * 500, description="All of it")
        await host.people.archive_document(made)
        for title in ("First", "Second", "Third"):
            await create(host, title)
        answer = await host.people.restore_document(made)
        assert (answer["action"], answer["document"]["content"]) == ("created", "x" * 500)
        assert len(answer["maintenance"]["archivedDocumentIds"]) == 2
        assert await listed(host) == ["Third", "Large"]


@pytest.mark.requirement("host:documents:room")
async def test_room_is_made_for_a_former_body_and_its_own_document_stays(full):
    async with full.open(documents=SMALL) as host:
        await create(host, "First")
        made = await create(host, "Large", "x" * 500)
        await host.people.write_document({"action": "update", "id": made, "content": "short"})
        await create(host, "Second")
        answer = await host.people.restore_document(made, 1)
        assert answer["document"]["id"] == made
        assert (await document(host, made))["content"] == "x" * 500
        assert len(answer["maintenance"]["archivedDocumentIds"]) == 1
        assert await listed(host) == ["Large", "Second"]


@pytest.mark.requirement("host:documents:room")
async def test_a_former_body_of_an_archived_document_finds_room_as_well(full):
    async with full.open(documents=SMALL) as host:
        made = await create(host, "Large", "x" * 500)
        await host.people.write_document({"action": "update", "id": made, "content": "short"})
        await host.people.archive_document(made)
        for title in ("First", "Second", "Third"):
            await create(host, title)
        answer = await host.people.restore_document(made, 1)
        assert answer["document"]["content"] == "x" * 500
        assert len(answer["maintenance"]["archivedDocumentIds"]) == 2


@pytest.mark.requirement("host:documents:room")
async def test_what_can_never_be_restored_archives_nothing(full):
    async with full.open() as host:
        made = await create(host, "Large", "x" * 2000)
        await host.people.archive_document(made)
        await create(host, "First")
    async with full.open(documents=SMALL) as host:
        with pytest.raises(CapacityError) as caught:
            await host.people.restore_document(made)
        assert caught.value.code == "document-capacity"
        assert await listed(host) == ["First"]
        with pytest.raises(MnemonError) as caught:
            await host.people.restore_document("nobody")
        assert caught.value.code == "document-not-found"


# -- the queue and the switches -------------------------------------------------------------------


@pytest.mark.requirement("host:writes:live")
async def test_nothing_is_changed_while_writes_are_off(full):
    async with full.open() as host:
        made = await create(host, "Release")
        off = [{"op": "set", "path": ["writeEnabled"], "value": False}]
        await host.settings.mutate("mnemon", off)
        for call in (
            create(host, "Other"),
            host.people.archive_document(made),
            host.people.restore_document(made),
            host.people.change("documents", "archive", {"id": made}, capability="archive"),
        ):
            with pytest.raises(AuthorityError) as caught:
                await call
            assert caught.value.code == "writes-disabled"


@pytest.mark.requirement("host:layer:off")
async def test_a_layer_that_is_off_takes_no_document(full):
    settings = "memoryTopology: {layers: {documents: {enabled: false}}}\n"
    async with full.open(settings=settings) as host:
        with pytest.raises(AuthorityError) as caught:
            await create(host, "Release")
        assert caught.value.code == "layer-off"


async def test_two_hosts_write_and_archive_at_once_and_nothing_is_lost(full):
    async with full.open() as host, full.open() as other:
        failures = []

        async def write(side, name):
            try:
                made = await create(side, name)
                await side.people.archive_document(made)
            except MnemonError as error:
                failures.append(error)

        async with anyio.create_task_group() as tasks:
            for place in range(6):
                tasks.start_soon(write, (host, other)[place % 2], f"D{place}")
        assert failures == []
        assert sorted(await listed(host, "archived")) == [f"D{place}" for place in range(6)]
