"""A person at a terminal, in process."""

import json
import logging
import os

import pytest
from dsh_mnemon_host.cli.main import main

PROFILE = """\
version: 1
entries:
  - {id: mnemon, module: dsh_mnemon_host}
  - {id: mnemon-source-runtime, module: dsh_mnemon_source_runtime}
  - {id: strategy, module: dsh_mnemon_strategy_default_three_tier}
"""


@pytest.fixture(autouse=True)
def quiet():
    """Take back what the command sets for its whole process."""
    loggers = [logging.getLogger(name) for name in ("dsh_mnemon_core", "dsh_mnemon_host")]
    levels = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


class Shell:
    """A person at a terminal."""

    def __init__(self, tmp_path, capsys, monkeypatch):
        self.folder = tmp_path / "workspace"
        self.folder.mkdir()
        self.profile = tmp_path / "default.yaml"
        self.profile.write_text(PROFILE, encoding="utf-8")
        self.data = tmp_path / "data"
        self.settings = tmp_path / "config" / "dsh-mnemon" / "settings.yaml"
        self.capsys = capsys
        for name in [name for name in os.environ if name.startswith("MNEMON")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("MNEMON_DATA_DIR", str(self.data))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.chdir(self.folder)

    def __call__(self, *arguments, profile=...):
        """Run it and return exit code, standard output and standard error."""
        default = self.profile if profile is ... else profile
        code = main([str(item) for item in arguments], default_profile=default)
        out, err = self.capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    def json(self, *arguments, code=0):
        found, out, err = self(*arguments, "--json")
        assert (found, err) == (code, "")
        return json.loads(out)

    def configure(self, text):
        self.settings.parent.mkdir(parents=True, exist_ok=True)
        self.settings.write_text(text, encoding="utf-8")


@pytest.fixture
def shell(tmp_path, capsys, monkeypatch):
    return Shell(tmp_path, capsys, monkeypatch)


@pytest.fixture
def edited(shell):
    """A USER.md that a person changed: one line replaced, one added."""
    shell("runtime", "add", "--target", "user", "Prefers dark theme")
    file = shell.data / "runtime" / "USER.md"
    file.write_text("Prefers a dark theme\n§\nSpeaks Chinese\n", encoding="utf-8")
    return file


FULL = """\
version: 1
entries:
  - {id: mnemon, module: dsh_mnemon_host}
  - {id: mnemon-source-runtime, module: dsh_mnemon_source_runtime}
  - {id: mnemon-source-documents, module: dsh_mnemon_source_documents}
  - id: mnemon-source-memory-spaces
    module: dsh_mnemon_source_memory_spaces
    config:
      providers:
        - dsh_mnemon_provider_mnemon_native
        - dsh_mnemon_provider_holographic
        - dsh_mnemon_provider_ghost
        - {use: dsh_mnemon_provider_mnemon_native, instanceId: broken, config: {engine: none}}
  - {id: mnemon-strategy-default-three-tier, module: dsh_mnemon_strategy_default_three_tier}
  - {id: mnemon-strategy-general, module: dsh_mnemon_strategy_general, enabled: false}
  - {id: mnemon-strategy-light-context, module: dsh_mnemon_strategy_light_context, enabled: false}
  - {id: mnemon-strategy-ghost, module: dsh_mnemon_strategy_ghost, enabled: false}
"""


@pytest.fixture
def whole(shell):
    """A person at a terminal, with every Source and the native engine."""
    shell.profile.write_text(FULL, encoding="utf-8")
    return shell


@pytest.fixture
def space(whole):
    """The same, with one Memory Space that is called Project."""
    whole("spaces", "create", "Project")
    return whole


@pytest.fixture
def file(tmp_path):
    """Write a file that is imported: a text, or JSON."""

    def write(value, name="draft.json"):
        path = tmp_path / name
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def notes(tmp_path):
    """A folder with front matter, a file that is empty and one that is not UTF-8."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("words", encoding="utf-8")
    (folder / "bad.md").write_bytes(b"\xff")
    (folder / "empty.md").write_text("\n", encoding="utf-8")
    (folder / "odd.md").write_text("---\ntitle: a: b\n---\nkept", encoding="utf-8")
    (folder / "people.md").write_text(
        "---\ntitle: People\ntags: [team, people]\ndate: 2026-03-01\nauthor: me\n---\nAnna",
        encoding="utf-8",
    )
    return folder
