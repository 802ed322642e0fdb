"""The part of the Provider contract that is about manifest, mounting and the adapter's life."""

# ruff: noqa: S101 - a contract is made of assertions

from __future__ import annotations

from pathlib import Path

import pytest
from dsh_mnemon_core.errors import ConfigurationError
from dsh_mnemon_testing.leaks import new_tasks, running

from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderManifest
from dsh_mnemon_source_memory_spaces.provider_sdk.fields import Scope, read_settings
from dsh_mnemon_source_memory_spaces.testing._hooks import ProviderHooks
from dsh_mnemon_source_memory_spaces.testing.mounting import mount_provider


class ProviderDefinitions(ProviderHooks, contract=True):
    """What a Provider says of itself, and how it comes and goes."""

    async def test_manifest_round_trips(self, tmp_path: Path) -> None:
        """The manifest is that of the module and survives JSON unchanged.

        If it fails: give the module the id that the manifest has as ``type_id``, and keep the
        manifest to plain data.
        """
        running = await self.started(tmp_path)
        manifest = running.manifest
        assert manifest.type_id == self.make_provider(running.folder).id
        written = manifest.model_dump(mode="json", by_alias=True, exclude_none=True)
        assert ProviderManifest.model_validate(written) == manifest
        named = manifest.package_name.replace("-", "_")
        assert named.isidentifier(), f"{manifest.package_name} is no distribution name"

    async def test_field_defaults_fit_their_fields(self, tmp_path: Path) -> None:
        """Every default is a value its own field accepts, written as it will be stored.

        If it fails: correct the default or the field it names: range, options, pattern, trailing
        slash. A secret has no default.
        """
        manifest = (await self.started(tmp_path)).manifest
        filled = [field for field in manifest.fields if field.default_value not in (None, "")]
        assert not [field.key for field in filled if field.input == "secret"], "a secret's default"
        scopes: tuple[Scope, ...] = ("service", "memory")
        for scope in scopes:
            own = tuple(field for field in filled if field.scope == scope)
            given = {field.key: field.default_value for field in own}
            bare = manifest.model_copy(update={"fields": own, "secrets": ()})
            assert read_settings(bare, scope, given) == given, f"{scope} defaults"

    async def test_mounting_is_repeatable(self, tmp_path: Path) -> None:
        """The same module and configuration make the same child again; an unknown key none.

        If it fails: look for a time, a random id or the environment in the manifest, and give the
        configuration model ``extra="forbid"`` and ``frozen=True``.
        """
        folder = tmp_path / "one"
        folder.mkdir()
        config = self.child_config(folder)
        digests: list[str] = []
        for _ in range(2):
            async with mount_provider(self.make_provider(folder), config=config) as mounted:
                digests.append(mounted.children.digest)
        assert digests[0] == digests[1]
        wrong = {**config, "noSuchSettingAnywhere": 1}
        with pytest.raises(ConfigurationError):
            async with mount_provider(self.make_provider(folder), config=wrong):
                pytest.fail("a configuration with an unknown key was accepted")

    async def test_the_factory_only_makes(self, tmp_path: Path) -> None:
        """Mounting and making an adapter touch no file and start nothing, and closing is silent.

        If it fails: open stores and clients at first use, not in ``create`` or ``__init__`` (D25);
        let ``aclose`` cope with an adapter that was never used.
        """
        folder = tmp_path / "one"
        folder.mkdir()
        known = running()
        async with mount_provider(
            self.make_provider(folder), config=self.child_config(folder)
        ) as mounted:
            before, tasks = _files(folder), running()
            mounted.adapter(self.fixture(mounted.manifest, folder))
            assert await new_tasks(tasks) == [], "a task was started by the factory"
            assert _files(folder) == before, "the factory wrote files"
        assert await new_tasks(known) == [], "a task runs on after the end"

    async def test_a_closed_adapter_leaves_nothing_running(self, tmp_path: Path) -> None:
        """After ``aclose`` no task runs on, and another adapter takes up where it left off.

        If it fails: end in ``aclose`` whatever was started, close clients and databases there, and
        commit before an answer is given, not at the end.
        """
        known = running()
        provider = await self.started(tmp_path)
        self.needs(provider, "remember")
        await self.fill(provider)
        health = await provider.adapter.status(provider.space)
        assert health.healthy, f"a filled Space is unhealthy: {health.error}"
        browse = provider.manifest.capabilities.browse
        before = await provider.contents() if browse else []
        await provider.mounted.close(provider.adapter)
        if self.is_durable:
            again = await self.started(tmp_path)
            assert (await again.adapter.status(again.space)).healthy
            if browse:
                assert await again.contents() == before, "the next adapter lists something else"
            await again.mounted.close(again.adapter)
        left = [task for task in await new_tasks(known) if not _is_fiber(task.name)]
        assert left == [], "a task runs on after aclose"


def _files(folder: Path) -> dict[str, int]:
    found = sorted(folder.rglob("*"))
    return {path.relative_to(folder).as_posix(): path.stat().st_mtime_ns for path in found}


def _is_fiber(name: str | None) -> bool:
    return (name or "").startswith("fiber ")
