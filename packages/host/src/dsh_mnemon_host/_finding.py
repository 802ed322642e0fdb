"""What ``doctor`` says about one thing."""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

Level: TypeAlias = Literal["ok", "warning", "error"]
"""An ``error`` makes ``doctor`` exit with 1."""


@attrs.frozen(kw_only=True)
class Finding:
    """One thing ``doctor`` looked at.

    Attributes:
        level: How bad it is.
        check: What was looked at, such as ``profile`` or ``source``.
        subject: The row, Source, file or key concerned.
        message: What was found, one sentence.
        code: Stable code, when there is one.
        remedy: What to do, when there is something to do.
    """

    level: Level
    check: str
    subject: str
    message: str
    code: str | None = None
    remedy: str | None = None
