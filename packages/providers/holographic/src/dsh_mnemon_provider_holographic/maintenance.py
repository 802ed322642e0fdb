"""What a person may do to a store besides remembering and forgetting (§6.3, §6.5).

All functions block and may run while dsh-mnemon or Hermes works with the file. From a shell::

    python -m dsh_mnemon_provider_holographic rebuild FILE [--dim N]
    python -m dsh_mnemon_provider_holographic feedback FILE ID helpful|unhelpful
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from dsh_mnemon_core.checks import well_formed
from dsh_mnemon_core.instant import utc_now
from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderNotFound, ProviderRejected

from dsh_mnemon_provider_holographic._client import open_store
from dsh_mnemon_provider_holographic._entities import extract
from dsh_mnemon_provider_holographic._mapping import public_id, stamp
from dsh_mnemon_provider_holographic._writing import Change, Writer
from dsh_mnemon_provider_holographic.descriptor import DEFAULT_DIM

__all__ = ("feedback", "rebuild", "update")


def feedback(
    path: Path, identity: str, *, helpful: bool, clock: Callable[[], datetime] = utc_now
) -> float:
    """Raise the trust in a fact by 0.05, or lower it by 0.1, within 0..1; return the new trust.

    Raises:
        ProviderError: There is no such fact, or the file cannot be used.
    """
    with _writing(path, clock) as writer:
        return writer.feedback(identity, helpful=helpful)[1]


def update(
    path: Path,
    identity: str,
    *,
    content: str | None = None,
    category: str | None = None,
    tags: Sequence[str] | None = None,
    trust_delta: float | None = None,
    entities: Sequence[str] = (),
    clock: Callable[[], datetime] = utc_now,
) -> str:
    """Change a fact; new content gets entities, links and vector anew. Return the public id.

    Args:
        path: The database.
        identity: Public id, or one of the peer's store.
        content: New text; blank is refused.
        category: New category.
        tags: New tags.
        trust_delta: What to add to the trust, kept within 0..1.
        entities: Names that count besides those the new content names.
        clock: Tells the time.

    Raises:
        ProviderError: There is no such fact, another one says this already, or the file cannot be
            used.
        InputError: ``text-not-unicode``.
    """
    if content is not None:
        content = well_formed(content, "the content").strip()
        if not content:
            raise ProviderRejected("a fact needs a content")
    change = Change(
        content=content,
        category=category,
        tags=tags,
        trust_delta=trust_delta,
        entities=extract(content or "", entities),
    )
    with _writing(path, clock) as writer:
        return public_id(writer.update(identity, change))


def rebuild(path: Path, *, dim: int | None = None, clock: Callable[[], datetime] = utc_now) -> int:
    """Encode every fact anew, all in one dimension, and every bank; return how many facts.

    Nobody else can write meanwhile: some two seconds for a thousand facts.

    Args:
        path: The database.
        dim: The new dimension, 16..8192, a multiple of 16; that of the file when absent. Hermes's
            ``hrr_dim`` must be the same.
        clock: Tells the time.

    Raises:
        ProviderError: The dimension does not fit, or the file cannot be used.
    """
    if dim is not None and not (16 <= dim <= 8192 and dim % 16 == 0):
        raise ProviderRejected("the dimension must be a multiple of 16 within 16..8192")
    with _writing(path, clock) as writer:
        return writer.rebuild(dim or writer.dim)


@contextmanager
def _writing(path: Path, clock: Callable[[], datetime]) -> Generator[Writer]:
    if not path.is_file():
        raise ProviderNotFound(f"there is no fact store {path}", details={"file": str(path)})
    store = open_store(path)
    try:
        with store.writing() as connection:
            writer = Writer(connection, store.banks, wanted_dim=DEFAULT_DIM, now=stamp(clock()))
            yield writer
            writer.finish()
    finally:
        store.close()
