"""The contract of Sources, kept by Documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dsh_mnemon_core.sdk import SourceDefinition
from dsh_mnemon_source_documents import Config, documents_source
from dsh_mnemon_testing import RunningSource
from dsh_mnemon_testing.source_contract import (
    SampleMutation,
    SampleOperation,
    SampleQuery,
    SourceContract,
)

RUNBOOK = "Build the image, push it, deploy. 回滚方案：重新部署上一个标签。"


def ticking() -> Callable[[], datetime]:
    return lambda: datetime(2026, 3, 1, 12, tzinfo=UTC)


class TestDocuments(SourceContract):
    """Searching notes accesses, which is no part of what is compared (D10, D43)."""

    ignored_files = (*SourceContract.ignored_files, ".access.jsonl")

    # A new document has an id of its own making, so reading one cannot be told beforehand.
    unsampled = ("read",)

    def make_source(self, tmp_path: Path) -> SourceDefinition:
        return documents_source(Config(data_dir=str(tmp_path)), clock=ticking())

    def configuration(self, tmp_path: Path) -> Mapping[str, Any]:
        return {"limitBytes": 3000}

    async def seed(self, source: RunningSource) -> None:
        content = {"title": "Deployment runbook", "content": RUNBOOK}
        await source.manage("mutate", {"action": "create", **content})

    def sample_queries(self) -> Sequence[SampleQuery]:
        return (
            SampleQuery("search", {"query": "deploy"}),
            SampleQuery("search", {"query": "回滚方案", "limit": 3}),
            SampleQuery("search", {"query": "nothing has this", "includeArchived": True}),
        )

    def sample_mutations(self) -> Sequence[SampleMutation]:
        created = {"title": "发布流程", "content": "一、构建镜像。二、部署。"}
        return (
            SampleMutation("create", created),
            SampleMutation("manage", {"action": "create", "title": "Two", "content": "Deploy."}),
            SampleMutation("create", {**created, "title": "x" * 161}, "failed"),
            SampleMutation("create", {**created, "content": "x" * 5000}, "failed"),
            SampleMutation("manage", {"action": "update", "id": "absent", "title": "A"}, "failed"),
            SampleMutation("manage", {"action": "create", "title": "No content"}, "failed"),
        )

    def sample_operations(self) -> Sequence[SampleOperation]:
        by_hand = {"action": "create", "title": "By hand", "content": "Written by a person."}
        return (SampleOperation("mutate", by_hand),)
