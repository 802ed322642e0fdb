"""A composition on trial: mounted apart, looked at, and gone again (host.md §20 ``preview``)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from dsh_mnemon_core.errors import CompositionRejected
from dsh_mnemon_core.fiber import open_root
from dsh_mnemon_core.profile import Profile, Row, mount_profile
from dsh_mnemon_core.runtime import open_runtime
from dsh_mnemon_core.values import digest
from dsh_mnemon_core.view import View
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.config import ResolvedConfig
from dsh_mnemon_host.graph import RuntimeGraph, build_graph
from dsh_mnemon_host.seat import HOST_SEAT, HostSeat
from dsh_mnemon_host.turn.sections import own_sections
from dsh_mnemon_host.work.destinations import composed_view

__all__ = ("shown_view", "trial", "try_view")


@asynccontextmanager
async def trial(
    rows: Sequence[Row],
    config: ResolvedConfig,
    workspace: str,
    now: Callable[[], datetime],
    *,
    unusable: Collection[str] = (),
) -> AsyncGenerator[RuntimeGraph]:
    """Mount rows apart from what serves, under a configuration; nothing is published.

    Args:
        rows: The rows, choices included.
        config: Resolved configuration.
        workspace: Absolute workspace.
        now: Clock in UTC.
        unusable: Rows that do not run now either, and so are no reason to refuse.

    Raises:
        CompositionRejected: Core rejects them, or ``entry-unusable``.
    """
    failure: BaseException | None = None
    async with open_runtime() as runtime, open_root() as ctx:
        try:
            ctx.provide(HOST_SEAT, HostSeat(runtime))
            mounted = await mount_profile(ctx, Profile(rows=tuple(rows)), batch=runtime.batch)
            for report in mounted.report():
                if report.state in ("absent", "failed") and report.id not in unusable:
                    raise CompositionRejected(
                        "entry-unusable", f"{report.id}: {report.message or report.state}"
                    )
            graph = await build_graph(runtime, config, workspace, now)
            yield graph
        except BaseException as error:
            failure = error  # raised again below, where no task group wraps it
    if failure is not None:
        raise failure


async def try_view(graph: RuntimeGraph, workspace: str) -> dict[str, Any]:
    """Compose a View over a graph and say what is in it, as `shown_view` does."""
    scope = graph.scope(workspace)
    async with composed_view(graph, scope, "management.preview") as view:
        return shown_view(view)


def shown_view(view: View) -> dict[str, Any]:
    """Say what a View holds.

    Returns:
        ``{strategy, enhancements: [key], projection: [{source, mode, characters}], routes: [id],
        actions: [id], diagnostics, sections: [{name, characters, digest}]}``.
    """
    return {
        "strategy": view.strategy_instance_key,
        "enhancements": [item.instance_key for item in view.strategy_extensions or ()],
        "projection": [
            {"source": f.source_instance_key, "mode": f.mode, "characters": len(f.text)}
            for f in view.projection
        ],
        "routes": [route.id for route in view.routes],
        "actions": [offer.id for offer in view.action_offers],
        "diagnostics": to_wire(view.diagnostics or ()),
        "sections": [
            {
                "name": section.name,
                "characters": len(section.text),
                "digest": digest(section.text),
            }
            for section in own_sections(view, routing=True)
        ],
    }
