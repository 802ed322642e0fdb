"""Where a git history takes part, invite the model to keep the reasons it does not tell."""

from collections.abc import Sequence

from dsh_mnemon_core.scope import ViewRequest
from dsh_mnemon_core.sdk import (
    MEMORY_SERVICE,
    AvailableSource,
    Context,
    Contributions,
    ExtensionDefinition,
    MemoryPlugin,
    Plugin,
    ProvidedCapability,
    install_memory,
)
from dsh_mnemon_core.slots import Capture, define_memory_view_extension
from pydantic import BaseModel, ConfigDict, Field

__all__ = ("KeepWhyConfig", "keep_why", "plugin")

PACKAGE = "acme-mnemon-keep-why"

DESCRIPTOR = MemoryPlugin(
    package_name=PACKAGE,
    label={"en": "Keep the why", "zh-CN": "记下原因"},
    description={
        "en": "Asks the model to keep why something was changed, where the commits do not say it.",
        "zh-CN": "当提交记录没有说明原因时，请模型记下改动的缘由。",
    },
    roles=("strategy-extension",),
    provides=(ProvidedCapability(id="strategy.capture", exclusive=True),),
    requires=("strategy",),
)

INSTRUCTION = (
    "When the user says why something in this project was changed, and no commit message tells "
    "it, keep that reason as one sentence that names the commit."
)


class KeepWhyConfig(BaseModel):
    """Settings: the action that keeps a reason, and the role of the Sources it goes to."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    action: str = Field(default="mutate", pattern=r"^[a-z][a-z0-9-]{0,127}$")
    role: str = "working-context"


def keep_why(config: KeepWhyConfig | None = None) -> ExtensionDefinition:
    """Return the enhancement; without a git history it names no Source and so asks for nothing."""
    given = config or KeepWhyConfig()

    def contribute(request: ViewRequest, sources: Sequence[AvailableSource]) -> Capture:
        history = any(
            source.source_type_id == "git-log" and source.availability != "unavailable"
            for source in sources
        )
        keys = sorted(s.source_instance_key for s in sources if history and s.role == given.role)
        return Capture(
            instruction=INSTRUCTION, action_ids=(given.action,), source_keys=tuple(keys[:32])
        )

    return define_memory_view_extension(
        type_id="keep-why", package_name=PACKAGE, slot="capture", contribute=contribute
    )


def _apply(ctx: Context, config: KeepWhyConfig) -> None:
    extension = keep_why(config)
    install_memory(ctx, Contributions(plugin=DESCRIPTOR, strategy_extensions=(extension,)))


plugin = Plugin(
    name=PACKAGE,
    apply=_apply,
    config_model=KeepWhyConfig,
    requires=(MEMORY_SERVICE,),
    memory_plugin=DESCRIPTOR,
)
