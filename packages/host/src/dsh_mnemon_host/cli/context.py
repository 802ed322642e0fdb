"""``dsh-mnemon context``: exactly what an agent receives for a turn here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dsh_mnemon_core.view import View

from dsh_mnemon_host.cli.invocation import Common, open_host
from dsh_mnemon_host.cli.output import print_json, print_text
from dsh_mnemon_host.turn.context_report import ContextReport, context_report

if TYPE_CHECKING:
    from dsh_mnemon_host.memory_host import MemoryHost

__all__ = ("show_context",)

_COMMON = Common()


async def show_context(*, common: Common = _COMMON) -> int:
    """Show exactly what an agent receives for a turn here: sections, Wake, tools, budgets.

    The text up to the first ruler is the very text that the MCP tool `mnemon_context` returns.

    Example: `dsh-mnemon context --workspace ~/project`
    """
    async with open_host(common) as host:
        agent = host.agent()
        async with agent.turn():
            report = await context_report(host, agent)
            view = _view(host, agent.id)
    if common.json:
        print_json(report.to_json())
    else:
        print_text("\n\n".join((report.text(), _tools(report), _budgets(report, view))))
    return 0


def _tools(report: ContextReport) -> str:
    return "\n".join(["---- tools", *(f"{tool.name}: {tool.description}" for tool in report.tools)])


def _view(host: MemoryHost, agent_id: str) -> View | None:
    """Return the pinned View of an Agent."""
    memory = host.lifecycle.memory(agent_id)
    return memory.view if memory else None


def _unavailable(view: View) -> list[str]:
    """Name the Sources that this View had to do without."""
    revisions: Mapping[str, str] = view.consistency.source_revisions
    return [
        f"  {key}: unavailable; `dsh-mnemon doctor` says why"
        for key, revision in revisions.items()
        if revision == "unavailable"
    ]


def _budgets(report: ContextReport, view: View | None) -> str:
    lines = ["---- budgets"]
    if report.storage is not None:
        lines.append(f"storage {report.storage.scope}: {report.storage.root}")
    budgets = report.budgets
    if budgets is None or view is None:
        return "\n".join([*lines, "no View, so nothing is used"])
    shown = {
        "projection characters": budgets.projection,
        "routes": budgets.routes,
        "actions": budgets.actions,
        **{f"{name} bytes": usage for name, usage in (budgets.files or {}).items()},
    }
    lines += [f"{name}: {usage.used} of {usage.limit}" for name, usage in shown.items()]
    lines += [f"  {share.source}: {share.characters} characters" for share in budgets.sources]
    lines += _unavailable(view)
    return "\n".join(lines)
