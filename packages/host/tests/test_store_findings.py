"""What doctor says about the files of the Runtime Source."""

import errno
import os
import shutil

import pytest
from dsh_mnemon_host.condition import diagnose, read_condition


def findings(found, check):
    return [item for item in diagnose(found) if item.check == check]


def _file(home, name):
    return home.data / "runtime" / name


@pytest.mark.requirement("host:status:truth")
@pytest.mark.parametrize(
    ("error", "words"), [(errno.EACCES, "readable for you"), (errno.EIO, "Put right what keeps it")]
)
async def test_what_the_system_keeps_from_being_read_is_not_to_be_repaired(
    home, monkeypatch, error, words
):
    async with home.open() as host:
        await host.people.write_runtime({"action": "add", "target": "user", "content": "Green tea"})
    real = os.open

    def refuse(path, *args, **options):
        if str(path) == str(_file(home, "memories.json")):
            raise OSError(error, os.strerror(error))
        return real(path, *args, **options)

    monkeypatch.setattr(os, "open", refuse)
    async with home.open() as host:
        [finding] = findings(await read_condition(host), "source")
    assert errno.errorcode[error] in finding.message
    assert words in finding.remedy
    assert "start empty" not in finding.remedy
    assert "adopt" not in finding.remedy


@pytest.mark.requirement("host:status:truth")
@pytest.mark.parametrize("kind", ["file", "loop"])
async def test_a_runtime_folder_that_is_none_is_told_by_its_source_and_once(home, kind):
    folder = home.data / "runtime"
    home.data.mkdir(parents=True, exist_ok=True)
    if kind == "file":
        folder.touch()
    else:
        folder.symlink_to(folder)
    async with home.open() as host:
        found = await read_condition(host)
    named = [
        (item.check, item.code) for item in diagnose(found) if str(folder) in str(item.subject)
    ]
    assert named == [("source", "source-unavailable"), ("storage", "storage-invalid")]


@pytest.mark.requirement("host:status:truth")
async def test_a_disk_that_is_almost_full_is_a_warning(home, monkeypatch):
    usage = shutil.disk_usage(home.data.parent)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=4096))
    async with home.open() as host:
        [finding] = findings(await read_condition(host), "files")
    assert (finding.level, finding.code) == ("warning", "disk-full")
    assert "4096 bytes" in finding.message
    assert finding.remedy
