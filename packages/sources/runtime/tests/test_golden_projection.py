"""Recorded projection: branch filtering, header lines, counters, annotations."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_source_runtime import _render
from dsh_mnemon_source_runtime._changes import State
from dsh_mnemon_source_runtime._entries import of_target
from dsh_mnemon_source_runtime._format import decode
from dsh_mnemon_source_runtime.contracts import SEPARATOR, Limits, Target

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parent / "golden" / "runtime-projection.json").read_text(encoding="utf-8")
)
NOW = datetime.fromisoformat(GOLDEN["now"])
STATE = State(decode(json.dumps({"version": 1, "entries": GOLDEN["entries"]}).encode()))


PLAIN: dict[Target, str] = {"user": "plainUser", "memory": "plainMemory"}


def block(name: str, content: str) -> str:
    return f'<runtime-memory-file name="{name}">\n{content}\n</runtime-memory-file>'


def numbered(cases: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(case, id=f"{number}") for number, case in enumerate(cases, 1)]


@pytest.mark.requirement("runtime:projection:text")
@pytest.mark.parametrize("case", numbered(GOLDEN["cases"]))
def test_the_snapshot_reads_as_recorded(case: dict[str, Any]) -> None:
    expected = case["expected"]
    # `current_branch` strips what git prints, so a blank name never gets here.
    branch = (case["input"]["branch"] or "").strip()
    shown = [entry for entry in STATE.entries if _render.is_visible(entry, branch)]
    assert STATE.revision == expected["revision"]
    assert [entry.content for entry in shown] == expected["visible"]
    assert len(STATE.entries) == expected["totalEntries"]
    for target, key in PLAIN.items():
        contents = [entry.content for entry in of_target(shown, target)]
        assert SEPARATOR.join(contents) == expected[key]
    text = _render.snapshot(STATE, branch, limits=Limits(), now=NOW)
    header, user, memory = text.split("\n\n")
    *lines, note = header.split("\n")
    assert lines == expected["headerLines"]
    assert note
    assert user == f"{expected['userHeading']}\n{block('USER.md', expected['annotatedUser'])}"
    assert memory == (
        f"{expected['memoryHeading']}\n{block('MEMORY.md', expected['annotatedMemory'])}"
    )
