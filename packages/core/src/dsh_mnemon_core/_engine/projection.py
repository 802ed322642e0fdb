"""Projections and grants of the selected Sources, judged (spec/core.md §4.7, §8 step 8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import attrs

from dsh_mnemon_core._engine.generation import Generation
from dsh_mnemon_core._engine.proposal import Chosen
from dsh_mnemon_core._engine.reading import read_each
from dsh_mnemon_core._foreign import judging
from dsh_mnemon_core.checks import (
    at_most,
    distinct,
    integer,
    optional_text,
    same,
    text,
    well_formed,
)
from dsh_mnemon_core.errors import SourceReadFailure, ViewRejected
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.source import ProjectRequest
from dsh_mnemon_core.values import json_clone
from dsh_mnemon_core.view import (
    Contribution,
    Diagnostic,
    Fragment,
    Presentation,
    PresentationItem,
    ReadGrant,
)

_MOST_ITEMS = 1_000_000_000


@attrs.frozen(kw_only=True)
class Projected:
    """A selected Source with its validated contribution, or the outage that removed it."""

    chosen: Chosen
    contribution: Contribution
    outage: Diagnostic | None


async def project_sources(
    generation: Generation, scope: OperationScope, chosen: Sequence[Chosen]
) -> tuple[Projected, ...]:
    """Ask every selected Source for its projection and grant, in ViewSpec order.

    Raises:
        SourceReadFailure: A required Source failed or timed out.
        ViewRejected: A contribution is malformed.
    """

    async def read(item: Chosen) -> Contribution:
        return await item.known.live.runtime.project(
            ProjectRequest(
                source_instance_key=item.known.live.key,
                scope=scope,
                expected_revision=item.known.available.revision,
                include_projection=item.include_projection,
                mode=item.mode,
                max_characters=item.max_characters,
            )
        )

    return await read_each(
        chosen,
        key=lambda item: item.known.live.key,
        phase="project",
        kind=Contribution,
        timeout_ms=generation.options.source_timeout_ms,
        read=read,
        judge=_judge,
    )


def _judge(item: Chosen, answer: Contribution | Diagnostic) -> Projected:
    if not isinstance(answer, Diagnostic):
        return Projected(chosen=item, contribution=_validate(item, answer), outage=None)
    if item.required:
        raise SourceReadFailure(answer.code, answer.message)
    return Projected(chosen=item, contribution=Contribution(), outage=answer)


def _validate(item: Chosen, contribution: Contribution) -> Contribution:
    key = item.known.live.key
    fragments = tuple(_fragment(item, fragment) for fragment in contribution.fragments)
    grant = contribution.read_grant
    if grant is not None:
        grant = _grant(item, grant)
    elif item.routes:
        raise ViewRejected("grant-missing", f"{key} offers routes without a ReadGrant")
    shown = contribution.presentation
    return Contribution(
        fragments=fragments,
        read_grant=grant,
        presentation=None if shown is None else _presentation(key, shown),
    )


def _fragment(item: Chosen, fragment: Fragment) -> Fragment:
    key = item.known.live.key
    same(fragment.source_instance_key, key, "instance key", "fragment-source-mismatch")
    if not item.include_projection:
        raise ViewRejected("fragment-unrequested", f"{key} projects without being asked")
    same(fragment.mode, item.mode, "mode of a fragment", "fragment-mode-mismatch")
    given = cast("object", fragment.text)  # foreign: a text that is no string counts as empty
    content = given if isinstance(given, str) else ""
    at_most(len(content), item.max_characters, "characters of a fragment", "fragment-over-budget")
    return Fragment(
        id=text(fragment.id, "fragment id", 300),
        source_instance_key=key,
        mode=item.mode,
        text=well_formed(content, "fragment text"),
        revision=text(fragment.revision, "fragment revision", 500),
        provenance=json_clone(fragment.provenance, "fragment provenance"),
    )


def _grant(item: Chosen, grant: ReadGrant) -> ReadGrant:
    key = item.known.live.key
    same(grant.source_instance_key, key, "instance key of the grant", "grant-source-mismatch")
    consistency = item.known.live.manifest.consistency
    same(grant.consistency, consistency, "its consistency", "grant-consistency-mismatch")
    return ReadGrant(
        id=text(grant.id, "grant id", 300),
        source_instance_key=key,
        schema=text(grant.schema, "grant schema", 300),
        value=json_clone(grant.value, "grant value"),
        revision=text(grant.revision, "grant revision", 500),
        consistency=consistency,
    )


def _presentation(key: str, shown: Presentation) -> Presentation:
    with judging(ViewRejected, "presentation-invalid", key, keep_codes=False):
        visible = integer(shown.visible_items, "visibleItems", 0, _MOST_ITEMS)
        total = shown.total_items
        if total is not None:
            total = integer(total, "totalItems", visible, _MOST_ITEMS)
        items = tuple(
            PresentationItem(
                id=text(item.id, "item id", 300),
                title=text(item.title, "item title", 160),
                excerpt=optional_text(item.excerpt, "item excerpt", 600),
            )
            for item in shown.items or ()
        )
        distinct([item.id for item in items], "items")
        integer(len(items), "number of items", 0, min(24, visible))
        return Presentation(visible_items=visible, total_items=total, items=items or None)
