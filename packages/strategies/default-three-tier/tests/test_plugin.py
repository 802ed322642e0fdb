"""What a profile mounts."""

import pytest
from dsh_mnemon_core.errors import ConfigurationError
from dsh_mnemon_core.fiber import open_root
from dsh_mnemon_core.sdk import MEMORY_SERVICE
from dsh_mnemon_core.wire import to_wire
from dsh_mnemon_strategy_default_three_tier import LayeredConfig, plugin
from dsh_mnemon_strategy_default_three_tier.strategy import MANIFEST


class Registry:
    """A memory service that records what is installed and removed."""

    def __init__(self):
        self.installed = {}

    def install_contributions(self, entry_id, contributions, **_digests):
        self.installed[entry_id] = contributions
        return lambda: self.installed.pop(entry_id)


@pytest.mark.requirement("layered:plugin")
def test_the_descriptor_says_what_it_is_before_anything_runs():
    described = to_wire(plugin.memory_plugin)
    assert described["packageName"] == plugin.name == MANIFEST.package_name
    assert described["roles"] == ["strategy"]
    assert described["provides"] == [{"id": "strategy"}, {"id": "strategy.default-three-tier"}]
    assert described["requires"] == ["source"]
    assert set(described["label"]) == set(described["description"]) == {"en", "zh-CN"}
    assert plugin.requires == (MEMORY_SERVICE,)


@pytest.mark.requirement("layered:plugin")
async def test_mounting_registers_the_strategy_until_it_is_disposed():
    registry = Registry()
    async with open_root() as root:
        root.provide(MEMORY_SERVICE, registry)
        fiber = await root.mount(plugin, entry_id="mnemon-strategy-default-three-tier")
        batch = registry.installed["mnemon-strategy-default-three-tier"]
        assert batch.plugin is plugin.memory_plugin
        assert [item.manifest for item in batch.strategies] == [MANIFEST]
        assert batch.sources == batch.strategy_extensions == ()
        await fiber.dispose()
        assert registry.installed == {}


@pytest.mark.requirement("layered:config")
def test_there_is_nothing_to_configure():
    assert plugin.configure(None) == LayeredConfig()
    with pytest.raises(ConfigurationError) as caught:
        plugin.configure({"maxRecalls": 3})
    assert caught.value.code == "config-invalid"
