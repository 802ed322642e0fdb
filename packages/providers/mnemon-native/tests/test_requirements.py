"""Every required behaviour is shown by a test, and every marked test shows a required behaviour."""

from __future__ import annotations

from pathlib import Path

from dsh_mnemon_testing.requirements import check_requirements


def test_requirements_and_tests_name_each_other() -> None:
    check_requirements(Path(__file__).parents[1])
