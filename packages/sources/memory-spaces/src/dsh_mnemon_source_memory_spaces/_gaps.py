"""What an answer about Spaces does not hold, said in it: so that nothing is taken for no memories.

A registry file that cannot be read, a Space that did not answer and a merge that was cut off are
all shown in the same way by every read (spec/sources.md §4.10, D25).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from dsh_mnemon_core.errors import StorageError

from dsh_mnemon_source_memory_spaces._registry.records import Catalogue, PendingMerge

__all__ = ("fault_json", "merge_lines", "noted", "registry_notes", "whole")

_ANSWERED: Final = ("ready", "empty")


def fault_json(fault: StorageError) -> dict[str, Any]:
    """Return ``{code, message, file, reason, firstBadIndex?, firstBadId?, copy?}``."""
    return {"code": fault.code, "message": fault.message, **fault.details}


def merge_lines(catalogue: Catalogue) -> Iterator[str]:
    """Yield one line for each merge that has not ended."""
    for item in catalogue.pending_merges:
        names = [_name(catalogue, space_id) for space_id in (item.source_id, item.target_id)]
        yield (
            f"a merge of {names[0]!r} into {names[1]!r} that began at {item.started_at} has not"
            " ended; if it was cut off, merge them again: what is there already is not copied twice"
        )


def _name(catalogue: Catalogue, space_id: str) -> str:
    space = catalogue.find(space_id)
    return space.name if space else space_id


def _merge_json(item: PendingMerge) -> dict[str, str]:
    return {
        "targetMemoryBodyId": item.target_id,
        "sourceMemoryBodyId": item.source_id,
        "startedAt": item.started_at,
    }


def registry_notes(catalogue: Catalogue) -> dict[str, Any]:
    """Return ``{complete, faults?, pendingMerges?, hint?}`` of a list of Spaces.

    ``complete`` says that every registered Space is listed.
    """
    faults = [fault_json(fault) for fault in catalogue.faults]
    merges = [_merge_json(item) for item in catalogue.pending_merges]
    lines = [*(fault.message for fault in catalogue.faults), *merge_lines(catalogue)]
    said = {"faults": faults, "pendingMerges": merges, "hint": "\n".join(lines)}
    return {"complete": not faults, **{key: value for key, value in said.items() if value}}


def noted(hint: str | None, faults: Iterable[StorageError]) -> str | None:
    """Return the lines of an answer, those about the registry last."""
    lines = [*([hint] if hint else []), *(fault.message for fault in faults)]
    return "\n".join(lines) or None


def whole(
    answer: Mapping[str, Any], faults: Sequence[StorageError], *, lost: bool = False
) -> dict[str, Any]:
    """Return an answer with ``complete``, and with ``faults`` and their lines in ``hint``.

    ``complete`` says that every Space in ``sources`` answered, that nothing of it was left out
    other than what ``nextCursor`` leads to, and that no Space is missing because a registry file
    cannot be read. An export that meets a page without it has not got everything.

    Args:
        answer: With ``sources``, each with its ``status``; ``truncated`` where there is such.
        faults: Of the registry, as far as they are about what was asked for.
        lost: Whether something could not be shown.
    """
    states = {source["status"] for source in answer["sources"]}
    cut = lost or answer.get("truncated", False)
    hint = noted(answer.get("hint"), faults)
    return {
        **answer,
        "complete": not faults and not cut and states <= set(_ANSWERED),
        **({"faults": [fault_json(fault) for fault in faults]} if faults else {}),
        **({} if hint is None else {"hint": hint}),
    }
