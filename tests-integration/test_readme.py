"""The README's promises: its Python example and its commands run as written."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


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
    """Return the arguments of every command of a block, which fetches no developer tools."""
    lines = [line.split("#")[0].strip() for line in block("console", containing).splitlines()]
    parts = [re.findall(r'"([^"]*)"|(\S+)', line) for line in lines if line]
    called = [[quoted or plain for quoted, plain in words] for words in parts]
    assert all(words[:4] == ["uv", "run", "--no-dev", "dsh-mnemon"] for words in called)
    return [words[4:] for words in called]


def test_the_first_command_fetches_no_developer_tools() -> None:
    start = block("console", "dsh-mnemon serve").strip()
    assert start.endswith("python -m uv run --no-dev dsh-mnemon serve")


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


def shown_commands(page: str) -> list[list[str]]:
    """Return the arguments of every plain ``dsh-mnemon`` command that a page shows."""
    blocks = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    lines = [shlex.split(line, comments=True) for text in blocks for line in text.splitlines()]
    return [words[1:] for words in lines if words[:1] == ["dsh-mnemon"]]


def test_the_page_of_the_starter_runs_as_written(run: Callable[..., Any]) -> None:
    page = (ROOT / "starter/README.md").read_text(encoding="utf-8")
    shown = shown_commands(page)
    assert ["compose", "strategy", "general"] in shown
    for arguments in shown:
        done = run(*arguments)
        assert done.returncode == 0, (arguments, done.stderr)
    assert "row-level security" in run("recall", "why did we choose Postgres").stdout


def test_a_provider_of_the_page_for_authors_is_switched_on_as_written(
    run: Callable[..., Any], tmp_path: Path
) -> None:
    page = (ROOT / "packages/sources/memory-spaces/README.md").read_text(encoding="utf-8")
    block = re.compile(r"^`([^`\n]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    for path, text in block.findall(page):
        file = tmp_path / "plugin" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace("/srv/memory", str(tmp_path / "memory")), encoding="utf-8")
    env = {
        "MNEMON_PROFILE": str(tmp_path / "plugin" / "profile.yaml"),
        "PYTHONPATH": str(tmp_path / "plugin" / "src"),
    }
    answers = {}
    for arguments in shown_commands(page):
        done = run(*arguments, **env)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        answers[arguments[0]] = done.stdout
    assert "provider: note-files: ready" in answers["doctor"]
    assert "Tea at four." in answers["recall"]


def test_tutorials_use_names_of_their_own() -> None:
    pages = ("packages/testing/README.md", "packages/sources/memory-spaces/README.md")
    names = [
        re.findall(r"^mkdir ([\w-]+)", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
        for page in pages
    ]
    assert len({name for found in names for name in found}) == len(pages)


def test_options_of_an_enhancement_are_set_as_written(
    run: Callable[..., Any], environment: dict[str, str]
) -> None:
    settings = Path(environment["XDG_CONFIG_HOME"]) / "dsh-mnemon" / "settings.yaml"
    settings.parent.mkdir(parents=True)
    pages = sorted((ROOT / "packages/enhancements").glob("*/README.md"))
    assert len(pages) == 3
    for page in (ROOT / "README.md", *pages):
        blocks = re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        [shown] = [text for text in blocks if text.startswith("memoryView:")]
        settings.write_text(shown, encoding="utf-8")
        name = re.findall(r"^    ([\w-]+):$", shown, re.MULTILINE)[0]
        done = run("compose", "list")
        assert done.returncode == 0, done.stderr
        assert re.search(rf"^{name} +active ", done.stdout, re.MULTILINE), done.stdout
