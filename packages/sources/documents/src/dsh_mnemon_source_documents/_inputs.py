"""Reading what callers give to routes, actions and management (spec/sources.md §3.2, §3.3, D56)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar, cast

import attrs
from dsh_mnemon_core.checks import well_formed
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.sdk import integer, record, text
from dsh_mnemon_core.wire import nearest
from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel

from dsh_mnemon_source_documents._text import strip
from dsh_mnemon_source_documents.actions import (
    MAX_RESULTS,
    CreateInput,
    ImportedInput,
    ManageInput,
)
from dsh_mnemon_source_documents.contracts import MutationAction

_DEFAULT_RESULTS: Final = 10
_MAX_QUERY: Final = 2000

MAX_IMPORTED: Final = 100
"""Texts of one import at most: so many are locked, written and synced in one go."""


@attrs.frozen(kw_only=True)
class Mutation:
    """One requested change, texts as they were given.

    Attributes:
        action: What to do.
        id: The document, for an update.
        revision: The revision of it that the caller saw.
        title: New title; absent keeps it.
        description: New description; absent keeps it, blank clears it.
        content: New body; absent keeps it.
        source_paths: New source paths; absent keeps them.
        session_ids: Further sessions.
    """

    action: MutationAction
    id: str | None = None
    revision: int | None = None
    title: str | None = None
    description: str | None = None
    content: str | None = None
    source_paths: tuple[str, ...] | None = None
    session_ids: tuple[str, ...] | None = None


_Model = TypeVar("_Model", bound=BaseModel)

_CODES: Final = {
    "missing": "text-required",
    "string_type": "text-not-string",
    "string_too_long": "text-too-long",
    "string_unicode": "text-not-unicode",
    "too_long": "string-array-invalid",
    "tuple_type": "string-array-invalid",
    "literal_error": "action-unsupported",
    "extra_forbidden": "key-unknown",
}


def _read(model: type[_Model], value: object, label: str) -> _Model:
    try:
        return model.model_validate(value, by_alias=True, by_name=False)
    except ValidationError as error:
        raise _refusal(model, error, label) from None


def _refusal(model: type[BaseModel], error: ValidationError, label: str) -> InputError:
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    if not problem["loc"]:
        return InputError("not-an-object", f"the input of {label} must be an object")
    field = str(problem["loc"][0])
    details = {"field": field}
    known = [to_camel(name) for name in model.model_fields]
    code = _CODES.get(problem["type"], "integer-range")
    if code == "key-unknown":
        hint = nearest(field, known)
        return InputError(code, f"{label} has no field {field!r}{hint}", details=details)
    if field in ("sourcePaths", "sessionIds"):
        code = "string-array-invalid"
    return InputError(code, f"{field}: {problem['msg']}", details=details)


def read_create(value: object) -> Mutation:
    """Read the input of ``create``.

    Raises:
        InputError: ``not-an-object``, ``key-unknown``, ``text-required``, ``text-not-string``,
            ``text-too-long``, ``text-not-unicode`` or ``string-array-invalid``;
            ``details.field`` names the field.
    """
    read = _read(CreateInput, value, "create")
    return Mutation(action="create", **dict(read))


def read_import(value: object) -> list[Mutation | InputError]:
    """Read the input of ``import``: ``{documents: [{title, content}]}``, at most 100 of them.

    Returns:
        For each text what `read_create` returns, or what it would raise.

    Raises:
        InputError: ``not-an-object`` or ``documents-invalid``.
    """
    texts = record(value, "input").get("documents")
    if not isinstance(texts, (list, tuple)) or len(cast("list[object]", texts)) > MAX_IMPORTED:
        raise InputError(
            "documents-invalid",
            f"documents must be a list of at most {MAX_IMPORTED} objects",
            details={"field": "documents", "limit": MAX_IMPORTED},
        )
    return [_imported(text) for text in cast("list[object]", texts)]


def _imported(value: object) -> Mutation | InputError:
    try:
        return Mutation(action="create", **dict(_read(ImportedInput, value, "import")))
    except InputError as error:
        return error


def read_mutation(value: object, *, guarded: bool = False) -> Mutation:
    """Read the input of ``manage`` or of the management operation ``mutate``.

    Args:
        value: A JSON object as `MANAGE_SCHEMA` describes it.
        guarded: Whether new content needs the revision that it replaces (D56).

    Raises:
        InputError: As `read_create`, ``action-unsupported``, ``integer-range``,
            ``revision-ambiguous`` or ``revision-required``.
    """
    read = _read(ManageInput, value, "manage")
    given = {read.revision, read.expected_revision} - {None}
    if len(given) > 1:
        raise InputError(
            "revision-ambiguous", "revision and expectedRevision say the same thing; give one"
        )
    mutation = Mutation(
        action=read.action,
        id=read.id,
        revision=next(iter(given), None),
        title=read.title,
        description=read.description,
        content=read.content,
        source_paths=read.source_paths,
        session_ids=read.session_ids,
    )
    if (
        guarded
        and mutation.action == "update"
        and mutation.content is not None
        and mutation.revision is None
    ):
        raise InputError(
            "revision-required",
            "new content replaces the whole document: read it first and give its revision",
            details={"field": "revision"},
        )
    return mutation


@attrs.frozen(kw_only=True)
class Search:
    """A search as it is carried out: stripped query, results wanted, whether archived count."""

    query: str
    limit: int
    include_archived: bool


def read_search(value: Mapping[str, Any]) -> Search:
    """Read the input of the route ``search``; what is no limit counts as ten (§3.2).

    Raises:
        InputError: ``text-not-string``, ``text-too-long`` or ``text-not-unicode``.
    """
    limit = value.get("limit")
    if isinstance(limit, float) and limit.is_integer():
        limit = int(limit)
    if isinstance(limit, bool) or not isinstance(limit, int):
        limit = _DEFAULT_RESULTS
    return Search(
        query=read_query(value.get("query")),
        limit=min(max(limit, 1), MAX_RESULTS),
        include_archived=value.get("includeArchived") is True,
    )


def read_query(value: object) -> str:
    """Read a query of at most 2 000 characters; absent and blank ones are the same.

    Raises:
        InputError: ``text-not-string``, ``text-too-long`` or ``text-not-unicode``.
    """
    if value is not None and not isinstance(value, str):
        raise InputError("text-not-string", "query must be a string", details={"field": "query"})
    query = strip(value or "")
    if len(query) > _MAX_QUERY:
        raise InputError(
            "text-too-long",
            f"a query has at most {_MAX_QUERY} characters, this one has {len(query)}",
            details={"field": "query", "characters": len(query), "limit": _MAX_QUERY},
        )
    return well_formed(query, "query")


def read_page(value: Mapping[str, Any]) -> tuple[str, int]:
    """Read the input of the route ``read``: document id and first character.

    Raises:
        InputError: ``text-not-string``, ``text-required``, ``text-too-long`` or ``integer-range``.
    """
    return text(value.get("id"), "id", 300), integer(
        value.get("offset"), "offset", 0, 2**53 - 1, fallback=0
    )
