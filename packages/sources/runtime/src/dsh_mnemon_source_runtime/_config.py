"""Configuration of the Runtime Source (spec/sources.md §1.2, §2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import attrs
from dsh_mnemon_core.configuration import read_configuration
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from dsh_mnemon_source_runtime.contracts import Limits

_DEFAULTS = Limits()


def _absolute(path: str) -> str:
    if not Path(path).is_absolute() or "\0" in path:
        raise ValueError("must be an absolute path")
    return path


Directory = Annotated[str, AfterValidator(_absolute)]
LimitBytes = Annotated[int, Field(ge=1, le=1_048_576, strict=True)]


class Config(BaseModel):
    """Settings of one mounted Runtime Source, keys in camelCase.

    Attributes:
        data_dir: Root directory; ``~/.mnemon/sources/<instance key>`` by default.
        user_data_dir: Root of USER.md when it is a global one; ``data_dir`` by default.
        memory_limit_bytes: Capacity of MEMORY.md.
        user_limit_bytes: Capacity of USER.md.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True
    )

    data_dir: Directory | None = None
    user_data_dir: Directory | None = None
    memory_limit_bytes: LimitBytes = _DEFAULTS.memory
    user_limit_bytes: LimitBytes = _DEFAULTS.user


@attrs.frozen(kw_only=True)
class Settings:
    """Configuration in force: both roots and the limits."""

    root: Path
    user_root: Path
    limits: Limits


def settings(own: Config, host: Mapping[str, Any], source_instance_key: str) -> Settings:
    """Merge the row's own configuration with the Host's, key by key.

    What the row sets explicitly wins, except in account-isolated deployments
    (``accountIsolated: true`` from the Host), where the Host's values win.

    Args:
        own: Configuration of the row.
        host: ``SourceContext.configuration``.
        source_instance_key: Names the default root.

    Raises:
        ConfigurationError: ``config-invalid``.
    """
    supplied = {key: value for key, value in host.items() if key != "accountIsolated"}
    explicit = own.model_dump(by_alias=True, exclude_unset=True)
    isolated = host.get("accountIsolated") is True
    merged = {**explicit, **supplied} if isolated else {**supplied, **explicit}
    config = read_configuration(Config, merged, "Runtime Source")
    root = _root(config.data_dir, source_instance_key)
    return Settings(
        root=root,
        user_root=root if config.user_data_dir is None else Path(config.user_data_dir),
        limits=Limits(memory=config.memory_limit_bytes, user=config.user_limit_bytes),
    )


def _root(data_dir: str | None, source_instance_key: str) -> Path:
    if data_dir is not None:
        return Path(data_dir)
    return Path.home() / ".mnemon" / "sources" / quote(source_instance_key, safe="!*'()")
