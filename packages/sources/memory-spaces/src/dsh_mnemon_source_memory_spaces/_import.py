"""Importing memories into one Space (management ``body-import``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias

from dsh_mnemon_core.errors import InputError
from pydantic import Field

from dsh_mnemon_source_memory_spaces._inputs import BLANK, WHOLE, Input, Name, limited
from dsh_mnemon_source_memory_spaces._recall.report import Target
from dsh_mnemon_source_memory_spaces._receipts import is_skipped
from dsh_mnemon_source_memory_spaces._writes import Outcome, Writer
from dsh_mnemon_source_memory_spaces.actions import Words
from dsh_mnemon_source_memory_spaces.provider_sdk.adapter import NativeAdapter
from dsh_mnemon_source_memory_spaces.provider_sdk.items import (
    SOURCES,
    Category,
    DraftEdge,
    DraftInsight,
    RememberRequest,
)

__all__ = ("BodyImportInput", "ImportCheckInput", "check_import", "import_into")

_EdgeType: TypeAlias = Literal["temporal", "semantic", "causal", "entity", "supersedes"]
"""What a caller may ask for, and what a native engine draws when a memory replaces another."""

_COUNTS = ("imported", "brought_back", "skipped", "updated", "edges_inserted")


class DraftInsightInput(Input):
    """One memory of an import; its time is spelled as drafts spell it.

    A draft may name any source; Providers other than a native engine know three speakers.
    """

    content: Annotated[str, limited(8_192)]
    category: Annotated[Category | None, BLANK] = None
    importance: Annotated[int, Field(strict=True, ge=1, le=5), WHOLE] | None = None
    tags: Annotated[Words, Field(max_length=20)] = ()
    entities: Annotated[Words, Field(max_length=50)] = ()
    source: Annotated[Annotated[str, limited(2_000)] | None, BLANK] = None
    created_at: Annotated[Annotated[str, limited(100)] | None, BLANK] = Field(
        None, alias="created_at"
    )

    def draft(self) -> DraftInsight:
        """Return it as a native engine takes it."""
        return DraftInsight(
            content=self.content,
            category=self.category,
            importance=self.importance,
            tags=self.tags,
            entities=self.entities,
            source=self.source,
            created_at=self.created_at,
        )

    def request(self) -> RememberRequest:
        """Return it as any Provider takes it; the time is lost there."""
        return RememberRequest(
            content=self.content,
            category=self.category or "general",
            importance=self.importance or 3,
            source=self.source if self.source in SOURCES else "external",
            tags=self.tags,
            entities=self.entities,
        )


class DraftEdgeInput(Input):
    """One edge of an import, between two of its memories."""

    source_index: Annotated[int, Field(strict=True, ge=0), WHOLE] = Field(alias="source_index")
    target_index: Annotated[int, Field(strict=True, ge=0), WHOLE] = Field(alias="target_index")
    edge_type: _EdgeType = Field(alias="edge_type")
    weight: Annotated[float, Field(ge=0, le=1, strict=True)] = 0.5
    reason: Annotated[Annotated[str, limited(1_000)] | None, BLANK] = None

    def draft(self) -> DraftEdge:
        """Return it as a native engine takes it."""
        return DraftEdge(
            source_index=self.source_index,
            target_index=self.target_index,
            edge_type=self.edge_type,
            weight=self.weight,
            reason=self.reason,
        )


class _DraftInput(Input):
    """A draft, or a part of one."""

    insights: Annotated[tuple[DraftInsightInput, ...], Field(min_length=1, max_length=1_000)]
    edges: Annotated[tuple[DraftEdgeInput, ...], Field(max_length=10_000)] = ()

    def check(self) -> None:
        """Refuse an edge that leads out of the import.

        Raises:
            InputError: ``edge-index``.
        """
        for position, edge in enumerate(self.edges):
            if max(edge.source_index, edge.target_index) >= len(self.insights):
                raise InputError(
                    "edge-index",
                    f"edge {position} names a memory that is not in the import",
                    details={"field": f"edges.{position}"},
                )


class BodyImportInput(_DraftInput):
    """Input of ``body-import``."""

    memory_body_id: Name


class ImportCheckInput(_DraftInput):
    """Input of ``body-import-check``; without a Space, what every Space demands is judged."""

    memory_body_id: Annotated[Name | None, BLANK] = None


async def check_import(target: Target | None, request: ImportCheckInput) -> dict[str, Any]:
    """Judge an import as `import_into` does, and write nothing.

    Args:
        target: Where it would go; nothing where that is not known.
        request: What would be imported.

    Returns:
        ``{errors: [{index, code, message}]}``: what would be left out whatever the Space holds.

    Raises:
        MnemonError: The native engine would refuse the import as a whole.
    """
    if target is None:
        return {"errors": []}
    if isinstance(target.adapter, NativeAdapter):
        insights = [insight.draft() for insight in request.insights]
        await target.adapter.check_draft(insights, [edge.draft() for edge in request.edges])
        return {"errors": []}
    return {"errors": _left_out(len(request.edges))}


async def import_into(target: Target, request: BodyImportInput, writer: Writer) -> dict[str, Any]:
    """Import into a Space: a native one as a draft, any other memory by memory.

    Returns:
        ``{imported, brought_back, skipped, updated, edges_inserted, errors: [{index, code,
        message}], results}``, brought back being those imported that had been forgotten, where
        the engine tells; elsewhere than in a native Space also ``accepted``: taken, but not yet
        durable.

    Raises:
        MnemonError: The native engine refused the import as a whole.
    """
    adapter = target.adapter
    if isinstance(adapter, NativeAdapter):
        insights = [insight.draft() for insight in request.insights]
        edges = [edge.draft() for edge in request.edges]
        outcome = await writer.write(
            target, lambda: adapter.import_draft(target.space, insights, edges)
        )
        if outcome.error is not None:
            raise outcome.error
        return _native(outcome.result)
    outcomes = await writer.remember_many([(target, item.request()) for item in request.insights])
    return _summed(outcomes, len(request.edges))


def _native(result: dict[str, Any]) -> dict[str, Any]:
    counts = {key: result.get(key, 0) for key in _COUNTS}
    return {**counts, "errors": result.get("errors", []), "results": [result]}


def _summed(outcomes: Sequence[Outcome], edges: int) -> dict[str, Any]:
    completions = [outcome.completion for outcome in outcomes]
    errors = [
        {"index": index, **_problem(outcome)}
        for index, outcome in enumerate(outcomes)
        if outcome.completion not in ("committed", "accepted", "candidate")
        and not is_skipped(outcome.result)
    ]
    errors += _left_out(edges)
    return {
        "imported": completions.count("committed"),
        "accepted": completions.count("accepted") + completions.count("candidate"),
        "skipped": sum(is_skipped(outcome.result) for outcome in outcomes),
        "updated": 0,
        "edges_inserted": 0,
        "errors": errors,
        "results": [outcome.result for outcome in outcomes],
    }


def _left_out(edges: int) -> list[dict[str, Any]]:
    if not edges:
        return []
    text = f"this Provider cannot import edges; {edges} were left out"
    return [{"index": None, "code": "edges-unsupported", "message": text}]


def _problem(outcome: Outcome) -> dict[str, Any]:
    if outcome.error is not None:
        fault: dict[str, Any] = outcome.result["error"]
        return fault
    text = f"the Provider's answer means {outcome.completion}, not that it was kept"
    return {"code": f"write-{outcome.completion}", "message": text}
