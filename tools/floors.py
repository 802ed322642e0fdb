"""Which floor may import which, as import-linter contracts in the root `pyproject.toml`.

The contracts are derived from the folders of the workspace, so a new package cannot be left out:
without arguments the tool fails when they are out of date, with ``--write`` it writes them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import tomlkit
from tomlkit.items import AoT, Array, Table

from tools.workspace import ROOT, Member, read_members, read_toml, report

__all__ = ("CORE_NEVER", "FLOORS", "Rule", "Value", "contracts", "main", "problems", "write")

FLOORS: Final[Mapping[str, tuple[str, ...]]] = {
    "starter": ("host", "core"),
    "host": ("core",),
    "enhancements": ("core",),
    "strategies": ("core",),
    "providers": ("sources", "core"),
    "sources": ("core",),
    "testing": ("core",),
    "core": (),
}
"""The floors from top to bottom, each with those it may import."""

CORE_NEVER: Final = (
    "aiohttp",
    "cyclopts",
    "http",
    "httpx",
    "jinja2",
    "mcp",
    "requests",
    "rich",
    "socket",
    "sqlite3",
    "ssl",
    "starlette",
    "urllib3",
    "uvicorn",
)
"""Modules outside the workspace that the core must do without: network, SQL and faces."""

Value: TypeAlias = str | bool | list[str]
"""One setting of a contract."""

Rule: TypeAlias = dict[str, Value]
"""One contract."""

_PROVIDER_HOME: Final = "dsh_mnemon_source_memory_spaces"
_PROVIDER_DOOR: Final = f"{_PROVIDER_HOME}.provider_sdk"
_PROVIDER_KIT: Final = f"{_PROVIDER_HOME}.testing"
"""Tests of Providers need it; alone of its package it imports the test kit."""


def contracts(members: Iterable[Member]) -> dict[str, Value | list[Rule]]:
    """Return the ``[tool.importlinter]`` table that ``members`` call for."""
    floors = {floor: _packages(members, floor) for floor in FLOORS}
    rules: list[Rule] = [
        _layers(floors),
        *(rule for floor in floors if (rule := _floor_rule(floor, floors))),
        *_provider_door(floors),
        {
            "name": "The core knows neither network nor SQL nor a face",
            "type": "forbidden",
            "source_modules": list(floors["core"]),
            "forbidden_modules": list(CORE_NEVER),
        },
    ]
    return {
        "root_packages": sorted(package for packages in floors.values() for package in packages),
        "include_external_packages": True,
        "contracts": rules,
    }


def _packages(members: Iterable[Member], floor: str) -> tuple[str, ...]:
    return tuple(sorted(member.package for member in members if member.floor == floor))


def _layers(floors: Mapping[str, Sequence[str]]) -> Rule:
    return {
        "name": "Imports go down only, and packages of one floor do not know each other",
        "type": "layers",
        "layers": [" | ".join(packages) for packages in floors.values() if packages],
    }


def _floor_rule(floor: str, floors: Mapping[str, Sequence[str]]) -> Rule | None:
    """Forbid a floor the lower floors it has no business with; the layers forbid the higher."""
    below = list(FLOORS)[list(FLOORS).index(floor) + 1 :]
    others = [other for other in below if other not in FLOORS[floor]]
    forbidden = sorted(package for other in others for package in floors[other])
    if not floors[floor] or not forbidden:
        return None
    may = " and ".join(FLOORS[floor])
    rule: Rule = {
        "name": f"The {floor} floor imports {may} only",
        "type": "forbidden",
        "source_modules": list(floors[floor]),
        "forbidden_modules": forbidden,
        "allow_indirect_imports": True,
    }
    if _PROVIDER_HOME in floors[floor] and floors["testing"]:
        rule |= _allowed((_PROVIDER_KIT, f"{_PROVIDER_KIT}.**"), floors["testing"])
    return rule


def _allowed(importers: Iterable[str], packages: Iterable[str]) -> Rule:
    """Return the settings that let ``importers`` import ``packages`` and all that is in them."""
    doors = [door for package in packages for door in (package, f"{package}.**")]
    return {
        "ignore_imports": [f"{importer} -> {door}" for importer in importers for door in doors],
        "unmatched_ignore_imports_alerting": "none",
    }


def _provider_door(floors: Mapping[str, Sequence[str]]) -> Iterator[Rule]:
    """Let Providers see one Source, and of that only its SDK."""
    if floors["providers"]:
        yield {
            "name": "Providers enter Memory Spaces through provider_sdk only",
            "type": "forbidden",
            "source_modules": list(floors["providers"]),
            "forbidden_modules": list(floors["sources"]),
            "allow_indirect_imports": True,
            **_allowed(
                [name for provider in floors["providers"] for name in (provider, f"{provider}.**")],
                [_PROVIDER_DOOR],
            ),
        }


def problems(root: Path = ROOT) -> Iterator[str]:
    """Tell where the contracts of ``root`` differ from what its members call for."""
    members = read_members(root)
    written = read_toml(root / "pyproject.toml").get("tool", {}).get("importlinter", {})
    for member in members:
        if member.floor not in FLOORS:
            yield f"{member.name} lies on no known floor: {member.folder.relative_to(root)}"
        elif member.package not in written.get("root_packages", ()):
            yield f"{member.package} is missing from the import contracts"
    if written != contracts(members):
        yield "the import contracts are out of date: run python -m tools.floors --write"


def write(root: Path = ROOT) -> None:
    """Write the contracts that the members call for into the root `pyproject.toml`."""
    file = root / "pyproject.toml"
    document = tomlkit.parse(file.read_text(encoding="utf-8"))
    tool: Any = document["tool"]
    tool["importlinter"] = _table(contracts(read_members(root)))
    file.write_text(tomlkit.dumps(document), encoding="utf-8")


def _table(values: Mapping[str, Value | list[Rule]]) -> Table:
    """Lay out a table, with one string of every array a line."""
    table = tomlkit.table()
    for key, value in values.items():
        table.append(key, _lines(value) if isinstance(value, list) else value)
    return table


def _lines(items: Sequence[str | Rule]) -> Array | AoT:
    rules = [_table(item) for item in items if not isinstance(item, str)]
    if rules:
        return AoT(rules)
    array = tomlkit.array()
    for item in items:
        array.add_line(item, indent="  ")
    array.add_line(indent="")
    return array


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the contracts, or write them with ``--write``."""
    parser = argparse.ArgumentParser(prog="python -m tools.floors", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write instead of check")
    if parser.parse_args(arguments).write:
        write()
    return report(problems(), good="import contracts: every package stands on its floor")


if __name__ == "__main__":
    raise SystemExit(main())
