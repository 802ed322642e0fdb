import runpy
import sys

import pytest
from dsh_mnemon import DEFAULT_PROFILE, __main__, __version__
from dsh_mnemon_core.profile import load_profile


@pytest.fixture
def called(monkeypatch):
    """Stand in for the Host's command and keep what it is asked for; it answers 7."""
    asked = []
    monkeypatch.setattr("dsh_mnemon_host.cli.main.main", lambda **given: asked.append(given) or 7)
    return asked


WHOLE = {"default_profile": DEFAULT_PROFILE, "distribution": "dsh-mnemon"}


def test_the_version_alone_asks_nobody(monkeypatch, capsys, called):
    monkeypatch.setattr(sys, "argv", ["dsh-mnemon", "--version"])
    assert __main__.main() == 0
    assert capsys.readouterr().out == f"{__version__}\n"
    assert called == []


@pytest.mark.parametrize("arguments", [["status"], ["--version", "--json"], []])
def test_everything_else_is_the_command_with_the_default_profile(monkeypatch, called, arguments):
    monkeypatch.setattr(sys, "argv", ["dsh-mnemon", *arguments])
    assert __main__.main() == 7
    assert called == [WHOLE]


class Full:
    def write(self, _text):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("stdout", [None, Full()], ids=["closed", "full"])
def test_a_version_that_cannot_be_printed_is_the_commands_to_explain(monkeypatch, called, stdout):
    monkeypatch.setattr(sys, "argv", ["dsh-mnemon", "--version"])
    monkeypatch.setattr(sys, "stdout", stdout)
    assert __main__.main() == 7
    assert called == [WHOLE]


def test_the_package_can_be_run(monkeypatch, called):
    monkeypatch.setattr(sys, "argv", ["dsh-mnemon", "status"])
    monkeypatch.delitem(sys.modules, "dsh_mnemon.__main__")
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("dsh_mnemon", run_name="__main__", alter_sys=False)
    assert ended.value.code == 7


def test_the_default_profile_is_sound_and_names_the_whole_set():
    rows = {row.module: row for row in load_profile(DEFAULT_PROFILE).rows}
    children = rows["dsh_mnemon_source_memory_spaces"].config["providers"]
    plugins = rows.keys() - {"dsh_mnemon_host"}
    assert len(plugins) + len(children) == 17
    assert all(row.enabled for module, row in rows.items() if "_source_" in module)
