"""A runtime graph: one configuration and root with its generations and turns (host.md §4.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import attrs
from dsh_mnemon_core.errors import CompositionRejected
from dsh_mnemon_core.runtime import (
    Attachment,
    EvaluationReport,
    GenerationOptions,
    InstalledSource,
    MemoryRuntime,
)
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.turns import TurnManager
from dsh_mnemon_core.view import Diagnostic
from pydantic import SecretStr

from dsh_mnemon_host.config import ResolvedConfig
from dsh_mnemon_host.participation import permitted_capabilities
from dsh_mnemon_host.storage import Layout, resolve_layout, source_configuration

__all__ = ("RuntimeGraph", "build_graph")


@attrs.frozen(kw_only=True, eq=False)
class RuntimeGraph:
    """What serves one storage root under one configuration.

    Attributes:
        config: The configuration it was built from.
        layout: The storage root it serves.
        attachment: Its generations, turns and management plane.
    """

    config: ResolvedConfig
    layout: Layout
    attachment: Attachment

    @property
    def turns(self) -> TurnManager:
        """Turns over this graph."""
        return self.attachment.turns

    @property
    def evaluation(self) -> EvaluationReport:
        """What became of the latest composition."""
        return self.attachment.host.evaluation

    @property
    def left_out(self) -> Mapping[str, Diagnostic]:
        """Why Sources that are installed could not be made, by instance key."""
        report = self.evaluation
        noted = {item.contribution_instance_key or "": item for item in report.diagnostics}
        return {key: noted[key] for key in report.source_instance_keys if key in noted}

    def scope(self, workspace: str | None, agent_id: str | None = None) -> OperationScope:
        """Return the scope of an operation; for an Agent both ids are the Agent's (§4.1)."""
        return OperationScope(
            storage=self.config.storage_scope,
            workspace_id=workspace,
            session_id=agent_id,
            agent_id=agent_id,
        )

    async def dispose(self) -> None:
        """End its turns and drain its generations."""
        await self.attachment.dispose()


async def build_graph(
    runtime: MemoryRuntime,
    config: ResolvedConfig,
    workspace: str | None,
    now: Callable[[], datetime],
) -> RuntimeGraph:
    """Attach a candidate graph.

    Args:
        runtime: The memory runtime.
        config: Resolved configuration.
        workspace: Absolute workspace path; decides the root under the workspace scopes.
        now: Clock in UTC.

    Raises:
        CompositionRejected: Core rejected the candidate; the diagnostics are in the message.
    """
    layout = resolve_layout(config, workspace)
    options = _options(config, layout, now)
    attachment = runtime.attach_generation(options)
    report = attachment.host.evaluation
    if report.state == "rejected":
        await attachment.dispose()
        raise CompositionRejected(
            report.diagnostics[0].cause or "composition-rejected",
            "; ".join(item.message for item in report.diagnostics),
        )
    return RuntimeGraph(config=config, layout=layout, attachment=attachment)


def _options(
    config: ResolvedConfig, layout: Layout, now: Callable[[], datetime]
) -> GenerationOptions:
    def settings(source: InstalledSource) -> Any:
        type_id = source.definition.manifest.type_id
        return source_configuration(type_id, source.instance_key, config, layout)

    def configuration(source: InstalledSource) -> Mapping[str, Any]:
        given: Mapping[str, Any] = settings(source).configuration
        return given

    def secrets(source: InstalledSource) -> Mapping[str, SecretStr]:
        given: Mapping[str, SecretStr] = settings(source).secrets
        return given

    def ceiling(source: InstalledSource) -> Sequence[str]:
        return permitted_capabilities(config.config, source.definition.manifest.type_id)

    return GenerationOptions(
        strategy_type_id=config.strategy_type_id,
        strategy_fallback="sole-strategy",
        source_fallback="leave-out",
        source_timeout_ms=config.config.timeout_ms,
        source_configuration=configuration,
        source_capabilities=ceiling,
        source_secrets=secrets,
        now=now,
    )
