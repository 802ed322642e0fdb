"""The authoring surface: all that a Source, Strategy or extension needs (spec/core.md §6.1, §18).

What is defined here registers contributions and shapes answers; the rest is re-exported, so that a
plugin needs no other module of the core but `errors`, and `slots` for an extension.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, Protocol
from uuid import uuid4

from dsh_mnemon_core.checks import (
    distinct,
    identifier,
    integer,
    optional_text,
    record,
    string_array,
    text,
    truncate,
)
from dsh_mnemon_core.errors import RegistrationError
from dsh_mnemon_core.evidence import Completion, Evidence, EvidenceItem, Receipt, Status
from dsh_mnemon_core.fiber import Context, Disposer, Fiber, NoConfig, Plugin
from dsh_mnemon_core.instant import iso_utc, utc_now
from dsh_mnemon_core.lineage import Lineage, LineageEnd, migration_lineage
from dsh_mnemon_core.plugin import Contributions, MemoryPlugin, ProvidedCapability
from dsh_mnemon_core.source import (
    ActionManifest,
    AvailableSource,
    FactsRequest,
    ManagementRequest,
    ManagementResult,
    MutateRequest,
    ProjectRequest,
    QueryRequest,
    RouteManifest,
    SourceContext,
    SourceDefinition,
    SourceFacts,
    SourceManifest,
    SourceRuntime,
)
from dsh_mnemon_core.strategy import (
    ExtensionContribution,
    ExtensionDefinition,
    ExtensionManifest,
    ProjectionSpec,
    ReadLimits,
    SourceSelection,
    StrategyDefinition,
    StrategyManifest,
    StrategyNote,
    StrategyTurn,
    TurnRead,
    ViewSpec,
)
from dsh_mnemon_core.values import (
    canonical,
    configuration_digest,
    digest,
    json_clone,
    thaw,
)
from dsh_mnemon_core.view import (
    Contribution,
    Fragment,
    Guidance,
    Presentation,
    PresentationItem,
    ReadGrant,
    Reminders,
)
from dsh_mnemon_core.wire import from_wire, to_wire

__all__ = (
    "MEMORY_SERVICE",
    "ActionManifest",
    "AvailableSource",
    "Completion",
    "Context",
    "Contribution",
    "Contributions",
    "Disposer",
    "Evidence",
    "EvidenceItem",
    "ExtensionContribution",
    "ExtensionDefinition",
    "ExtensionManifest",
    "FactsRequest",
    "Fiber",
    "Fragment",
    "Guidance",
    "Lineage",
    "LineageEnd",
    "ManagementRequest",
    "ManagementResult",
    "MemoryPlugin",
    "MemoryService",
    "MutateRequest",
    "NoConfig",
    "Plugin",
    "Presentation",
    "PresentationItem",
    "ProjectRequest",
    "ProjectionSpec",
    "ProvidedCapability",
    "QueryRequest",
    "ReadGrant",
    "ReadLimits",
    "Receipt",
    "Reminders",
    "RouteManifest",
    "SourceContext",
    "SourceDefinition",
    "SourceFacts",
    "SourceManifest",
    "SourceRuntime",
    "SourceSelection",
    "Status",
    "StrategyDefinition",
    "StrategyManifest",
    "StrategyNote",
    "StrategyTurn",
    "TurnRead",
    "ViewSpec",
    "canonical",
    "configuration_digest",
    "create_receipt",
    "digest",
    "distinct",
    "from_wire",
    "identifier",
    "install_memory",
    "integer",
    "json_clone",
    "migration_lineage",
    "optional_text",
    "record",
    "string_array",
    "text",
    "thaw",
    "to_wire",
    "truncate",
)

MEMORY_SERVICE: Final = "mnemonMemory"
"""Key of the one service: provided by the Host's row, required by every other (D28)."""


class MemoryService(Protocol):
    """What plugins see of the engine: one method."""

    def install_contributions(
        self,
        entry_id: str,
        contributions: Contributions,
        *,
        artifact_digest: str | None = None,
        effective_digest: str | None = None,
    ) -> Callable[[], None]:
        """Register a batch and return what removes it."""
        ...


def install_memory(
    ctx: Context,
    contributions: Contributions,
    *,
    instance_id: str | None = None,
    artifact_digest: str | None = None,
    effective_digest: str | None = None,
) -> Disposer:
    """Register a batch of contributions, which ends with the calling Fiber (spec/core.md §6.1).

    Args:
        ctx: The plugin's Context; its Plugin must require `MEMORY_SERVICE`.
        contributions: Any mixture of kinds; they come and go together.
        instance_id: Entry id, Text(300); else the location of the Fiber or its nearest ancestor.
        artifact_digest: Digest of the installed artefact, Text(500).
        effective_digest: Digest of a Source's private dependencies, Text(500).

    Returns:
        Removes the batch before the Fiber ends.

    Raises:
        RegistrationError: ``instance-id-missing``, or why the batch cannot join (§6.2).
        LifecycleError: ``service-missing`` or ``fiber-inactive``.
    """
    entry_id = (instance_id or "").strip() or (ctx.entry_id or "").strip()
    if not entry_id:
        raise RegistrationError(
            "instance-id-missing", "give instance_id, or mount the plugin with an entry_id"
        )
    service: MemoryService = ctx.require(MEMORY_SERVICE)
    remove = service.install_contributions(
        entry_id, contributions, artifact_digest=artifact_digest, effective_digest=effective_digest
    )
    return ctx.defer(remove)


_STATUS: Final[dict[Completion, Status]] = {
    "accepted": "succeeded",
    "candidate": "succeeded",
    "committed": "succeeded",
    "partial": "partial",
    "unknown": "partial",
    "failed": "failed",
    "cancelled": "cancelled",
}


def create_receipt(
    request: MutateRequest,
    *,
    completion: Completion = "unknown",
    revision: str | None = None,
    details: Any = None,
    now: Callable[[], datetime] = utc_now,
) -> Receipt:
    """Answer a mutation with a Receipt bound to its View, offer and Source (spec/core.md §18).

    Args:
        request: The mutation answered.
        completion: How durable the change is known to be; the status follows from it, and
            ``unknown`` counts as ``partial``.
        revision: Revision after the change.
        details: JSON owned by the Source.
        now: Clock; read for ``committed`` only, which alone has a commit time.
    """
    return Receipt(
        id=f"receipt:{uuid4()}",
        view_id=request.view.id,
        offer_id=request.offer.id,
        source_instance_key=request.offer.source_instance_key,
        status=_STATUS[completion],
        completion=completion,
        committed_at=iso_utc(now()) if completion == "committed" else None,
        revision=revision,
        details=details,
    )
