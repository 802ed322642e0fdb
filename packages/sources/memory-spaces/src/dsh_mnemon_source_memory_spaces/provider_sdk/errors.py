"""The faults of a Provider (spec/README.md D48). No message holds a secret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from dsh_mnemon_core.errors import MnemonError

__all__ = (
    "ProviderBusy",
    "ProviderConflict",
    "ProviderError",
    "ProviderForbidden",
    "ProviderNotConfigured",
    "ProviderNotFound",
    "ProviderProtocol",
    "ProviderQuota",
    "ProviderRejected",
    "ProviderServerError",
    "ProviderTimeout",
    "ProviderUnauthenticated",
    "ProviderUnavailable",
    "ProviderUnsupported",
    "WriteOutcomeUnknown",
)


class ProviderError(MnemonError):
    """The root of what a Provider raises; each branch has the code of its name.

    Args:
        message: One redacted sentence of at most 500 characters.
        details: JSON-safe facts, such as ``status`` and ``retryAfterSeconds``.
    """

    code_of: ClassVar[str] = "provider-error"

    def __init__(self, message: str, *, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(self.code_of, message, details=details)


class ProviderUnavailable(ProviderError):
    """It could not be reached; nothing was sent."""

    code_of = "provider-unavailable"
    default_retryable = True


class ProviderTimeout(ProviderError):
    """A read did not end: its time was up, or the connection was lost before the answer."""

    code_of = "provider-timeout"
    default_retryable = True


class ProviderRejected(ProviderError):
    """It refused the request or its configuration; the same call will be refused again."""

    code_of = "provider-rejected"


class ProviderUnauthenticated(ProviderError):
    """The key is missing or wrong."""

    code_of = "provider-unauthenticated"


class ProviderQuota(ProviderError):
    """A quota is used up or a payment is due."""

    code_of = "provider-quota"


class ProviderForbidden(ProviderError):
    """The key may not do this."""

    code_of = "provider-forbidden"


class ProviderNotFound(ProviderError):
    """The item, namespace or route does not exist."""

    code_of = "provider-not-found"


class ProviderConflict(ProviderError):
    """The thing exists already or changed meanwhile."""

    code_of = "provider-conflict"


class ProviderBusy(ProviderError):
    """It asks to come back later."""

    code_of = "provider-busy"
    default_retryable = True


class ProviderServerError(ProviderError):
    """It failed while answering a read."""

    code_of = "provider-server-error"
    default_retryable = True


class ProviderProtocol(ProviderError):
    """It answered in a shape that cannot be read; never a success."""

    code_of = "provider-protocol"


class ProviderNotConfigured(ProviderError):
    """A required setting is missing; nothing was sent."""

    code_of = "provider-not-configured"


class ProviderUnsupported(ProviderError):
    """The Provider has no such operation.

    Args:
        operation: What was asked for.
    """

    code_of = "provider-unsupported"

    def __init__(self, operation: str) -> None:
        super().__init__(f"this Provider has no {operation}", details={"operation": operation})


class WriteOutcomeUnknown(ProviderError):
    """A write may or may not have happened; ``details`` say what to look at."""

    code_of = "write-outcome-unknown"
