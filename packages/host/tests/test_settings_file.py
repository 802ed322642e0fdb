import os
import stat
from pathlib import Path

import anyio
import pytest
from dsh_mnemon_core.errors import ConfigurationError, StorageError
from dsh_mnemon_host.settings import settings_path
from dsh_mnemon_host.settings.file import FileMoved, SettingsFile, Stored
from filelock import FileLock, Timeout


def test_settings_lie_beside_a_named_profile():
    assert settings_path(Path("/team/profile.yaml")) == Path("/team/settings.yaml")


def test_settings_lie_in_the_users_folder(monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", "/home/u/.config")
    path = settings_path()
    assert path.name == "settings.yaml"
    assert path.parent.name == "dsh-mnemon"


def test_a_missing_file(tmp_path):
    file = SettingsFile(tmp_path / "deep" / "settings.yaml")
    assert file.read() == Stored()
    assert file.read().revision == 0
    assert not file.touched_since(Stored())
    assert file.writable()
    assert list(tmp_path.iterdir()) == []


async def test_the_first_write_makes_a_private_file(tmp_path):
    file = SettingsFile(tmp_path / "deep" / "settings.yaml")
    async with file.locked():
        stored = file.replace("a: 1\n", Stored())
    assert stored == file.read()
    assert stored.text == "a: 1\n"
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700


def test_equal_content_has_equal_revisions(tmp_path):
    first, second = SettingsFile(tmp_path / "a"), SettingsFile(tmp_path / "b")
    one = first.replace("x: 1\n", Stored())
    assert one.revision == second.replace("x: 1\n", Stored()).revision
    assert 0 < one.revision < 2**53
    assert first.replace("x: 2\n", one).revision != one.revision


@pytest.mark.parametrize("change", ["content", "time", "gone", "broken"])
def test_a_moved_file_is_not_overwritten(tmp_path, change):
    file = SettingsFile(tmp_path / "settings.yaml")
    stored = file.replace("a: 1\n", Stored())
    if change == "content":
        file.path.write_text("a: 2\n", encoding="utf-8")
    elif change == "time":
        os.utime(file.path, ns=(1, 1))
    elif change == "gone":
        file.path.unlink()
    else:
        file.path.write_bytes(b"\xff")
    before = file.path.read_bytes() if file.path.exists() else None
    assert file.touched_since(stored)
    with pytest.raises(FileMoved):
        file.replace("a: 3\n", stored)
    assert (file.path.read_bytes() if file.path.exists() else None) == before


def test_a_file_that_appeared_is_not_overwritten(tmp_path):
    file = SettingsFile(tmp_path / "settings.yaml")
    file.path.write_text("a: 1\n", encoding="utf-8")
    assert file.touched_since(Stored())
    with pytest.raises(FileMoved):
        file.replace("a: 3\n", Stored())


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "dotfiles").mkdir()
    target = tmp_path / "dotfiles" / "mnemon.yaml"
    target.write_text("a: 1\n", encoding="utf-8")
    link = tmp_path / "settings.yaml"
    link.symlink_to(target)
    file = SettingsFile(link)
    file.replace("a: 2\n", file.read())
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "a: 2\n"


def test_a_byte_order_mark_is_not_content(tmp_path):
    file = SettingsFile(tmp_path / "settings.yaml")
    file.path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert file.read().text == "a: 1\n"


@pytest.mark.parametrize("data", [b"a: \xff\n", b"#" * (1_048_576 + 1)])
def test_what_is_no_settings_text_is_refused(tmp_path, data):
    file = SettingsFile(tmp_path / "settings.yaml")
    file.path.write_bytes(data)
    with pytest.raises(ConfigurationError) as caught:
        file.read()
    assert caught.value.code == "settings-malformed"
    assert caught.value.details["file"] == str(file.path)


@pytest.mark.requirement("host:settings:bad-file")
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in this file system")
@pytest.mark.parametrize("linked", [False, True])
def test_what_is_no_file_is_refused_without_waiting_for_it(tmp_path, linked):
    file = tmp_path / "settings.yaml"
    os.mkfifo(tmp_path / "pipe" if linked else file)
    if linked:
        file.symlink_to(tmp_path / "pipe")
    settings = SettingsFile(file)
    with pytest.raises(ConfigurationError) as caught:
        settings.read()
    assert caught.value.code == "settings-malformed"
    assert "no regular file" in caught.value.message
    with pytest.raises(FileMoved):
        settings.replace("a: 1\n", Stored())


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="there are no such devices")
def test_a_device_is_no_settings_file(tmp_path):
    (tmp_path / "settings.yaml").symlink_to("/dev/zero")
    with pytest.raises(ConfigurationError) as caught:
        SettingsFile(tmp_path / "settings.yaml").read()
    assert caught.value.code == "settings-malformed"


def test_a_file_that_cannot_be_read(tmp_path):
    (tmp_path / "settings.yaml").mkdir()
    with pytest.raises(StorageError) as caught:
        SettingsFile(tmp_path / "settings.yaml").read()
    assert caught.value.code == "store-unreadable"


async def test_another_writer_is_waited_for(tmp_path):
    file = SettingsFile(tmp_path / "settings.yaml", wait=0.05)
    with FileLock(f"{file.path}.lock"), pytest.raises(StorageError) as caught:
        async with file.locked():
            pytest.fail("the lock was held by somebody else")
    assert caught.value.code == "lock-timeout"
    assert caught.value.retryable
    async with file.locked():
        with pytest.raises(Timeout):
            FileLock(f"{file.path}.lock").acquire(timeout=0)


async def test_a_lock_that_comes_free_is_taken(tmp_path):
    file = SettingsFile(tmp_path / "deep" / "settings.yaml")
    async with anyio.create_task_group() as tasks:
        async with file.locked():
            taken = anyio.Event()

            async def second():
                async with SettingsFile(file.path).locked():
                    taken.set()

            tasks.start_soon(second)
            await anyio.wait_all_tasks_blocked()
            assert not taken.is_set()
        with anyio.fail_after(5):
            await taken.wait()


async def test_a_lock_that_cannot_be_made(tmp_path):
    (tmp_path / "settings.yaml.lock").mkdir()
    with pytest.raises(StorageError) as caught:
        async with SettingsFile(tmp_path / "settings.yaml").locked():
            pytest.fail("there is no lock file")
    assert caught.value.code == "store-unwritable"


def test_what_is_writable(tmp_path, monkeypatch):
    path = tmp_path / "settings.yaml"
    assert not SettingsFile(path, read_only=True).writable()
    path.write_text("a: 1\n", encoding="utf-8")
    assert SettingsFile(path).writable()
    monkeypatch.setattr(os, "access", lambda place, mode: Path(place) != path)
    assert not SettingsFile(path).writable()
    monkeypatch.setattr(os, "access", lambda place, mode: Path(place) != tmp_path)
    assert not SettingsFile(path).writable()
