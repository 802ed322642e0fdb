"""The contract of Memory Space Providers."""

from __future__ import annotations

from pathlib import Path

from dsh_mnemon_provider_holographic import provider
from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderModule
from dsh_mnemon_source_memory_spaces.testing import ProviderContract, RunningProvider, SpaceSetup


class TestHolographic(ProviderContract):
    """A Space is a file: the external id of the second one names another."""

    def make_provider(self, tmp_path: Path) -> ProviderModule:
        del tmp_path
        return provider

    def spaces(self, tmp_path: Path) -> tuple[SpaceSetup, SpaceSetup]:
        return (
            SpaceSetup(id="one"),
            SpaceSetup(id="two", external_id=str(tmp_path / "other.db")),
        )

    async def damage(self, running: RunningProvider) -> None:
        path = running.folder / "state" / "holographic" / "memory_store.db"
        path.write_bytes(b"This is no database. " * 500)
