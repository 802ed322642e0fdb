"""Configuration of the Documents Source (spec/sources.md §1.2, §3.1)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import attrs
from dsh_mnemon_core.configuration import read_configuration
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from dsh_mnemon_source_documents.contracts import DEFAULT_LIMIT_BYTES


def _absolute(path: str) -> str:
    if not Path(path).is_absolute() or "\0" in path:
        raise ValueError("must be an absolute path")
    return path


Directory = Annotated[str, AfterValidator(_absolute)]
LimitBytes = Annotated[int, Field(ge=1, le=1_073_741_824, strict=True)]


class Config(BaseModel):
    """Settings of one mounted Documents Source, keys in camelCase.

    Attributes:
        data_dir: Root directory; ``~/.mnemon/sources/<instance key>`` by default.
        limit_bytes: Capacity of all active documents together, in rendered UTF-8 bytes.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True
    )

    data_dir: Directory | None = None
    limit_bytes: LimitBytes = DEFAULT_LIMIT_BYTES


@attrs.frozen(kw_only=True)
class Settings:
    """Configuration in force: the root and the capacity in bytes."""

    root: Path
    limit_bytes: int


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
    config = read_configuration(Config, merged, "Documents Source")
    return Settings(
        root=_root(config.data_dir, source_instance_key), limit_bytes=config.limit_bytes
    )


def _root(data_dir: str | None, source_instance_key: str) -> Path:
    if data_dir is not None:
        return Path(data_dir)
    return Path.home() / ".mnemon" / "sources" / quote(source_instance_key, safe="!*'()")
