"""Answering the routes of a View (spec/sources.md §4.6)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, cast
from uuid import uuid4

import attrs
from dsh_mnemon_core.errors import AuthorityError, InputError, StorageError
from dsh_mnemon_core.instant import iso_utc
from dsh_mnemon_core.sdk import Evidence, EvidenceItem, QueryRequest, json_clone, truncate

from dsh_mnemon_source_memory_spaces._catalog import fitted
from dsh_mnemon_source_memory_spaces._evidence import evidence_items
from dsh_mnemon_source_memory_spaces._facts import GRANT_SCHEMA
from dsh_mnemon_source_memory_spaces._gaps import noted
from dsh_mnemon_source_memory_spaces._inputs import read_input
from dsh_mnemon_source_memory_spaces._memory import SpacesMemory
from dsh_mnemon_source_memory_spaces._paths import short_paths
from dsh_mnemon_source_memory_spaces._recall.report import RecallReport
from dsh_mnemon_source_memory_spaces._related import traverse
from dsh_mnemon_source_memory_spaces._targets import require
from dsh_mnemon_source_memory_spaces.routes import InspectInput, RecallInput, RelatedInput

__all__ = ("query",)

_MOST_RESULTS: Final = 20
_MOST_CHARACTERS: Final = 16_000
_UNAVAILABLE: Final = 2_000


@attrs.frozen(kw_only=True)
class _Question:
    """One read: what it may see and how much it may say."""

    memory: SpacesMemory
    request: QueryRequest
    granted: tuple[str, ...]
    known: tuple[str, ...]

    @property
    def results(self) -> int:
        """Most items."""
        return self.request.route.max_results or _MOST_RESULTS

    @property
    def characters(self) -> int:
        """Most characters."""
        return self.request.route.max_characters or _MOST_CHARACTERS

    def evidence(
        self,
        items: Sequence[EvidenceItem],
        *,
        truncated: bool,
        unavailable: str | None = None,
        metadata: Any = None,
    ) -> Evidence:
        """Bind an answer to its question."""
        return Evidence(
            id=f"evidence:{uuid4()}",
            view_id=self.request.view.id,
            route_id=self.request.route.id,
            source_instance_key=self.request.route.source_instance_key,
            observed_at=iso_utc(self.memory.clock()),
            items=tuple(items),
            truncated=truncated,
            unavailable=truncate(short_paths(unavailable), _UNAVAILABLE) if unavailable else None,
            metadata=None if metadata is None else json_clone(metadata),
        )


async def query(memory: SpacesMemory, request: QueryRequest) -> Evidence:
    """Answer a route within its grant and ceilings; no fault of a Provider is raised.

    Raises:
        AuthorityError: ``grant-foreign``, ``recall-space-outside-grant``,
            ``evidence-not-admitted`` or ``capability-missing``.
        InputError: ``route-unsupported``, a malformed input, ``space-inactive``.
    """
    answer = _ROUTES.get(request.route.source_route_id)
    if answer is None:
        raise InputError("route-unsupported", "Memory Spaces has no such route")
    granted, known = _granted(request)
    return await answer(_Question(memory=memory, request=request, granted=granted, known=known))


def _granted(request: QueryRequest) -> tuple[tuple[str, ...], tuple[str, ...]]:
    value = request.grant.value
    if request.grant.schema == GRANT_SCHEMA and isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value)
        lists = [fields.get(key) for key in ("memoryBodyIds", "knownMemoryBodyIds")]
        if all(isinstance(item, (list, tuple)) for item in lists):
            granted, known = (tuple(cast("Sequence[str]", item)) for item in lists)
            return granted, known
    raise AuthorityError("grant-foreign", "this grant was not made by Memory Spaces")


async def _inspect(question: _Question) -> Evidence:
    memory = question.memory
    section = read_input(InspectInput, question.request.input, "inspect").section
    if section == "directory":
        overview = memory.overview(await memory.spaces.current())
        created = memory.views.spaces(question.request.view.id)
        shown = overview.directory((*question.known, *created))
        text = fitted(shown, "items", "omittedCount", question.characters)
    else:
        overview = (await memory.probed(all=False)).for_model()
        shown = overview.health(engine_ready=await memory.children.native_ready())
        text = fitted(shown, "providers", "omittedProviderCount", question.characters)
    if len(text) > question.characters:
        return question.evidence((), truncated=True)
    item = EvidenceItem(id=f"memory-spaces:{section}", text=text)
    return question.evidence((item,), truncated=False)


async def _recall(question: _Question) -> Evidence:
    memory = question.memory
    asked = read_input(RecallInput, question.request.input, "recall")
    outside = [space for space in asked.memory_body_ids or () if space not in question.granted]
    if outside:
        raise AuthorityError(
            "recall-space-outside-grant",
            f"Memory Space {outside[0]!r} is not readable in this View",
            details={"memoryBodyId": outside[0]},
        )
    targets = await memory.targets()
    faults = targets.faults(asked.memory_body_ids)
    if asked.memory_body_ids:
        chosen = targets.all(asked.memory_body_ids)
    else:
        chosen = tuple(item for item in targets.all() if item.space.id in question.granted)
    wanted = min(asked.limit or memory.config.default_recall_limit, question.results)
    report = await memory.recall(asked.model_copy(update={"limit": wanted}), chosen)
    rows = [hit.to_json() for hit in report.results]
    gaps = noted(report.gaps, faults)
    return _returned(question, rows, hint=gaps, metadata=_summary(report, faults))


def _summary(report: RecallReport, faults: Sequence[StorageError]) -> dict[str, Any]:
    """Return a report without the results, which are the items, and without folders."""
    shown = report.worded(short_paths).to_json()
    kept = {key: value for key, value in shown.items() if key not in ("results", "hint")}
    hint = noted(shown.get("hint"), faults)
    return kept if hint is None else {**kept, "hint": short_paths(hint)}


async def _related(question: _Question) -> Evidence:
    memory = question.memory
    asked = read_input(RelatedInput, question.request.input, "related")
    owner = memory.views.owner(question.request.view.id, asked.id, asked.memory_body_id)
    if owner not in question.granted:
        raise AuthorityError(
            "recall-space-outside-grant", f"Memory Space {owner!r} is not readable in this View"
        )
    target = require((await memory.targets()).readable(owner), "related")
    found = await traverse(target, asked, limit=question.results, seconds=memory.seconds)
    return _returned(question, found.rows, hint=found.hint, truncated=found.truncated)


def _returned(
    question: _Question,
    rows: Sequence[Mapping[str, Any]],
    *,
    hint: str | None,
    truncated: bool = False,
    metadata: Any = None,
) -> Evidence:
    """Show rows within the ceilings, and remember what was really shown."""
    shown = evidence_items(rows, results=question.results, characters=question.characters)
    pairs = [(row["memoryBodyId"], item.id) for row, item in zip(rows, shown.items, strict=False)]
    question.memory.views.returned(question.request.view.id, pairs)
    return question.evidence(
        shown.items,
        truncated=truncated or shown.truncated,
        unavailable=None if shown.items else hint,
        metadata=metadata,
    )


_ROUTES: Final[Mapping[str, Callable[[_Question], Awaitable[Evidence]]]] = MappingProxyType(
    {"inspect": _inspect, "recall": _recall, "related": _related}
)
