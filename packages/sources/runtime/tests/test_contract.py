"""The contract of Sources, kept by Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dsh_mnemon_core.sdk import SourceDefinition
from dsh_mnemon_source_runtime import Config, runtime_source
from dsh_mnemon_testing.source_contract import SampleMutation, SampleOperation, SourceContract


def add(content: str, **more: Any) -> dict[str, Any]:
    return {"action": "add", "target": "memory", "content": content, **more}


class TestRuntime(SourceContract):
    """Runtime has no routes: everything it holds is projected (D34)."""

    has_routes = False

    def make_source(self, tmp_path: Path) -> SourceDefinition:
        return runtime_source(Config(data_dir=str(tmp_path)))

    def configuration(self, tmp_path: Path) -> Mapping[str, Any]:
        return {"memoryLimitBytes": 200}

    def sample_mutations(self) -> Sequence[SampleMutation]:
        return (
            SampleMutation("mutate", add("The build uses nox sessions")),
            SampleMutation("mutate", add("Prefers concise answers", target="user")),
            SampleMutation(
                "mutate",
                {"action": "replace", "target": "memory", "oldText": "nox", "content": "Use nox"},
            ),
            SampleMutation("mutate", add("Only here", branches=["main"])),
            SampleMutation(
                "mutate", {"action": "remove", "target": "memory", "oldText": "Only here"}
            ),
            SampleMutation("mutate", add("Use nox", branches=["a b"]), "failed"),
            SampleMutation("mutate", add("x" * 300), "failed"),
            SampleMutation(
                "mutate", {"action": "remove", "target": "memory", "oldText": "absent"}, "failed"
            ),
        )

    def sample_operations(self) -> Sequence[SampleOperation]:
        return (SampleOperation("mutate", add("Added by hand")),)
