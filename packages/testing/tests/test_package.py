"""The package's front door."""

import ast
import subprocess
import sys
from pathlib import Path

import dsh_mnemon_testing
import pytest

SOURCE = Path(dsh_mnemon_testing.__file__)


def test_everything_at_the_front_door_is_there():
    for name in dsh_mnemon_testing.__all__:
        assert getattr(dsh_mnemon_testing, name) is not None


def test_type_checkers_see_what_runs():
    homes = {
        node.module.removeprefix("dsh_mnemon_testing."): [alias.name for alias in node.names]
        for node in ast.walk(ast.parse(SOURCE.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dsh_mnemon_")
    }
    assert homes == {module: list(names) for module, names in dsh_mnemon_testing._HOMES.items()}
    assert sorted(dsh_mnemon_testing.__all__) == sorted(
        n for names in homes.values() for n in names
    )


def test_a_name_that_is_not_there_is_missed():
    with pytest.raises(AttributeError, match="Nothing"):
        _ = dsh_mnemon_testing.Nothing


@pytest.mark.requirement("testing:plugin:light")
def test_pytest_loads_nothing_of_the_core_with_the_plugin():
    program = (
        "import sys, dsh_mnemon_testing.plugin\n"
        "heavy = ('dsh_mnemon_core', 'anyio', 'attrs', 'pydantic', 'hypothesis')\n"
        "print([name for name in sys.modules if name.split('.')[0] in heavy])\n"
    )
    # Without the site's start-up files, which an environment may fill with anything.
    paths = [*sys.path, str(SOURCE.parents[1])]
    program = f"import sys; sys.path[:] = {paths!r}\n{program}"
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
