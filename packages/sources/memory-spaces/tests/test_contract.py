"""The contract of Sources, kept by Memory Spaces over a native and a third-party Provider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.sdk import NoConfig, SourceDefinition
from dsh_mnemon_source_memory_spaces import ChildEntry, Config, memory_spaces_source
from dsh_mnemon_source_memory_spaces._children import MountedChild, MountedChildren
from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderDefinition, ProviderModule
from dsh_mnemon_source_memory_spaces.testing.reference import (
    ReferenceService,
    reference_manifest,
    reference_provider,
)
from dsh_mnemon_testing import RunningSource, VirtualClock
from dsh_mnemon_testing.source_contract import (
    SampleMutation,
    SampleOperation,
    SampleQuery,
    SourceContract,
)

pytestmark = pytest.mark.requirement("memory-spaces:contract")

SECRET = "alpha-secret-key"


class _Host:
    """Takes the definition of a module that nobody mounts."""

    definition: ProviderDefinition

    def install(self, _ctx: Any, definition: ProviderDefinition) -> None:
        self.definition = definition


def children(*modules: ProviderModule) -> MountedChildren:
    made = []
    for module in modules:
        host = _Host()
        module.apply(None, host, NoConfig())  # type: ignore[arg-type]
        child = MountedChild(
            entry=ChildEntry(use=module),
            source_instance_id="contract",
            module=module,
            definition=host.definition,
        )
        made.append(child)
    return MountedChildren("contract", made)


class TestMemorySpaces(SourceContract):
    """The Providers keep what they are given for as long as the test runs, one set a folder.

    ``related`` answers only about what the View has returned, so an empty store refuses it.
    """

    unsampled = ("related",)

    @pytest.fixture(autouse=True)
    def services(self) -> None:
        self.kept: dict[Path, tuple[ReferenceService, ReferenceService]] = {}

    def make_source(self, tmp_path: Path) -> SourceDefinition:
        native, alpha = self.kept.setdefault(
            tmp_path, (ReferenceService(), ReferenceService("notes", key=SECRET))
        )
        own = {"origin": "native", "fields": [], "secrets": []}
        modules = (
            reference_provider(native, manifest=reference_manifest("mnemon-native", **own)),
            reference_provider(alpha, manifest=reference_manifest("alpha")),
        )
        row = Config.model_validate({"dataDir": str(tmp_path)})
        return memory_spaces_source(row, children(*modules), clock=VirtualClock())

    def secrets(self, tmp_path: Path) -> Mapping[str, str]:
        return {"embedding.apiKey": "embedding-secret"}

    async def seed(self, source: RunningSource) -> None:
        settings = {"apiKey": SECRET}
        await source.manage(
            "provider-service-update", {"providerId": "alpha", "settings": settings}
        )
        request = {"name": "Team", "description": "What the team agreed on.", "active": True}
        await source.manage("body-create", {"request": request})
        for content in ("The build uses nox sessions", "Nox runs on every push"):
            await source.manage("remember", {"content": content, "memoryBodyId": "default"})
        link = {"sourceId": "memory-1", "targetId": "memory-2", "memoryBodyId": "default"}
        await source.manage("link", link)
        # Only what a View has returned can be named in it.
        await source.query("recall", {"query": "nox"})

    def sample_queries(self) -> Sequence[SampleQuery]:
        return (
            SampleQuery("recall", {"query": "build nox sessions"}),
            SampleQuery("inspect", {"section": "health"}),
            SampleQuery("inspect", {"section": "directory"}),  # shows what the one above learnt
        )

    def sample_mutations(self) -> Sequence[SampleMutation]:
        in_team = {"memoryBodyId": "default"}
        more = {"content": "nox build sessions are cached", **in_team}
        return (
            SampleMutation("remember", more),
            SampleMutation("remember", more, "unknown"),
            SampleMutation("manage-spaces", {"operation": "update", "name": "Crew", **in_team}),
            SampleMutation("link", {"sourceId": "memory-2", "targetId": "memory-1"}),
            SampleMutation("forget", {"id": "memory-2"}),
            SampleMutation("forget", {"id": "never-returned"}, "failed"),
            SampleMutation("remember", {"content": "x", "memoryBodyId": "elsewhere"}, "failed"),
        )

    def sample_operations(self) -> Sequence[SampleOperation]:
        remember = {"content": "build nox sessions by hand", "memoryBodyId": "default"}
        return (
            SampleOperation("remember", remember),
            SampleOperation("body-update", {"memoryBodyId": "default", "name": "Squad"}),
            SampleOperation("body-activate", {"memoryBodyId": "default", "active": False}),
        )
