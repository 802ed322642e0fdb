"""Writing the canonical spelling of an old value back (host.md §2.7)."""

from __future__ import annotations

import logging
from typing import Final

from dsh_mnemon_core.errors import ConflictError

from dsh_mnemon_host.settings.operations import Operation
from dsh_mnemon_host.settings.service import SettingsService

__all__ = ("canonicalize_display_mode",)

_log = logging.getLogger(__name__)

_KEY: Final = "displayMode"
_TRIES: Final = 3


def _stored(settings: SettingsService) -> tuple[object, int]:
    """Return the display mode as written, the user's before the distribution's, and a revision."""
    [space] = [item for item in settings.describe() if item.ns == "mnemon"]
    layer = space.user if _KEY in space.user else space.base
    return layer.get(_KEY), space.revision


async def canonicalize_display_mode(settings: SettingsService) -> None:
    """Rewrite ``displayMode: buildin`` as ``builtin`` in the user's document, if it may be written.

    A newer choice wins over the rewriting; a failure is logged and never raised.

    Args:
        settings: A service with the namespace ``mnemon``.
    """
    for _ in range(_TRIES):
        value, revision = _stored(settings)
        if not (isinstance(value, str) and value.strip() == "buildin" and settings.writable):
            return
        try:
            await settings.mutate("mnemon", [Operation((_KEY,), "builtin")], revision)
        except ConflictError:
            continue
        except Exception:  # an old spelling is accepted anyway; rewriting it is a courtesy
            _log.exception("the old spelling of displayMode could not be rewritten")
        return
