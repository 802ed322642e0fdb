"""Changing facts; everything here runs inside one write transaction (§6.4, §6.5)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs
from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderConflict, ProviderNotFound

from dsh_mnemon_provider_holographic._algebra import Vector, decode, encode, fact_vector
from dsh_mnemon_provider_holographic._banks import Banks, file_dim
from dsh_mnemon_provider_holographic._entities import distinct_names
from dsh_mnemon_provider_holographic._facts import fact_number, some
from dsh_mnemon_provider_holographic._mapping import clamp, public_id

__all__ = ("Change", "Draft", "Writer")

_HELPFUL: Final = 0.05
_UNHELPFUL: Final = -0.1


@attrs.frozen(kw_only=True)
class Draft:
    """A fact to add, as it will be stored.

    Attributes:
        category: Kept verbatim.
        tags: Kept joined by commas.
        trust: 0..1.
        entities: Names to link it to, see `_entities.extract`.
        extras: What goes beside the fact into ``dsh_fact_meta``.
        created_at: ``YYYY-MM-DD HH:MM:SS``, UTC, as is ``updated_at``.
    """

    content: str
    category: str = "general"
    tags: Sequence[str] = ()
    trust: float = 0.5
    entities: Sequence[str] = ()
    extras: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    created_at: str
    updated_at: str


@attrs.frozen(kw_only=True)
class Change:
    """What to change of a fact; ``None`` keeps what is there.

    Attributes:
        entities: The names to link new ``content`` to; they count with ``content`` only.
    """

    content: str | None = None
    category: str | None = None
    tags: Sequence[str] | None = None
    trust_delta: float | None = None
    entities: Sequence[str] = ()


class Writer:
    """The changes of one write transaction.

    Args:
        connection: Inside the transaction, the tables made.
        banks: The file's bank sums.
        wanted_dim: Dimension of the first vector of a file.
        now: ``YYYY-MM-DD HH:MM:SS``, UTC.
    """

    def __init__(
        self, connection: sqlite3.Connection, banks: Banks, *, wanted_dim: int, now: str
    ) -> None:
        self.dim = file_dim(connection, wanted_dim)
        self._connection = connection
        self._banks = banks
        self._now = now
        self._changed: dict[str, tuple[list[Vector], list[Vector]]] = {}

    def add(self, draft: Draft) -> tuple[int, bool]:
        """Add a fact unless one of the same content is there.

        Returns:
            Its number, and whether it is new; an old one is left as it is.
        """
        known = self._one("SELECT fact_id FROM facts WHERE content = ?", draft.content)
        if known is not None:
            return int(known), False
        entities = self._resolve(draft.entities)
        vector = fact_vector(draft.content, entities.values(), self.dim)
        cursor = self._connection.execute(
            "INSERT INTO facts (content, category, tags, trust_score, created_at, updated_at,"
            " hrr_vector) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                draft.content,
                draft.category,
                ",".join(draft.tags),
                draft.trust,
                draft.created_at,
                draft.updated_at,
                encode(vector),
            ),
        )
        number = _row_id(cursor)
        self._link(number, entities)
        if draft.extras:
            self._keep(number, draft.extras)
        self._moved(draft.category, added=vector)
        return number, True

    def alias(self, number: int, identity: str) -> None:
        """Let a fact be found by one more id of the peer's store."""
        (fact,) = some(self._connection, [number])
        if "peerId" not in fact.extras:
            self._keep(number, {**fact.extras, "peerId": identity})
            return
        aliases = [str(alias) for alias in fact.extras.get("peerAliases", ())]
        self._keep(number, {**fact.extras, "peerAliases": [*aliases, identity]})

    def forget(self, identity: str) -> int:
        """Delete a fact for good; its entities stay, as in Hermes.

        Raises:
            ProviderNotFound: There is no such fact.
        """
        number = self._number(identity)
        category, vector = self._encoded(number)
        for table in ("fact_entities", "dsh_fact_meta", "facts"):
            self._connection.execute(f"DELETE FROM {table} WHERE fact_id = ?", (number,))  # noqa: S608
        self._moved(category, removed=vector)
        return number

    def update(self, identity: str, change: Change) -> int:
        """Change a fact; new content is linked and encoded anew.

        Raises:
            ProviderNotFound: There is no such fact.
            ProviderConflict: Another fact has the new content.
        """
        number = self._number(identity)
        category, old = self._encoded(number)
        row: dict[str, Any] = {"updated_at": self._now}
        if change.tags is not None:
            row["tags"] = ",".join(change.tags)
        if change.category is not None:
            row["category"] = change.category
        if change.trust_delta is not None:
            row["trust_score"] = self._trusted(number, change.trust_delta)
        if change.content is not None:
            row |= self._reworded(number, change.content, change.entities)
        self._set(number, row)
        new = decode(row["hrr_vector"], self.dim) if "hrr_vector" in row else old
        self._moved(category, removed=old)
        self._moved(change.category or category, added=new)
        return number

    def feedback(self, identity: str, *, helpful: bool) -> tuple[int, float]:
        """Raise the trust in a fact by 0.05, or lower it by 0.1; return its number and trust.

        Raises:
            ProviderNotFound: There is no such fact.
        """
        number = self._number(identity)
        trust = self._trusted(number, _HELPFUL if helpful else _UNHELPFUL)
        self._set(number, {"trust_score": trust, "updated_at": self._now})
        if helpful:
            query = "UPDATE facts SET helpful_count = helpful_count + 1 WHERE fact_id = ?"
            self._connection.execute(query, (number,))
        return number, trust

    def rebuild(self, dim: int) -> int:
        """Encode every fact anew from its text and links; return how many there are."""
        self.dim = dim
        self._changed = {}
        self._banks.forget_sums()
        self._connection.execute("DELETE FROM memory_banks")
        numbers = [row[0] for row in self._connection.execute("SELECT fact_id FROM facts")]
        for number in numbers:
            (fact,) = some(self._connection, [number])
            self._set(number, {"hrr_vector": encode(fact_vector(fact.content, fact.entities, dim))})
            self._changed.setdefault(fact.category, ([], []))
        return len(numbers)

    def finish(self) -> None:
        """Write the banks of all categories that changed."""
        for category, (added, removed) in self._changed.items():
            self._banks.change(
                self._connection,
                category,
                self.dim,
                added=added,
                removed=removed,
                now=self._now,
            )
        self._changed = {}

    # -- parts ------------------------------------------------------------------------------------

    def _one(self, query: str, *parameters: Any) -> Any:
        row = self._connection.execute(query, parameters).fetchone()
        return None if row is None else row[0]

    def _keep(self, number: int, extras: Mapping[str, Any]) -> None:
        text = json.dumps(dict(extras), ensure_ascii=False)
        self._connection.execute(
            "INSERT INTO dsh_fact_meta (fact_id, json) VALUES (?, ?)"
            " ON CONFLICT (fact_id) DO UPDATE SET json = excluded.json",
            (number, text),
        )

    def _number(self, identity: str) -> int:
        number = fact_number(self._connection, identity)
        if number is None:
            raise ProviderNotFound(
                f"unknown Holographic fact: {identity[:200]}", details={"id": identity[:200]}
            )
        return number

    def _encoded(self, number: int) -> tuple[str, Vector | None]:
        query = "SELECT coalesce(category, ''), hrr_vector FROM facts WHERE fact_id = ?"
        category, blob = self._connection.execute(query, (number,)).fetchone()
        return str(category), decode(blob, self.dim)

    def _set(self, number: int, row: Mapping[str, Any]) -> None:
        names = ", ".join(f"{name} = ?" for name in row)
        query = f"UPDATE facts SET {names} WHERE fact_id = ?"  # noqa: S608 - names are literals
        self._connection.execute(query, (*row.values(), number))

    def _trusted(self, number: int, delta: float) -> float:
        query = "SELECT coalesce(trust_score, 0.5) FROM facts WHERE fact_id = ?"
        return clamp(self._one(query, number) + delta)

    def _reworded(self, number: int, content: str, names: Sequence[str]) -> dict[str, Any]:
        other = self._one("SELECT fact_id FROM facts WHERE content = ?", content)
        if other not in (None, number):
            raise ProviderConflict(
                "another fact says exactly this", details={"id": public_id(other)}
            )
        self._connection.execute("DELETE FROM fact_entities WHERE fact_id = ?", (number,))
        entities = self._resolve(names)
        self._link(number, entities)
        vector = fact_vector(content, entities.values(), self.dim)
        return {"content": content, "hrr_vector": encode(vector)}

    def _moved(
        self, category: str, *, added: Vector | None = None, removed: Vector | None = None
    ) -> None:
        came, went = self._changed.setdefault(category, ([], []))
        came += [] if added is None else [added]
        went += [] if removed is None else [removed]

    # -- entities ---------------------------------------------------------------------------------

    def _link(self, number: int, entities: Iterable[int]) -> None:
        for entity in entities:
            self._connection.execute(
                "INSERT OR IGNORE INTO fact_entities (fact_id, entity_id) VALUES (?, ?)",
                (number, entity),
            )

    def _resolve(self, names: Iterable[str]) -> dict[int, str]:
        """Return the entities of these names, as stored; unknown ones are made."""
        found: dict[int, str] = {}
        for name in distinct_names(names):
            entity = self._named(name) or self._made(name)
            found[entity[0]] = entity[1]
        return found

    def _named(self, name: str) -> tuple[int, str] | None:
        query = (
            "SELECT entity_id, name FROM entities WHERE name = ? COLLATE NOCASE"
            " ORDER BY entity_id LIMIT 1"
        )
        row = self._connection.execute(query, (name,)).fetchone()
        if row is not None:
            return row[0], row[1]
        wanted = name.lower()
        query = "SELECT entity_id, name, aliases FROM entities WHERE aliases <> ''"
        for entity, stored, aliases in self._connection.execute(f"{query} ORDER BY entity_id"):
            if wanted in (alias.strip().lower() for alias in str(aliases).split(",")):
                return entity, stored
        return None

    def _made(self, name: str) -> tuple[int, str]:
        query = "INSERT INTO entities (name, created_at) VALUES (?, ?)"
        return _row_id(self._connection.execute(query, (name, self._now))), name


def _row_id(cursor: sqlite3.Cursor) -> int:
    if cursor.lastrowid is None:  # pragma: no cover - an INSERT that succeeded has a row id
        raise sqlite3.InternalError("a row got no number")
    return cursor.lastrowid
