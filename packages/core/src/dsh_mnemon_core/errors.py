"""The error tree of dsh-mnemon.

::

    MnemonError
      ConfigurationError      a setting is bad or missing
      ContractError           a plugin broke the protocol
        DefinitionError         a manifest or descriptor is malformed
        RegistrationError       a batch cannot join the registry
        CompositionRejected     a candidate generation cannot be built
        ViewRejected            facts, proposal or contribution of one View are wrong
          SourceReadFailure       a required Source could not be read
        EvidenceInvalid         a Source or turn policy answered malformed Evidence
        ReceiptInvalid          a Source answered a malformed Receipt
      InputError              the caller's value does not fit
      AuthorityError          scope, grant, offer or switch refuses
        BudgetExhausted         a call budget of the executing turn is used up
        ManagementError         a management request is refused
      ConflictError           a revision moved, a name is taken, a match is ambiguous
      CapacityError           a byte or entry limit would be exceeded
      LifecycleError          the thing addressed is closed, pending or elsewhere
        TurnError               a turn is unknown, ended or belongs to somebody else
        CompositionUnavailable  no generation serves
      StorageError            a lock, file or store cannot be used
      SourceFault             a Source raised while answering a route, action or management call

Codes are the contract; classes and wording are not (spec/README.md D29).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

__all__ = (
    "AuthorityError",
    "BudgetExhausted",
    "CapacityError",
    "CompositionRejected",
    "CompositionUnavailable",
    "ConfigurationError",
    "ConflictError",
    "ContractError",
    "DefinitionError",
    "EvidenceInvalid",
    "InputError",
    "LifecycleError",
    "ManagementError",
    "MnemonError",
    "ReceiptInvalid",
    "RegistrationError",
    "SourceFault",
    "SourceReadFailure",
    "StorageError",
    "TurnError",
    "ViewRejected",
)


class MnemonError(Exception):
    """The root of every error a caller of dsh-mnemon may meet.

    Args:
        code: Stable kebab-case identifier; part of the API.
        message: One sentence for a person: what is wrong, where, what to do.
        details: JSON-safe facts that are safe to show; never credentials.
        retryable: Whether the same call may succeed later unchanged.
    """

    default_retryable: ClassVar[bool] = False

    def __init__(
        self,
        code: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        retryable: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details: Mapping[str, Any] = MappingProxyType(dict(details or {}))
        self.retryable = self.default_retryable if retryable is None else retryable

    def to_wire(self) -> dict[str, Any]:
        """Return ``{code, message, details?, retryable?}`` for JSON output."""
        wire: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.details:
            wire["details"] = dict(self.details)
        if self.retryable:
            wire["retryable"] = True
        return wire


class ConfigurationError(MnemonError):
    """Raised when a setting is bad or missing; names the key and the remedy."""


class ContractError(MnemonError):
    """Raised when a plugin breaks the protocol."""


class DefinitionError(ContractError):
    """Raised when a manifest, descriptor or definition is malformed."""


class RegistrationError(ContractError):
    """Raised when a contribution batch cannot join the registry."""


class CompositionRejected(ContractError):
    """Raised when a candidate generation cannot be built."""


class ViewRejected(ContractError):
    """Raised when facts, a proposal or a contribution make a View impossible."""


class SourceReadFailure(ViewRejected):
    """Raised when a required Source failed or timed out while a View was composed."""

    default_retryable = True


class EvidenceInvalid(ContractError):
    """Raised when Evidence is malformed or bound to something else."""


class ReceiptInvalid(ContractError):
    """Raised when a Receipt is malformed, contradictory or bound to something else."""


class InputError(MnemonError):
    """Raised when a caller's value does not fit what is accepted."""


class AuthorityError(MnemonError):
    """Raised when scope, grant, offer or a read-only switch refuses the call."""


class BudgetExhausted(AuthorityError):
    """Raised when the executing turn has used up a call budget."""


class ManagementError(AuthorityError):
    """Raised when a management request is unconfirmed, unsupported or stale."""


class ConflictError(MnemonError):
    """Raised when a revision moved, a name is taken or a match is ambiguous."""


class CapacityError(MnemonError):
    """Raised when a byte or entry limit would be exceeded; nothing was written."""


class LifecycleError(MnemonError):
    """Raised when the thing addressed is closed, pending or served elsewhere."""


class TurnError(LifecycleError):
    """Raised when a turn is unknown, ended, preparing or belongs to another scope."""


class CompositionUnavailable(LifecycleError):
    """Raised when no generation serves; carries the evaluation that says why.

    Attributes:
        evaluation: The latest ``EvaluationReport`` of the generation host (spec/core.md §4.9).
    """

    default_retryable = True

    def __init__(self, evaluation: Any) -> None:
        super().__init__(
            "memory-composition-unavailable",
            "No memory composition is serving; the conversation continues without memory.",
        )
        self.evaluation = evaluation


class StorageError(MnemonError):
    """Raised when a lock, a file or a store cannot be used."""


class SourceFault(MnemonError):
    """Raised when a Source raised a foreign exception while answering one call.

    The original exception is the cause; its text is never part of the message.
    """
