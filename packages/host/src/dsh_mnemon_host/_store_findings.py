"""What ``doctor`` says about the files of the Runtime Source (D25, D57; pure)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Final

from dsh_mnemon_core.values import JsonObject

from dsh_mnemon_host._finding import Finding, Level

_UNREADABLE: Final[Mapping[str, str]] = {
    "newer-version": (
        "It was written by a newer version: upgrade dsh-mnemon. Moving it away starts empty."
    ),
    "dangling-link": "Bring back what the link leads to, or remove the link to start empty.",
    "not-a-regular-file": "Move away what stands there; memory then starts empty.",
    "too-large": "Shorten it by hand, or move it away to start empty.",
}
_MEND: Final = "Repair it by hand, or move it away to start empty."
_FORBIDDEN: Final = "Make it and its folder readable for you; what it holds may be whole."
_UNREACHABLE: Final = "Put right what keeps it from being read; what it holds may be whole."
_FULL: Final = "Make room on that disk: what cannot be written is refused, and nothing is lost."
_LOCKS: Final[Mapping[str, tuple[Level, str, str]]] = {
    "held": (
        "warning",
        "another program holds it since",
        "Wait for that program; a lock that nobody renews is removed after half a minute.",
    ),
    "future": (
        "error",
        "its time lies ahead, so it never counts as a leftover:",
        "Correct the clock. If no other program is writing, remove the file.",
    ),
    "not-a-regular-file": (
        "error",
        "something that is no file stands in its place since",
        "Move it away: it keeps everybody from writing.",
    ),
}


def unreadable_store(reason: str, texts: Sequence[str]) -> str:
    """Say what to do about a memories.json that cannot be read.

    Args:
        reason: The reason that the Source gives.
        texts: Markdown files beside it that hold text.
    """
    if reason.isupper():
        # An error of the system, such as EIO, says nothing about what the file holds.
        return _FORBIDDEN if reason in ("EACCES", "EPERM") else _UNREACHABLE
    advice = f"The file was left as found. {_UNREADABLE.get(reason, _MEND)}"
    if not texts:
        return advice
    names = " and ".join(PurePath(text).name for text in texts)
    holds, takes = ("hold", "take") if len(texts) > 1 else ("holds", "takes")
    commands = " and ".join(f"`dsh-mnemon runtime adopt {text}`" for text in texts)
    return (
        f"{advice} {names} beside it still {holds} text; once memories.json is gone, the next start"
        f" keeps a copy in `edited/`, and {commands} {takes} the entries over."
    )


def store_findings(store: JsonObject) -> list[Finding]:
    """Judge what one root's ``diagnose`` tells beside the store itself."""
    findings = [
        Finding(
            level="error",
            check="files",
            subject=item["file"],
            message=f"keeps memory from being written: {item['reason']}",
            code="store-blocked",
            remedy="Move it away or correct its permissions.",
        )
        for item in store.get("blocked", ())
    ]
    if lock := store.get("lock"):
        level, words, remedy = _LOCKS[lock["state"]]
        findings.append(
            Finding(
                level=level,
                check="files",
                subject=lock["file"],
                message=f"keeps memory from being written: {words} {lock['modifiedAt']}",
                code="store-locked",
                remedy=remedy,
            )
        )
    if "freeBytes" in store:
        findings.append(
            Finding(
                level="warning",
                check="files",
                subject=str(PurePath(store["file"]).parent),
                message=f"its disk has {store['freeBytes']} bytes left",
                code="disk-full",
                remedy=_FULL,
            )
        )
    if count := store.get("archiveUnreadableLines"):
        archive = PurePath(store["file"]).parent / "archived"
        findings.append(
            Finding(
                level="warning",
                check="files",
                subject=str(archive),
                message=f"{count} {'line is' if count == 1 else 'lines are'} no archived entry",
                code="archive-unreadable-lines",
                remedy="They are skipped; look for them in the MEMORY*.jsonl files.",
            )
        )
    return findings


def over_limit(targets: JsonObject) -> list[Finding]:
    """Warn of targets that hold more than they may."""
    return [
        Finding(
            level="warning",
            check="capacity",
            subject=target["markdownPath"],
            message=f"{target['used']} bytes are in use, {target['limit']} are allowed",
            code="over-limit",
            remedy="Shorten or remove entries, or raise the limit: there is no room for more.",
        )
        for target in targets.values()
        if target["used"] > target["limit"]
    ]
