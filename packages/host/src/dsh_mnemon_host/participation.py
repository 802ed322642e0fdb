"""Which capabilities a layer may use (host.md §2.5, §4.3)."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from dsh_mnemon_core.errors import AuthorityError
from dsh_mnemon_core.scope import CAPABILITIES, Capability

from dsh_mnemon_host.config import HostConfig

__all__ = ("CHANGING", "Trigger", "permits", "permitted_capabilities", "require")

Trigger: TypeAlias = Literal["manual", "automatic"]
"""A person asked, or a tool, hook or background job did."""

Channel: TypeAlias = Literal["projection", "write", "maintenance", "recall"]

_CHANNELS: Final[dict[str, Channel]] = {
    "project": "projection",
    **dict.fromkeys(("write", "archive", "link", "forget", "import"), "write"),
    **dict.fromkeys(("maintain", "export", "status"), "maintenance"),
}
"""Channel of a capability; every other one belongs to recall."""

CHANGING: Final = frozenset({"write", "archive", "link", "forget", "maintain", "import"})
"""What ``writeEnabled=false`` takes away."""


def permits(config: HostConfig, type_id: str, capability: Capability, trigger: Trigger) -> bool:
    """Tell whether a Source type may use a capability; unknown types are unrestricted."""
    layer = config.memory_topology.layers.get(type_id)
    if layer is None:
        return True
    setting = getattr(layer.participation, _CHANNELS.get(capability, "recall"))
    return layer.enabled and setting in (
        ("automatic",) if trigger == "automatic" else ("automatic", "manual")
    )


def require(config: HostConfig, type_id: str, capability: Capability) -> None:
    """Refuse what the settings do not let a person do.

    Raises:
        AuthorityError: ``layer-off``.
    """
    if not permits(config, type_id, capability, "manual"):
        raise AuthorityError(
            "layer-off",
            f"memoryTopology.layers.{type_id} is off, or does not permit {capability}; "
            "nothing was changed",
            details={"layer": type_id, "capability": capability},
        )


def permitted_capabilities(config: HostConfig, type_id: str) -> tuple[Capability, ...]:
    """Return the ceiling of a Source type in a generation, in canonical order."""
    return tuple(
        capability
        for capability in CAPABILITIES
        if (config.write_enabled or capability not in CHANGING)
        and permits(config, type_id, capability, "automatic")
    )
