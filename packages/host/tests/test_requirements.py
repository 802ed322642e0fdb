"""Every required behaviour is shown by a test, and every marked test shows a required behaviour."""

from pathlib import Path

from dsh_mnemon_testing.requirements import check_requirements, read_requirements

PACKAGE = Path(__file__).parents[1]


def test_requirements_and_tests_name_each_other():
    check_requirements(PACKAGE)


def test_every_requirement_is_a_sentence():
    for item in read_requirements(PACKAGE / "requirements.toml"):
        assert item.text.endswith(".")
        assert item.id.startswith("host:")
