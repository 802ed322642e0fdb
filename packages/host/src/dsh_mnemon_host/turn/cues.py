"""The one short cue of a session (host.md §6.5)."""

from __future__ import annotations

from dsh_mnemon_core.view import View

from dsh_mnemon_host.config import HostConfig

__all__ = ("choose_cue",)

_READ = "When evidence for this request is missing, one offered memory route may hold it."
_WRITE = (
    "When a lasting fact should be kept, an offered memory action can keep it; "
    "only its receipt proves that."
)
_END = "Use offered ids only, and none when none is needed."


def choose_cue(view: View, config: HostConfig) -> str | None:
    """Return the cue that the switches and the Strategy's reminders ask for, if any."""
    if not config.lifecycle_enabled:
        return None
    read = config.recall_mode == "guided"
    write = config.writeback_mode == "guided" and config.write_enabled
    if not read and not write:
        return None
    reminders = view.guidance.reminders if view.guidance else None
    if reminders is None:
        sides = ((_READ, read), (_WRITE, write))
        return " ".join(["[MNEMON]", *(text for text, wanted in sides if wanted), _END])
    if read and write:
        return reminders.both
    return reminders.read if read else reminders.write
