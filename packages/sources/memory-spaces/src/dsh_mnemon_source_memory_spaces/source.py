"""The Memory Spaces Source: durable evidence, held by Providers (spec/sources.md §4)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Final

from dsh_mnemon_core.errors import ConfigurationError, ConflictError
from dsh_mnemon_core.files import LockTiming
from dsh_mnemon_core.instant import utc_now
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.sdk import (
    Contribution,
    Evidence,
    FactsRequest,
    Fragment,
    ManagementRequest,
    ManagementResult,
    MutateRequest,
    ProjectRequest,
    QueryRequest,
    Receipt,
    SourceContext,
    SourceDefinition,
    SourceFacts,
    create_receipt,
    to_wire,
    truncate,
)

from dsh_mnemon_source_memory_spaces._children import MountedChildren
from dsh_mnemon_source_memory_spaces._config import Config, RecallQuality, settings
from dsh_mnemon_source_memory_spaces._facts import cover, facts_of, grant_of, presentation_of
from dsh_mnemon_source_memory_spaces._paths import short_errors
from dsh_mnemon_source_memory_spaces._recall.quality import (
    POLICIES,
    Quality,
    QualityPolicy,
    Thresholds,
)
from dsh_mnemon_source_memory_spaces._registry.records import Catalogue
from dsh_mnemon_source_memory_spaces.actions import MANIFEST

if TYPE_CHECKING:
    from dsh_mnemon_source_memory_spaces._memory import SpacesMemory

__all__ = ("MemorySpacesSource", "memory_spaces_source")

_MANAGEMENT: Final = "management."
_CAPTURES: Final = 64


class MemorySpacesSource:
    """One mounted Memory Spaces Source.

    Facts and projections read local files only; no Provider is asked for them. A projection
    answers from the capture of its facts (D26). Nothing a Provider does is raised by a read.

    What answers a call is imported by the call: it is most of this package, and many a Host opens
    and never asks for a Space.

    Args:
        make: Makes the parts it works with, at the first call.
    """

    def __init__(self, make: Callable[[], SpacesMemory]) -> None:
        self._make = make
        self._made: SpacesMemory | None = None
        self._captures: OrderedDict[tuple[OperationScope, str], Catalogue] = OrderedDict()

    @property
    def _memory(self) -> SpacesMemory:
        if self._made is None:
            self._made = self._make()
        return self._made

    async def facts(self, request: FactsRequest) -> SourceFacts:
        """Tell what the registered Spaces can do; see `_facts.facts_of`."""
        if request.scenario.startswith(_MANAGEMENT):
            return self._facts(await self._memory.spaces.current())
        with short_errors():
            catalogue = await self._memory.spaces.current()
        self._capture(request.scope, catalogue)
        return self._facts(catalogue)

    def _facts(self, catalogue: Catalogue) -> SourceFacts:
        write_enabled = self._memory.config.write_enabled
        return facts_of(self._memory.key, catalogue, write_enabled=write_enabled)

    def _capture(self, scope: OperationScope, catalogue: Catalogue) -> None:
        place = (scope, catalogue.revision)
        self._captures[place] = catalogue
        self._captures.move_to_end(place)
        while len(self._captures) > _CAPTURES:
            self._captures.popitem(last=False)

    async def project(self, request: ProjectRequest) -> Contribution:
        """Return the cover and the grant of the expected revision.

        Raises:
            ConflictError: ``projection-revision-changed``.
            StorageError: The registry cannot be read.
        """
        catalogue = self._captures.get((request.scope, request.expected_revision))
        if catalogue is None:
            with short_errors():
                catalogue = await self._memory.spaces.current()
        if catalogue.revision != request.expected_revision:
            raise ConflictError(
                "projection-revision-changed", "the Memory Spaces changed while a View was composed"
            )
        key = self._memory.key
        grant = grant_of(key, catalogue)
        if not request.include_projection:
            return Contribution(read_grant=grant)
        fragment = Fragment(
            id=f"{key}/projection",
            source_instance_key=key,
            mode=request.mode,
            text=truncate(cover(catalogue), request.max_characters),
            revision=request.expected_revision,
            provenance={"sourceTypeId": MANIFEST.type_id},
        )
        return Contribution(
            fragments=(fragment,), read_grant=grant, presentation=presentation_of(catalogue)
        )

    async def query(self, request: QueryRequest) -> Evidence:
        """Answer ``inspect``, ``recall`` or ``related``; see `_query.query`."""
        from dsh_mnemon_source_memory_spaces._query import query

        with short_errors():
            return await query(self._memory, request)

    async def mutate(self, request: MutateRequest) -> Receipt:
        """Execute an action; the Receipt says how durable the change is known to be (§4.9).

        Raises:
            MnemonError: As `_execute.execute`. What a Provider refuses is a failed Receipt.
        """
        from dsh_mnemon_source_memory_spaces._execute import execute

        with short_errors():
            done = await execute(self._memory, request)
            catalogue = await self._memory.spaces.current()
        return create_receipt(
            request,
            completion=done.completion,
            revision=catalogue.revision,
            details=done.details,
            now=self._memory.clock,
        )

    async def manage(self, request: ManagementRequest) -> ManagementResult:
        """Perform one operation of §4.10; ``revision`` is the one after it.

        Raises:
            MnemonError: The operation is unknown, refused or fails.
        """
        from dsh_mnemon_source_memory_spaces import _manage

        perform = _manage.mutate if request.mode == "mutate" else _manage.read
        value = await perform(self._memory, request)
        facts = self._facts(await self._memory.spaces.current())
        return ManagementResult(revision=facts.revision, value=to_wire(value))

    async def dispose(self) -> None:
        """Close the Providers' adapters, last made first.

        Raises:
            ExceptionGroup: What could not be closed; the others are closed.
        """
        if self._made is not None:
            await self._made.children.aclose()


def _quality(chosen: RecallQuality, policies: Mapping[str, QualityPolicy]) -> Quality:
    policy = policies.get(chosen.policy)
    if policy is None:
        raise ConfigurationError(
            "recall-policy-unknown",
            f"no recall policy is registered as {chosen.policy!r}; there are {', '.join(policies)}",
        )
    thresholds = Thresholds(
        low=chosen.low_score_threshold,
        high=chosen.high_score_threshold,
        multiplier=chosen.candidate_multiplier,
        max_medium=chosen.max_medium_results,
        max_unknown=chosen.max_unknown_results,
    )
    return Quality(chosen.policy, policy, thresholds)


def memory_spaces_source(
    config: Config,
    mounted: MountedChildren,
    *,
    policies: Mapping[str, QualityPolicy] | None = None,
    clock: Callable[[], datetime] = utc_now,
    timing: LockTiming | None = None,
) -> SourceDefinition:
    """Define a Memory Spaces Source over its mounted Providers.

    Args:
        config: Configuration of the row; what it sets explicitly wins over the Host's values.
        mounted: The Providers; each generation makes its own adapters of them.
        policies: Recall policies besides the shipped ones, by id.
        clock: The time, aware.
        timing: Waiting times of the registry lock.
    """
    known = {**POLICIES, **(policies or {})}

    def create(context: SourceContext) -> MemorySpacesSource:
        key = context.source_instance_key
        chosen = settings(config, context.configuration, key, context.secrets)
        quality = _quality(chosen.config.recall_quality, known)

        def make() -> SpacesMemory:
            from dsh_mnemon_source_memory_spaces._memory import open_memory

            return open_memory(key, chosen, mounted, quality=quality, clock=clock, timing=timing)

        return MemorySpacesSource(make)

    return SourceDefinition(manifest=MANIFEST, create=create)
