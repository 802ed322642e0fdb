"""Make a new package from a template and enter it wherever a package must be known.

The package is small but works: it keeps the contract of its kind, and its tests show that. What a
template holds lies in `tools/templates`; `$name` and its like are filled in, in file names too.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any, Final

import attrs
import tomlkit
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from tools import floors
from tools.registration import sibling_range
from tools.workspace import PREFIXES, ROOT, Member, read_members, read_toml

__all__ = ("FLOOR_OF", "Order", "create", "main")

FLOOR_OF: Final[Mapping[str, str]] = {
    "source": "sources",
    "strategy": "strategies",
    "enhancement": "enhancements",
    "provider": "providers",
}
"""The kinds of package there is a template for, each with its floor."""

_PROVIDER_HOME: Final = "dsh_mnemon_source_memory_spaces"
"""The Source whose children Providers are."""

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_SUMMARY: Final = re.compile(r"[A-Z][^\n\"\\\\]{8,88}\.")


@attrs.frozen(kw_only=True)
class Order:
    """What is wanted.

    Attributes:
        kind: A key of `FLOOR_OF`.
        name: Name of the folder: lower-case words joined by hyphens.
        summary: One sentence, 10 to 90 characters, for the package index and the README.
        in_starter: Whether the default installation has it.
    """

    kind: str
    name: str = attrs.field(validator=attrs.validators.matches_re(_NAME))
    summary: str = attrs.field(validator=attrs.validators.matches_re(_SUMMARY))
    in_starter: bool = False

    @property
    def place(self) -> str:
        """Its folder, from the root."""
        return f"packages/{FLOOR_OF[self.kind]}/{self.name}"

    @property
    def distribution(self) -> str:
        """Its distribution name."""
        return PREFIXES[FLOOR_OF[self.kind]] + self.name


def create(order: Order, root: Path = ROOT) -> Member:
    """Write the package into the workspace at ``root`` and enter it there.

    Raises:
        FileExistsError: There is a package of that name or in that place.
    """
    if (root / order.place).exists() or any(
        member.name == order.distribution for member in read_members(root)
    ):
        raise FileExistsError(f"{order.distribution} or {order.place} exists")
    _render(order, root)
    member = next(item for item in read_members(root) if item.name == order.distribution)
    _enter(member, root)
    if order.in_starter:
        _enter_starter(member, root)
    return member


def _render(order: Order, root: Path) -> None:
    values = _values(order, root)
    templates = Path(__file__).parent / "templates"
    for source in (templates / "plugin", templates / order.kind):
        for file in sorted(path for path in source.rglob("*") if path.is_file()):
            name = Template(file.relative_to(source).as_posix()).substitute(values)
            target = root / order.place / name.removesuffix(".tmpl")
            target.parent.mkdir(parents=True, exist_ok=True)
            text = Template(file.read_text(encoding="utf-8")).substitute(values)
            target.write_text(text, encoding="utf-8")
    shutil.copyfile(root / "LICENSE", root / order.place / "LICENSE")


def _values(order: Order, root: Path) -> dict[str, str]:
    workspace = read_toml(root / "pyproject.toml")["project"]
    ranges = {
        member.package: f"{member.name}{sibling_range(member, member)}"
        for member in read_members(root)
    }
    words = order.name.split("-")
    return {
        "name": order.name,
        "distribution": order.distribution,
        "package": order.distribution.replace("-", "_"),
        "summary": order.summary,
        "title": " ".join(words).capitalize(),
        "class": "".join(word.capitalize() for word in words),
        "snake": "_".join(words),
        "row": order.distribution.removeprefix("dsh-"),
        "core": ranges["dsh_mnemon_core"],
        "memory_spaces": ranges.get(_PROVIDER_HOME, ""),
        "requires_python": workspace["requires-python"],
        "classifiers": "".join(f'  "{item}",\n' for item in workspace["classifiers"]).rstrip("\n"),
    }


def _enter(member: Member, root: Path) -> None:
    file = root / "pyproject.toml"
    document = tomlkit.parse(file.read_text(encoding="utf-8"))
    tool: Any = document["tool"]
    tool["uv"]["sources"][member.name] = tomlkit.value("{ workspace = true }")
    _add_line(tool["coverage"]["run"]["source_pkgs"], member.package)
    file.write_text(tomlkit.dumps(document), encoding="utf-8")
    floors.write(root)


def _enter_starter(member: Member, root: Path) -> None:
    """Make it a dependency of the starter and a row, or a child of a row, of the default profile.

    Only a Source or a Provider takes part from the start: a second main Strategy or an enhancement
    changes what others do, so somebody has to switch it on.
    """
    starter = next(item for item in read_members(root) if item.floor == "starter")
    file = starter.folder / "pyproject.toml"
    document = tomlkit.parse(file.read_text(encoding="utf-8"))
    project: Any = document["project"]
    _add_line(project["dependencies"], f"{member.name}{sibling_range(starter, member)}")
    file.write_text(tomlkit.dumps(document), encoding="utf-8")
    profile = starter.source / "default_profile.yaml"
    if member.floor == "providers":
        _add_child(member, profile)
        return
    row = f"  - id: {member.name.removeprefix('dsh-')}\n    module: {member.package}\n"
    off = "" if member.floor == "sources" else "    enabled: false\n"
    with profile.open("a", encoding="utf-8") as end:
        end.write(row + off)


def _add_child(member: Member, profile: Path) -> None:
    """List a Provider in the row of its Source; comments and the other rows stay as they are."""
    yaml: Any = YAML()
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.width = 100
    document = yaml.load(profile)
    row = next(row for row in document["entries"] if row["module"] == _PROVIDER_HOME)
    children: list[Any] = row.setdefault("config", {}).setdefault("providers", [])
    if not any(child["use"] == member.package for child in children):
        name = member.name.removeprefix(PREFIXES["providers"])
        child: Any = CommentedMap(use=member.package, instanceId=name)
        child.fa.set_flow_style()
        children.append(child)
        yaml.dump(document, profile)


def _add_line(array: Any, item: str) -> None:
    """Add a string to an array of sorted strings, on a line of its own."""
    lines = sorted({*array, item})
    array.clear()
    for line in lines:
        array.add_line(line, indent="  ")
    array.add_line(indent="")


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the package named on the command line, lock the workspace and run its tests."""
    parser = argparse.ArgumentParser(prog="python -m tools.new_package", description=__doc__)
    parser.add_argument("kind", choices=FLOOR_OF)
    parser.add_argument("name", help="lower-case words joined by hyphens")
    parser.add_argument("summary", help="one sentence that says what it is")
    parser.add_argument("--starter", action="store_true", help="make it part of the starter")
    given = parser.parse_args(arguments)
    try:
        order = Order(
            kind=given.kind, name=given.name, summary=given.summary, in_starter=given.starter
        )
        member = create(order)
    except (ValueError, FileExistsError) as error:
        parser.error(str(error))
    folder = str(member.folder)
    for command in (
        ("uv", "sync", "--all-packages"),
        # The order of imports and exports depends on the name.
        ("uv", "run", "--frozen", "ruff", "check", "--fix", folder),
        ("uv", "run", "--frozen", "ruff", "format", folder),
        ("uv", "run", "--frozen", "pytest", folder),
    ):
        print("$", *command, flush=True)
        status = subprocess.run(command, cwd=ROOT, check=False).returncode
        if status:
            return status
    print(f"made {member.name} in {order.place}; next: its README and its first behaviour")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
