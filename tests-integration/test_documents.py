"""Working documents as a real MCP client uses them, under Layered and under General."""

from pathlib import Path
from typing import Any

import anyio
import pytest

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")

ENGLISH = "# Rollback\n\nA migration is rolled back with `tools migrate --down`, never by hand.\n"
CHINESE = "# 备份\n\n数据库每天凌晨三点备份,保留三十天。恢复演练每季度一次。\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


async def created(me: Any, title: str, content: str) -> dict[str, Any]:
    answer = await me("mnemon_document_create", title=title, content=content)
    assert answer["memoryReceipt"]["completion"] == "committed"
    return dict(answer["document"])


async def test_a_document_lives_from_creation_to_restoration(
    environment: dict[str, str], workspace: Path, person: Any
) -> None:
    with anyio.fail_after(90):
        async with person(environment, workspace) as me:
            await me.turn()
            english = await created(me, "Rollback of a migration", ENGLISH)
            chinese = await created(me, "备份策略", CHINESE)
            await me.turn()
            found = await me("mnemon_document_search", query="rolled back by hand")
            assert [row["id"] for row in found["results"]] == [english["id"]]
            again = await me("mnemon_document_search", query="备份")
            assert again["notRun"] is True
            assert again["results"] == []
            await me.turn()
            found = await me("mnemon_document_search", query="凌晨备份")
            assert found["results"][0]["id"] == chinese["id"]

            page = await me("mnemon_document_read", id=english["id"])
            assert page["content"].strip() == ENGLISH.strip()
            changed = {
                "action": "update",
                "id": english["id"],
                "content": ENGLISH + "\nAsk first.\n",
            }
            why = await me.refused("mnemon_document_manage", **changed)
            assert "revision-required" in why
            right = page["revision"]
            done = await me("mnemon_document_manage", **changed, revision=right)
            assert done["document"]["revision"] == right + 1
            stale = await me.refused("mnemon_document_manage", **changed, revision=right)
            assert "revision-conflict" in stale

            archived = await me("mnemon_document_manage", action="archive", id=english["id"])
            assert archived["action"] == "archived"
            assert archived["maintenance"]["memoryBodyIds"] == []
            await me.turn()
            found = await me("mnemon_document_search", query="rolled back by hand")
            assert english["id"] not in {row["id"] for row in found["results"]}
            restored = await me("mnemon_document_manage", action="restore", id=english["id"])
            assert restored["document"]["id"] != english["id"]
            await me.turn()
            found = await me("mnemon_document_search", query="ask first, rolled back")
            assert restored["document"]["id"] in {row["id"] for row in found["results"]}


async def test_an_archive_leaves_its_index_in_a_memory_space(
    environment: dict[str, str], workspace: Path, person: Any
) -> None:
    with anyio.fail_after(90):
        async with person(environment, workspace) as me:
            await me.turn()
            space = await me("mnemon_memory_body_create", name="History", description="Done work.")
            await me("mnemon_memory_body_update", memoryBodyId=space["memoryBodyId"], active=True)
            await me.turn()
            document = await created(me, "Rollback of a migration", ENGLISH)
            archived = await me("mnemon_document_manage", action="archive", id=document["id"])
            assert archived["maintenance"]["memoryBodyIds"] == ["default"]
            await me.turn()
            found = await me("mnemon_recall", query="Rollback of a migration document")
            assert f"Document ID: {document['id']}" in found["results"][0]["content"]


async def test_general_reaches_every_source_by_the_generic_tools(
    environment: dict[str, str], workspace: Path, person: Any, run: Any
) -> None:
    assert run("compose", "strategy", "general").returncode == 0
    settings = Path(environment["XDG_CONFIG_HOME"]) / "dsh-mnemon" / "settings.yaml"
    settings.write_text(
        settings.read_text(encoding="utf-8") + "runtimeMemory: {memoryLimitBytes: 120}\n",
        encoding="utf-8",
    )
    with anyio.fail_after(90):
        async with person(environment, workspace) as me:
            text = await me.turn()
            for name in ("runtime", "documents", "memory-spaces"):
                assert f"source:mnemon-source-{name}" in text
            space = await me("mnemon_memory_body_create", name="S", description="D")
            await me("mnemon_remember", content="Otters sleep holding hands.")
            await me("mnemon_view_action", offerId="source:mnemon-source-documents/create",
                     input={"title": "Backups", "content": CHINESE})  # fmt: skip
            await me.turn()
            recall = {"routeId": "source:mnemon-source-memory-spaces/recall"}
            for number in range(4):
                query = {"query": f"otters sleep {number}"}
                found = await me("mnemon_view_route", **recall, input=query)
                assert found["items"][0]["text"] == "Otters sleep holding hands."
            why = await me.refused("mnemon_view_route", **recall, input={"query": "otters"})
            assert "route-calls-exhausted" in why
            search = {
                "routeId": "source:mnemon-source-documents/search",
                "input": {"query": "备份"},
            }
            for _ in range(2):
                found = await me("mnemon_view_route", **search)
                assert found["items"][0]["provenance"]["title"] == "Backups"
            named = await me("mnemon_document_search", query="备份")
            assert named["results"][0]["title"] == "Backups"
            assert space["memoryBodyId"] == "default"
            entry = {
                "action": "add",
                "target": "memory",
                "content": "One fact of sixty letters, " * 3,
            }
            await me(
                "mnemon_view_action", offerId="source:mnemon-source-runtime/mutate", input=entry
            )
            entry["content"] = "Another fact that does not fit any more. " * 2
            why = await me.refused(
                "mnemon_view_action", offerId="source:mnemon-source-runtime/mutate", input=entry
            )
            assert "runtime-capacity" in why
