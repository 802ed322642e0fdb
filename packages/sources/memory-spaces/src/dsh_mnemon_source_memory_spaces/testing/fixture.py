"""What a Provider is given, without a Source: Spaces, their settings and a data folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
from dsh_mnemon_core.errors import AuthorityError

from dsh_mnemon_source_memory_spaces.provider_sdk import (
    NativeSettings,
    ProviderConfig,
    ProviderManifest,
    SpaceView,
)
from dsh_mnemon_source_memory_spaces.provider_sdk.fields import read_settings

__all__ = ("FixtureAuthority", "ProviderFixture", "SpaceSetup", "provider_fixture")


@attrs.frozen(kw_only=True)
class SpaceSetup:
    """One Memory Space of a fixture.

    Attributes:
        id: Id of the Space.
        external_id: The service's own name of the namespace; none for a native Space.
        memory: Entered values of memory-scoped fields.
        active: Whether it may be read.
    """

    id: str
    external_id: str | None = None
    memory: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    active: bool = True

    def view(self) -> SpaceView:
        """Return the Space as its Provider sees it."""
        return SpaceView(
            id=self.id,
            name=self.id.capitalize(),
            description=f"What is kept in {self.id}.",
            active=self.active,
            external_id=self.external_id,
        )


class FixtureAuthority:
    """A Memory Space authority over plain data; change ``settings`` to save other ones.

    Attributes:
        folder: The data directory.
        settings: Saved service settings.
        spaces: Spaces in registry order, each with its saved memory settings.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, Any],
        spaces: Sequence[tuple[SpaceView, Mapping[str, Any]]],
    ) -> None:
        self.folder = folder
        self.settings = dict(settings)
        self.spaces = {view.id: (view, dict(memory)) for view, memory in spaces}

    def data_dir(self) -> Path:
        """Return the data directory."""
        return self.folder

    def list(self) -> Sequence[SpaceView]:
        """Return the Spaces, in order."""
        return [view for view, _ in self.spaces.values()]

    def connection(self, space_id: str) -> Mapping[str, Any]:
        """Return service and memory settings of a Space, memory last.

        Raises:
            AuthorityError: ``space-unknown``; no Space of this Provider.
        """
        if space_id not in self.spaces:
            raise AuthorityError("space-unknown", f"{space_id!r} is no Space of this Provider")
        return {**self.settings, **self.spaces[space_id][1]}

    def service(self) -> Mapping[str, Any]:
        """Return the service settings."""
        return dict(self.settings)


@attrs.frozen(kw_only=True)
class ProviderFixture:
    """Everything a factory needs besides the child itself.

    Attributes:
        authority: What the Provider may ask.
        config: What it keeps to.
        native: Given to a Provider of origin ``native`` only.
    """

    authority: FixtureAuthority
    config: ProviderConfig = attrs.field(factory=ProviderConfig)
    native: NativeSettings | None = None

    @property
    def spaces(self) -> Sequence[SpaceView]:
        """The Spaces, in order."""
        return self.authority.list()


def provider_fixture(
    manifest: ProviderManifest,
    data_dir: Path,
    *,
    spaces: Sequence[SpaceSetup] = (SpaceSetup(id="one", external_id="one"),),
    service: Mapping[str, Any] | None = None,
    config: ProviderConfig | None = None,
    native: NativeSettings | None = None,
) -> ProviderFixture:
    """Set up Spaces for a Provider, settings read as the Source reads them.

    Args:
        manifest: Whose fields the settings are.
        data_dir: The data directory.
        spaces: Spaces in registry order.
        service: Entered values of service-scoped fields.
        config: What the Provider keeps to; the Source's defaults when absent.
        native: What a native Provider gets; its stores lie in ``data_dir`` when absent.

    Raises:
        InputError: A setting does not fit its field.
    """
    setups = [
        (setup.view(), read_settings(manifest, "memory", setup.memory, previous={}))
        for setup in spaces
    ]
    saved = read_settings(manifest, "service", service or {}, previous={})
    if native is None and manifest.origin == "native":
        native = NativeSettings(data_dir=data_dir)
    return ProviderFixture(
        authority=FixtureAuthority(data_dir, saved, setups),
        config=config or ProviderConfig(),
        native=native,
    )
