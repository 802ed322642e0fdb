"""Whether the built wheels and sdists hold what they should, and a constraints file of them.

For every package of the workspace there must be one wheel and one sdist of its version. The
wheel says what `pyproject.toml` says, asks of its siblings only what they satisfy, carries the
licence and `py.typed`, and holds exactly the files of the import package. The constraints file
pins every package to its wheel, so that an installation takes the one just built.
"""

from __future__ import annotations

import argparse
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from email.message import Message
from email.parser import Parser
from pathlib import Path, PurePosixPath
from typing import Final

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools.workspace import ROOT, Member, read_members, report

__all__ = ("CONSTRAINTS", "constraints", "main", "problems")

CONSTRAINTS: Final = "constraints.txt"
"""Name of the constraints file, written beside the wheels."""


def problems(dist: Path, root: Path = ROOT) -> Iterator[str]:
    """Tell what is wrong with the artefacts in ``dist``."""
    members = read_members(root)
    expected = {_wheel(dist, member) for member in members}
    expected |= {_sdist(dist, member) for member in members}
    for file in sorted(set(dist.glob("*.whl")) | set(dist.glob("*.tar.gz"))):
        if file not in expected:
            yield f"{file.name}: belongs to no package of the workspace"
    for member in members:
        for file, check in (
            (_wheel(dist, member), _wheel_problems),
            (_sdist(dist, member), _sdist_problems),
        ):
            if file.is_file():
                yield from (f"{file.name}: {problem}" for problem in check(file, member, members))
            else:
                yield f"{file.name}: was not built"


def constraints(dist: Path, root: Path = ROOT) -> str:
    """Return one line ``name @ file:///…`` for the wheel of every package, sorted."""
    wheels = {member.name: _wheel(dist, member).resolve() for member in read_members(root)}
    return "".join(f"{name} @ {wheels[name].as_uri()}\n" for name in sorted(wheels))


def _wheel(dist: Path, member: Member) -> Path:
    return dist / f"{member.package}-{Version(member.version)}-py3-none-any.whl"


def _sdist(dist: Path, member: Member) -> Path:
    return dist / f"{member.package}-{Version(member.version)}.tar.gz"


def _wheel_problems(wheel: Path, member: Member, members: Sequence[Member]) -> Iterator[str]:
    info = f"{member.package}-{Version(member.version)}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
        metadata = Parser().parsestr(archive.read(f"{info}/METADATA").decode("utf-8"))
    yield from _metadata_problems(metadata, member, members)
    if f"{info}/licenses/LICENSE" not in names:
        yield "carries no LICENSE"
    if f"{member.package}/py.typed" not in names:
        yield "carries no py.typed"
    files = {name for name in names if PurePosixPath(name).parts[0] != info}
    source = {path.relative_to(member.source.parent).as_posix() for path in _sources(member)}
    for name in sorted(files - source):
        yield f"holds {name}, which is not in the import package"
    for name in sorted(source - files):
        yield f"lacks {name}"


def _sources(member: Member) -> Iterator[Path]:
    for path in member.source.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path


def _metadata_problems(
    metadata: Message, member: Member, members: Sequence[Member]
) -> Iterator[str]:
    built = (Requirement(line) for line in metadata.get_all("Requires-Dist", []))
    if _comparable(built) != _comparable(member.requirements):
        yield "asks for other requirements than pyproject.toml"
    for field, value in (
        ("Name", member.name),
        ("Version", str(Version(member.version))),
        ("Requires-Python", member.project["requires-python"]),
        ("License-Expression", member.project["license"]),
    ):
        if metadata[field] != value:
            yield f"says {field}: {metadata[field]}, not {value}"
    if not str(metadata.get_payload()).strip():
        yield "has no description; is the README empty?"
    for sibling, requirement in member.siblings(members):
        if not requirement.specifier.contains(Version(sibling.version), prereleases=True):
            yield f"requires {requirement}, which {sibling.name} {sibling.version} does not satisfy"


def _comparable(requirements: Iterable[Requirement]) -> set[tuple[str, SpecifierSet, str | None]]:
    return {(canonicalize_name(item.name), item.specifier, item.url) for item in requirements}


def _sdist_problems(sdist: Path, member: Member, _members: Sequence[Member]) -> Iterator[str]:
    with tarfile.open(sdist) as archive:
        names = {PurePosixPath(*PurePosixPath(name).parts[1:]) for name in archive.getnames()}
    needed = ["LICENSE", "README.md", "pyproject.toml", "PKG-INFO"]
    needed += [path.relative_to(member.folder).as_posix() for path in _sources(member)]
    for name in needed:
        if PurePosixPath(name) not in names:
            yield f"lacks {name}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a folder of artefacts and write the constraints file into it."""
    parser = argparse.ArgumentParser(prog="python -m tools.check_wheels", description=__doc__)
    parser.add_argument("dist", type=Path, nargs="?", default=ROOT / "dist")
    dist: Path = parser.parse_args(arguments).dist.resolve()
    (dist / CONSTRAINTS).write_text(constraints(dist), encoding="utf-8")
    return report(problems(dist), good="artefacts: every package is complete")


if __name__ == "__main__":
    raise SystemExit(main())
