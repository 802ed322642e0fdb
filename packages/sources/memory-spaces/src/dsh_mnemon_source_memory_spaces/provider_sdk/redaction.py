"""Taking secrets out of text before it leaves a Provider (spec/sources.md §4.4, D18)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote, quote_plus

from dsh_mnemon_core.sdk import truncate

__all__ = ("LONGEST", "REDACTED", "bare_key", "redact")

LONGEST: Final = 500
"""Characters of a message that leaves a Provider."""

REDACTED: Final = "[redacted]"
"""What stands where a secret was."""

_SHORTEST: Final = 6
"""Characters below which a value is no secret worth the words it would tear apart."""

_SCHEME: Final = re.compile(r"^\s*(?:bearer|token)\s+", re.IGNORECASE)

_SHAPES: Final = (
    # A header and its value, as it is printed, logged or echoed in JSON.
    re.compile(
        r"""(?P<kept>\b(?:authorization|x-api-key)\b["']?\s*[:=]\s*["']?)"""
        r"""(?:(?:bearer|token|basic)\s+)?[^\s"',;}]+""",
        re.IGNORECASE,
    ),
    re.compile(r"(?P<kept>)\bsk-[A-Za-z0-9_-]{8,}"),
    # Three base64url parts: a JSON Web Token, or a key made the same way, as long as one is.
    re.compile(r"(?P<kept>)\beyJ[\w-]+\.[\w-]+\.[\w-]*"),
    re.compile(
        r"(?P<kept>)(?<![\w./-])(?=[\w.-]*\d)(?=[\w.-]*[A-Z])"
        r"[\w-]{4,}\.[\w-]{4,}\.[\w-]{20,}(?![\w./-])"
    ),
)

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\s]+")


def bare_key(key: str) -> str:
    """Return a key without the scheme people paste with it: ``Bearer`` or ``Token``."""
    return _SCHEME.sub("", key).strip()


def redact(message: str, secrets: Iterable[str] = (), *, longest: int = LONGEST) -> str:
    """Return a message that may be shown: no secret, no control characters, not too long.

    Args:
        message: Any text, such as an error body.
        secrets: Values to take out wherever they stand: as they are, URL-encoded, JSON-escaped,
            and without ``Bearer`` or ``Token``. Those below 6 characters are left alone.
        longest: Most characters of the answer.
    """
    forms = {form for secret in secrets for form in _forms(secret)}
    for form in sorted(forms, key=lambda item: (-len(item), item)):
        message = message.replace(form, REDACTED)
    for shape in _SHAPES:
        message = shape.sub(rf"\g<kept>{REDACTED}", message)
    return truncate(_CONTROL.sub(" ", message).strip(), longest)


def _forms(secret: str) -> Iterator[str]:
    for value in (secret.strip(), bare_key(secret)):
        if len(value) >= _SHORTEST:
            yield value
            yield quote(value, safe="")
            yield quote_plus(value)
            yield json.dumps(value)[1:-1]
            yield json.dumps(value, ensure_ascii=False)[1:-1]
