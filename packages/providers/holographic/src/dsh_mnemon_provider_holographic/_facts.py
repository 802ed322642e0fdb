"""Reading facts, their entities and their vectors (providers specification §6.2, §6.7)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

import attrs

from dsh_mnemon_provider_holographic._algebra import Matrix, decode_all
from dsh_mnemon_provider_holographic._mapping import (
    Fact,
    number_of,
    stored_categories,
    stored_tags,
)
from dsh_mnemon_provider_holographic._schema import has_table

__all__ = ("Filter", "count", "fact_number", "facts", "page", "some", "vectors")

_COLUMNS: Final = (
    "SELECT f.fact_id, f.content, f.category, f.tags, f.trust_score, f.created_at, f.updated_at"
)
_BATCH: Final = 1000


@attrs.frozen(kw_only=True)
class Filter:
    """Which facts count: those of enough trust, and of one category as people see it."""

    min_trust: float = 0.0
    category: str | None = None

    def sql(self) -> tuple[str, list[Any]]:
        """Return a condition on ``f`` and its parameters."""
        condition = "coalesce(f.trust_score, 0.5) >= ?"
        parameters: list[Any] = [self.min_trust]
        if self.category is None:
            return condition, parameters
        names, inside = stored_categories(self.category)
        marks = ", ".join("?" * len(names))
        word = "IN" if inside else "NOT IN"
        return (
            f"{condition} AND coalesce(f.category, 'general') {word} ({marks})",
            [*parameters, *names],
        )


def count(connection: sqlite3.Connection, wanted: Filter) -> int:
    """Return how many facts there are."""
    condition, parameters = wanted.sql()
    query = f"SELECT count(*) FROM facts f WHERE {condition}"  # noqa: S608 - constants only
    number: int = connection.execute(query, parameters).fetchone()[0]
    return number


def facts(connection: sqlite3.Connection, wanted: Filter) -> list[Fact]:
    """Return all facts, newest change first, ties by the larger number."""
    condition, parameters = wanted.sql()
    return _read(connection, f"WHERE {condition}", parameters, None)


def some(
    connection: sqlite3.Connection, numbers: Iterable[int], wanted: Filter | None = None
) -> list[Fact]:
    """Return the facts of these numbers that count, in the order of `facts`."""
    chosen = json.dumps(sorted(set(numbers)))
    condition, parameters = (wanted or Filter(min_trust=-1.0)).sql()
    return _read(
        connection,
        f"WHERE f.fact_id IN (SELECT value FROM json_each(?)) AND {condition}",  # noqa: S608
        [chosen, *parameters],
        chosen,
    )


def page(
    connection: sqlite3.Connection,
    wanted: Filter,
    *,
    limit: int,
    after: tuple[str, int] | None = None,
) -> list[Fact]:
    """Return up to ``limit`` facts in the order of `facts`.

    Args:
        connection: Inside a transaction.
        wanted: Which facts count.
        limit: Most facts.
        after: When the last fact of the page before changed, and its number.
    """
    condition, parameters = wanted.sql()
    if after is not None:
        condition += " AND (coalesce(f.updated_at, ''), f.fact_id) < (?, ?)"
        parameters += after
    found = connection.execute(
        f"SELECT f.fact_id FROM facts f WHERE {condition}{_ORDER} LIMIT ?",  # noqa: S608
        [*parameters, limit],
    )
    return some(connection, [row[0] for row in found])


def vectors(
    connection: sqlite3.Connection, dim: int, numbers: Iterable[int] | None = None
) -> Iterator[tuple[list[int], Matrix]]:
    """Yield the vectors of one dimension in batches of at most 1,000.

    Args:
        connection: Inside a transaction.
        dim: Vectors of another dimension are left out.
        numbers: Only those of these facts.

    Yields:
        The numbers of the facts and their vectors, one a row; never none.
    """
    query = "SELECT fact_id, hrr_vector FROM facts WHERE hrr_vector IS NOT NULL"
    parameters: tuple[str, ...] = ()
    if numbers is not None:
        query += " AND fact_id IN (SELECT value FROM json_each(?))"
        parameters = (json.dumps(list(numbers)),)
    rows = connection.execute(query, parameters)
    while batch := rows.fetchmany(_BATCH):
        found, matrix = decode_all(batch, dim)
        if found:
            yield found, matrix


def fact_number(connection: sqlite3.Connection, identity: str) -> int | None:
    """Return the number of the fact that has a public id, or had it in the peer's store."""
    number = number_of(identity)
    if number is not None:
        query = "SELECT fact_id FROM facts WHERE fact_id = ?"
        row = connection.execute(query, (number,)).fetchone()
    elif has_table(connection, "dsh_fact_meta"):
        query = (
            "SELECT f.fact_id FROM dsh_fact_meta m JOIN facts f USING (fact_id)"
            " WHERE json_valid(m.json) AND (json_extract(m.json, '$.peerId') = ? OR EXISTS"
            " (SELECT 1 FROM json_each(m.json, '$.peerAliases') WHERE value = ?))"
        )
        row = connection.execute(query, (identity, identity)).fetchone()
    else:
        row = None
    return None if row is None else int(row[0])


_ORDER: Final = " ORDER BY coalesce(f.updated_at, '') DESC, f.fact_id DESC"


def _read(
    connection: sqlite3.Connection, where: str, parameters: Sequence[Any], chosen: str | None
) -> list[Fact]:
    names = _linked(connection, chosen)
    extras = "NULL"
    source = "facts f"
    if has_table(connection, "dsh_fact_meta"):
        extras, source = "m.json", "facts f LEFT JOIN dsh_fact_meta m ON m.fact_id = f.fact_id"
    rows = connection.execute(f"{_COLUMNS}, {extras} FROM {source} {where}{_ORDER}", parameters)
    return [_fact(row, names.get(row[0], ())) for row in rows]


def _linked(connection: sqlite3.Connection, chosen: str | None) -> dict[int, list[str]]:
    query = "SELECT l.fact_id, e.name FROM fact_entities l JOIN entities e USING (entity_id)"
    order = " ORDER BY l.fact_id, l.rowid"
    if chosen is None:
        rows = connection.execute(query + order)
    else:
        only = " WHERE l.fact_id IN (SELECT value FROM json_each(?))"
        rows = connection.execute(query + only + order, (chosen,))
    names: dict[int, list[str]] = {}
    for number, name in rows:
        names.setdefault(number, []).append(_text(name))
    return names


def _fact(row: Sequence[Any], names: Sequence[str]) -> Fact:
    number, content, category, tags, trust, created, updated, extras = row
    return Fact(
        number=number,
        content=_text(content),
        category=_text(category) or "general",
        tags=stored_tags(_text(tags)),
        trust=min(1.0, max(0.0, trust)) if isinstance(trust, (int, float)) else 0.5,
        created_at=_text(created),
        updated_at=_text(updated),
        entities=tuple(names),
        extras=_extras(extras),
    )


def _extras(text: Any) -> Mapping[str, Any]:
    try:
        extras: Any = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return {}
    return cast("dict[str, Any]", extras) if isinstance(extras, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)
