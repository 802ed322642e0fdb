"""Recorded files: bytes, revisions, damage and a store the original left behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_source_runtime._entries import of_target, used_bytes
from dsh_mnemon_source_runtime._memory import RuntimeMemory
from dsh_mnemon_source_runtime.contracts import TARGETS

GOLDEN = Path(__file__).parent / "golden"


def load(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((GOLDEN / name).read_text(encoding="utf-8"))
    return content


RENDERING = load("runtime-rendering.json")["cases"]
CORRUPTION = load("runtime-corruption.json")["cases"]


def names(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


def numbered(cases: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(case, id=f"{number}") for number, case in enumerate(cases, 1)]


@pytest.fixture
def write(folder: Path) -> Callable[[str], Path]:
    def put(text: str) -> Path:
        folder.mkdir()
        (folder / "memories.json").write_text(text, encoding="utf-8", newline="")
        return folder / "memories.json"

    return put


@pytest.mark.requirement("runtime:files:bytes")
@pytest.mark.parametrize("case", numbered(RENDERING))
async def test_a_store_is_written_as_the_original_writes_it(
    case: dict[str, Any], folder: Path, write: Any, make_memory: Callable[..., RuntimeMemory]
) -> None:
    path = write(json.dumps({"version": 1, **case["input"]}, ensure_ascii=False))
    expected = case["expected"]
    state = await make_memory().current()
    assert state.revision == expected["revision"]
    assert path.read_bytes().decode() == expected["memoriesJson"]
    assert (folder / "USER.md").read_bytes().decode() == expected["userMd"]
    assert (folder / "MEMORY.md").read_bytes().decode() == expected["memoryMd"]
    for target in TARGETS:
        assert used_bytes(state.entries, target) == expected["used"][target]
        assert len(of_target(state.entries, target)) == expected["entryCount"][target]


@pytest.mark.requirement("runtime:files:damaged")
@pytest.mark.parametrize("case", numbered(CORRUPTION))
async def test_a_damaged_store_is_refused_and_an_odd_one_put_right(
    case: dict[str, Any], folder: Path, write: Any, make_memory: Callable[..., RuntimeMemory]
) -> None:
    path, expected = write(case["input"]), case["expected"]
    if "error" in expected:
        with pytest.raises(StorageError) as caught:
            await make_memory().current()
        assert caught.value.code == "store-damaged"
        assert path.read_text(encoding="utf-8") == case["input"]
        assert names(folder) == expected["files"]
    else:
        state = await make_memory().current()
        assert [entry.to_json() for entry in state.entries] == expected["entries"]
        assert path.read_text(encoding="utf-8") == expected["rewritten"]


@pytest.mark.requirement("runtime:files:bytes")
async def test_a_store_of_the_original_is_in_normal_form(
    folder: Path, write: Callable[[str], Path], make_memory: Callable[..., RuntimeMemory]
) -> None:
    files = load("rt021-store-after.json")["files"]
    stored = json.dumps(files["runtime/memories.json"], ensure_ascii=False, indent=2) + "\n"
    write(stored)
    for name in ("USER.md", "MEMORY.md"):
        (folder / name).write_text(files[f"runtime/{name}"], encoding="utf-8", newline="")
    state = await make_memory().current()
    assert [entry.to_json() for entry in state.entries] == json.loads(stored)["entries"]
    assert names(folder) == [
        "MEMORY.md",
        "USER.md",
        "memories.json",
    ]
