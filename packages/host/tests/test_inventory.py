import json
from datetime import UTC, datetime

import pytest
from dsh_mnemon_core.wire import to_wire
from dsh_mnemon_host import _areas
from dsh_mnemon_host.config import HostConfig, read_strict, resolve
from dsh_mnemon_host.inventory import catalog
from dsh_mnemon_host.storage import STORAGES, resolve_layout


def _now():
    return datetime(2026, 3, 1, 12, tzinfo=UTC)


def _config(home, **document):
    return resolve(read_strict(HostConfig, document), {}, home)


async def _scopes(config, workspace=None):
    found = await catalog(config, workspace, now=_now)
    return {scope.kind: scope for scope in found.scopes}


def _write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")


async def _area(tmp_path, kind):
    scopes = await _scopes(_config(tmp_path))
    return next(area for area in scopes["global"].areas if area.kind == kind)


async def test_an_empty_home(tmp_path):
    found = await catalog(_config(tmp_path), None, now=_now)
    assert found.active_kind == "global"
    assert found.active_root == str(tmp_path / ".mnemon")
    assert found.generated_at == "2026-03-01T12:00:00.000Z"
    assert [scope.kind for scope in found.scopes] == list(STORAGES)
    glob, workspace, custom, workspaces = found.scopes
    assert (glob.configured, glob.active, glob.available, glob.total_bytes) == (
        True,
        True,
        False,
        0,
    )
    assert [area.status for area in glob.areas] == ["missing"] * 4
    assert [area.kind for area in glob.areas] == ["runtime", "memory-bodies", "documents", "state"]
    for scope in (workspace, custom, workspaces):
        assert (scope.configured, scope.available, scope.root, scope.areas) == (
            False,
            False,
            None,
            (),
        )
        assert scope.issue
    assert list(tmp_path.iterdir()) == []


async def test_the_wire_form(tmp_path):
    wire = to_wire(await catalog(_config(tmp_path), None, now=_now))
    assert set(wire) == {"activeKind", "activeRoot", "scopes", "generatedAt"}
    assert set(wire["scopes"][0]) == {
        "kind", "root", "configured", "active", "available", "totalBytes", "areas",
    }  # fmt: skip
    assert set(wire["scopes"][1]) == {
        "kind", "configured", "active", "available", "totalBytes", "areas", "issue",
    }  # fmt: skip
    assert set(wire["scopes"][0]["areas"][0]) == {
        "kind", "path", "status", "bytes", "itemCount", "details",
    }  # fmt: skip


async def test_roots_are_those_of_the_layout(tmp_path):
    workspace = str(tmp_path / "w")
    for scope in STORAGES:
        config = _config(tmp_path, storageScope=scope, dataDir="~/data")
        found = await catalog(config, workspace, now=_now)
        layout = resolve_layout(config, workspace)
        assert found.active_root == str(layout.root)
        [active] = [entry for entry in found.scopes if entry.active]
        assert (active.kind, active.root) == (scope, str(layout.root))
        assert [area.path for area in active.areas] == [
            str(path) for path in (layout.runtime, layout.data, layout.documents, layout.state)
        ]


@pytest.mark.parametrize("data_dir", ["~/.mnemon", "~/w/.mnemon"])
async def test_a_custom_root_that_is_another_scope_is_not_configured(tmp_path, data_dir):
    config = _config(tmp_path, dataDir=data_dir)
    found = await catalog(config, str(tmp_path / "w"), now=_now)
    custom = found.scopes[2]
    assert (custom.active, custom.configured, custom.available) == (True, False, False)
    assert custom.issue
    assert found.active_root == str(config.data_dir)


async def test_a_workspace_that_cannot_be_used_is_an_issue(tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    config = _config(tmp_path, storageScope="workspaces")
    found = await catalog(config, f"{tmp_path}/file/w", now=_now)
    assert found.active_root is None
    assert found.scopes[3].issue
    assert not found.scopes[3].configured


async def test_sizes_count_regular_files_once(tmp_path):
    root = tmp_path / ".mnemon"
    _write(root / "runtime" / "memories.json", "1234")
    _write(root / "runtime" / "archived" / "MEMORY.jsonl", "12345")
    (root / "runtime" / "link").symlink_to(root / "runtime" / "memories.json")
    (root / "runtime" / "loop").symlink_to(root)
    scope = (await _scopes(_config(tmp_path)))["global"]
    assert scope.areas[0].bytes == scope.total_bytes == 9
    assert scope.available


async def test_what_cannot_be_scanned_counts_nothing(tmp_path, monkeypatch):
    _write(tmp_path / ".mnemon" / "runtime" / "memories.json", {"version": 1, "entries": []})

    def refuse(path):
        raise PermissionError(13, "no", path)

    monkeypatch.setattr(_areas.os, "scandir", refuse)
    assert (await _area(tmp_path, "runtime")).bytes == 0


async def test_what_cannot_be_read_is_invalid(tmp_path, monkeypatch):
    (tmp_path / ".mnemon" / "data").mkdir(parents=True)

    def refuse(self, pattern):
        raise PermissionError(13, "no")

    monkeypatch.setattr("pathlib.Path.glob", refuse)
    area = await _area(tmp_path, "memory-bodies")
    assert (area.status, area.issue) == ("invalid", "data cannot be read: no")


def _runtime(tmp_path, record, projections=("USER.md", "MEMORY.md")):
    area = tmp_path / ".mnemon" / "runtime"
    _write(area / "memories.json", record)
    for name in projections:
        _write(area / name, "")


async def test_runtime_ready(tmp_path):
    entries = [{"target": "user"}, {"target": "memory"}, {"target": "memory"}, 7]
    _runtime(tmp_path, {"version": 1, "entries": entries})
    area = await _area(tmp_path, "runtime")
    assert (area.status, area.item_count) == ("ready", 3)
    assert area.details == {
        "userEntries": 1, "memoryEntries": 2, "projectionsHealthy": True, "source": "memories.json",
    }  # fmt: skip


async def test_runtime_empty(tmp_path):
    _runtime(tmp_path, {"version": 1, "entries": []})
    assert (await _area(tmp_path, "runtime")).status == "empty"


async def test_runtime_without_a_projection(tmp_path):
    _runtime(tmp_path, {"version": 1, "entries": [{"target": "user"}]}, projections=("USER.md",))
    area = await _area(tmp_path, "runtime")
    assert area.status == "invalid"
    assert area.details["projectionsHealthy"] is False
    assert "MEMORY.md" in area.issue


@pytest.mark.parametrize(
    "record",
    ["{", "[]", {"version": 2, "entries": []}, {"version": 1}, {"version": 1, "entries": {}}],
)
async def test_runtime_invalid(tmp_path, record):
    _runtime(tmp_path, record)
    before = sorted(tmp_path.rglob("*"))
    area = await _area(tmp_path, "runtime")
    assert (area.status, area.item_count) == ("invalid", 0)
    assert "memories.json" in area.issue
    assert sorted(tmp_path.rglob("*")) == before


async def test_memory_bodies(tmp_path):
    data = tmp_path / ".mnemon" / "data"
    data.mkdir(parents=True)
    assert (await _area(tmp_path, "memory-bodies")).status == "empty"
    for name in ("a", "b", "c"):
        _write(data / name / "mnemon.db", "x")
    (data / "d").mkdir()
    area = await _area(tmp_path, "memory-bodies")
    assert (area.status, area.item_count) == ("ready", 3)
    bodies = [{"id": "a", "active": True}, {"id": "b", "active": False}]
    _write(data / ".dsh-memory-bodies.json", {"version": 1, "bodies": bodies})
    area = await _area(tmp_path, "memory-bodies")
    assert area.item_count == 3
    assert area.details == {
        "registeredBodies": 2, "activeBodies": 1, "databases": 3,
        "registry": ".dsh-memory-bodies.json",
    }  # fmt: skip
    _write(data / ".dsh-memory-bodies.json", {"version": 2, "bodies": bodies})
    assert (await _area(tmp_path, "memory-bodies")).status == "invalid"


async def test_documents(tmp_path):
    index = tmp_path / ".mnemon" / "documents" / "index.json"
    _write(index, {"version": 1, "documents": []})
    assert (await _area(tmp_path, "documents")).status == "empty"
    rows = [{"status": "active"}, {"status": "archived"}, {"status": "active"}]
    _write(index, {"version": 1, "documents": rows})
    area = await _area(tmp_path, "documents")
    assert (area.status, area.item_count) == ("ready", 3)
    assert area.details == {"activeDocuments": 2, "archivedDocuments": 1, "index": "index.json"}


async def test_state(tmp_path):
    state = tmp_path / ".mnemon" / "state"
    state.mkdir(parents=True)
    area = await _area(tmp_path, "state")
    assert (area.status, area.details["files"]) == ("empty", 0)
    _write(state / "review-ledger.json", "{}")
    registry = {"version": 4, "services": {"mem0": {"apiKey": "sk"}}, "bodies": [{}, {}]}
    _write(state / "memory-providers.json", registry)
    area = await _area(tmp_path, "state")
    assert (area.status, area.item_count) == ("ready", 2)
    assert area.details == {
        "reviewLedger": True, "providerServices": 1, "providerConnections": 2, "files": 2,
    }  # fmt: skip
    _write(state / "memory-providers.json", {"version": 4})
    assert (await _area(tmp_path, "state")).details["providerServices"] == 0
    _write(state / "memory-providers.json", "nonsense")
    assert (await _area(tmp_path, "state")).status == "invalid"
