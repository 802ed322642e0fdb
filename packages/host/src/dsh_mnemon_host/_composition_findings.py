"""What ``doctor`` says about the composition, its main Strategy before all (host.md §20; pure)."""

from __future__ import annotations

from typing import Final

from dsh_mnemon_core.values import JsonObject

from dsh_mnemon_host._finding import Finding

__all__ = ("MISSED", "composition_findings")

MISSED: Final = frozenset(("strategy-fallback", "strategy-type-unavailable"))
"""Codes of diagnostics which say that the chosen main Strategy is not there."""


def composition_findings(composition: JsonObject) -> list[Finding]:
    """Judge a composition.

    Args:
        composition: That of a condition: ``{evaluation, problem?, outages?, choicesProblem?,
            chosenStrategy?}``.
    """
    findings = [_evaluated(composition, item) for item in composition["evaluation"]["diagnostics"]]
    if "problem" in composition:
        problem: JsonObject = composition["problem"]
        findings.append(
            Finding(
                level="error",
                check="composition",
                subject="sources",
                message=problem["message"],
                code=problem["code"],
                remedy="Remove or replace the plugin that is named here.",
            )
        )
    findings += [
        Finding(
            level="error",
            check="source",
            subject=outage["contributionInstanceKey"],
            message=outage["message"],
            code=outage["code"],
            remedy="Look at the log; remove or replace the plugin if it happens again.",
        )
        for outage in composition.get("outages", ())
    ]
    if "choicesProblem" in composition:
        saved: JsonObject = composition["choicesProblem"]
        findings.append(
            Finding(
                level="error",
                check="composition",
                subject="memoryView",
                message=f"the saved choices of entries are not in force: {saved['message']}",
                code=saved["code"],
                remedy="Run `dsh-mnemon compose list`, and switch off what does not fit.",
            )
        )
    serving = Finding(level="ok", check="composition", subject="generation", message="serving")
    return findings or [serving]


def _evaluated(composition: JsonObject, item: JsonObject) -> Finding:
    ready = composition["evaluation"]["state"] == "ready"
    code: str = item.get("cause", item["code"])
    chosen: JsonObject | None = composition.get("chosenStrategy")
    message, remedy = item["message"], None if ready else "Change the profile or the main Strategy."
    if code in MISSED and chosen is not None:
        message, remedy = _missed(chosen, composition["evaluation"].get("strategyInstanceKey"))
    return Finding(
        level="warning" if ready else "error",
        check="composition",
        subject=item.get("contributionInstanceKey", "generation"),
        message=message,
        code=code,
        remedy=remedy,
    )


def _missed(chosen: JsonObject, serving: str | None) -> tuple[str, str]:
    """Say why the chosen main Strategy does not serve, and what to do about it."""
    label = f" ({chosen['label']})" if "label" in chosen else ""
    entry: str | None = chosen.get("entryId")
    if entry is None:
        cause, remedy = "no entry of the profile provides it", "Add the row of its package"
    elif chosen["state"] == "disabled":
        cause = f"its entry {entry} is switched off"
        remedy = f"Switch it on with `dsh-mnemon compose enable {entry}`"
    elif chosen["state"] == "absent":
        cause = f"{chosen['packageName']}, which its entry {entry} names, is not installed"
        remedy = f"Install {chosen['packageName']}"
    else:
        cause, remedy = f"its entry {entry} is {chosen['state']}", f"Mend {entry}"
    instead = "" if serving is None else "; the only one that runs serves instead"
    name = "NAME" if serving is None else serving.removeprefix("strategy:")
    return (
        f"the main Strategy {chosen['strategyTypeId']}{label} is chosen, but {cause}{instead}",
        f"{remedy}, or choose another with `dsh-mnemon compose strategy {name}`.",
    )
