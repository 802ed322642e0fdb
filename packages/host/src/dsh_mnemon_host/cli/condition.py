"""``dsh-mnemon status`` and ``dsh-mnemon doctor``."""

from __future__ import annotations

from collections.abc import Sequence

from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.values import JsonObject
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host._source_findings import shortcoming
from dsh_mnemon_host.cli.invocation import Common, open_host, profile_path
from dsh_mnemon_host.cli.output import print_json, print_text
from dsh_mnemon_host.condition import Finding, diagnose, opening_failed, read_condition
from dsh_mnemon_host.config import UnknownKey

__all__ = ("run_doctor", "show_status")

_COMMON = Common()


async def show_status(*, common: Common = _COMMON) -> int:
    """Show what is mounted, where data lies, and how full it is.

    Example: `dsh-mnemon status --json`
    """
    async with open_host(common, reports=True) as host:
        condition = {
            "profile": str(profile_path(common)[0]),
            **await read_condition(host),
        }
    if common.json:
        print_json(condition)
    else:
        print_text(_summary(condition))
    return 0


def _summary(condition: JsonObject) -> str:
    workspace, storage = condition["workspace"], condition["storage"]
    evaluation = condition["composition"]["evaluation"]
    runtime: JsonObject = condition.get("runtime", {"targets": {}, "edits": []})
    worktree = " (linked git worktree)" if workspace["isWorktree"] else ""
    lines = [
        f"dsh-mnemon {condition['version']}",
        f"workspace   {workspace['path']}{worktree}",
        f"storage     {storage['scope']}: {storage['root']}",
        f"profile     {condition['profile']}",
        f"settings    {condition['settings']['path']}",
        f"writes      {'on' if condition['writeEnabled'] else 'off (writeEnabled: false)'}",
        f"composition {evaluation['state']} ({evaluation.get('strategyInstanceKey', 'none')})",
    ]
    if storage["userRoot"] != storage["root"]:
        lines.insert(3, f"USER.md     {storage['userRoot']}")
    lines += [f"  unknown   {_unknown(item)}" for item in condition["settings"]["unknown"]]
    lines += [
        f"  storage   {place['path']}: {place['state']}; see `dsh-mnemon doctor`"
        for place in storage["places"]
        if place["state"] not in ("ready", "missing")
    ]
    lines += [f"  row       {row['id']}: {_row(row)}" for row in condition["rows"]]
    lines += [f"  source    {_source(source)}" for source in condition["sources"]]
    for target in runtime["targets"].values():
        name = "USER.md" if target["target"] == "user" else "MEMORY.md"
        count = target["entryCount"]
        lines.append(f"  {name:<9} {count} entries, {target['used']} of {target['limit']} bytes")
    lines += [
        f"  edited    {edit['file']} by hand; see `dsh-mnemon doctor`" for edit in runtime["edits"]
    ]
    spaces: JsonObject = condition.get("spaces", {"bodies": []})
    lines += [f"  space     {_space(space)}" for space in spaces["bodies"]]
    return "\n".join(lines)


def _unknown(item: JsonObject) -> str:
    key = UnknownKey(item["key"], item["nearest"])
    return f"{key.named()} in the settings: no setting has this key; it is kept and ignored"


def _space(space: JsonObject) -> str:
    state = "active" if space["active"] else "inactive"
    off = ", its Provider is switched off" if space["status"] == "provider-disabled" else ""
    return f"{space['name']} [{space['id']}] at {space['providerId']}: {state}{off}"


def _row(row: JsonObject) -> str:
    message = f" - {row['message']}" if "message" in row else ""
    return f"{row['state']}{message}"


def _source(source: JsonObject) -> str:
    amiss = shortcoming(source)
    reason = "" if amiss is None else f" - {amiss[0]}. {amiss[1]}"
    return f"{source['sourceInstanceKey']}: {source['availability']}{reason}"


async def run_doctor(*, common: Common = _COMMON) -> int:
    """Look for what is wrong and say how to mend it; exits with 1 when something is.

    Example: `dsh-mnemon doctor`
    """
    try:
        async with open_host(common, reports=True) as host:
            findings = diagnose(await read_condition(host, thorough=True))
    except MnemonError as error:
        findings = [opening_failed(error)]
    worst = [item for item in findings if item.level == "error"]
    if common.json:
        print_json({"healthy": not worst, "findings": [to_wire(item) for item in findings]})
    else:
        print_text(_report(findings))
    return 1 if worst else 0


def _report(findings: Sequence[Finding]) -> str:
    lines: list[str] = []
    for item in findings:
        code = f" [{item.code}]" if item.code else ""
        lines.append(f"{item.level:<8} {item.check}: {item.subject}: {item.message}{code}")
        if item.remedy and item.level != "ok":
            lines.append(f"         -> {item.remedy}")
    bad = sum(item.level != "ok" for item in findings)
    lines.append("Everything is well." if not bad else f"{bad} to look at.")
    return "\n".join(lines)
