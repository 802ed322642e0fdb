"""The package root and what importing costs."""

import subprocess
import sys

import pytest

HEAVY = ("anyio", "cattrs", "filelock", "jsonschema", "pydantic", "referencing", "yaml")


def loaded_by(module: str) -> set[str]:
    code = f"import sys, {module}; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(run.stdout.split())


def test_package_root_imports_nothing_heavy():
    assert loaded_by("dsh_mnemon_core").isdisjoint(HEAVY)


@pytest.mark.parametrize("module", ["sdk", "runtime", "wake"])
def test_modules_leave_the_validator_and_the_file_helpers_for_later(module):
    assert loaded_by(f"dsh_mnemon_core.{module}").isdisjoint(
        {"filelock", "jsonschema", "referencing", "yaml"}
    )
