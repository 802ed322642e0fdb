"""The contract of Providers, kept by the reference Provider in several shapes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    ProviderModule,
    ProviderUnavailable,
    RememberRequest,
    Result,
    SpaceView,
)
from dsh_mnemon_source_memory_spaces.testing import (
    EVERYTHING,
    ProviderContract,
    ReferenceAdapter,
    ReferenceService,
    RunningProvider,
    reference_manifest,
    reference_provider,
)

pytestmark = pytest.mark.requirement("memory-spaces:provider-contract")

KEY = "s3cret-key-of-the-service"


class Reference(ProviderContract):
    """Services live as long as the test, one for each folder."""

    manifest = reference_manifest()
    adapter: type[ReferenceAdapter] | None = None

    @pytest.fixture(autouse=True)
    def services(self) -> None:
        self.by_folder: dict[Path, ReferenceService] = {}

    def served(self, tmp_path: Path) -> ReferenceService:
        names = () if self.manifest.origin == "native" else ("one", "two")
        return self.by_folder.setdefault(tmp_path, ReferenceService(*names, key=KEY))

    def make_provider(self, tmp_path: Path) -> ProviderModule:
        return reference_provider(
            self.served(tmp_path), manifest=self.manifest, adapter=self.adapter
        )

    def service(self, tmp_path: Path) -> Mapping[str, Any]:
        return {"apiKey": KEY}

    async def damage(self, running: RunningProvider) -> None:
        service = self.served(running.folder)
        for operation in ("status", "search", "list", "graph", "remember", "related", "forget"):
            service.fail(operation, ProviderUnavailable("the service is away"))


class TestReference(Reference):
    pass


class TestNative(Reference):
    manifest = reference_manifest("reference-native", origin="native")


class TestWriteOnly(Reference):
    manifest = reference_manifest(
        "write-only",
        capabilities={"remember": True, "write_mode": "async-extracting"},
        score_semantics="none",
    )


class TestReadOnly(Reference):
    manifest = reference_manifest("read-only", capabilities={"search": True, "browse": True})
    has_damage = False
    is_lexical = False


class TestNothingSpecial(Reference):
    """No scores, no entities of its own, several memories at once."""

    manifest = reference_manifest(
        "plain",
        capabilities={**EVERYTHING, "graph": False, "related": False, "link": False},
        score_semantics="provider-native",
    )
    is_durable = False


class Extracting(ReferenceAdapter):
    """Keeps what it makes of a text, not the text."""

    async def remember(self, space: SpaceView, request: RememberRequest) -> Result:
        derived = attrs.evolve(request, content=f"The user said: {request.content}")
        answer = await super().remember(space, derived)
        return {"action": "queued", "provider": self.id, "operationId": answer["id"]}


class TestExtracting(Reference):
    manifest = reference_manifest(
        "extracting", capabilities={**EVERYTHING, "write_mode": "async-extracting"}
    )
    adapter = Extracting
