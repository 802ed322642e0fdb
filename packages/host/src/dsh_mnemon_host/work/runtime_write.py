"""Runtime writes and what follows when a limit would be passed (host.md §15, sources.md §5.1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

import anyio
from dsh_mnemon_core.errors import CapacityError, MnemonError
from dsh_mnemon_core.source import ManagementResult
from dsh_mnemon_core.view import View

from dsh_mnemon_host.source_session import SourceSession
from dsh_mnemon_host.work.destinations import composed_view, find_destinations
from dsh_mnemon_host.work.runtime_archive import archive_entries
from dsh_mnemon_host.work.telling import Telling

__all__ = ("RuntimeWriter", "host_budget")

_SEPARATOR_BYTES: Final = 4
_TRIES: Final = 5
_OVERTAKEN: Final = frozenset({"revision-conflict", "management-revision-conflict"})
"""Another process wrote between plan and commit; nothing was changed."""

T = TypeVar("T")


def host_budget(plan: Mapping[str, Any]) -> int:
    """Return the bytes that compaction may keep: 70 % of the limit less the pending entry (D35)."""
    pending = plan.get("pending")
    size = len(pending["content"].encode("utf-8")) if pending else 0
    separator = _SEPARATOR_BYTES if pending and plan["entries"] else 0
    kept: int = plan["limit"] * 7 // 10 - size - separator
    return max(0, kept)


class RuntimeWriter:
    """Runs Runtime writes one after another, with the maintenance the Strategy asks for."""

    def __init__(self) -> None:
        self._queue = anyio.Lock()

    async def write(
        self,
        session: SourceSession,
        mutation: Any,
        commit: Callable[[], Awaitable[T]],
        maintained: Callable[[ManagementResult], T],
        view: View | None = None,
    ) -> T:
        """Commit a Runtime mutation; when it does not fit, make room first.

        A plan that another process overtook is made again, a few times.

        Args:
            session: Management of the Source that is written.
            mutation: Input of ``mutate``.
            commit: Performs the mutation once, with the authority of the call.
            maintained: Turns the result of maintenance into the caller's answer.
            view: The caller's pinned View; one is composed for the archive when there is none.

        Raises:
            AuthorityError: ``runtime-archive-out-of-scope``: Memory Spaces could take the entries,
                but none in this operation's scope (D5).
            CapacityError: ``runtime-capacity`` when nothing can make room; ``model-unavailable``
                when USER.md would have to be consolidated. The pending text is in the details.
            MnemonError: Whatever the Source refuses; nothing was changed then.
        """
        async with self._queue:
            for _ in range(_TRIES - 1):
                try:
                    return await _write_once(session, mutation, commit, maintained, view)
                except MnemonError as error:
                    if error.code not in _OVERTAKEN:
                        raise
            return await _write_once(session, mutation, commit, maintained, view)


async def _write_once(
    session: SourceSession,
    mutation: Any,
    commit: Callable[[], Awaitable[T]],
    maintained: Callable[[ManagementResult], T],
    view: View | None,
) -> T:
    try:
        return await commit()
    except MnemonError as error:
        if error.code != "runtime-capacity":
            raise
        plan = await session.read("maintenance-plan", mutation)
        if not plan["requiresMaintenance"]:
            return await commit()
        _check_plan(plan, error)
        return maintained(await _make_room(session, mutation, plan, view))


def _check_plan(plan: Mapping[str, Any], refusal: MnemonError) -> None:
    """Refuse what nothing here can make room for; the pending text is handed back."""
    details = {**refusal.details, "pending": plan.get("pending")}
    if not plan["entries"]:
        raise CapacityError(
            "runtime-capacity",
            f"{refusal.message} There are no entries that could make room.",
            details=details,
        ) from refusal
    if plan["target"] == "user":
        # Who the user is never leaves USER.md, and shortening it takes a model (D39).
        raise CapacityError(
            "model-unavailable",
            "USER.md is full, and consolidating it needs a model that is not configured here. "
            "Nothing was changed; replace or remove an entry, or raise "
            "runtimeMemory.userLimitBytes.",
            details=details,
        ) from refusal


async def _make_room(
    session: SourceSession, mutation: Any, plan: Mapping[str, Any], view: View | None
) -> ManagementResult:
    """Archive what does not fit, to Memory Spaces if there are any (§15.2, §15.3)."""
    if view is None:
        scenario = "management.runtime-capacity"
        async with composed_view(session.graph, session.scope, scenario) as composed:
            return await _make_room(session, mutation, plan, composed)
    budget = host_budget(plan)
    with Telling(lambda: {"pending": plan.get("pending")}):
        destinations = await find_destinations(session.graph, session.scope, view)
        destinations.require_scope("runtime-archive-out-of-scope", "MEMORY.md")
        if destinations.anywhere:
            return await archive_entries(session, mutation, plan, budget, destinations)
        request = {"revision": plan["revision"], "mutation": mutation, "maxBytes": budget}
        return await session.mutate("archive-and-mutate", request, plan["viewRevision"])
