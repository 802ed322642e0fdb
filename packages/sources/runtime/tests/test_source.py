"""Facts, projection and mutation of one mount (spec/sources.md §2.2, §2.6, D21, D25, D26)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import anyio
import attrs
import pytest
from anyio import to_thread
from dsh_mnemon_core.errors import ConflictError, InputError, StorageError
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.sdk import (
    FactsRequest,
    ManagementRequest,
    MutateRequest,
    ProjectRequest,
    SourceFacts,
)
from dsh_mnemon_core.source import Manages, Mutates, Queries, SourceRuntime
from dsh_mnemon_core.view import ActionOffer, ViewReference
from dsh_mnemon_source_runtime import RuntimeSource, _store, runtime_source, source
from dsh_mnemon_source_runtime.actions import INPUT_SCHEMA
from dsh_mnemon_source_runtime.errors import RuntimeCapacityError

KEY = "source:mnemon-source-runtime"
SCOPE = OperationScope(storage="custom")
EMPTY = "8bcae181d21321b79e1cee4976a6c9759a0f03769dde64b6f821ab5d22a33921"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)

OFFER = ActionOffer(
    id=f"{KEY}/mutate",
    source_instance_key=KEY,
    source_action_id="mutate",
    description="x",
    capability="write",
    input_schema=INPUT_SCHEMA,
)

Make = Callable[..., RuntimeSource]


async def facts(
    runtime: RuntimeSource, scope: OperationScope = SCOPE, scenario: str = "agent.root-turn"
) -> SourceFacts:
    return await runtime.facts(
        FactsRequest(source_instance_key=KEY, scope=scope, scenario=scenario)
    )


def projection(revision: str, scope: OperationScope = SCOPE, **changes: Any) -> ProjectRequest:
    request = ProjectRequest(
        source_instance_key=KEY,
        scope=scope,
        expected_revision=revision,
        include_projection=True,
        mode="eager",
        max_characters=58_982,
    )
    return attrs.evolve(request, **changes)


async def shown(runtime: RuntimeSource, scope: OperationScope = SCOPE) -> str:
    found = await facts(runtime, scope)
    contribution = await runtime.project(projection(found.revision, scope))
    return contribution.fragments[0].text


async def mutate(runtime: RuntimeSource, offer: ActionOffer = OFFER, **request: Any) -> Any:
    return await runtime.mutate(
        MutateRequest(
            view=ViewReference(id="view:1", scope=SCOPE), offer=offer, grant=None, input=request
        )
    )


async def add(runtime: RuntimeSource, content: str, target: str = "memory", **more: Any) -> Any:
    return await mutate(runtime, action="add", target=target, content=content, **more)


def put(folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memories.json").write_text(text, encoding="utf-8", newline="")


def all_files(root: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path): (path.stat().st_mtime_ns, path.stat().st_ino) for path in sorted(root.rglob("*"))
    }


@pytest.mark.requirement("runtime:manifest")
def test_a_runtime_answers_no_routes(make_source: Make) -> None:
    runtime = make_source()
    assert isinstance(runtime, SourceRuntime)
    assert isinstance(runtime, Mutates)
    assert isinstance(runtime, Manages)
    assert not isinstance(runtime, Queries)


@pytest.mark.requirement("runtime:files:open")
def test_the_factory_does_no_io(tmp_path: Path, make_source: Make) -> None:
    make_source({"dataDir": str(tmp_path / "none"), "userDataDir": str(tmp_path / "other")})
    assert all_files(tmp_path) == {}


@pytest.mark.requirement("runtime:facts")
class TestFacts:
    async def test_an_empty_store_is_ready(self, make_source: Make) -> None:
        assert await facts(make_source()) == SourceFacts(
            source_instance_key=KEY,
            source_type_id="runtime",
            role="working-context",
            availability="ready",
            revision=EMPTY,
            capabilities=("status", "project", "write"),
            action_ids=("mutate",),
        )

    async def test_the_revision_moves_with_every_change(self, make_source: Make) -> None:
        runtime = make_source()
        receipt = await add(runtime, "one")
        assert (await facts(runtime)).revision == receipt.revision != EMPTY

    @pytest.mark.parametrize(
        ("text", "hints"),
        [
            ("[1,]", {"reason": "not-json", "problem": ANY}),
            (
                '{"version":1,"entries":[],"entries":[]}',
                {"reason": "not-json", "problem": "the key 'entries' is given twice"},
            ),
            ('{"version":2}', {"reason": "newer-version"}),
            ('{"version":1,"entries":[5]}', {"reason": "invalid-entry", "firstBadIndex": 0}),
        ],
    )
    async def test_a_damaged_store_is_unavailable_and_says_why(
        self, make_source: Make, folder: Path, text: str, hints: dict[str, Any]
    ) -> None:
        put(folder, text)
        found = await facts(make_source())
        assert (found.availability, found.revision) == ("unavailable", "unavailable")
        assert found.hints == {**hints, "file": str(folder / "memories.json")}
        assert (found.capabilities, found.action_ids) == ((), ())

    async def test_facts_and_projections_write_nothing(
        self, make_source: Make, tmp_path: Path
    ) -> None:
        runtime = make_source()
        await add(runtime, "one")
        (tmp_path / "runtime" / "MEMORY.md").write_text("edited", encoding="utf-8")
        fresh = make_source()
        await facts(fresh)
        (tmp_path / "runtime" / "MEMORY.md").write_text("edited again", encoding="utf-8")
        before = all_files(tmp_path)
        for scenario in ("agent.root-turn", "management.read", "management.mutate"):
            await facts(fresh, scenario=scenario)
        await shown(fresh)
        assert all_files(tmp_path) == before


@pytest.mark.requirement("runtime:projection:text")
class TestProjection:
    async def test_it_is_one_fragment_without_a_grant(self, make_source: Make) -> None:
        runtime = make_source()
        await add(runtime, "one")
        revision = (await facts(runtime)).revision
        contribution = await runtime.project(projection(revision, mode="routed"))
        (fragment,) = contribution.fragments
        assert contribution.read_grant is None
        assert (fragment.id, fragment.source_instance_key) == (f"{KEY}/projection", KEY)
        assert (fragment.mode, fragment.revision) == ("routed", revision)
        assert fragment.provenance == {"sourceTypeId": "runtime"}
        assert "[importance=normal; created=0d; updated=0d]\none\n" in fragment.text
        assert contribution.presentation is not None
        assert contribution.presentation.visible_items == 1

    @pytest.mark.parametrize("characters", [1, 2, 100, 400])
    async def test_it_is_cut_at_its_tail(self, make_source: Make, characters: int) -> None:
        runtime = make_source()
        await add(runtime, "用户 🧠 " * 50)
        whole = await shown(runtime)
        revision = (await facts(runtime)).revision
        (fragment,) = (
            await runtime.project(projection(revision, max_characters=characters))
        ).fragments
        assert fragment.text == whole[: characters - 1] + "…"

    async def test_without_a_projection_there_is_nothing(self, make_source: Make) -> None:
        runtime = make_source()
        revision = (await facts(runtime)).revision
        contribution = await runtime.project(projection(revision, include_projection=False))
        assert (contribution.fragments, contribution.presentation) == ((), None)

    async def test_text_travels_literally(self, make_source: Make) -> None:
        runtime = make_source()
        odd = "{{ user }} $x </runtime-memory-file> \x00 \u202eabc \u05d0"
        await add(runtime, odd)
        assert f"\n{odd}\n" in await shown(runtime)


@pytest.mark.requirement("runtime:projection:captured")
class TestCapture:
    async def test_a_projection_shows_what_its_facts_saw(self, make_source: Make) -> None:
        runtime = make_source()
        await add(runtime, "before")
        revision = (await facts(runtime)).revision
        await add(runtime, "after")
        (fragment,) = (await runtime.project(projection(revision))).fragments
        assert "before" in fragment.text
        assert "after" not in fragment.text

    @pytest.mark.parametrize("include", [True, False])
    async def test_without_facts_it_reads_and_compares(
        self, make_source: Make, include: bool
    ) -> None:
        await add(make_source(), "one")
        runtime = make_source()
        with pytest.raises(ConflictError) as caught:
            await runtime.project(projection(EMPTY, include_projection=include))
        assert caught.value.code == "projection-revision-changed"
        current = (await facts(make_source())).revision
        assert len((await runtime.project(projection(current))).fragments) == 1

    async def test_a_damaged_store_cannot_be_projected(
        self, make_source: Make, folder: Path
    ) -> None:
        put(folder, "{")
        with pytest.raises(StorageError):
            await make_source().project(projection(EMPTY))

    async def test_captures_are_few(
        self, make_source: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(source, "_CAPTURES", 2)
        runtime = make_source()
        for number in range(5):
            await facts(runtime, OperationScope(storage="custom", session_id=f"s{number}"))
        assert [scope.session_id for scope, _ in runtime._captures] == ["s3", "s4"]

    async def test_ages_are_those_of_the_capture(self, make_source: Make) -> None:
        times: Iterator[datetime] = (NOW + timedelta(days=n) for n in range(100))
        runtime = make_source(clock=lambda: next(times))
        await add(runtime, "one")
        revision = (await facts(runtime)).revision
        first = await runtime.project(projection(revision))
        assert await runtime.project(projection(revision)) == first


@pytest.mark.requirement("runtime:projection:branch")
class TestBranch:
    @pytest.fixture
    def git(self, tmp_path: Path) -> str:
        """A git that prints the content of a file and notes that it ran."""
        script = tmp_path / "git"
        script.write_text(
            f"#!/bin/sh\necho run >> '{tmp_path}/runs'\ncat '{tmp_path}/branch'\n",
            encoding="utf-8",
        )
        script.chmod(0o755)
        return str(script)

    async def test_entries_of_other_branches_are_hidden(
        self, make_source: Make, tmp_path: Path, git: str
    ) -> None:
        runtime = make_source(git=git)
        scope = OperationScope(storage="custom", workspace_id=str(tmp_path))
        await add(runtime, "everywhere")
        await add(runtime, "main only", branches=["main"])
        await add(runtime, "profile", "user")
        write(tmp_path / "branch", "dev\n")
        text = await shown(runtime, scope)
        assert "Git branch: dev (1 branch-scoped entry hidden)" in text
        assert "main only" not in text
        assert "profile" in text
        write(tmp_path / "branch", "main\n")
        assert "main only" in await shown(runtime, scope)
        write(tmp_path / "branch", "\n")
        text = await shown(runtime, scope)
        assert "Git branch" not in text
        assert "main only" in text

    async def test_git_is_asked_at_every_facts_call_but_not_for_management(
        self, make_source: Make, tmp_path: Path, git: str
    ) -> None:
        runtime = make_source(git=git)
        scope = OperationScope(storage="custom", workspace_id=str(tmp_path))
        write(tmp_path / "branch", "dev\n")
        for scenario in ("agent.root-turn", "management.catalog", "agent.remember"):
            await facts(runtime, scope, scenario)
        assert read(tmp_path / "runs") == "run\nrun\n"


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.mark.requirement("runtime:projection:split")
class TestGlobalProfile:
    @pytest.fixture
    def split(self, tmp_path: Path, make_source: Make) -> RuntimeSource:
        return make_source(
            {"dataDir": str(tmp_path / "local"), "userDataDir": str(tmp_path / "global")}
        )

    async def test_each_target_lives_in_its_root(
        self, split: RuntimeSource, tmp_path: Path
    ) -> None:
        await add(split, "profile", "user")
        await add(split, "project")
        assert read(tmp_path / "global/runtime/USER.md") == "profile\n"
        assert read(tmp_path / "global/runtime/MEMORY.md") == ""
        assert read(tmp_path / "local/runtime/MEMORY.md") == "project\n"
        text = await shown(split)
        assert "profile" in text
        assert "project" in text

    async def test_what_is_not_shown_stays_on_disk(
        self, split: RuntimeSource, tmp_path: Path, make_source: Make
    ) -> None:
        await add(make_source({"dataDir": str(tmp_path / "local")}), "local profile", "user")
        await add(make_source({"dataDir": str(tmp_path / "global")}), "global project")
        await add(split, "profile", "user")
        await add(split, "project")
        text = await shown(split)
        assert "local profile" not in text
        assert "global project" not in text
        assert read(tmp_path / "local/runtime/USER.md") == "local profile\n"
        assert read(tmp_path / "global/runtime/MEMORY.md") == "global project\n"

    async def test_the_revision_is_that_of_the_combined_list(
        self, split: RuntimeSource, tmp_path: Path, make_source: Make
    ) -> None:
        await add(split, "profile", "user")
        receipt = await add(split, "project")
        alone = make_source({"dataDir": str(tmp_path / "alone")})
        await add(alone, "profile", "user")
        expected = (await add(alone, "project")).revision
        assert receipt.revision == (await facts(split)).revision == expected


@pytest.mark.requirement("runtime:receipt")
class TestReceipt:
    async def test_a_commit_is_proven_with_its_details(self, make_source: Make) -> None:
        runtime = make_source()
        receipt = await add(runtime, " one  entry ")
        assert (receipt.status, receipt.completion) == ("succeeded", "committed")
        assert receipt.committed_at == "2026-03-01T12:00:00.000Z"
        assert (receipt.view_id, receipt.offer_id) == ("view:1", f"{KEY}/mutate")
        assert receipt.source_instance_key == KEY
        assert receipt.id.startswith("receipt:")
        assert receipt.details == {
            "success": True,
            "message": "Entry added.",
            "target": "memory",
            "entryCount": 1,
            "usage": {"used": 9, "limit": 10_240},
            "added": "one entry",
        }

    async def test_a_duplicate_is_committed_too(self, make_source: Make) -> None:
        runtime = make_source()
        first = await add(runtime, "one")
        again = await add(runtime, "one", importance="critical")
        assert again.completion == "committed"
        assert again.revision == first.revision
        assert again.details["message"] == "Entry already exists (no duplicate added)."

    async def test_an_overflow_is_the_callers_to_solve(self, make_source: Make) -> None:
        runtime = make_source(host={"memoryLimitBytes": 5})
        with pytest.raises(RuntimeCapacityError):
            await add(runtime, "too long")

    async def test_other_actions_are_refused(self, make_source: Make) -> None:
        with pytest.raises(InputError) as caught:
            await mutate(make_source(), attrs.evolve(OFFER, source_action_id="forget"))
        assert caught.value.code == "action-unsupported"

    async def test_a_damaged_store_takes_no_mutation(self, make_source: Make, folder: Path) -> None:
        put(folder, "{")
        with pytest.raises(StorageError) as caught:
            await add(make_source(), "one")
        assert caught.value.code == "store-damaged"
        assert read(folder / "memories.json") == "{"


@pytest.mark.requirement("runtime:cancelled")
class TestCancelling:
    async def test_waiting_for_the_lock_can_be_cancelled(
        self, make_source: Make, folder: Path
    ) -> None:
        runtime = make_source()
        receipt = await add(runtime, "one")
        write(folder / ".memories.lock", "")
        with anyio.move_on_after(0.05) as scope:
            await add(runtime, "two")
        assert scope.cancelled_caught
        os.unlink(folder / ".memories.lock")
        assert (await facts(runtime)).revision == receipt.revision

    async def test_a_commit_that_began_is_finished_and_proven(
        self, make_source: Make, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        runtime = make_source()
        started, go = threading.Event(), threading.Event()
        real = os.replace

        def slow(source: Path, target: Path) -> None:
            real(source, target)
            started.set()
            go.wait(5)

        monkeypatch.setattr(os, "replace", slow)
        receipts: list[Any] = []

        async def call() -> None:
            receipts.append(await add(runtime, "one"))

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await to_thread.run_sync(started.wait, 5)
            group.cancel_scope.cancel()
            go.set()
        assert receipts[0].completion == "committed"
        assert read(folder / "MEMORY.md") == "one\n"

    async def test_mutations_of_one_process_queue_up(self, make_source: Make) -> None:
        runtimes = [make_source() for _ in range(4)]
        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(add, runtimes[number % 4], f"entry {number}.")
        text = await shown(runtimes[0])
        assert all(f"entry {number}." in text for number in range(20))


@pytest.mark.requirement("runtime:facts")
async def test_nothing_is_parsed_while_nothing_changes(
    make_source: Make, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = make_source()
    await add(runtime, "one")
    os.utime(folder / "memories.json", (1, 1))
    text = await shown(runtime)
    monkeypatch.setattr(_store, "decode", None)
    assert await shown(runtime) == text


@pytest.mark.requirement("runtime:facts")
async def test_management_sees_the_same_revision(make_source: Make) -> None:
    runtime = make_source()
    await add(runtime, "one")
    request = ManagementRequest(
        source_instance_key=KEY, scope=SCOPE, mode="read", operation="snapshot"
    )
    result = await runtime.manage(request)
    assert result.revision == result.value["revision"] == (await facts(runtime)).revision


@pytest.mark.requirement("runtime:manifest")
def test_the_definition_needs_nothing() -> None:
    assert runtime_source().manifest.type_id == "runtime"
