"""Taking over the JSON store of the original (providers specification §6.8).

The file is read once, into one transaction, and never written.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final, Literal

from dsh_mnemon_core.checks import well_formed
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.instant import parse_utc
from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderProtocol
from pydantic import BaseModel, Field, ValidationError, field_validator

from dsh_mnemon_provider_holographic._client import Checkpoint, Store, go_on
from dsh_mnemon_provider_holographic._mapping import clamp, stamp
from dsh_mnemon_provider_holographic._schema import has_table
from dsh_mnemon_provider_holographic._writing import Draft, Writer

__all__ = ("take_over",)

_KEY: Final = "imported_from"
_MOST_BYTES: Final = 256 * 1024 * 1024


class _PeerFact(BaseModel):
    id: Annotated[str, Field(min_length=1)]
    content: str
    category: str = "general"
    tags: list[str] = []
    entities: list[str] = []
    trustScore: Annotated[float, Field(allow_inf_nan=False)] = 0.5  # noqa: N815 - the file's key
    createdAt: str  # noqa: N815
    updatedAt: str  # noqa: N815

    @field_validator("content")
    @classmethod
    def _says_something(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("blank")
        return value.strip()

    @field_validator("createdAt", "updatedAt")
    @classmethod
    def _is_time(cls, value: str) -> str:
        if parse_utc(value) is None:
            raise ValueError("no time")
        return value


class _PeerStore(BaseModel):
    version: Literal[1]
    facts: list[_PeerFact]


def take_over(
    store: Store, peer: Path, *, dim: int, now: datetime, checkpoint: Checkpoint = go_on
) -> None:
    """Import a peer store into a database once; later calls change nothing.

    Args:
        store: The database, usually beside the file.
        peer: The JSON file; while there is none, there is nothing to do.
        dim: Dimension of the vectors when the database has none yet.
        now: Time of the import.
        checkpoint: Called while waiting.

    Raises:
        ProviderProtocol: The file is no store of version 1; nothing was imported.
    """
    if peer in store.taken or not peer.is_file():
        return
    with store.reading(checkpoint) as connection:
        done = connection is not None and _is_taken(connection, peer)
    if not done:
        raw, content = _read(peer)
        with store.writing(checkpoint) as connection:
            if not _is_taken(connection, peer):
                writer = Writer(connection, store.banks, wanted_dim=dim, now=stamp(now))
                for fact in content.facts:
                    _add(writer, fact)
                writer.finish()
                _record(connection, peer, raw)
    store.taken.add(peer)


def _read(peer: Path) -> tuple[bytes, _PeerStore]:
    try:
        raw = peer.read_bytes() if peer.stat().st_size <= _MOST_BYTES else b""
        text = well_formed(json.dumps(json.loads(raw), ensure_ascii=False), "the fact store")
        return raw, _PeerStore.model_validate_json(text)
    except (ValidationError, ValueError, RecursionError, InputError) as error:
        raise ProviderProtocol(
            f"invalid Holographic fact store: {peer}",
            details={"file": str(peer), "reason": "damaged"},
        ) from error


def _add(writer: Writer, fact: _PeerFact) -> None:
    number, new = writer.add(
        Draft(
            content=fact.content,
            category=fact.category,
            tags=[" ".join(tag.replace(",", " ").split()) for tag in fact.tags],
            trust=clamp(fact.trustScore),
            entities=fact.entities,
            extras={"peerId": fact.id},
            created_at=_stamped(fact.createdAt),
            updated_at=_stamped(fact.updatedAt),
        )
    )
    if not new:
        writer.alias(number, fact.id)


def _stamped(text: str) -> str:
    moment = parse_utc(text)
    return stamp(moment) if moment is not None else text


def _is_taken(connection: sqlite3.Connection, peer: Path) -> bool:
    """Whether it was imported; by its name, since the two files lie together and may be moved."""
    if not has_table(connection, "dsh_meta"):
        return False
    row = connection.execute("SELECT value FROM dsh_meta WHERE key = ?", (_KEY,)).fetchone()
    return row is not None and peer.name in json.loads(row[0])


def _record(connection: sqlite3.Connection, peer: Path, raw: bytes) -> None:
    row = connection.execute("SELECT value FROM dsh_meta WHERE key = ?", (_KEY,)).fetchone()
    taken: dict[str, str] = json.loads(row[0]) if row is not None else {}
    taken[peer.name] = hashlib.sha256(raw).hexdigest()
    connection.execute(
        "INSERT OR REPLACE INTO dsh_meta (key, value) VALUES (?, ?)", (_KEY, json.dumps(taken))
    )
