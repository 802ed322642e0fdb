"""The import draft: memories and edges, read as a whole before anything is written.

The draft is that of the ``mnemon`` tool (spec/mnemon-native.md §11): ``{schema_version: "1",
source?, insights: [{content, category?, importance?, tags?, entities?, source?, created_at?}],
edges?: [{source_index, target_index, edge_type, weight?, reason?}]}``. How long a memory may be,
what it may be called and how often tagged is for the Space that takes it to say.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Annotated, Any, Final, Literal, cast

import attrs
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.instant import parse_utc
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
)

__all__ = (
    "ACCEPTED",
    "Draft",
    "DraftEdge",
    "DraftMemory",
    "Part",
    "read_draft",
    "read_memory",
    "short_tag",
)

ACCEPTED: Final = (
    'a draft, {"schema_version": "1", "insights": [{"content": "..."}]}; a chat export of ChatGPT '
    "or Claude, or a list of {role, content}; JSON Lines of {content}, named .jsonl; Markdown, "
    "named .md"
)
"""What may be imported, for a person whose file is something else."""

_MOST_EDGES: Final = 10_000
"""Edges that one import takes."""

_TAG_CHARACTERS: Final = 25


def short_tag(name: str) -> str:
    """Return a name as a tag that every Space takes; blank when nothing is left of it."""
    return name.replace(",", " ").strip()[:_TAG_CHARACTERS].rstrip()


def _absent(value: object) -> object:
    """Read 0, the draft's way to leave importance out, as its default."""
    return 3 if value in (None, 0) else value


class DraftMemory(BaseModel):
    """One memory of a draft; keys it does not know are ignored, as the tool ignores them."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    content: str
    category: str = "general"
    importance: Annotated[int, Field(ge=1, le=5), BeforeValidator(_absent)] = 3
    tags: list[str] = Field(default_factory=list[str])
    entities: list[str] = Field(default_factory=list[str])
    source: str | None = None
    created_at: str | None = None

    @field_validator("content")
    @classmethod
    def _says_something(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("it is blank")
        return value

    @field_validator("created_at")
    @classmethod
    def _is_instant(cls, value: str | None) -> str | None:
        if value is not None and parse_utc(value) is None:
            raise ValueError("created_at is no RFC 3339 time, such as 2026-03-01T12:00:00Z")
        return value

    def to_json(self) -> dict[str, Any]:
        """Return what ``body-import`` takes; unset fields are absent."""
        return self.model_dump(mode="json", exclude_none=True)


class DraftEdge(BaseModel):
    """One edge between two memories of a draft, by their 0-based places."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    source_index: Annotated[int, Field(ge=0)]
    target_index: Annotated[int, Field(ge=0)]
    edge_type: Literal["temporal", "semantic", "causal", "entity", "supersedes"]
    weight: Annotated[float, Field(ge=0, le=1, strict=False)] = 0.5
    reason: Annotated[str, Field(max_length=1000)] | None = None


@attrs.frozen(kw_only=True)
class Part:
    """As much of a draft as one import takes.

    Attributes:
        places: The places of its memories in the whole draft.
        memories: The memories, in that order.
        edges: The edges between them, by their places in the part.
        again: Whether its memories were in parts before, and only come again for their edges.
    """

    places: tuple[int, ...]
    memories: tuple[DraftMemory, ...]
    edges: tuple[DraftEdge, ...]
    again: bool = False

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to import."""
        return not (self.edges if self.again else self.memories)

    def without(self, refused: Set[int]) -> Part:
        """Return the part without the memories at some places of the draft, and their edges."""
        kept = [index for index, place in enumerate(self.places) if place not in refused]
        if len(kept) == len(self.places):
            return self
        return attrs.evolve(
            self,
            places=tuple(self.places[index] for index in kept),
            memories=tuple(self.memories[index] for index in kept),
            edges=_moved(self.edges, kept),
        )

    def to_json(self) -> dict[str, Any]:
        """Return ``{insights, edges}`` as ``body-import`` takes them."""
        return {
            "insights": [memory.to_json() for memory in self.memories],
            "edges": [edge.model_dump(mode="json", exclude_none=True) for edge in self.edges],
        }


def _moved(edges: Iterable[DraftEdge], kept: Sequence[int]) -> tuple[DraftEdge, ...]:
    """Return the edges between what is kept, by the new places."""
    new = {old: index for index, old in enumerate(kept)}
    return tuple(
        edge.model_copy(
            update={
                "source_index": new[edge.source_index],
                "target_index": new[edge.target_index],
            }
        )
        for edge in edges
        if edge.source_index in new and edge.target_index in new
    )


def _shifted(edge: DraftEdge, places: int) -> DraftEdge:
    """Return an edge whose memories stand so many places further on."""
    ends = {"source_index": edge.source_index + places, "target_index": edge.target_index + places}
    return edge.model_copy(update=ends)


@attrs.frozen(kw_only=True)
class Draft:
    """Memories to import, in order, and the edges between them."""

    memories: tuple[DraftMemory, ...]
    edges: tuple[DraftEdge, ...] = ()

    @classmethod
    def joined(cls, drafts: Iterable[Draft]) -> Draft:
        """Return several drafts as one, in their order; no edge joins two of them."""
        memories: list[DraftMemory] = []
        edges: list[DraftEdge] = []
        for draft in drafts:
            edges += (_shifted(edge, len(memories)) for edge in draft.edges)
            memories += draft.memories
        return cls(memories=tuple(memories), edges=tuple(edges))

    def without(self, refused: Set[int]) -> Draft:
        """Return the draft without the memories at some places, and their edges."""
        kept = [place for place in range(len(self.memories)) if place not in refused]
        memories = tuple(self.memories[place] for place in kept)
        return Draft(memories=memories, edges=_moved(self.edges, kept))

    def parts(self, size: int) -> Iterator[Part]:
        """Deal the draft into parts of at most ``size`` memories.

        Edges between two parts come last, with the memories they join once more: importing those
        again adds nothing, it only finds their ids.
        """
        apart = [e for e in self.edges if e.source_index // size != e.target_index // size]
        for start in range(0, len(self.memories), size):
            places = range(start, min(start + size, len(self.memories)))
            within = [
                e for e in self.edges if e.source_index in places and e.target_index in places
            ]
            yield self._part(places, within[:_MOST_EDGES])
            apart += within[_MOST_EDGES:]
        for start in range(0, len(apart), size // 2):
            some = apart[start : start + size // 2]
            joined = sorted({place for e in some for place in (e.source_index, e.target_index)})
            yield self._part(joined, some, again=True)

    def _part(
        self, places: Sequence[int], edges: Sequence[DraftEdge], *, again: bool = False
    ) -> Part:
        memories = tuple(self.memories[place] for place in places)
        moved = _moved(edges, places)
        return Part(places=tuple(places), memories=memories, edges=moved, again=again)


def read_draft(value: Any) -> Draft:
    """Read a draft document.

    Args:
        value: The parsed JSON.

    Raises:
        InputError: ``draft-invalid``, naming the place; nothing has been imported then.
    """
    if not isinstance(value, Mapping) or "insights" not in value:
        raise InputError(
            "draft-invalid", f"it is nothing that can be imported. What can: {ACCEPTED}"
        )
    document = cast("Mapping[str, Any]", value)
    version = document.get("schema_version")
    if version != "1":
        simple = version is None or isinstance(version, (str, int, float))
        found = json.dumps(version, ensure_ascii=False) if simple else "no text"
        raise InputError("draft-invalid", f'schema_version is {found}, only "1" is known here')
    listed = _array(document["insights"], "insights")
    edges = _array(document.get("edges") or [], "edges")
    default = document.get("source")
    memories = [
        read_memory({"source": default, **item} if isinstance(item, dict) else item, where)
        for where, item in _places(listed, "insights")
    ]
    return Draft(
        memories=tuple(memories),
        edges=tuple(_edge(item, where, len(memories)) for where, item in _places(edges, "edges")),
    )


def _array(value: Any, label: str) -> Sequence[Any]:
    if not isinstance(value, list):
        raise InputError("draft-invalid", f"{label} is no array")
    return cast("Sequence[Any]", value)


def _places(items: Sequence[Any], label: str) -> Iterator[tuple[str, Any]]:
    for index, item in enumerate(items):
        yield f"{label}[{index}]", item


def read_memory(value: Any, where: str = "") -> DraftMemory:
    """Read one memory of a draft.

    Args:
        value: The parsed JSON.
        where: Its place, where the file has several.

    Raises:
        InputError: ``draft-invalid``, naming the place and the field.
    """
    try:
        return DraftMemory.model_validate(value)
    except ValidationError as error:
        raise InputError("draft-invalid", _first(error, where)) from error


def _edge(value: Any, where: str, count: int) -> DraftEdge:
    try:
        edge = DraftEdge.model_validate(value)
    except ValidationError as error:
        raise InputError("draft-invalid", _first(error, where)) from error
    if max(edge.source_index, edge.target_index) >= count:
        raise InputError("draft-invalid", f"{where}: there are only {count} insights")
    if edge.source_index == edge.target_index:
        raise InputError("draft-invalid", f"{where}: it joins an insight to itself")
    return edge


def _first(error: ValidationError, where: str) -> str:
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return ": ".join(part for part in (where, place, message) if part)
