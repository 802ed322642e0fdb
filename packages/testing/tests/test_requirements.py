"""Requirements and marks are compared in both directions."""

import textwrap
from pathlib import Path

import pytest
from dsh_mnemon_testing import check_requirements
from dsh_mnemon_testing.requirements import (
    Requirement,
    marked_requirements,
    read_requirements,
    requirement_problems,
)

pytestmark = pytest.mark.requirement("testing:requirements")


def entry(name="notes:add", **more):
    fields = {"id": name, "text": "It adds.", "source": "README", **more}
    lines = "\n".join(f'{key} = "{value}"' for key, value in fields.items())
    return f"[[requirement]]\n{lines}\n"


@pytest.fixture
def package(tmp_path):
    def write(requirements, **tests):
        (tmp_path / "requirements.toml").write_text(requirements, encoding="utf-8")
        for name, code in tests.items():
            file = tmp_path / "tests" / f"{name}.py"
            file.parent.mkdir(exist_ok=True)
            file.write_text(textwrap.dedent(code), encoding="utf-8")
        return tmp_path

    return write


MARKED = """
import pytest

pytestmark = [pytest.mark.requirement("notes:module")]


@pytest.mark.requirement("notes:add", "notes:add:twice")
def test_add():
    pass


@pytest.mark.requirement("notes:class")
class TestNotes:
    pass
"""
ALL = ("notes:module", "notes:add", "notes:add:twice", "notes:class")


def test_agreement_passes(package):
    check_requirements(package("".join(map(entry, ALL)), test_notes=MARKED))


def test_marks_are_found_wherever_they_stand(package):
    folder = package("", test_notes=MARKED, helper='pytest.mark.requirement("no:test")')
    found = marked_requirements(folder / "tests")
    assert found == {
        "notes:module": ["test_notes.py:4"],
        "notes:add": ["test_notes.py:7"],
        "notes:add:twice": ["test_notes.py:7"],
        "notes:class": ["test_notes.py:12"],
    }


def test_both_directions_are_named(package):
    folder = package(entry("notes:remove") + entry("notes:add"), test_notes=MARKED)
    with pytest.raises(AssertionError) as caught:
        check_requirements(folder)
    assert str(caught.value).splitlines() == [
        "notes:remove has no test",
        "notes:module, marked at test_notes.py:4, is not listed",
        "notes:add:twice, marked at test_notes.py:7, is not listed",
        "notes:class, marked at test_notes.py:12, is not listed",
    ]


def test_deferred_behaviour_has_no_test():
    later = Requirement(id="notes:later", text="It will.", source="README", deferred="no disk yet")
    assert list(requirement_problems([later], {})) == []
    problems = list(requirement_problems([later], {"notes:later": ["test_notes.py:1"]}))
    assert problems == ["notes:later is deferred, but test_notes.py:1 shows it"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (entry() + entry(), "listed twice"),
        (entry(deferred=" "), "blank"),
        (entry(sentence="It adds."), "has the keys"),
        (entry("Notes"), "is not like"),
        (entry("notes"), "is not like"),
        ('[[requirement]]\ntext = "It adds."\n', "without an id"),
        ('[[requirement]]\nid = "notes:add"\ntext = 1\nsource = "README"\n', "blank"),
    ],
)
def test_malformed_entries_are_refused(package, text, problem):
    folder = package(text)
    with pytest.raises(ValueError, match=problem):
        read_requirements(folder / "requirements.toml")


def test_mark_that_is_no_literal_is_refused(package):
    folder = package("", test_notes="import pytest\n\nx = pytest.mark.requirement(name)\n")
    with pytest.raises(ValueError, match=r"test_notes\.py:3"):
        marked_requirements(folder / "tests")


def test_nothing_required_and_nothing_marked(package):
    check_requirements(package("# nothing yet\n"))


def test_this_package_keeps_its_own_rule():
    check_requirements(Path(__file__).parents[1])
