"""Which settings may be changed through the control plane (host.md §2.6, last paragraph)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dsh_mnemon_core.errors import AuthorityError, InputError

from dsh_mnemon_host.settings.operations import (
    MISSING,
    Operation,
    OperationLike,
    Place,
    read_operations,
)

__all__ = ("MAX_OPERATIONS", "MUTABLE_KEYS", "require_mutable")

MAX_OPERATIONS: Final = 16

MUTABLE_KEYS: Final = (
    "storageScope", "runtimeUserScope", "cliPath", "dataDir", "customPackId", "customPacks",
    "store", "timeoutMs", "defaultRecallLimit", "runtimeMemory", "embedding", "recallQuality",
    "routingGuidance", "lifecycleEnabled", "recallMode", "writebackMode", "idleReviewMs",
    "idleReview", "displayMode", "tabEnabled", "writeEnabled", "persistenceStrategy",
    "taskAgentModel",
)  # fmt: skip
"""Keys of ``mnemon`` that may be set or unset as a whole."""

_SHOWN: Final = ("turnBar", "saveAction")


def _layer_switch(path: Place) -> bool:
    return len(path) == 4 and path[:2] == ("memoryTopology", "layers") and path[3] == "enabled"


def _mutable(ns: str, operation: Operation) -> bool:
    path = operation.path
    if ns == "mnemon-ui":
        return len(path) == 1 and path[0] in _SHOWN
    if ns != "mnemon":
        return False
    if _layer_switch(path):
        return operation.value is MISSING or isinstance(operation.value, bool)
    if len(path) == 2:
        return path[0] == "conversationInteraction" and path[1] in _SHOWN
    return len(path) == 1 and path[0] in MUTABLE_KEYS


def require_mutable(ns: str, ops: Sequence[OperationLike]) -> tuple[Operation, ...]:
    """Read the operations of a control-plane call and check that each may be made that way.

    Args:
        ns: Namespace addressed.
        ops: 1..16 operations.

    Returns:
        The operations, read.

    Raises:
        AuthorityError: ``settings-path-immutable``, naming the first path that is refused.
        InputError: ``settings-operation-invalid``.
    """
    operations = read_operations(ops)
    if len(operations) > MAX_OPERATIONS:
        message = f"one call may make at most {MAX_OPERATIONS} operations"
        raise InputError("settings-operation-invalid", message)
    for operation in operations:
        if not _mutable(ns, operation):
            key = ".".join(operation.path)
            message = f"{key} of {ns} cannot be changed this way; edit the settings file instead"
            raise AuthorityError("settings-path-immutable", message, details={"key": key})
    return operations
