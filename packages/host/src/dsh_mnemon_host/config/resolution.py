"""From configuration, environment and home to what is in force (host.md §2.3, §2.4)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final, cast

import attrs
from dsh_mnemon_core.errors import ConfigurationError
from dsh_mnemon_core.scope import Storage

from dsh_mnemon_host.config.locations import expand
from dsh_mnemon_host.config.model import CustomPack, HostConfig
from dsh_mnemon_host.config.reading import Problem, refusal
from dsh_mnemon_host.config.redaction import plain, redact
from dsh_mnemon_host.config.section import STORE_PATTERN
from dsh_mnemon_host.config.shape import accepted, closest

__all__ = ("ResolvedConfig", "merge", "resolve", "snapshot")

LEGACY_PACK_NAME: Final = "Custom Pack"


@attrs.frozen(kw_only=True)
class ResolvedConfig:
    """A configuration with every location decided.

    Attributes:
        config: The settings as read.
        storage_scope: Scope in force.
        data_dir: Absolute effective ``dataDir``; never ``None`` under ``custom``.
        custom_packs: Named roots, with the one a legacy ``dataDir`` implies at the end.
        selected_pack: The pack that ``data_dir`` comes from.
        global_root: Absolute root of scope ``global``.
        dsh_home: Absolute home of the DeepSeek Harness; for looking up versions and profiles only,
            so it is ``None`` where it would lie in a home directory that there is not.
        cli_path: Command line given by setting, else by ``MNEMON_CLI_PATH``.
        store: Default-store hint given by setting, else by ``MNEMON_STORE``.
    """

    config: HostConfig
    storage_scope: Storage
    data_dir: Path | None
    custom_packs: tuple[CustomPack, ...]
    selected_pack: CustomPack | None
    global_root: Path
    dsh_home: Path | None
    cli_path: str | None
    store: str | None

    @property
    def strategy_type_id(self) -> str:
        """Return the type id of the main Strategy."""
        return self.config.strategy_type_id


def merge(base: Mapping[str, Any], user: Mapping[str, Any]) -> dict[str, Any]:
    """Lay the user's document over the distribution's, key by key (§2.1).

    Mappings are merged at every depth; any other value of the user replaces the one below it.
    """
    merged = dict(base)
    for key, value in user.items():
        below = merged.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            value = merge(cast("Mapping[str, Any]", below), cast("Mapping[str, Any]", value))
        merged[key] = value
    return merged


def _environment(env: Mapping[str, str], name: str) -> str | None:
    return env.get(name, "").strip() or None


def _with_legacy_pack(config: HostConfig) -> tuple[CustomPack, ...]:
    """Append the pack that a plain ``dataDir`` stands for, unless one has it already."""
    packs, location = config.custom_packs, config.data_dir
    if location is None or any(pack.data_dir == location for pack in packs):
        return packs
    taken = {pack.id for pack in packs}
    names = ("legacy" if number == 1 else f"legacy-{number}" for number in count(1))
    free = next(name for name in names if name not in taken)
    document = {"id": free, "name": LEGACY_PACK_NAME, "dataDir": location}
    return (*packs, CustomPack.model_validate(document))


def _selected(config: HostConfig, packs: tuple[CustomPack, ...]) -> CustomPack | None:
    wanted = config.custom_pack_id
    if wanted is not None:
        by_id = {pack.id: pack for pack in packs}
        if wanted not in by_id:
            known = ", ".join(by_id) or "none, as customPacks is empty"
            raise refusal(
                [
                    Problem(
                        code="setting-choice",
                        key="customPackId",
                        says=f"names no pack; known: {known}",
                        nearest=closest(wanted, tuple(by_id)),
                    )
                ]
            )
        return by_id[wanted]
    same = (pack for pack in packs if pack.data_dir == config.data_dir)
    return next(same, packs[0] if len(packs) == 1 else None)


def _scope(config: HostConfig) -> Storage:
    if config.storage_scope is not None:
        return config.storage_scope
    return "custom" if config.data_dir is not None or config.custom_packs else "global"


def _store(config: HostConfig, env: Mapping[str, str]) -> str | None:
    given = _environment(env, "MNEMON_STORE")
    if config.store is None and given is not None and not re.fullmatch(STORE_PATTERN, given):
        raise ConfigurationError(
            "setting-format",
            f"The environment variable MNEMON_STORE must be text matching {STORE_PATTERN}.",
            details={"key": "MNEMON_STORE", "accepted": f"text matching {STORE_PATTERN}"},
        )
    return config.store or given


def _dsh_home(
    env: Mapping[str, str], home: str | Callable[[], str], cwd: str | None
) -> Path | None:
    try:
        return expand(_environment(env, "DSH_HOME") or "~/.dsh", home, cwd)
    except ConfigurationError:
        return None


def resolve(
    config: HostConfig,
    env: Mapping[str, str],
    home: str | os.PathLike[str] | Callable[[], Path],
    *,
    cwd: str | None = None,
) -> ResolvedConfig:
    """Decide every location; reads no environment and touches no file.

    Args:
        config: The settings.
        env: Environment variables; ``MNEMON_DATA_DIR``, ``MNEMON_CLI_PATH``, ``MNEMON_STORE`` and
            ``DSH_HOME`` count, trimmed, and blank is absent.
        home: Absolute home directory; a function is asked only where a location starts there.
        cwd: Where a relative ``MNEMON_DATA_DIR`` or ``DSH_HOME`` starts; the process's directory
            when absent.

    Raises:
        ConfigurationError: ``setting-choice`` for an unknown ``customPackId``,
            ``setting-required`` for ``custom`` without a location, ``setting-format`` for a bad
            ``MNEMON_STORE``; and what ``home`` raises.

    Source: spec/host.md §2.3, §2.4.
    """
    at_home = (lambda: str(home())) if callable(home) else os.fspath(home)
    packs = _with_legacy_pack(config)
    scope, pack = _scope(config), _selected(config, packs)
    location = pack.data_dir if pack else config.data_dir
    if scope == "custom" and location is None:
        several = ", or name one of customPacks with customPackId" if packs else ""
        says = f"is required while storageScope is custom: say where memory lies{several}"
        takes = accepted(HostConfig, ("dataDir",))
        raise refusal([Problem(code="setting-required", key="dataDir", says=says, accepted=takes)])
    return ResolvedConfig(
        config=config,
        storage_scope=scope,
        data_dir=expand(location, at_home) if location else None,
        custom_packs=packs,
        selected_pack=pack,
        global_root=expand(_environment(env, "MNEMON_DATA_DIR") or "~/.mnemon", at_home, cwd),
        dsh_home=_dsh_home(env, at_home, cwd),
        cli_path=config.cli_path or _environment(env, "MNEMON_CLI_PATH"),
        store=_store(config, env),
    )


def snapshot(config: HostConfig) -> dict[str, Any]:
    """Return the settings as camelCase JSON for people and logs: defaults in, secrets masked."""
    masked: dict[str, Any] = redact(plain(config))
    return masked
