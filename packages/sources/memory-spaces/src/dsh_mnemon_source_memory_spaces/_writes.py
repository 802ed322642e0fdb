"""Writing to Spaces and saying how far it got (spec/sources.md §4.9).

A write is never raced against a deadline. What a Provider answers is classified by `completion_of`;
what it raises proves nothing, unless its error says that nothing was kept.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

import anyio
import attrs
from dsh_mnemon_core.errors import InputError, MnemonError
from dsh_mnemon_core.sdk import Completion, json_clone, thaw

from dsh_mnemon_source_memory_spaces._answers import fault_line
from dsh_mnemon_source_memory_spaces._recall.report import Target
from dsh_mnemon_source_memory_spaces._receipts import UNPROVEN, completion_of
from dsh_mnemon_source_memory_spaces._spaces import Spaces
from dsh_mnemon_source_memory_spaces.actions import LinkInput
from dsh_mnemon_source_memory_spaces.provider_sdk.errors import (
    ProviderProtocol,
)
from dsh_mnemon_source_memory_spaces.provider_sdk.items import RememberRequest

__all__ = ("Outcome", "Writer", "writing")


@attrs.frozen(kw_only=True)
class Outcome:
    """How far one write got.

    Attributes:
        result: The Provider's answer as plain JSON, with the Space and the Provider.
        error: What was raised instead of an answer.
    """

    target: Target
    completion: Completion
    result: dict[str, Any]
    error: MnemonError | None = None

    def worded(self, say: Callable[[str], str]) -> Outcome:
        """Return the same outcome with the line about a fault as ``say`` words it."""
        if self.error is None:
            return self
        fault: dict[str, str] = self.result["error"]
        worded = {**fault, "message": say(fault["message"])}
        return attrs.evolve(self, result={**self.result, "error": worded})

    def to_json(self) -> dict[str, Any]:
        """Return ``{memoryBodyId, result}``."""
        return {"memoryBodyId": self.target.space.id, "result": self.result}


def _answered(target: Target, raw: object) -> Outcome:
    result = {**_plain(raw), **_origin(target)}
    return Outcome(target=target, completion=completion_of(raw), result=result)


def _plain(raw: object) -> dict[str, Any]:
    """Return an answer as JSON; one that is no JSON object shows nothing."""
    if not isinstance(raw, Mapping):
        return {}
    try:
        return cast("dict[str, Any]", thaw(json_clone(cast("Mapping[str, Any]", raw))))
    except InputError:
        return {}


def _raised(target: Target, error: Exception) -> Outcome:
    line = fault_line(error, target.secrets)
    known = error if isinstance(error, MnemonError) else MnemonError("provider-failed", line)
    proven = isinstance(error, MnemonError) and not isinstance(error, UNPROVEN)
    completion: Completion = "failed" if proven else "unknown"
    fault = {"code": known.code, "message": line}
    result = {"status": completion, "error": fault, **_origin(target)}
    return Outcome(target=target, completion=completion, result=result, error=known)


def _origin(target: Target) -> dict[str, Any]:
    return {
        "memoryBodyId": target.space.id,
        "memoryBodyName": target.space.name,
        "memoryProviderId": target.provider_id,
        "memoryProviderLabel": target.manifest.label,
    }


async def writing(target: Target, call: Callable[[], Awaitable[object]]) -> Outcome:
    """Ask a Provider to change something; only a cancellation is raised."""
    try:
        return _answered(target, await call())
    except Exception as error:
        return _raised(target, error)


class Writer:
    """The writes of one Source; a Space that was certainly written becomes active.

    Args:
        spaces: Where activation is kept.
    """

    def __init__(self, spaces: Spaces) -> None:
        self._spaces = spaces

    async def remember(self, target: Target, request: RememberRequest) -> Outcome:
        """Keep one memory."""
        return await self.write(target, lambda: target.adapter.remember(target.space, request))

    async def link(self, target: Target, request: LinkInput) -> Outcome:
        """Join two memories of a Space.

        Raises:
            InputError: ``link-self``.
        """
        if request.source_id == request.target_id:
            raise InputError("link-self", "a memory cannot be joined to itself")
        return await self.write(
            target,
            lambda: target.adapter.link(
                target.space,
                request.source_id,
                request.target_id,
                request.type,
                request.weight,
                request.reason,
            ),
        )

    async def forget(self, target: Target, item_id: str) -> Outcome:
        """Forget one memory of a Space, in the way of its Provider."""
        return await self.write(target, lambda: target.adapter.forget(target.space, item_id))

    async def write(self, target: Target, call: Callable[[], Awaitable[object]]) -> Outcome:
        """Change something in a Space, and activate or touch the Space once that is durable."""
        outcome = await writing(target, call)
        await self._settle(target, [outcome])
        return outcome

    async def remember_many(
        self, requests: Sequence[tuple[Target, RememberRequest]]
    ) -> tuple[Outcome, ...]:
        """Keep many memories, Space by Space; not one transaction.

        Returns:
            One outcome for each request, in order: a Space that fails takes nothing from another.
        """
        groups: dict[str, list[int]] = {}
        for position, (target, _) in enumerate(requests):
            groups.setdefault(target.space.id, []).append(position)
        outcomes: dict[int, Outcome] = {}
        for positions in groups.values():
            target = requests[positions[0]][0]
            kept = await _batch(target, [requests[position][1] for position in positions])
            outcomes.update(zip(positions, kept, strict=True))
            await self._settle(target, kept)
        return tuple(outcomes[position] for position in range(len(requests)))

    async def _settle(self, target: Target, outcomes: Sequence[Outcome]) -> None:
        if any(outcome.completion == "committed" for outcome in outcomes):
            with anyio.CancelScope(shield=True):  # local file work; the memory is durable already
                await self._spaces.committed(target.space.id)


async def _batch(target: Target, requests: Sequence[RememberRequest]) -> list[Outcome]:
    try:
        answered = await target.adapter.remember_many(target.space, requests)
        answers = _list(answered)
        if len(answers) != len(requests):
            raise ProviderProtocol(
                f"the Provider did not answer for each of the {len(requests)} memories of"
                f" Memory Space {target.space.id}"
            )
    except Exception as error:
        return [_raised(target, error) for _ in requests]
    return [_answered(target, item) for item in answers]


def _list(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else ()
