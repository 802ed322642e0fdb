"""What the README shows works as it stands there."""

import re
from pathlib import Path

import anyio
import pytest
from dsh_mnemon_core import sdk
from dsh_mnemon_core.fiber import open_root
from dsh_mnemon_core.runtime import open_runtime
from dsh_mnemon_core.scope import OperationScope

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def plugin():
    """Return the plugin of the one Python block."""
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names = {}
    exec(compile(code, "README.md", "exec"), names)
    return names["plugin"]


async def test_the_plugin_of_the_readme_serves_a_turn(plugin, bench):
    with anyio.fail_after(20):
        async with open_runtime() as runtime, open_root() as root:
            root.provide(sdk.MEMORY_SERVICE, runtime.service)
            runtime.service.install_contributions("plain", bench.batch(bench.strategy()))
            attachment = runtime.attach_generation()
            await root.mount(plugin, entry_id="motto")
            context = await attachment.turns.begin_turn("t", OperationScope(storage="custom"))
            await attachment.dispose()
    (fragment,) = context.view.projection
    assert (fragment.source_instance_key, fragment.text) == ("source:motto", "Less, but better.")


def test_every_module_it_names_is_there():
    for name in re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE):
        assert (Path(sdk.__file__).parent / f"{name}.py").is_file()
