import pytest
from dsh_mnemon_core.errors import ConflictError
from dsh_mnemon_host.config import HostConfig
from dsh_mnemon_host.settings import FileSettings, canonicalize_display_mode


@pytest.fixture
def path(tmp_path):
    return tmp_path / "settings.yaml"


async def _open(path, text=None, base=None, **kwargs):
    if text is not None:
        path.write_text(text, encoding="utf-8")
    settings = await FileSettings.open(path, **kwargs)
    value = await settings.register("mnemon", HostConfig, base=base)
    return settings, value


@pytest.mark.requirement("host:config:legacy")
async def test_the_old_spelling_is_rewritten_at_the_start(path):
    _, value = await _open(path, "# mine\ndisplayMode: buildin  # old\nx: 1\n")
    assert value.display_mode == "builtin"
    assert path.read_text(encoding="utf-8") == "# mine\ndisplayMode: builtin  # old\nx: 1\n"


async def test_the_old_spelling_of_the_distribution_gets_a_users_override(path):
    await _open(path, "x: 1\n", {"displayMode": "buildin"})
    assert path.read_text(encoding="utf-8") == "x: 1\ndisplayMode: builtin\n"


async def test_a_users_choice_hides_the_distributions_old_spelling(path):
    await _open(path, "displayMode: sidebar\n", {"displayMode": "buildin"})
    assert path.read_text(encoding="utf-8") == "displayMode: sidebar\n"


async def test_the_old_spelling_is_rewritten_when_it_comes_later(path):
    settings, _ = await _open(path)
    await settings.mutate("mnemon", [{"op": "set", "path": "displayMode", "value": "buildin"}])
    assert path.read_text(encoding="utf-8") == "displayMode: builtin\n"
    path.write_text("displayMode: ' buildin'\n", encoding="utf-8")
    assert await settings.refresh()
    assert path.read_text(encoding="utf-8") == "displayMode: builtin\n"


async def test_read_only_settings_keep_the_old_spelling(path):
    _, value = await _open(path, "displayMode: buildin\n", read_only=True)
    assert value.display_mode == "builtin"
    assert path.read_text(encoding="utf-8") == "displayMode: buildin\n"


async def test_a_failure_is_logged_and_not_raised(path, monkeypatch, caplog):
    async def fail(self, *args):
        raise OSError("disk")

    monkeypatch.setattr(FileSettings, "mutate", fail)
    _, value = await _open(path, "displayMode: buildin\n")
    assert value.display_mode == "builtin"
    assert "displayMode" in caplog.text


async def test_conflicts_are_tried_again_three_times(path, monkeypatch):
    settings, _ = await _open(path, "displayMode: buildin\n", read_only=True)
    tries = []

    async def conflicting(self, *args):
        tries.append(args)
        raise ConflictError("SETTINGS_CONFLICT", "moved")

    monkeypatch.setattr(FileSettings, "mutate", conflicting)
    monkeypatch.setattr(FileSettings, "writable", True)
    await canonicalize_display_mode(settings)
    assert len(tries) == 3


async def test_a_newer_choice_wins(path):
    settings, _ = await _open(path, "displayMode: buildin\n", read_only=True)
    path.write_text("displayMode: sidebar\n", encoding="utf-8")
    settings._file._read_only = False
    await canonicalize_display_mode(settings)
    assert path.read_text(encoding="utf-8") == "displayMode: sidebar\n"
