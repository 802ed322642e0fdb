"""Executing an offered action: authority, workflow, Receipt (core.md §10, §11.1, §15.5)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any
from uuid import uuid4

from dsh_mnemon_core.errors import AuthorityError
from dsh_mnemon_core.evidence import Receipt
from dsh_mnemon_core.instant import iso_utc
from dsh_mnemon_core.source import ManagementResult
from dsh_mnemon_core.view import ActionOffer

from dsh_mnemon_host.bindings import source_types
from dsh_mnemon_host.config import ResolvedConfig
from dsh_mnemon_host.executions import Execution
from dsh_mnemon_host.source_session import SourceSession
from dsh_mnemon_host.work.runtime_write import RuntimeWriter

__all__ = ("Actions",)


class Actions:
    """The one way from an offer to a Receipt, for named and generic tools alike.

    Args:
        writer: Runs Runtime writes.
        current: Returns the configuration in force now.
        now: Clock in UTC, for the Receipt of a maintained write.
    """

    def __init__(
        self,
        writer: RuntimeWriter,
        current: Callable[[], ResolvedConfig],
        now: Callable[[], datetime],
    ) -> None:
        self._writer = writer
        self._current = current
        self._now = now

    async def execute(self, execution: Execution, offer_id: str, input: Any) -> Receipt:
        """Execute one action of the pinned View with the workflow its Strategy asks for.

        Raises:
            AuthorityError: ``writes-disabled``, ``action-unavailable``, ``action-unauthorized``.
            MnemonError: What the Source or its workflow refuses.
        """
        turns, turn_id = execution.graph.turns, execution.context.turn_id
        self.check_writable(execution)

        async def authorize(offer: ActionOffer) -> bool:
            pinned = turns.turn(turn_id) is execution.context
            return pinned and self.writable(execution) and offer.authority is None

        async def commit() -> Receipt:
            return await turns.execute_action(turn_id, offer_id, input, authorize=authorize)

        offer = next((o for o in execution.context.view.action_offers if o.id == offer_id), None)
        async with execution.work():
            if offer is None or self._workflow(execution, offer) != "runtime-capacity":
                return await commit()
            session = SourceSession(
                graph=execution.graph,
                key=offer.source_instance_key,
                scope=execution.context.scope,
            )
            maintained = partial(self._receipt, execution, offer)
            view = execution.context.view
            return await self._writer.write(session, input, commit, maintained, view)

    async def manage_runtime(self, session: SourceSession, mutation: Any) -> ManagementResult:
        """Perform a person's Runtime mutation, with the workflow of the serving Strategy.

        Raises:
            AuthorityError: ``writes-disabled``.
            MnemonError: What the Source or the workflow refuses.
        """
        self.check_writable()

        async def commit() -> ManagementResult:
            return await session.mutate("mutate", mutation)

        with session.graph.attachment.host.acquire() as lease:
            rule = lease.generation.selection.strategy.definition.action_workflow
        if rule is None or rule("runtime", "mutate") != "runtime-capacity":
            return await commit()
        return await self._writer.write(session, mutation, commit, _same)

    def _receipt(
        self, execution: Execution, offer: ActionOffer, result: ManagementResult
    ) -> Receipt:
        """Prove a write that maintenance committed in the Source's own transaction."""
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

    def proof(self) -> dict[str, Any]:
        """Return the ``memoryReceipt`` of a change that a Source has just committed."""
        committed = {"status": "succeeded", "completion": "committed"}
        return {"memoryReceipt": {**committed, "committedAt": iso_utc(self._now())}}

    def writable(self, execution: Execution | None = None) -> bool:
        """Tell whether writes are on now and, for a turn, where it is pinned (§8.2)."""
        configs = [self._current()] + ([execution.graph.config] if execution else [])
        return all(config.config.write_enabled for config in configs)

    def check_writable(self, execution: Execution | None = None) -> None:
        """Refuse a write while writes are off.

        Raises:
            AuthorityError: ``writes-disabled``.
        """
        if not self.writable(execution):
            raise AuthorityError(
                "writes-disabled", "memory is read-only: writeEnabled is off; nothing was changed"
            )

    @staticmethod
    def _workflow(execution: Execution, offer: ActionOffer) -> str | None:
        """Ask the composing Strategy which workflow an action needs."""
        generation_id = execution.context.view.runtime_generation
        with execution.graph.attachment.host.acquire(generation_id) as lease:
            rule = lease.generation.selection.strategy.definition.action_workflow
            types = source_types(lease.generation)
        if rule is None:
            return None
        return rule(types[offer.source_instance_key], offer.source_action_id)


def _same(result: ManagementResult) -> ManagementResult:
    return result
