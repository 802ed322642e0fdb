"""What a profile row mounts."""

from __future__ import annotations

from pathlib import Path

import pytest
from dsh_mnemon_core.fiber import open_root
from dsh_mnemon_core.runtime import open_runtime
from dsh_mnemon_core.sdk import MEMORY_SERVICE, to_wire
from dsh_mnemon_source_documents import Config, plugin

pytestmark = pytest.mark.requirement("documents:plugin")


def test_the_descriptor_can_be_read_before_anything_runs() -> None:
    described = to_wire(plugin.memory_plugin)
    assert described["packageName"] == plugin.name == "dsh-mnemon-source-documents"
    assert described["roles"] == ["source"]
    assert described["provides"] == [{"id": "source"}, {"id": "source.narrative"}]
    assert set(described["label"]) == {"en", "zh-CN"}
    assert (plugin.config_model, plugin.requires) == (Config, (MEMORY_SERVICE,))


async def test_mounting_installs_the_source_and_unmounting_removes_it(tmp_path: Path) -> None:
    async with open_runtime() as runtime, open_root() as root:
        root.provide(MEMORY_SERVICE, runtime.service)
        fiber = await root.mount(
            plugin, {"dataDir": str(tmp_path)}, entry_id="mnemon-source-documents"
        )
        (installed,) = runtime.snapshot.sources
        assert installed.instance_key == "source:mnemon-source-documents"
        assert installed.definition.manifest.type_id == "documents"
        await fiber.dispose()
        assert runtime.snapshot.sources == ()
