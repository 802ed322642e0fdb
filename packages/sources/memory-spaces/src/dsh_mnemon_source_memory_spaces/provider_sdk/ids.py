"""How the names of Providers, their fields and Memory Spaces are spelled (spec/sources.md §4.2)."""

from __future__ import annotations

import re
from typing import Annotated, Final, TypeAlias

from pydantic import Field

__all__ = ("FIELD_KEY", "PROVIDER_ID", "SPACE_ID", "FieldKey", "ProviderId", "StoreName")

PROVIDER_ID: Final = re.compile(r"[a-z][a-z0-9-]{0,127}")
"""Type ids of Providers and instance ids of their children; to be matched in full."""

FIELD_KEY: Final = re.compile(r"[a-z][a-zA-Z0-9_-]{0,127}")
"""Keys of a Provider's settings; to be matched in full."""

SPACE_ID: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]*")
"""Ids of Memory Spaces and names of native stores; to be matched in full."""

ProviderId: TypeAlias = Annotated[str, Field(pattern=f"^{PROVIDER_ID.pattern}$")]
"""A field of a model that holds the id of a Provider."""

FieldKey: TypeAlias = Annotated[str, Field(pattern=f"^{FIELD_KEY.pattern}$")]
"""A field of a model that holds the key of a setting."""

StoreName: TypeAlias = Annotated[str, Field(pattern=f"^{SPACE_ID.pattern}$")]
"""A field of a model that holds the name of a native store."""
