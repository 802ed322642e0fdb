"""A data directory written by the original opens, and one add leaves the other bytes alone."""

import json
from pathlib import Path
from typing import Any

from dsh_mnemon import DEFAULT_PROFILE
from dsh_mnemon_host import MemoryHost

RECORDED = json.loads(
    (Path(__file__).parent / "golden" / "rt021-store-after.json").read_text(encoding="utf-8")
)


def text_of(content: Any) -> str:
    """Spell a recorded file as the original stores it: JSON indented by two, one newline."""
    if isinstance(content, str):
        return content
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def lay_out(root: Path) -> dict[str, str]:
    files = {
        name: text_of(content)
        for name, content in RECORDED["files"].items()
        if not name.startswith("<")
    }
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8", newline="\n")
    return files


async def test_adding_an_entry_leaves_the_originals_other_bytes(tmp_path: Path) -> None:
    root = tmp_path / "data"
    files = lay_out(root)
    async with (
        MemoryHost.open(
            profile=DEFAULT_PROFILE,
            workspace=tmp_path,
            settings=tmp_path / "settings.yaml",
            env={"MNEMON_DATA_DIR": str(root)},
        ) as host,
        host.agent().turn() as turn,
    ):
        assert "User prefers concise answers in British English." in turn.messages[-1].text
        await turn.call(
            "mnemon_runtime_memory",
            {"action": "add", "target": "memory", "content": "用 uv 管理依赖。"},
        )
    before = RECORDED["files"]["runtime/memories.json"]
    stored = json.loads((root / "runtime/memories.json").read_text(encoding="utf-8"))
    added = stored["entries"].pop()
    assert stored == before
    assert list(added) == ["content", "created_at", "updated_at", "target", "importance"]
    stored["entries"].append(added)
    changed = {
        "runtime/memories.json": text_of(stored),
        "runtime/MEMORY.md": files["runtime/MEMORY.md"].rstrip("\n") + "\n§\n用 uv 管理依赖。\n",
    }
    for name, content in {**files, **changed}.items():
        assert (root / name).read_bytes() == content.encode("utf-8"), name


async def test_opening_and_reading_changes_no_byte(tmp_path: Path) -> None:
    root = tmp_path / "data"
    files = lay_out(root)
    async with MemoryHost.open(
        profile=DEFAULT_PROFILE,
        workspace=tmp_path,
        settings=tmp_path / "settings.yaml",
        env={"MNEMON_DATA_DIR": str(root)},
    ) as host:
        for _ in range(2):
            async with host.agent().turn() as turn:
                assert turn.problem is None
    for name, content in files.items():
        assert (root / name).read_bytes() == content.encode("utf-8"), name
