from collections.abc import Callable
from pathlib import Path

import pytest

from tools import check_all

GOOD = '''\
"""A module."""

from elsewhere import helper

__all__ = ("LIMIT", "Kind", "Thing", "helper", "run")

LIMIT = 3
Kind: "TypeAlias" = int
_private = 1
INTERNAL = 2


class Thing: ...


async def run() -> None: ...


def _inner() -> None: ...
'''


def test_a_complete_module_has_no_problem() -> None:
    assert list(check_all.module_problems(GOOD)) == []


@pytest.mark.parametrize("name", ["Thing", "run"])
def test_a_definition_that_is_not_listed_is_named(name: str) -> None:
    text = GOOD.replace(f'"{name}", ', "").replace(f', "{name}")', ")")
    [problem] = check_all.module_problems(text)
    assert problem.startswith(f"{name} is missing from __all__")


def test_a_lazy_module_may_list_what_it_imports_for_type_checkers() -> None:
    text = GOOD.replace('"run")', '"run", "walk")')
    lazy = "if TYPE_CHECKING:\n    from elsewhere import walk\n"
    assert list(check_all.module_problems(text + lazy)) == []


def test_a_listed_name_must_exist() -> None:
    text = GOOD.replace('"run")', '"run", "walk")')
    assert list(check_all.module_problems(text)) == ["walk is in __all__ but not in the module"]


@pytest.mark.parametrize("declared", ["", '__all__ = ["run"]', '__all__ = ("run",) + OTHER'])
def test_all_must_be_a_literal_tuple(declared: str) -> None:
    text = f"{declared}\ndef run() -> None: ...\n"
    assert list(check_all.module_problems(text)) == ["needs __all__ as a tuple of strings"]


def test_a_module_that_only_documents_needs_no_all() -> None:
    assert list(check_all.module_problems('"""A folder of modules."""\n')) == []


def test_only_public_modules_are_judged(workspace: Path, add_member: Callable[..., Path]) -> None:
    core = add_member("packages/core", "dsh-mnemon-core", code="def run(): ...\n")
    source = core / "src/dsh_mnemon_core"
    for name in ("public.py", "_private.py", "_folder/public.py", "folder/__init__.py"):
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_text("def run(): ...\n", encoding="utf-8")
    files = [problem.partition(":")[0] for problem in check_all.problems(workspace)]
    assert [file.removeprefix("packages/core/src/dsh_mnemon_core/") for file in files] == [
        "__init__.py",
        "folder/__init__.py",
        "public.py",
    ]
