"""The Strategy's proposal: asked twice, judged once (spec/core.md §8, 5-7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, get_args

import attrs

from dsh_mnemon_core._engine.facts import UNAVAILABLE, Known
from dsh_mnemon_core._engine.generation import Generation
from dsh_mnemon_core._engine.registry import InstalledExtension
from dsh_mnemon_core._foreign import calling, contain, judging, plain
from dsh_mnemon_core.checks import (
    at_most,
    identifier,
    integer,
    one_of,
    same,
    subset,
    text,
)
from dsh_mnemon_core.errors import ViewRejected
from dsh_mnemon_core.identity import read_instance_key
from dsh_mnemon_core.scope import ViewRequest
from dsh_mnemon_core.source import ActionManifest, RouteManifest
from dsh_mnemon_core.strategy import (
    ANY,
    ExtensionContribution,
    ProjectionSpec,
    SourceSelection,
    StrategyManifest,
    ViewSpec,
)
from dsh_mnemon_core.values import canonical, json_clone, json_equal
from dsh_mnemon_core.view import Diagnostic, Guidance, ProjectionMode, Reminders
from dsh_mnemon_core.wire import to_wire

Texts = TypeVar("Texts", Guidance, Reminders)

_EXTENSION_LIMIT = 64_000
"""Characters of an extension value's canonical text."""

_GUIDANCE_LIMIT = 16_384
"""Characters of one guidance text."""


@attrs.frozen(kw_only=True)
class Chosen:
    """One selected Source after validation, in ViewSpec order."""

    known: Known
    required: bool
    mode: ProjectionMode
    max_characters: int
    include_projection: bool
    routes: tuple[RouteManifest, ...]
    actions: tuple[ActionManifest, ...]


@attrs.frozen(kw_only=True)
class Proposal:
    """A validated ViewSpec."""

    chosen: tuple[Chosen, ...]
    explanation: str
    guidance: Guidance | None
    diagnostics: tuple[Diagnostic, ...]


def collect_contributions(
    generation: Generation, request: ViewRequest, known: Sequence[Known]
) -> tuple[ExtensionContribution, ...]:
    """Call every active extension, then all of them again, and compare (§8 step 5).

    Raises:
        ViewRejected: ``extension-not-deterministic``, ``extension-too-large``,
            ``extension-raised``, or the code with which an extension refused; the message names
            the extension.
    """
    sources = tuple(item.available for item in known)
    active = generation.selection.extensions

    def ask(item: InstalledExtension) -> Any:
        raised = calling(ViewRejected, "extension-raised", f"{item.instance_key} failed")
        with judging(ViewRejected, "extension-malformed", item.instance_key), raised:
            return json_clone(plain(item.definition.contribute(request, sources)))

    first, second = [ask(item) for item in active], [ask(item) for item in active]
    contributions: list[ExtensionContribution] = []
    for item, value, again in zip(active, first, second, strict=True):
        if not json_equal(value, again):
            raise ViewRejected(
                "extension-not-deterministic", f"{item.instance_key} answered differently twice"
            )
        at_most(
            len(canonical(value)),
            _EXTENSION_LIMIT,
            f"characters contributed by {item.instance_key}",
            "extension-too-large",
            kind=ViewRejected,
        )
        manifest = item.definition.manifest
        contributions.append(
            ExtensionContribution(
                instance_key=item.instance_key,
                type_id=manifest.type_id,
                slot=manifest.slot,
                value=value,
            )
        )
    return tuple(contributions)


def propose(
    generation: Generation,
    request: ViewRequest,
    known: Sequence[Known],
    contributions: Sequence[ExtensionContribution],
) -> Proposal:
    """Ask the Strategy twice and validate its answer (§8 steps 6, 7).

    Raises:
        ViewRejected: With a proposal code of §23; if facts reads had failed, their diagnostics
            are in ``details["diagnostics"]``, so that the cause is visible.
    """
    strategy = generation.selection.strategy
    sources = tuple(item.available for item in known)

    def ask() -> ViewSpec:
        try:
            answer = plain(strategy.definition.compose(request, sources, contributions))
        except BaseException as error:
            raise contain(error)  # noqa: B904 - it has its cause already
        if not isinstance(answer, ViewSpec):
            raise ViewRejected("not-an-object", f"{strategy.instance_key} proposed no ViewSpec")
        return answer

    spec, again = ask(), ask()
    if not json_equal(to_wire(spec), to_wire(again)):
        raise ViewRejected(
            "strategy-not-deterministic", f"{strategy.instance_key} proposed differently twice"
        )
    try:
        with judging(ViewRejected, "spec-malformed", f"proposal of {strategy.instance_key}"):
            return _validate(spec, generation, request, known)
    except ViewRejected as error:
        failed = sorted_diagnostics(item.diagnostic for item in known)
        if not failed:
            raise
        details = {"diagnostics": to_wire(failed)}
        raise ViewRejected(error.code, error.message, details=details) from None


def sorted_diagnostics(items: Iterable[Diagnostic | None]) -> tuple[Diagnostic, ...]:
    """Sort diagnostics by instance key, then code; absent ones are left out."""
    present = [item for item in items if item is not None]
    return tuple(sorted(present, key=lambda d: (d.contribution_instance_key or "", d.code)))


def _validate(
    spec: ViewSpec, generation: Generation, request: ViewRequest, known: Sequence[Known]
) -> Proposal:
    strategy = generation.selection.strategy
    manifest = strategy.definition.manifest
    same(spec.strategy_type_id, manifest.type_id, "strategyTypeId", "spec-type-mismatch")
    at_most(
        len(spec.sources),
        min(manifest.max_sources, len(known)),
        "Sources",
        "spec-too-many-sources",
    )
    by_key = {item.live.key: item for item in known}
    seen: set[str] = set()
    chosen: list[Chosen] = []
    for selection in spec.sources:
        item = _choose(selection, by_key, seen, manifest, request)
        if item is not None:
            chosen.append(item)
    budget = request.budget
    at_most(
        sum(len(item.routes) for item in chosen),
        min(manifest.max_routes, budget.max_routes),
        "routes",
        "spec-too-many-routes",
    )
    at_most(
        sum(len(item.actions) for item in chosen),
        min(manifest.max_actions, budget.max_actions),
        "actions",
        "spec-too-many-actions",
    )
    return Proposal(
        chosen=tuple(chosen),
        guidance=_guidance(spec.guidance),
        explanation=text(spec.explanation, "explanation", 4000),
        diagnostics=_notes(spec, strategy.instance_key),
    )


def _choose(
    selection: SourceSelection,
    known: dict[str, Known],
    seen: set[str],
    manifest: StrategyManifest,
    request: ViewRequest,
) -> Chosen | None:
    """Validate one selection (§8 step 7.3); ``None`` for an unavailable optional Source."""
    key = read_instance_key(selection.source_instance_key, "source")
    if key in seen:
        raise ViewRejected("spec-source-duplicated", f"{key} is selected twice")
    seen.add(key)
    item = known.get(key)
    if item is None:
        raise ViewRejected("spec-source-unknown", f"{key} is not installed")
    source = item.available
    if manifest.supported_source_roles != (ANY,) and (
        source.role not in manifest.supported_source_roles
    ):
        raise ViewRejected("spec-role-unsupported", f"{key} has role {source.role}")
    if not isinstance(selection.required, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ViewRejected("spec-required-not-boolean", f"{key}: required must be a boolean")
    if source.availability == UNAVAILABLE:
        if selection.required:
            raise ViewRejected("spec-required-source-unavailable", f"{key} is not available")
        return None
    routes = _offered(selection.route_ids, source.routes, "spec-route-unavailable", key)
    actions = _offered(selection.action_ids, source.actions, "spec-action-unavailable", key)
    mode, ceiling = _projection(selection.projection, item, request)
    return Chosen(
        known=item,
        required=selection.required,
        mode=mode,
        max_characters=ceiling,
        include_projection=selection.projection is not None,
        routes=routes,
        actions=actions,
    )


def _offered(ids: Any, offered: Sequence[Any], code: str, key: str) -> tuple[Any, ...]:
    by_id = {item.id: item for item in offered}
    names = subset(tuple(ids or ()), tuple(by_id), f"selection of {key}", code)
    return tuple(by_id[name] for name in names)


def _projection(
    spec: ProjectionSpec | None, item: Known, request: ViewRequest
) -> tuple[ProjectionMode, int]:
    if spec is None:
        return "routed", 1  # the grant still comes from project()
    if "project" not in item.available.capabilities:
        raise ViewRejected("spec-projection-unavailable", f"{item.live.key} cannot project")
    ceiling = integer(spec.max_characters, "projection maxCharacters", 1, 10_000_000)
    known, label = get_args(ProjectionMode), f"projection mode of {item.live.key}"
    mode: ProjectionMode = one_of(spec.mode, known, label, "spec-projection-mode")
    return mode, min(ceiling, request.budget.max_projection_characters)


def _guidance(value: object) -> Guidance | None:
    reminders = _texts(getattr(value, "reminders", None), Reminders)
    return _texts(value, Guidance, reminders=reminders)


def _texts(value: object, cls: type[Texts], **judged: Any) -> Texts | None:
    """Judge an optional value that holds texts, but for the fields ``judged`` already."""
    if value is None:
        return None
    if not isinstance(value, cls):
        raise ViewRejected("spec-guidance-invalid", f"guidance needs {cls.__name__} there")
    texts: dict[str, Any] = {
        name: text(item, f"guidance {name}", _GUIDANCE_LIMIT)
        for name, item in attrs.asdict(value, recurse=False).items()
        if item is not None and name not in judged
    }
    return cls(**texts, **judged)


def _notes(spec: ViewSpec, strategy_key: str) -> tuple[Diagnostic, ...]:
    notes = tuple(spec.diagnostics or ())
    at_most(len(notes), 16, "diagnostics", "spec-too-many-diagnostics")
    return tuple(
        Diagnostic(
            code=identifier(note.code, "diagnostic code"),
            message=text(note.message, "diagnostic message", 300),
            contribution_instance_key=strategy_key,
        )
        for note in notes
    )
