"""What a Provider answered, made safe to pass on: every field judged, every fault one line (D18).

A Provider is foreign code. It may hang, raise, answer rubbish or answer too much; none of it may
harm another Space's answer or reach a model unbounded.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, Generic, TypeVar, cast

import anyio
import attrs
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.sdk import truncate

from dsh_mnemon_source_memory_spaces._backtrace import log_failure
from dsh_mnemon_source_memory_spaces.provider_sdk.errors import ProviderProtocol, ProviderTimeout
from dsh_mnemon_source_memory_spaces.provider_sdk.items import Insight
from dsh_mnemon_source_memory_spaces.provider_sdk.redaction import redact

__all__ = (
    "MAX_ID",
    "Answer",
    "Batch",
    "Patience",
    "ask",
    "caption",
    "counted",
    "each",
    "fault_line",
    "read_insights",
    "sentence",
)

_log = logging.getLogger(__name__)

MAX_ID: Final = 500
"""Most characters of an item's id: what an Evidence item may have."""

_MAX_CONTENT: Final = 100_000
_MAX_FIELD: Final = 2_000
_MAX_LIST: Final = 50
_MAX_LINE: Final = 300
_LOOKED_AT: Final = 4_000

Item = TypeVar("Item")
T = TypeVar("T")


# -- faults ---------------------------------------------------------------------------------------


def sentence(text: str, secrets: Iterable[str] = ()) -> str:
    """Return what a Provider says of itself as one bounded line without secrets."""
    readable = text[:_LOOKED_AT].encode("utf-8", "replace").decode("utf-8")
    return redact(readable, secrets, longest=_MAX_LINE)


def caption(text: str, maximum: int = _MAX_LINE) -> str:
    """Return the beginning of a memory, or a name, as one bounded line."""
    readable = text[:_LOOKED_AT].encode("utf-8", "replace").decode("utf-8")
    return truncate(" ".join(readable.split()), maximum)


def fault_line(error: Exception, secrets: Iterable[str] = ()) -> str:
    """Describe a fault in one line; a foreign exception is logged, and its text never passes."""
    if isinstance(error, MnemonError):
        return sentence(error.message, secrets) or error.code
    log_failure(_log, "a Provider failed unexpectedly", error=error)
    return f"the Provider failed unexpectedly ({type(error).__name__})"


@attrs.frozen(kw_only=True)
class Answer(Generic[T]):
    """What a Provider answered in time, or the line that says why there is nothing.

    Attributes:
        error: The same for a caller who wants to raise it: the Provider's own code, the line, and
            no detail.
    """

    value: T | None = None
    fault: str | None = None
    error: MnemonError | None = None


@attrs.frozen
class Patience:
    """How long the Providers of one read may take together.

    Attributes:
        seconds: How long that is.
        deadline: When it ends, on the event loop's clock.
    """

    seconds: float
    deadline: float = attrs.field(
        default=attrs.Factory(lambda self: anyio.current_time() + self.seconds, takes_self=True)
    )


async def ask(
    call: Callable[[], Awaitable[T]], patience: Patience, secrets: Iterable[str] = ()
) -> Answer[T]:
    """Ask a Provider, never beyond the deadline; only a cancellation from outside is raised.

    Args:
        call: The question; started here.
        patience: When to give up.
        secrets: What must not show in the line about a fault.
    """
    answer: Answer[T] = _failed(ProviderProtocol("the call ended without an answer"))

    async def run() -> None:
        nonlocal answer
        try:
            answer = Answer(value=await call())
        except Exception as error:
            answer = _failed(error, secrets)

    # In a task of its own, so that a cancellation the Provider makes up ends nothing else.
    with anyio.CancelScope(deadline=patience.deadline) as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
    if scope.cancelled_caught:
        return _failed(ProviderTimeout(f"no answer within {patience.seconds:g} s"))
    return answer


def _failed(error: Exception, secrets: Iterable[str] = ()) -> Answer[Any]:
    line = fault_line(error, secrets)
    if isinstance(error, MnemonError):
        return Answer(fault=line, error=MnemonError(error.code, line, retryable=error.retryable))
    return Answer(fault=line, error=MnemonError("provider-failed", line))


async def each(items: Sequence[Item], call: Callable[[Item], Awaitable[T]]) -> tuple[T, ...]:
    """Call for every item at once and return the results in the order of the items."""
    results: dict[int, T] = {}

    async def one(place: int, item: Item) -> None:
        results[place] = await call(item)

    async with anyio.create_task_group() as tasks:
        for place, item in enumerate(items):
            tasks.start_soon(one, place, item)
    return tuple(results[place] for place in range(len(items)))


# -- items ----------------------------------------------------------------------------------------


@attrs.frozen
class Batch:
    """The readable items of an answer, in its order.

    Attributes:
        unreadable: How many items were left out because they could not be read.
        surplus: How many were left out because no more were asked for.
    """

    items: tuple[Insight, ...]
    unreadable: int = 0
    surplus: int = 0

    def besides(self, unreadable: object) -> Batch:
        """Return the same batch, with what the Provider itself left out as unreadable."""
        return attrs.evolve(self, unreadable=self.unreadable + counted(unreadable))

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out, for people."""
        surplus = f"{self.surplus} items beyond what was asked for were left out"
        notes = (self.unreadable_note, surplus if self.surplus else None)
        return tuple(note for note in notes if note is not None)

    @property
    def unreadable_note(self) -> str | None:
        """That unreadable items were left out."""
        return f"{self.unreadable} unreadable items were left out" if self.unreadable else None


def counted(value: object) -> int:
    """Return what should be a count; rubbish counts nothing."""
    return value if isinstance(value, int) and value is not True and value > 0 else 0


def read_insights(value: object, limit: int) -> Batch:
    """Read what should be insights; a repeated id keeps its first place (D44).

    Args:
        value: What the Provider gave as its items.
        limit: How many were asked for.

    Raises:
        ProviderProtocol: ``provider-protocol``; it is no list at all.
    """
    if not isinstance(value, (list, tuple)):
        raise ProviderProtocol("the Provider did not answer with a list of insights")
    given = cast("Sequence[object]", value)
    found: dict[str, Insight] = {}
    unreadable = 0
    for place, item in enumerate(given):
        if len(found) == limit:
            return Batch(tuple(found.values()), unreadable, len(given) - place)
        insight = _insight(item)
        if insight is None:
            unreadable += 1
        else:
            found.setdefault(insight.id, insight)
    return Batch(tuple(found.values()), unreadable)


def _insight(value: object) -> Insight | None:
    if not isinstance(value, Insight):
        return None
    id_, content = _text(value.id, None), _text(value.content, None)
    if id_ is None or content is None or len(id_) > MAX_ID:
        return None
    return Insight(
        id=id_,
        content=truncate(content, _MAX_CONTENT),
        category=_text(value.category),
        importance=_whole(value.importance),
        tags=_texts(value.tags),
        entities=_texts(value.entities),
        source=_text(value.source),
        score=_score(value.score),
        confidence=_finite(value.confidence),
        intent=_text(value.intent),
        matched_via=_text(value.matched_via),
        created_at=_text(value.created_at),
        depth=_whole(value.depth),
        edge_type=_text(value.edge_type),
        external_uri=_text(value.external_uri),
    )


def _text(value: object, maximum: int | None = _MAX_FIELD) -> str | None:
    """Return well-formed text that is not blank, or nothing."""
    if not isinstance(value, str) or not value.strip():
        return None
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return None
    return value if maximum is None else truncate(value, maximum)


def _texts(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, (list, tuple)):
        return None
    read = (_text(item) for item in cast("Sequence[object]", value)[:_MAX_LIST])
    return tuple(item for item in read if item is not None)


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if math.isfinite(value) else None


def _score(value: Any) -> float | None:
    """Return a score; one that is no number is no valid score, which is not the same as none."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return math.nan
    return value
