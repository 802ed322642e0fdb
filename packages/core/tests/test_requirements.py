from pathlib import Path

from dsh_mnemon_testing.requirements import check_requirements


def test_every_requirement_has_a_test_and_every_marked_test_a_requirement():
    check_requirements(Path(__file__).parents[1])
