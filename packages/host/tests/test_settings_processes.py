"""Several processes change one settings file at the same time (D60)."""

import subprocess
import sys
from pathlib import Path

import pytest
from dsh_mnemon_core.values import thaw
from dsh_mnemon_host.settings.document import parse

_WRITER = """
import sys
from functools import partial
from pathlib import Path

import anyio
from dsh_mnemon_core.errors import ConflictError
from dsh_mnemon_host.config import HostConfig
from dsh_mnemon_host.settings import FileSettings


async def main(path, key, values):
    settings = await FileSettings.open(Path(path))
    await settings.register("mnemon", HostConfig)
    print("ready", flush=True)
    sys.stdin.readline()
    done = 0
    for value in values.split(","):
        try:
            await settings.mutate("mnemon", [{"op": "set", "path": key, "value": int(value)}])
            done += 1
        except ConflictError as error:
            assert error.code == "SETTINGS_CONFLICT"
    print(done, flush=True)


anyio.run(partial(main, *sys.argv[1:]))
"""


@pytest.fixture
def writers(tmp_path):
    started = []

    def start(key, values):
        command = [sys.executable, "-c", _WRITER, str(tmp_path / "settings.yaml"), key, values]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        started.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def _go(process):
    process.stdin.write("\n")
    process.stdin.flush()


def _done(process):
    answer, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return int(answer)


def _document(tmp_path: Path):
    return thaw(parse((tmp_path / "settings.yaml").read_text(encoding="utf-8"), "settings.yaml"))


@pytest.mark.requirement("host:settings:fence")
def test_two_processes_changing_different_keys_both_succeed(tmp_path, writers):
    (tmp_path / "settings.yaml").write_text("# mine\n", encoding="utf-8")
    one = writers("timeoutMs", ",".join(str(500 + n) for n in range(12)))
    two = writers("defaultRecallLimit", ",".join(str(1 + n) for n in range(12)))
    _go(one)
    _go(two)
    assert (_done(one), _done(two)) == (12, 12)
    assert _document(tmp_path) == {"timeoutMs": 511, "defaultRecallLimit": 12}
    assert (tmp_path / "settings.yaml").read_text(encoding="utf-8").startswith("# mine\n")


@pytest.mark.requirement("host:settings:fence")
def test_two_processes_changing_the_same_key_conflict(tmp_path, writers):
    one, two = writers("timeoutMs", "500"), writers("timeoutMs", "600")
    _go(one)
    assert _done(one) == 1
    _go(two)
    assert _done(two) == 0
    assert _document(tmp_path) == {"timeoutMs": 500}
