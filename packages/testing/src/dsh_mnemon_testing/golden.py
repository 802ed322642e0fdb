"""Golden files: recorded cases that a rule must reproduce, whatever cases the file holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import attrs
from dsh_mnemon_core._engine.registry import Snapshot, merge, records
from dsh_mnemon_core.runtime import GenerationOptions, InstalledSource

from dsh_mnemon_testing.fakes import Trace, fake_contributions

__all__ = ("Golden", "golden", "options_from", "snapshot_from")


@attrs.frozen
class Golden:
    """A golden file.

    Attributes:
        data: The whole document.
        cases: Its ``cases``, in file order.
    """

    data: Mapping[str, Any]

    @property
    def cases(self) -> list[dict[str, Any]]:
        """The recorded cases."""
        return cast("list[dict[str, Any]]", self.data.get("cases", []))

    def ids(self) -> list[str]:
        """Return one distinct test id a case: its number and its name, if it has one."""
        return [f"{number}-{case.get('name', 'case')}" for number, case in enumerate(self.cases)]


def golden(folder: Path, name: str) -> Golden:
    """Read ``<folder>/<name>.json``.

    Args:
        folder: The package's ``tests/golden`` folder.
        name: File name without ``.json``.
    """
    return Golden(json.loads((folder / f"{name}.json").read_text(encoding="utf-8")))


def snapshot_from(description: Mapping[str, Any], trace: Trace, revision: int = 1) -> Snapshot:
    """Build a candidate snapshot of fakes from ``{sources?, strategies?, extensions?}``."""
    snapshot = Snapshot()
    kinds = ("sources", "strategies", "extensions")
    wanted = {kind: description[kind] for kind in kinds if kind in description}
    for entry_id, contributions in fake_contributions(wanted, trace):
        snapshot = merge(snapshot, records(entry_id, contributions), revision)
    return attrs.evolve(snapshot, revision=revision)


def options_from(value: Mapping[str, Any] | None, **more: Any) -> GenerationOptions:
    """Build generation options from a case's ``options``; ``more`` are further options."""
    options = dict(value or {})
    ceilings: Mapping[str, Any] = options.pop("sourceCapabilities", {})
    names = {
        "strategyInstanceKey": "strategy_instance_key",
        "strategyTypeId": "strategy_type_id",
        "strategyFallback": "strategy_fallback",
        "sourceTimeoutMs": "source_timeout_ms",
    }
    known = {names[key]: item for key, item in options.items()}

    def ceiling(source: InstalledSource) -> Any:
        return ceilings.get(source.instance_key)

    return GenerationOptions(**known, source_capabilities=ceiling, **more)
