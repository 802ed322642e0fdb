"""The management plane: which operation is asked for, and whether it may run (§1.3, §4.10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from dsh_mnemon_core.errors import AuthorityError, InputError, ManagementError
from dsh_mnemon_core.sdk import ManagementRequest
from dsh_mnemon_core.wire import nearest

from dsh_mnemon_source_memory_spaces._memory import SpacesMemory
from dsh_mnemon_source_memory_spaces._mutations import MUTATIONS
from dsh_mnemon_source_memory_spaces._reads import READS

__all__ = ("mutate", "read")

_HARMLESS: Final = frozenset({"reload"})
"""Mutations that change nothing that is stored."""

Operation = TypeVar("Operation")


async def read(memory: SpacesMemory, request: ManagementRequest) -> Any:
    """Perform a management read.

    Raises:
        InputError: ``operation-unsupported`` or a malformed input.
    """
    return await _chosen(READS, request)(memory, request.input)


async def mutate(memory: SpacesMemory, request: ManagementRequest) -> Any:
    """Perform a confirmed management mutation.

    The revision is compared before anything is asked; changes of the registry compare it again
    under their lock. No lock is held while a Provider is asked.

    Raises:
        ManagementError: ``management-unconfirmed`` or ``management-revision-conflict``.
        AuthorityError: ``read-only``.
        InputError: ``operation-unsupported`` or a malformed input.
        StorageError: The registry cannot be read, so that nobody knows what would be changed.
    """
    operation = _chosen(MUTATIONS, request)
    if request.confirmed is not True or not request.expected_revision:
        raise ManagementError(
            "management-unconfirmed",
            "this change needs a confirmation and the revision it was prepared for",
        )
    if not memory.config.write_enabled and request.operation not in _HARMLESS:
        raise AuthorityError("read-only", "Memory Spaces is configured not to change anything")
    catalogue = await memory.spaces.current()
    catalogue.check_known()
    current = catalogue.revision
    if current != request.expected_revision:
        raise ManagementError(
            "management-revision-conflict",
            "the Memory Spaces changed since this was prepared; look again",
            details={"expected": request.expected_revision, "current": current},
        )
    return await operation(memory, request.input, current)


def _chosen(operations: Mapping[str, Operation], request: ManagementRequest) -> Operation:
    try:
        return operations[request.operation]
    except KeyError:
        hint = nearest(request.operation, list(operations))
        raise InputError(
            "operation-unsupported",
            f"Memory Spaces has no management {request.mode} {request.operation!r}{hint}",
        ) from None
