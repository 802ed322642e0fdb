"""Settings of the Layered Strategy."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ("LayeredConfig",)


class LayeredConfig(BaseModel):
    """Layered has no settings: its figures are its contract. An unknown key is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)
