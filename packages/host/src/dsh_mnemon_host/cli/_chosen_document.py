"""Which document a person means: by its id or the beginning of it, or by its title."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.wire import nearest, to_wire

from dsh_mnemon_host.cli._spoken import beginning_with, one_of, same_name
from dsh_mnemon_host.source_session import SourceSession

__all__ = ("Status", "chosen_document")

Status: TypeAlias = Literal["active", "archived"]
"""Where a document is."""

_WHOLE: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""A whole id, of which nothing has to be looked up."""


async def chosen_document(session: SourceSession, given: str, *, status: Status = "active") -> str:
    """Return the id of the document a person named.

    An id as it stands wins; then a title in any case, then the beginning of an id.

    Args:
        session: The Source of the documents.
        given: What was typed.
        status: Those that are rather meant, where there are others of the same title.

    Raises:
        InputError: ``document-not-found``, ``document-ambiguous``.
    """
    if _WHOLE.fullmatch(given):
        return given
    snapshot: dict[str, Any] = to_wire(await session.read("snapshot"))
    meant = _meant(given, snapshot["documents"], status)
    if len(meant) == 1:
        return str(meant[0]["id"])
    if meant:
        raise InputError(
            "document-ambiguous",
            f"{given!r} may be any of {len(meant)} documents; say which by its id: "
            f"{one_of([_labelled(row) for row in meant])}",
            details={"documentIds": [row["id"] for row in meant]},
        )
    raise _unknown(given, snapshot["documents"])


def _meant(given: str, rows: Sequence[dict[str, Any]], status: Status) -> Sequence[dict[str, Any]]:
    titled = [row for row in rows if same_name(row["title"], given)]
    begun = beginning_with(given, (row["id"] for row in rows))
    readings = (
        [row for row in rows if row["id"] == given],
        [row for row in titled if row["status"] == status],
        titled,
        [row for row in rows if row["id"] in begun],
    )
    return next((found for found in readings if found), ())


def _unknown(given: str, rows: Sequence[dict[str, Any]]) -> InputError:
    if not rows:
        there = "; there is none yet"
    else:
        latest = sorted(rows, key=lambda row: str(row["updatedAt"]), reverse=True)
        known = [name for row in rows for name in (row["id"], row["title"])]
        there = (
            f"{nearest(given, known)}; an id, four characters that one begins with, or a title "
            f"names one of: {one_of([_labelled(row) for row in latest])}"
        )
    return InputError(
        "document-not-found",
        f"there is no document {given!r}{there}",
        details={"documentId": given},
    )


def _labelled(row: Mapping[str, Any]) -> str:
    archived = "" if row["status"] == "active" else " (archived)"
    return f"{row['title']}{archived} [{row['id']}]"
