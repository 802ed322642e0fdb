"""The README's promises: its Python example and its commands run as written."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def block(language: str, containing: str) -> str:
    blocks = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    return next(text for text in blocks if containing in text)


@attrs.frozen
class Call:
    name: str
    arguments: dict[str, Any]


@attrs.frozen
class Reply:
    text: str = ""
    tool_call: Call | None = None


class ScriptedModel:
    """Stores one fact when asked, then answers."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    async def __call__(self, **request: Any) -> Reply:
        self.seen.append(request)
        if "result" in request:
            return Reply(text=request["result"]["message"])
        fact = {"action": "add", "target": "user", "content": "Prefers short answers"}
        return Reply(tool_call=Call("mnemon_runtime_memory", fact))


async def test_the_python_example_runs_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMON_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(block("python", "MemoryHost.open"), "README.md", "exec"), names)
    model = ScriptedModel()
    assert await names["answer"]("hello", model) == "Entry added."
    first = model.seen[0]
    assert "MNEMON RUNTIME MEMORY PROTOCOL" in first["system"]
    assert any("MNEMON RUNTIME MEMORY SNAPSHOT" in text for text in first["messages"])
    again = ScriptedModel()
    assert "no duplicate" in await names["answer"]("hello", again)
    assert any("Prefers short answers" in text for text in again.seen[0]["messages"])


def commands(containing: str) -> list[list[str]]:
    """Return the arguments of every command of a block."""
    lines = [line.split("#")[0].strip() for line in block("console", containing).splitlines()]
    parts = [re.findall(r'"([^"]*)"|(\S+)', line) for line in lines if line]
    return [[quoted or plain for quoted, plain in words][3:] for words in parts]


def test_the_commands_run_as_written(run: Callable[..., Any]) -> None:
    first = commands("dsh-mnemon runtime add")
    assert len(first) == 5
    for arguments in first:
        done = run(*arguments)
        assert done.returncode == 0, (arguments, done.stderr)
        assert done.stdout.strip()
    assert "Prefers short answers in British English" in run("context").stdout


def test_long_term_memory_and_documents_work_as_written(
    run: Callable[..., Any], environment: dict[str, str], tmp_path: Path
) -> None:
    for folder in (Path(environment["HOME"]) / "notes", tmp_path / "workspace" / "notes"):
        folder.mkdir()
        (folder / "release.md").write_text("# Release\n\nThe rollback comes first.\n")
    answers = {}
    for arguments in commands("dsh-mnemon spaces create"):
        words = [arg.replace("~", environment["HOME"]) for arg in arguments]
        done = run(*words)
        assert done.returncode == 0, (words, done.stderr)
        answers[words[0] + words[1]] = done.stdout
    assert "row-level security" in answers["recallwhy did we choose Postgres"]
    assert "Release checklist" in answers["documentssearch"]


def test_the_composition_changes_as_written(run: Callable[..., Any]) -> None:
    for arguments in commands("dsh-mnemon compose list"):
        done = run(*arguments)
        assert done.returncode == 0, (arguments, done.stderr)
    assert run("status", "--json").returncode == 0
    assert "general" in run("compose", "list").stdout.splitlines()[-1]
