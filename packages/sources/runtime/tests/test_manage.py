"""Management operations (spec/sources.md §1.3, §2.7)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.errors import CapacityError, InputError, ManagementError, StorageError
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.sdk import ManagementRequest, json_clone
from dsh_mnemon_source_runtime import RuntimeSource

Make = Callable[..., RuntimeSource]
SMALL = {"memoryLimitBytes": 120, "userLimitBytes": 60}
ADD = {"action": "add", "target": "memory", "content": "新条目"}
CONTENTS = ("critical 关键规则 one", "normal entry two", "low entry three", "normal entry four")


async def read(runtime: RuntimeSource, operation: str, value: Any = None) -> Any:
    return (await answer(runtime, operation, value)).value


async def answer(runtime: RuntimeSource, operation: str, value: Any = None) -> Any:
    return await runtime.manage(
        ManagementRequest(
            source_instance_key="source:mnemon-source-runtime",
            scope=OperationScope(storage="custom"),
            mode="read",
            operation=operation,
            input=json_clone(value),
        )
    )


async def change(
    runtime: RuntimeSource, operation: str, value: Any, *, fence: str | None = None, **more: Any
) -> Any:
    revision = fence or (await answer(runtime, "diagnose")).revision
    return await runtime.manage(
        ManagementRequest(
            **{
                "source_instance_key": "source:mnemon-source-runtime",
                "scope": OperationScope(storage="custom"),
                "mode": "mutate",
                "operation": operation,
                "input": json_clone(value),
                "expected_revision": revision,
                "confirmed": True,
                **more,
            }
        )
    )


@pytest.fixture
async def full(make_source: Make) -> RuntimeSource:
    """A store of 85 of 120 bytes."""
    runtime = make_source(host=SMALL)
    for content in CONTENTS:
        importance = content.split(" ")[0]
        await change(runtime, "mutate", {**ADD, "content": content, "importance": importance})
    return runtime


@pytest.mark.requirement("runtime:management:operations")
class TestReads:
    async def test_the_snapshot_describes_the_store(
        self, full: RuntimeSource, folder: Path
    ) -> None:
        value = await read(full, "snapshot")
        assert value["directory"] == str(folder)
        assert value["sourcePath"] == str(folder / "memories.json")
        assert value["generatedAt"] == "2026-03-01T12:00:00.000Z"
        assert [entry["content"] for entry in value["entries"]] == list(CONTENTS)
        assert value["targets"] == {
            "memory": {
                "target": "memory",
                "entryCount": 4,
                "used": 85,
                "limit": 120,
                "markdownPath": str(folder / "MEMORY.md"),
            },
            "user": {
                "target": "user",
                "entryCount": 0,
                "used": 0,
                "limit": 60,
                "markdownPath": str(folder / "USER.md"),
            },
        }

    async def test_the_plan_names_store_and_view_revision(self, full: RuntimeSource) -> None:
        plan = await read(full, "maintenance-plan", {**ADD, "content": "x" * 40})
        assert plan["revision"] == plan["viewRevision"] == (await answer(full, "diagnose")).revision
        assert plan["requiresMaintenance"] is True
        assert plan["budget"] == 84 - 40 - 4
        assert plan["sources"][1]["reference"] == f"runtime:{plan['revision']}:memory:2"

    async def test_a_plan_for_the_profile_has_no_sources(self, full: RuntimeSource) -> None:
        await change(full, "mutate", {**ADD, "target": "user"})
        plan = await read(full, "maintenance-plan", {**ADD, "target": "user", "content": "x"})
        assert len(plan["entries"]) == 1
        assert plan["sources"] == []

    async def test_pending_branches_are_shown(self, full: RuntimeSource) -> None:
        plan = await read(full, "maintenance-plan", {**ADD, "branches": ["main"]})
        assert plan["pending"] == {
            "content": "新条目",
            "importance": "normal",
            "branches": ["main"],
        }

    @pytest.mark.parametrize(
        "page", [{"limit": 0}, {"limit": 1001}, {"limit": "5"}, {"offset": -1}, 5]
    )
    async def test_archive_pages_are_bounded(self, full: RuntimeSource, page: Any) -> None:
        with pytest.raises(InputError):
            await read(full, "archived", page)

    async def test_an_edited_file_is_compared_and_listed(
        self, full: RuntimeSource, folder: Path
    ) -> None:
        text = "\n§\n".join((*CONTENTS, "mine"))
        write(folder / "MEMORY.md", text)
        (edit,) = await read(full, "edits")
        assert (edit["target"], edit["file"]) == ("memory", str(folder / "MEMORY.md"))
        request = {"target": "memory", "text": text, "editedAt": edit["editedAt"]}
        (difference,) = await read(full, "compare-edit", request)
        assert difference == {
            "kind": "add",
            "to": "mine",
            "mutation": {"action": "add", "target": "memory", "content": "mine"},
        }
        await change(full, "mutate", difference["mutation"])
        assert await read(full, "compare-edit", request) == []

    async def test_what_does_not_fit_is_marked(self, full: RuntimeSource) -> None:
        text = "\n§\n".join((*CONTENTS, "x" * 40))
        (difference,) = await read(full, "compare-edit", {"target": "memory", "text": text})
        assert difference["problem"] == "runtime-capacity"

    @pytest.mark.parametrize(
        ("value", "code"),
        [
            (None, "not-an-object"),
            ({"text": "x"}, "target-unsupported"),
            ({"target": "memory"}, "text-not-string"),
            ({"target": "memory", "text": "x" * 4_000_001}, "text-too-long"),
        ],
    )
    async def test_a_comparison_needs_target_and_text(
        self, full: RuntimeSource, value: Any, code: str
    ) -> None:
        with pytest.raises(InputError) as caught:
            await read(full, "compare-edit", value)
        assert caught.value.code == code


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.mark.requirement("runtime:management:diagnose")
class TestDamage:
    async def test_the_diagnosis_is_reached_while_the_rest_refuses(
        self, full: RuntimeSource, folder: Path
    ) -> None:
        write(folder / "memories.json", '{"version":1,"entries":[5]}')
        result = await answer(full, "diagnose")
        assert result.revision == "unavailable"
        assert result.value == [
            {
                "file": str(folder / "memories.json"),
                "readable": False,
                "reason": "invalid-entry",
                "firstBadIndex": 0,
                "texts": [str(folder / "MEMORY.md")],
            }
        ]
        for operation in ("snapshot", "edits"):
            with pytest.raises(StorageError):
                await read(full, operation)
        with pytest.raises(StorageError):
            await change(full, "mutate", ADD)

    async def test_every_root_is_diagnosed(self, make_source: Make, tmp_path: Path) -> None:
        runtime = make_source(
            {"dataDir": str(tmp_path / "local"), "userDataDir": str(tmp_path / "global")}
        )
        files = [item["file"] for item in await read(runtime, "diagnose")]
        assert files == [
            str(tmp_path / "local/runtime/memories.json"),
            str(tmp_path / "global/runtime/memories.json"),
        ]


@pytest.mark.requirement("runtime:management:fence")
class TestFence:
    @pytest.mark.parametrize(
        "missing", [{"confirmed": False}, {"confirmed": 1}, {"expected_revision": None}]
    )
    async def test_confirmation_and_revision_are_needed(
        self, full: RuntimeSource, missing: dict[str, Any]
    ) -> None:
        with pytest.raises(ManagementError) as caught:
            await change(full, "mutate", ADD, **missing)
        assert caught.value.code == "management-unconfirmed"

    async def test_the_revision_is_compared_under_the_lock(self, full: RuntimeSource) -> None:
        seen = (await answer(full, "diagnose")).revision
        await change(full, "mutate", ADD)
        for operation, value in (
            ("mutate", {**ADD, "content": "y"}),
            ("archive-and-mutate", {"revision": seen, "mutation": ADD}),
            ("compact-and-mutate", {"revision": seen, "mutation": ADD, "compacted": []}),
        ):
            with pytest.raises(ManagementError) as caught:
                await change(full, operation, value, fence=seen)
            assert caught.value.code == "management-revision-conflict"

    async def test_a_change_of_the_other_root_counts(
        self, make_source: Make, tmp_path: Path
    ) -> None:
        runtime = make_source(
            {"dataDir": str(tmp_path / "local"), "userDataDir": str(tmp_path / "global")}
        )
        seen = (await answer(runtime, "diagnose")).revision
        await change(runtime, "mutate", {**ADD, "target": "user"})
        with pytest.raises(ManagementError):
            await change(runtime, "mutate", ADD, fence=seen)

    async def test_maintenance_works_with_split_roots(
        self, make_source: Make, tmp_path: Path
    ) -> None:
        runtime = make_source(
            {"dataDir": str(tmp_path / "local"), "userDataDir": str(tmp_path / "global")},
            host=SMALL,
        )
        await change(runtime, "mutate", {**ADD, "target": "user"})
        await change(runtime, "mutate", {**ADD, "content": "x" * 100})
        plan = await read(runtime, "maintenance-plan", {**ADD, "content": "y" * 50})
        assert plan["revision"] != plan["viewRevision"]
        result = await change(
            runtime,
            "archive-and-mutate",
            {"revision": plan["revision"], "mutation": {**ADD, "content": "y" * 50}},
            fence=plan["viewRevision"],
        )
        assert result.revision == (await answer(runtime, "diagnose")).revision
        assert text_of(tmp_path / "local/runtime/MEMORY.md") == "y" * 50 + "\n"

    async def test_a_profile_is_compacted_in_its_root(
        self, make_source: Make, tmp_path: Path
    ) -> None:
        runtime = make_source(
            {"dataDir": str(tmp_path / "local"), "userDataDir": str(tmp_path / "global")},
            host=SMALL,
        )
        await change(runtime, "mutate", {**ADD, "target": "user", "content": "a" * 50})
        mutation = {**ADD, "target": "user", "content": "b" * 20}
        plan = await read(runtime, "maintenance-plan", mutation)
        await change(
            runtime,
            "compact-and-mutate",
            {
                "revision": plan["revision"],
                "mutation": mutation,
                "compacted": [{"content": "a", "importance": "normal"}],
                "maxBytes": plan["budget"],
            },
            fence=plan["viewRevision"],
        )
        assert text_of(tmp_path / "global/runtime/USER.md") == f"a\n§\n{'b' * 20}\n"


END = {"layerId": "runtime", "reference": "runtime:r:memory:1", "digest": "d"}


@pytest.mark.requirement("runtime:management:operations")
class TestMutations:
    async def test_the_plan_leads_to_a_compaction_with_lineage(
        self, full: RuntimeSource, folder: Path
    ) -> None:
        mutation = {**ADD, "content": "新增的一条工作记忆内容，需要压缩空间"}
        with pytest.raises(CapacityError):
            await change(full, "mutate", mutation)
        plan = await read(full, "maintenance-plan", mutation)
        keep = [{key: row[key] for key in ("content", "importance")} for row in plan["entries"]]
        result = await change(
            full,
            "compact-and-mutate",
            {
                "revision": plan["revision"],
                "mutation": mutation,
                "compacted": keep,
                "maxBytes": plan["budget"],
                "lineage": [{"source": plan["sources"][0], "destination": END}],
            },
        )
        assert result.value["entryCount"] == 2
        assert result.value["usage"]["used"] == 25 + 4 + 54
        (line,) = text_of(folder / "archived" / "lineage.jsonl").splitlines()
        assert json.loads(line)["source"] == plan["sources"][0]
        assert json.loads(line)["revision"] == plan["revision"]

    async def test_the_local_archive_keeps_what_is_left_out(
        self, full: RuntimeSource, folder: Path
    ) -> None:
        revision = (await answer(full, "diagnose")).revision
        result = await change(
            full, "archive-and-mutate", {"revision": revision, "mutation": ADD, "maxBytes": 45}
        )
        assert result.value["maintenance"]["kind"] == "local-archive"
        assert result.value["maintenance"]["runId"].startswith("host-")
        page = await read(full, "archived", {"limit": 1, "offset": 1})
        assert page["total"] == 2
        assert [line["content"] for line in page["entries"]] == ["low entry three"]
        assert [line["content"] for line in (await read(full, "archived"))["entries"]] == [
            "normal entry four",
            "low entry three",
        ]
        assert "low entry three" not in text_of(folder / "MEMORY.md")

    @pytest.mark.parametrize(
        ("change_", "code"),
        [
            ({"compacted": None}, "compacted-invalid"),
            ({"compacted": "x"}, "compacted-invalid"),
            ({"compacted": [{}] * 10_001}, "compacted-invalid"),
            ({"compacted": ["x"]}, "not-an-object"),
            ({"compacted": [{"importance": "low"}]}, "text-not-string"),
            ({"compacted": [{"content": "x", "importance": "high"}]}, "importance-unsupported"),
            (
                {"compacted": [{"content": "x", "importance": "low", "branches": "main"}]},
                "branches-invalid",
            ),
            (
                {"compacted": [{"content": "x", "importance": "low", "branches": ["a b"]}]},
                "branches-invalid",
            ),
            ({"maxBytes": 121}, "compaction-budget-invalid"),
            ({"revision": None}, "text-not-string"),
            ({"mutation": None}, "not-an-object"),
            ({"lineage": [{"source": END}]}, None),
        ],
    )
    async def test_a_malformed_compaction_changes_nothing(
        self, full: RuntimeSource, change_: dict[str, Any], code: str | None
    ) -> None:
        before = (await answer(full, "diagnose")).revision
        value = {"revision": before, "mutation": ADD, "compacted": [], **change_}
        with pytest.raises(InputError) as caught:
            await change(full, "compact-and-mutate", value)
        if code:
            assert caught.value.code == code
        assert (await answer(full, "diagnose")).revision == before

    @pytest.mark.parametrize("mode", ["read", "mutate"])
    async def test_unknown_operations_are_refused(self, full: RuntimeSource, mode: str) -> None:
        call = read if mode == "read" else change
        with pytest.raises(InputError) as caught:
            await call(full, "forget", ADD)
        assert caught.value.code == "operation-unsupported"
