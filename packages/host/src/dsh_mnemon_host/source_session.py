"""The Host's caller of one Source: management reads and changes, offered actions (host.md §4.4)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import attrs
from dsh_mnemon_core.errors import (
    AuthorityError,
    CompositionUnavailable,
    ContractError,
    MnemonError,
)
from dsh_mnemon_core.identity import is_default_instance
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.source import ManagementRequest, ManagementResult
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.graph import RuntimeGraph

__all__ = ("SourceSession", "ask", "chosen_instance", "open_source")

T = TypeVar("T")

_TRIES: Final = 20
"""How often a change that expects nothing makes room for others."""

_ABSENT: Final = frozenset(
    ("source-not-installed", "management-unsupported", "operation-unsupported")
)
"""What a Source that is not there, or has no such operation, is refused with."""


def chosen_instance(instances: Sequence[str], type_id: str) -> str | None:
    """Return the default instance of a type, else the only one, else nothing."""
    defaults = [key for key in instances if is_default_instance(key, type_id)]
    if len(defaults) == 1:
        return defaults[0]
    return instances[0] if len(instances) == 1 else None


@attrs.frozen(kw_only=True)
class SourceSession:
    """Management access to one exact Source instance; it never falls back to another.

    Attributes:
        graph: The graph it runs on.
        key: The instance key.
        scope: Whose memory.
    """

    graph: RuntimeGraph
    key: str
    scope: OperationScope

    async def read(self, operation: str, input: Any = None) -> Any:
        """Perform a management read and return its JSON value."""
        return (await self._execute("read", operation, input, None)).value

    async def pages(
        self, operation: str, input: Mapping[str, Any]
    ) -> AsyncIterator[dict[str, Any]]:
        """Perform a management read page by page, to its end (D45); yields plain JSON."""
        cursor: str | None = None
        while True:
            asked = {**input, **({"cursor": cursor} if cursor else {})}
            page: dict[str, Any] = to_wire(await self.read(operation, asked))
            yield page
            cursor = page.get("nextCursor")
            if cursor is None:
                return

    async def mutate(
        self, operation: str, input: Any, expected_revision: str | None = None
    ) -> ManagementResult:
        """Perform a management change, fenced by the given or the current revision.

        Without a revision of the caller's, what somebody else changes in between is no conflict:
        the change is simply prepared again.
        """
        for _ in range(_TRIES if expected_revision is None else 0):
            fence = await self.revision()
            try:
                return await self._execute("mutate", operation, input, fence)
            except MnemonError as error:
                if not _overtaken(error, fence):
                    raise
        fence = expected_revision or await self.revision()
        return await self._execute("mutate", operation, input, fence)

    async def revision(self) -> str:
        """Return the current management revision."""
        return await self.graph.attachment.management_revision(self.key, self.scope)

    async def _execute(
        self, mode: Any, operation: str, input: Any, fence: str | None
    ) -> ManagementResult:
        return await self.graph.attachment.execute_management(
            ManagementRequest(
                source_instance_key=self.key,
                scope=self.scope,
                mode=mode,
                operation=operation,
                input=input,
                expected_revision=fence,
                confirmed=mode == "mutate",
            )
        )


def _overtaken(error: MnemonError, fence: str) -> bool:
    """Tell whether a change was refused only because its fence had moved, early or under a lock."""
    if error.code == "management-revision-conflict":
        return True
    return error.code == "revision-conflict" and error.details.get("expected") == fence


async def ask(
    question: Callable[[], Awaitable[T]],
) -> tuple[T, None] | tuple[None, MnemonError | None]:
    """Ask a Source for its condition.

    Args:
        question: Asks; a shape that it does not expect may raise `KeyError` or `TypeError`.

    Returns:
        The answer; or nothing, and why there is none: ``answer-unexpected``, or what the Source
        refused with. There is no reason where nothing is composed, the Source is not installed, or
        has no such operation.
    """
    try:
        return await question(), None
    except CompositionUnavailable:
        return None, None
    except MnemonError as error:
        return None, None if error.code in _ABSENT else error
    except (KeyError, TypeError, ValueError) as error:
        problem = ContractError(
            "answer-unexpected", "the Source answers in a form that this version does not know"
        )
        problem.__cause__ = error
        return None, problem


def open_source(graph: RuntimeGraph, type_id: str, scope: OperationScope) -> SourceSession:
    """Open the default (or only) Source of a type in the serving generation.

    Raises:
        CompositionUnavailable: No generation serves.
        AuthorityError: ``source-not-installed`` or ``source-ambiguous``.
    """
    with graph.attachment.host.acquire() as lease:
        instances = [
            source.key
            for source in lease.generation.sources
            if source.record.definition.manifest.type_id == type_id
        ]
    key = chosen_instance(instances, type_id)
    if key is None:
        code = "source-ambiguous" if instances else "source-not-installed"
        known = f"; installed: {', '.join(instances)}" if instances else ""
        raise AuthorityError(
            code,
            f"there is no single Source of type {type_id}{known}",
            details={"sourceTypeId": type_id},
        )
    return SourceSession(graph=graph, key=key, scope=scope)
