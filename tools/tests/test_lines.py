from collections.abc import Callable
from pathlib import Path

import pytest

from tools import lines

SAMPLE = '''\
"""Say what this is.

At length.
"""

# A comment.
LIMIT = 3
"""What the limit is."""


def answer(
    first: int,
    second: int,
) -> int:
    """Add."""
    text = """
    a value, not a docstring
    """
    return first + second + len(text)  # why
'''


def test_code_is_counted_without_documents_comments_and_layout() -> None:
    assert lines.code_lines(SAMPLE) == 4


def test_modules_leave_out_what_is_not_ours(tmp_path: Path) -> None:
    for name in ("a.py", "sub/b.py", "third_party/c.py", ".venv/d.py", "dist/e.py", "f.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = [path.relative_to(tmp_path).as_posix() for path in lines.modules(tmp_path)]
    assert found == ["a.py", "sub/b.py"]


def test_long_modules_are_named_and_too_long_ones_fail(
    workspace: Path, add_member: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    add_member("packages/sources/notes", "dsh-mnemon-source-notes")
    (workspace / "fine.py").write_text("#\n" * lines.MODULE_NOTICE, encoding="utf-8")
    (workspace / "long.py").write_text("#\n" * lines.MODULE_LIMIT, encoding="utf-8")
    (workspace / "over.py").write_text("#\n" * (lines.MODULE_LIMIT + 1), encoding="utf-8")
    assert list(lines.problems(workspace)) == ["over.py: 601 lines, the limit is 600"]
    assert capsys.readouterr().out == "long: long.py: 600 lines\n"


def test_a_large_core_fails(
    workspace: Path, add_member: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    core = add_member("packages/core", "dsh-mnemon-core", code="a = 1\n" * 300)
    assert list(lines.problems(workspace)) == []
    assert capsys.readouterr().out == f"core: 300 of at most {lines.CORE_LIMIT} lines of code\n"
    for number in range(lines.CORE_LIMIT // 300):
        module = core / "src/dsh_mnemon_core" / f"m{number}.py"
        module.write_text("a = 1\n" * 300, encoding="utf-8")
    [problem] = lines.problems(workspace)
    assert problem.startswith("the core has ")
