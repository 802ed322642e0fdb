"""Runtime writes and what follows when a limit would be passed (host.md §15, sources.md §5.1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any
from uuid import uuid4

import anyio
from dsh_mnemon_core.errors import CapacityError, MnemonError
from dsh_mnemon_core.evidence import Receipt
from dsh_mnemon_core.instant import iso_utc
from dsh_mnemon_core.view import ActionOffer

from dsh_mnemon_host.executions import Execution
from dsh_mnemon_host.source_session import SourceSession

__all__ = ("RuntimeWriter", "host_budget")

_SEPARATOR_BYTES = 4

Commit = Callable[[], Awaitable[Receipt]]


def host_budget(plan: Mapping[str, Any]) -> int:
    """Return the bytes that compaction may keep: 70 % of the limit less the pending entry (D35)."""
    pending = plan.get("pending")
    size = len(pending["content"].encode("utf-8")) if pending else 0
    separator = _SEPARATOR_BYTES if pending and plan["entries"] else 0
    kept: int = plan["limit"] * 7 // 10 - size - separator
    return max(0, kept)


class RuntimeWriter:
    """Runs Runtime writes one after another, with the maintenance the Strategy asks for.

    Args:
        now: Clock in UTC, for the Receipt of a maintained write.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._queue = anyio.Lock()

    async def write(
        self, execution: Execution, offer: ActionOffer, input: Any, commit: Commit
    ) -> Receipt:
        """Commit a Runtime mutation; when it does not fit, make room first.

        Args:
            execution: The executing turn.
            offer: The ``mutate`` offer.
            input: Its input.
            commit: Executes the offer once, with the authority of the call.

        Raises:
            CapacityError: ``runtime-capacity`` when nothing can make room; ``model-unavailable``
                when USER.md would have to be consolidated. The pending text is in the details.
            MnemonError: Whatever the Source refuses; nothing was changed then.
        """
        async with self._queue:
            try:
                return await commit()
            except MnemonError as error:
                if error.code != "runtime-capacity":
                    raise
                return await self._make_room(execution, offer, input, commit, error)

    async def _make_room(
        self,
        execution: Execution,
        offer: ActionOffer,
        input: Any,
        commit: Commit,
        refusal: MnemonError,
    ) -> Receipt:
        session = SourceSession(
            graph=execution.graph, key=offer.source_instance_key, scope=execution.context.scope
        )
        plan = await session.read("maintenance-plan", input)
        if not plan["requiresMaintenance"]:
            return await commit()
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
        return await self._archive_locally(session, execution, offer, input, plan)

    async def _archive_locally(
        self,
        session: SourceSession,
        execution: Execution,
        offer: ActionOffer,
        input: Any,
        plan: Mapping[str, Any],
    ) -> Receipt:
        """Move what does not fit into runtime/archived/ and commit, in one step (§15.3)."""
        request = {"revision": plan["revision"], "mutation": input, "maxBytes": host_budget(plan)}
        result = await session.mutate("archive-and-mutate", request, plan["viewRevision"])
        return Receipt(
            id=f"receipt:{uuid4()}",
            view_id=execution.context.view.id,
            offer_id=offer.id,
            source_instance_key=offer.source_instance_key,
            status="succeeded",
            completion="committed",
            committed_at=iso_utc(self._now()),
            revision=result.revision,
            details=result.value,
        )
