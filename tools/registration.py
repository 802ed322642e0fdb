"""Whether every package of the workspace is entered where it must be known, and looks alike.

Checked are the root `pyproject.toml` (uv sources, coverage), the place and names of the package,
its metadata, the ranges it asks of its siblings, and the files that travel with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.version import Version

from tools.workspace import ROOT, Member, read_members, read_toml, report

__all__ = ("main", "problems", "sibling_range")


def sibling_range(asking: Member, sibling: Member) -> str:
    """Return the version range in which ``asking`` must require ``sibling``.

    The starter pins the very set it was tested with; everybody else takes the compatible releases
    of the sibling, which before 1.0 are those of the same minor version.
    """
    version = Version(sibling.version)
    if asking.floor == "starter":
        return f"=={version}"
    major, minor = version.major, version.minor
    return f">={major}.{minor},<{major}.{minor + 1}" if major == 0 else f">={version},<{major + 1}"


def problems(root: Path = ROOT) -> Iterator[str]:
    """Tell what is missing or different in the workspace at ``root``."""
    document = read_toml(root / "pyproject.toml")
    members = read_members(root)
    yield from _root_problems(document["tool"], members)
    for member in members:
        for problem in _member_problems(root, document["project"], member, members):
            yield f"{member.folder.relative_to(root).as_posix()}: {problem}"


def _root_problems(tool: Mapping[str, Any], members: Sequence[Member]) -> Iterator[str]:
    sources = [name for name, at in tool["uv"]["sources"].items() if at == {"workspace": True}]
    lists = (
        ("[tool.uv.sources]", sources, {member.name for member in members}),
        (
            "[tool.coverage.run] source_pkgs",
            tool["coverage"]["run"]["source_pkgs"],
            {member.package for member in members},
        ),
    )
    for place, written, expected in lists:
        for name in sorted(expected.difference(written)):
            yield f"{place} lacks {name}"
        for name in sorted(set(written) - expected):
            yield f"{place} names {name}, which is no package of the workspace"


def _member_problems(
    root: Path, workspace: Mapping[str, Any], member: Member, members: Sequence[Member]
) -> Iterator[str]:
    if member.name != member.expected_name:
        yield f"is named {member.name}; its folder asks for {member.expected_name}"
    yield from _metadata_problems(workspace, member)
    for sibling, requirement in member.siblings(members):
        wanted = sibling_range(member, sibling)
        if set(str(requirement.specifier).split(",")) != set(wanted.split(",")):
            yield f"requires {requirement}; write {sibling.name}{wanted}"
    yield from _file_problems(root, member)


def _metadata_problems(workspace: Mapping[str, Any], member: Member) -> Iterator[str]:
    if member.project.get("requires-python") != workspace["requires-python"]:
        yield "requires-python differs from the root's"
    expected = {*workspace["classifiers"], "Typing :: Typed"}
    for classifier in sorted(expected.difference(member.project.get("classifiers", ()))):
        yield f"lacks the classifier {classifier!r}"
    if set(member.tools) - {"hatch"}:
        yield "configures tools; the root does that for everybody"


def _file_problems(root: Path, member: Member) -> Iterator[str]:
    files = ("README.md", "CHANGELOG.md", "changes/.gitkeep", f"src/{member.package}/py.typed")
    for file in files:
        if not (member.folder / file).is_file():
            yield f"lacks {file}"
    if not member.has_tests and member.floor != "starter":
        yield "has no tests"
    licence = member.folder / "LICENSE"
    if not licence.is_file() or licence.read_bytes() != (root / "LICENSE").read_bytes():
        yield "needs a LICENSE equal to the root's"


def main() -> int:
    """Check the repository."""
    return report(problems(), good="registration: every package is known everywhere")


if __name__ == "__main__":
    raise SystemExit(main())
