"""A client of one Source's management plane that keeps up with its revision (core.md §12)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.source import ManagementRequest, ManagementResult

__all__ = ("ManagementClient",)


class ManagementClient:
    """Reads and changes one Source; every change is fenced with the last revision it saw.

    Args:
        source_instance_key: The Source addressed.
        scope: Whose memory.
        execute: Performs a request.
        current: Returns the Source's current revision.
    """

    def __init__(
        self,
        source_instance_key: str,
        scope: OperationScope,
        *,
        execute: Callable[[ManagementRequest], Awaitable[ManagementResult]],
        current: Callable[[], Awaitable[str]],
    ) -> None:
        self._key = source_instance_key
        self._scope = scope
        self._execute = execute
        self._current = current
        self._seen: str | None = None

    @property
    def revision(self) -> str | None:
        """The last revision seen; ``None`` before the first call."""
        return self._seen

    async def refresh(self) -> str:
        """Ask for the current revision and remember it."""
        self._seen = await self._current()
        return self._seen

    async def read(self, operation: str, input: Any = None) -> Any:
        """Perform a read and return its JSON value."""
        request = ManagementRequest(
            source_instance_key=self._key,
            scope=self._scope,
            mode="read",
            operation=operation,
            input=input,
        )
        return await self._perform(request)

    async def mutate(self, operation: str, input: Any = None) -> Any:
        """Perform a confirmed mutation at the last revision seen, and return its JSON value.

        Raises:
            ManagementError: ``management-revision-conflict`` when the Source has moved on since;
                `refresh` and look again.
        """
        request = ManagementRequest(
            source_instance_key=self._key,
            scope=self._scope,
            mode="mutate",
            operation=operation,
            input=input,
            expected_revision=self._seen or await self.refresh(),
            confirmed=True,
        )
        return await self._perform(request)

    async def _perform(self, request: ManagementRequest) -> Any:
        result = await self._execute(request)
        self._seen = result.revision
        return result.value
