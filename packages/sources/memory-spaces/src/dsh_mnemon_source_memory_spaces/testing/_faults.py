"""The part of the Provider contract that is about faults and secrets."""

# ruff: noqa: S101 - a contract is made of assertions

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.errors import MnemonError

from dsh_mnemon_source_memory_spaces.provider_sdk import SearchRequest
from dsh_mnemon_source_memory_spaces.provider_sdk.fields import secret_values
from dsh_mnemon_source_memory_spaces.testing._hooks import ProviderHooks, RunningProvider
from dsh_mnemon_source_memory_spaces.testing._judgement import texts


class ProviderFaults(ProviderHooks, contract=True):
    """What a Provider says when something is wrong, and what it never says."""

    async def test_damage_is_told_not_hidden(self, tmp_path: Path) -> None:
        """An unusable service or store is unhealthy, and reads and writes of it raise.

        If it fails: `status` answers ``healthy=False`` with a sentence and never raises; the others
        raise one of the errors of ``provider_sdk.errors``. An empty result, or a new empty store in
        place of the damaged one, would hide it.
        """
        if not self.has_damage:
            pytest.skip("has_damage = False")
        running = await self.filled(tmp_path)
        await running.mounted.close(running.adapter)
        await self.damage(running)
        running.adapter = running.mounted.adapter(running.fixture)
        health = await running.adapter.status(running.space)
        assert health.healthy is False
        assert health.error, "an unhealthy Space says why"
        assert 0 < len(health.error) <= 500
        flags = running.manifest.capabilities
        if flags.search:
            with pytest.raises(MnemonError):
                await running.search(self.sample_searches()[0].query)
        if flags.browse:
            with pytest.raises(MnemonError):
                await running.items()
        if flags.remember:
            with pytest.raises(MnemonError):
                await running.adapter.remember(running.space, self.samples()[0])

    async def test_no_secret_is_ever_said(self, tmp_path: Path) -> None:
        """No answer, error or printed adapter holds a secret setting.

        If it fails: keep keys in `SecretStr`, send them in headers only, and let
        `provider_sdk.redaction.redact` see every text that came from outside. Services like to
        repeat a key in their error messages.
        """
        running = await self.filled(tmp_path)
        secrets = secret_values(running.manifest, running.fixture.authority.settings)
        if running.manifest.secrets:
            assert secrets, "give the secret fields values in service()"
        async for said in self._said(running):
            for secret in secrets:
                assert secret not in said, "a secret was said"
        if self.has_damage:
            await running.mounted.close(running.adapter)
            await self.damage(running)
            running.adapter = running.mounted.adapter(running.fixture)
            async for said in self._said(running):
                for secret in secrets:
                    assert secret not in said, "a secret was said about a fault"

    async def _said(self, running: RunningProvider) -> AsyncIterator[str]:
        """Yield everything a Provider says of one Space, errors included."""
        adapter, space = running.adapter, running.space
        query = SearchRequest(query=self.sample_searches()[0].query)
        flags = running.manifest.capabilities
        yield repr(adapter)
        yield await _told(adapter.status(space))
        yield await _told(adapter.related(space, "no-such-memory", 2))
        if flags.search:
            yield await _told(adapter.search(space, query))
        if flags.browse:
            yield await _told(running.items())
        if flags.forget:
            yield await _told(adapter.forget(space, "no-such-memory"))
        if flags.remember:
            yield await _told(adapter.remember(space, self.samples()[0]))


async def _told(call: Any) -> str:
    try:
        return texts(await call)
    except MnemonError as error:
        return texts(error)
