"""The read policy of one executing turn: who answers which route (spec/core.md §15.4)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NoReturn

import attrs
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.evidence import Evidence
from dsh_mnemon_core.strategy import TurnRead
from dsh_mnemon_core.values import json_clone
from dsh_mnemon_core.view import ReadGrant, View, ViewRoute

from dsh_mnemon_strategy_default_three_tier._call import Call
from dsh_mnemon_strategy_default_three_tier._documents import Documents
from dsh_mnemon_strategy_default_three_tier._envelope import TurnEvidence
from dsh_mnemon_strategy_default_three_tier._recall import Recall
from dsh_mnemon_strategy_default_three_tier._related import Related

__all__ = ("LayeredTurn",)

DOCUMENTS: Final = "dsh-mnemon.documents/v1"
MEMORY_SPACES: Final = "dsh-mnemon.memory-spaces/v1"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


async def _inspect(call: Call) -> Evidence:
    """Read the catalog or health and show its single JSON item as it is, never cut."""
    evidence = await call.read(call.input)
    if len(evidence.items) != 1:
        return evidence
    try:
        shown = json_clone(json.loads(evidence.items[0].text, parse_constant=_refuse))
    except (ValueError, InputError):
        return evidence
    return attrs.evolve(evidence, output=shown)


class LayeredTurn:
    """Bounds and replays the reads of one executing turn; nothing survives the turn.

    The shape of the grant decides, not the type of the Source: whoever grants
    ``dsh-mnemon.memory-spaces/v1`` is read as Memory Spaces are. Every other route passes through.
    """

    def __init__(self, view: View) -> None:
        self._view_id = view.id
        evidence = TurnEvidence()
        self._policies: Mapping[tuple[str, str], Callable[[Call], Awaitable[Evidence]]] = {
            (DOCUMENTS, "search"): Documents(),
            (MEMORY_SPACES, "recall"): Recall(evidence),
            (MEMORY_SPACES, "related"): Related(evidence),
            (MEMORY_SPACES, "inspect"): _inspect,
        }

    async def query(
        self, route: ViewRoute, grant: ReadGrant, input: Any, read: TurnRead
    ) -> Evidence:
        """Answer one call of a route, reading through ``read`` or replaying.

        Raises:
            AuthorityError: ``recall-space-outside-grant``.
            InputError: ``related-space-required``.
            Exception: What ``read`` raises, unchanged.
        """
        policy = self._policies.get((grant.schema, route.source_route_id))
        if policy is None:
            return await read(input)
        call = Call(view_id=self._view_id, route=route, grant=grant, input=input, read=read)
        return await policy(call)
