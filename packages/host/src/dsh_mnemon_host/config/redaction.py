"""Secrets in JSON: which fields hold one, and what is shown in their place (host.md §2.2, §21)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from pydantic import BaseModel, SecretStr

__all__ = ("REDACTED", "is_secret_name", "plain", "redact", "restore")

REDACTED: Final = "**********"
"""Stands for a secret that is set; an empty secret is shown as ``""``."""

_SECRET = re.compile(
    r"^key$|(?:api|access|private|secret|signing|encryption|service|auth|root|admin)[_-]?key$"
    r"|(?:token|secret|password|passwd|passphrase|credentials?|authorization|bearer|cookie)$",
    re.IGNORECASE,
)


def is_secret_name(name: str) -> bool:
    """Tell whether a field of this name holds a secret, whatever schema it belongs to."""
    return _SECRET.search(name) is not None


def plain(value: object) -> Any:
    """Return the camelCase JSON of a model, mapping or list, with secrets in clear.

    A setting that is unset and has no default is left out; never shown to anybody as it is.
    """
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        named = ((field.alias or name, getattr(value, name)) for name, field in fields.items())
        return {key: plain(item) for key, item in named if item is not None}
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, Mapping):
        return {k: plain(item) for k, item in cast("Mapping[str, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in cast("Sequence[object]", value)]
    return value


def redact(value: Any) -> Any:
    """Return a deep copy of JSON in which every non-empty secret string is `REDACTED`.

    Works by field name, so that a raw document with misspelt or unknown sections is safe too.
    """
    if isinstance(value, Mapping):
        return {
            key: REDACTED
            if is_secret_name(key) and isinstance(item, str) and item
            else redact(item)
            for key, item in cast("Mapping[str, Any]", value).items()
        }
    if isinstance(value, (list, tuple)):
        return [redact(item) for item in cast("Sequence[Any]", value)]
    return value


def restore(value: Any, previous: Any, name: str = "") -> Any:
    """Return a deep copy in which every `REDACTED` secret is the previous value again.

    A page shows a redacted document and sends it back changed; the mask must not become the secret.

    Args:
        value: What was sent.
        previous: What is stored at the same place; ``None`` when nothing is.
        name: Name of the field that holds ``value``.
    """
    if isinstance(value, Mapping):
        old = cast("Mapping[str, Any]", previous if isinstance(previous, Mapping) else {})
        items = cast("Mapping[str, Any]", value).items()
        return {key: restore(item, old.get(key), key) for key, item in items}
    if isinstance(value, (list, tuple)):
        return [restore(item, None) for item in cast("Sequence[Any]", value)]
    if value == REDACTED and is_secret_name(name):
        return "" if previous is None else previous
    return value
