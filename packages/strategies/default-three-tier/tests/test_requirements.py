"""Every required behaviour has a test, and every marked test a required behaviour."""

import ast
import tomllib
from pathlib import Path

TESTS = Path(__file__).parent


def required():
    text = (TESTS.parent / "requirements.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["requirement"]


def shown():
    """Collect the ids named by ``@pytest.mark.requirement`` in this folder."""
    found = set()
    for path in TESTS.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.requirement":
                found |= {ast.literal_eval(argument) for argument in node.args}
    return found


def test_requirements_and_tests_name_each_other():
    ids = [item["id"] for item in required()]
    assert len(set(ids)) == len(ids)
    assert set(ids) == shown()


def test_every_requirement_says_what_and_where_from():
    for item in required():
        assert item.keys() == {"id", "text", "source"}
        assert item["text"].endswith(".")
        assert item["source"].startswith("spec/")
