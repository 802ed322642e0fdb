"""Mount the history of a git repository as a memory Source."""

from pathlib import Path
from typing import Annotated

from dsh_mnemon_core.sdk import (
    MEMORY_SERVICE,
    Context,
    Contributions,
    MemoryPlugin,
    Plugin,
    ProvidedCapability,
    install_memory,
)
from pydantic import AfterValidator, BaseModel, ConfigDict

from acme_git_log.source import MANIFEST, git_log_source

__all__ = ("GitLogConfig", "git_log_source", "plugin")

DESCRIPTOR = MemoryPlugin(
    package_name=MANIFEST.package_name,
    label={"en": "Git history", "zh-CN": "Git 历史"},
    description={
        "en": "The commits of one repository, to be searched and read.",
        "zh-CN": "一个仓库的提交记录，可供检索和阅读。",
    },
    roles=("source",),
    provides=(ProvidedCapability(id="source"), ProvidedCapability(id=f"source.{MANIFEST.role}")),
)


def _absolute(path: Path) -> Path:
    if not path.is_absolute():
        raise ValueError("must be an absolute path")
    return path


class GitLogConfig(BaseModel):
    """Settings: the absolute path of the repository."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    repository: Annotated[Path, AfterValidator(_absolute)]


def _apply(ctx: Context, config: GitLogConfig) -> None:
    source = git_log_source(config.repository)
    install_memory(ctx, Contributions(plugin=DESCRIPTOR, sources=(source,)))


plugin = Plugin(
    name=MANIFEST.package_name,
    apply=_apply,
    config_model=GitLogConfig,
    requires=(MEMORY_SERVICE,),
    memory_plugin=DESCRIPTOR,
)
