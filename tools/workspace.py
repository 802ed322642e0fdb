"""The workspace as its folders and `pyproject.toml` files describe it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

__all__ = ("PREFIXES", "ROOT", "Member", "read_members", "read_toml", "report")

ROOT: Final = Path(__file__).resolve().parent.parent
"""Root of the repository this file lies in."""

PREFIXES: Final[Mapping[str, str]] = {
    "sources": "dsh-mnemon-source-",
    "strategies": "dsh-mnemon-strategy-",
    "enhancements": "dsh-mnemon-strategy-",
    "providers": "dsh-mnemon-provider-",
}
"""Floors whose packages are plugins, each with what its distribution names begin with."""


@attrs.frozen(kw_only=True, eq=False)
class Member:
    """One package of the workspace.

    Attributes:
        folder: Its folder, below the root.
        floor: ``core``, ``testing``, ``host``, ``starter`` or one of `PREFIXES`.
        project: The ``[project]`` table of its `pyproject.toml`.
        tools: The ``[tool]`` table, empty when there is none.
    """

    folder: Path
    floor: str
    project: Mapping[str, Any]
    tools: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Distribution name."""
        return str(self.project["name"])

    @property
    def version(self) -> str:
        """Version, written statically."""
        return str(self.project["version"])

    @property
    def package(self) -> str:
        """Import name: the distribution name with underscores."""
        return self.name.replace("-", "_")

    @property
    def source(self) -> Path:
        """Folder of the import package."""
        return self.folder / "src" / self.package

    @property
    def has_tests(self) -> bool:
        """Whether it has tests of its own; the starter, which does nothing, has none."""
        return any((self.folder / "tests").rglob("test_*.py"))

    @property
    def expected_name(self) -> str:
        """Distribution name that the place in the tree asks for."""
        if self.floor in PREFIXES:
            return PREFIXES[self.floor] + self.folder.name
        return "dsh-mnemon" if self.floor == "starter" else f"dsh-mnemon-{self.floor}"

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """Run-time requirements, those of its extras included."""
        return self.required(self.project.get("optional-dependencies", {}))

    def required(self, extras: Iterable[str] = ()) -> tuple[Requirement, ...]:
        """Return what an installation with these extras asks for."""
        optional: Mapping[str, list[str]] = self.project.get("optional-dependencies", {})
        lines = [*self.project.get("dependencies", ())]
        for extra in extras:
            lines += optional.get(extra, ())
        return tuple(Requirement(line) for line in lines)

    def siblings(self, members: Iterable[Member]) -> tuple[tuple[Member, Requirement], ...]:
        """Return the members it requires, each with the requirement that says so."""
        return _among(members, self.requirements)

    def closure(self, members: Iterable[Member]) -> tuple[Member, ...]:
        """Return the member and every member installed with it, at any distance, sorted by name.

        Of an extra, what it asks for counts where somebody asks for the extra.
        """
        known = tuple(members)
        found: dict[str, Member] = {}
        seen: set[tuple[str, frozenset[str]]] = set()
        waiting: list[tuple[Member, frozenset[str]]] = [(self, frozenset())]
        while waiting:
            member, extras = waiting.pop()
            if (member.name, extras) not in seen:
                seen.add((member.name, extras))
                found[member.name] = member
                asked = _among(known, member.required(extras))
                waiting += [(sibling, frozenset(item.extras)) for sibling, item in asked]
        return tuple(found[name] for name in sorted(found))


def _among(
    members: Iterable[Member], requirements: Iterable[Requirement]
) -> tuple[tuple[Member, Requirement], ...]:
    by_name = {member.name: member for member in members}
    required = ((canonicalize_name(item.name), item) for item in requirements)
    return tuple((by_name[name], item) for name, item in required if name in by_name)


def read_toml(path: Path) -> dict[str, Any]:
    """Read one TOML file."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def read_members(root: Path = ROOT) -> tuple[Member, ...]:
    """Return the members of the workspace at ``root``, sorted by folder.

    Members are what uv takes for one: a folder that matches ``[tool.uv.workspace] members`` and
    holds a `pyproject.toml`.
    """
    patterns: list[str] = read_toml(root / "pyproject.toml")["tool"]["uv"]["workspace"]["members"]
    files = {file for pattern in patterns for file in root.glob(f"{pattern}/pyproject.toml")}
    return tuple(_read_member(root, file.parent) for file in sorted(files))


def _read_member(root: Path, folder: Path) -> Member:
    document = read_toml(folder / "pyproject.toml")
    place = folder.relative_to(root).parts
    return Member(
        folder=folder,
        floor=place[1] if place[0] == "packages" else place[0],
        project=document["project"],
        tools=document.get("tool", {}),
    )


def report(problems: Iterable[str], *, good: str) -> int:
    """Print one line a problem, or ``good``; return the exit status, 1 with a problem."""
    found = list(problems)
    for problem in found:
        print(f"error: {problem}")
    if not found:
        print(good)
    return 1 if found else 0
