"""Recorded rankings: by the rule itself, over a store, and over an indexed store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_source_documents._format import excerpt
from dsh_mnemon_source_documents._library import Library
from dsh_mnemon_source_documents._search import Request
from dsh_mnemon_source_documents.contracts import DocumentRecord
from dsh_mnemon_testing.golden import golden

RANKING = golden(Path(__file__).parent / "golden", "documents-search")
DOCUMENTS: list[dict[str, Any]] = list(RANKING.data["documents"])

pytestmark = pytest.mark.requirement("documents:search:ranking")


@pytest.fixture
def store(make_record: Callable[..., DocumentRecord], write_store: Callable[..., None]) -> None:
    """Write the documents of the recording."""
    write_store(
        [
            (
                make_record(
                    row["id"],
                    row["content"],
                    title=row["title"],
                    description=row["description"],
                    status=row["status"],
                    updated_at=row["updatedAt"],
                    filename=f"{row['id']}.md",
                ),
                row["content"],
            )
            for row in DOCUMENTS
        ]
    )


def request_of(case: dict[str, Any]) -> Request:
    options = case["input"]["options"]
    allowed = options.get("allowedIds")
    return Request(
        query=case["input"]["query"],
        limit=int(options.get("limit", 20)),
        include_archived=options.get("includeArchived", False),
        allowed=None if allowed is None else frozenset(allowed),
    )


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("tail", [64, 0], ids=["read", "indexed"])
async def test_rankings(
    make_library: Callable[..., Library], folder: Path, settle: Callable[[], None], tail: int
) -> None:
    settle()
    library = make_library(tail=tail)
    await library.search(Request(query="warm"))
    assert (folder / ".search" / "index.db").exists() == (tail == 0)
    for case in RANKING.cases:
        results = await library.search(request_of(case))
        found = [
            {"id": item.record.id, "score": item.score, "excerpt": excerpt(item.body)}
            for item in results.found
        ]
        assert found == case["expected"]["results"], case["input"]
        assert len(found) == case["expected"]["total"]
    await library.close()


def test_there_are_cases() -> None:
    assert RANKING.cases
