"""What the Documents Source offers: manifest, inputs of routes and actions (§3.2, §3.3, D56)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from dsh_mnemon_core.sdk import ActionManifest, RouteManifest, SourceManifest
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from dsh_mnemon_source_documents.contracts import (
    MAX_SESSIONS,
    MAX_SOURCE_PATHS,
    PAGE_CHARACTERS,
    MutationAction,
)

__all__ = (
    "CREATE_SCHEMA",
    "MANAGE_SCHEMA",
    "MANIFEST",
    "MAX_RESULTS",
    "READ_SCHEMA",
    "SEARCH_SCHEMA",
    "CreateInput",
    "ImportedInput",
    "ManageInput",
    "ReadInput",
    "SearchInput",
)


_Id = Annotated[str, Field(max_length=300)]
_Revision = Annotated[int, Field(ge=1, le=2**53 - 1)]


class _Input(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=False
    )


class SearchInput(_Input):
    """Input of the route ``search``."""

    query: str = Field(
        description="Words that title, description or text of a document hold; blank lists the "
        "most recent ones."
    )
    limit: int | None = Field(None, description="At most this many documents, 1 to 20.")
    include_archived: bool | None = Field(None, description="Search archived documents as well.")


class ReadInput(_Input):
    """Input of the route ``read``."""

    id: str = Field(description="Id of the document, as a search shows it.")
    offset: int | None = Field(
        None, description="First character wanted; nextOffset of the page before it."
    )


class CreateInput(_Input):
    """Input of the action ``create``."""

    title: str = Field(max_length=1000, description="One line, at most 160 characters.")
    content: str = Field(max_length=1_000_000, description="The text, Markdown.")
    description: str | None = Field(
        None, max_length=4000, description="What it is about, at most 600 characters."
    )
    source_paths: tuple[str, ...] | None = Field(
        None,
        max_length=MAX_SOURCE_PATHS,
        description="Files of the workspace that it tells about.",
    )
    session_ids: tuple[str, ...] | None = Field(
        None, max_length=MAX_SESSIONS, description="Sessions it comes from."
    )


class ImportedInput(_Input):
    """One text of the management operation ``import``; limits as for `CreateInput`."""

    title: str = Field(max_length=1000)
    content: str = Field(max_length=1_000_000)


class ManageInput(_Input):
    """Input of the action ``manage`` and of the management operation ``mutate``."""

    action: MutationAction
    id: _Id | None = Field(None, description="For update: the document.")
    revision: _Revision | None = Field(
        None,
        description="For update: the revision that you read. New content is refused without it, "
        "and when the document has changed since.",
    )
    expected_revision: _Revision | None = Field(None, description="The same as revision.")
    title: str | None = Field(
        None, max_length=1000, description="One line, at most 160 characters."
    )
    description: str | None = Field(
        None, max_length=4000, description="What it is about, at most 600 characters."
    )
    content: str | None = Field(None, max_length=1_000_000, description="The whole text, Markdown.")
    source_paths: tuple[str, ...] | None = Field(
        None,
        max_length=MAX_SOURCE_PATHS,
        description="Files of the workspace that it tells about.",
    )
    session_ids: tuple[str, ...] | None = Field(
        None, max_length=MAX_SESSIONS, description="Sessions it comes from."
    )


def _property(described: Mapping[str, Any]) -> dict[str, Any]:
    """Reduce a derived property to what a caller needs; optional ones are absent, never null."""
    options = described.get("anyOf", [described])
    merged = {**described, **next(item for item in options if item.get("type") != "null")}
    shown = {key: merged[key] for key in ("type", "description", "enum") if key in merged}
    if merged.get("type") == "array":
        shown["items"] = {"type": merged["items"]["type"]}
    return shown


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    derived = model.model_json_schema()
    properties = derived["properties"].items()
    return {
        "type": derived["type"],
        "required": derived["required"],
        "additionalProperties": derived["additionalProperties"],
        "properties": {name: _property(described) for name, described in properties},
    }


SEARCH_SCHEMA: Final = _schema(SearchInput)
"""JSON Schema of the input of ``search``, key order included."""

READ_SCHEMA: Final = _schema(ReadInput)
"""JSON Schema of the input of ``read``."""

MANAGE_SCHEMA: Final = _schema(ManageInput)
"""JSON Schema of the input of ``manage``."""

CREATE_SCHEMA: Final = _schema(CreateInput)
"""JSON Schema of the input of ``create``."""

MAX_RESULTS: Final = 20
"""Documents of one search at most."""

MANIFEST: Final = SourceManifest(
    type_id="documents",
    package_name="dsh-mnemon-source-documents",
    role="narrative",
    capabilities=("status", "project", "search", "read", "write"),
    consistency="namespace-pinned-live-read",
    routes=(
        RouteManifest(
            id="search",
            description=(
                "Find project documents by words of their title, description or text. Each comes "
                "with the passage around the words and with its revision; where the passage is not "
                "the whole text it says truncated, and the route read has the rest."
            ),
            capability="search",
            input_schema=SEARCH_SCHEMA,
            max_calls=4,
            max_results=MAX_RESULTS,
            max_characters=16_000,
        ),
        RouteManifest(
            id="read",
            description=(
                f"Read a project document whole, in pages of at most {PAGE_CHARACTERS} characters, "
                "with the revision that an update of it has to name."
            ),
            capability="read",
            input_schema=READ_SCHEMA,
            max_calls=20,
            max_results=1,
            max_characters=PAGE_CHARACTERS,
        ),
    ),
    actions=(
        ActionManifest(
            id="manage",
            description=(
                "Create a project document, or update one. New content replaces the whole text: "
                "read the document first and name its revision."
            ),
            capability="write",
            input_schema=MANAGE_SCHEMA,
        ),
        ActionManifest(
            id="create",
            description="Create one more project document; nothing that exists is changed.",
            capability="write",
            input_schema=CREATE_SCHEMA,
        ),
    ),
    management={
        "label": "Documents",
        "description": "Long-form project records as Markdown files, searched on demand.",
    },
)
"""Manifest of the Source (spec/sources.md §3.1)."""
