"""What a manifest may say, and what an adapter answers that has nothing of its own."""

from typing import Any

import pytest
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    Icon,
    Insight,
    ListRequest,
    NativeAdapter,
    Page,
    ProviderAdapter,
    ProviderError,
    ProviderManifest,
    ProviderUnsupported,
    RememberRequest,
    SearchRequest,
    SpaceView,
)
from dsh_mnemon_source_memory_spaces.testing import reference_manifest
from pydantic import ValidationError

pytestmark = pytest.mark.requirement("memory-spaces:provider-manifest")

SPACE = SpaceView(id="one", name="One")
TEA = RememberRequest(content="Tea.")
LIMIT = {"key": "limit", "label": "Limit", "scope": "service", "input": "number"}
KEY = {"key": "apiKey", "label": "Key", "scope": "service", "input": "secret"}
PROJECT = {"key": "project", "label": "Project", "scope": "memory", "input": "text"}
SIZE = {"key": "size", "label": "Size", "scope": "memory", "input": "select"}
SMALL = {"value": "s", "label": "Small"}


def test_it_is_read_in_either_spelling_and_frozen() -> None:
    manifest = reference_manifest()
    wire = manifest.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert wire["typeId"] == "reference"
    assert wire["capabilities"]["writeMode"] == "exact"
    assert ProviderManifest.model_validate(wire) == manifest
    with pytest.raises(ValidationError):
        manifest.label = "Another"  # type: ignore[misc]


@pytest.mark.parametrize(
    "wrong",
    [
        {"type_id": "Reference"},
        {"label": ""},
        {"label": "x" * 101},
        {"version": "1" * 101},
        {"summary": "x" * 1_001},
        {"api_version": "dsh-mnemon.memory-space-provider/v2"},
        {"kind": "source"},
        {"unknown": 1},
        {"fields": [KEY], "secrets": []},
        {"fields": [], "secrets": ["apiKey"]},
        {"fields": [KEY], "secrets": ["apiKey", "apiKey"]},
        {"fields": [LIMIT, LIMIT], "secrets": []},
        {"fields": [SIZE], "secrets": []},
        {"fields": [{**SIZE, "options": [SMALL, SMALL]}], "secrets": []},
        {"fields": [{**LIMIT, "options": [SMALL]}], "secrets": []},
        {"fields": [{**PROJECT, "min": 1}], "secrets": []},
        {"fields": [{**PROJECT, "role": "global-location"}], "secrets": []},
        {"fields": [{**LIMIT, "discoveryDefaultFrom": "project"}], "secrets": []},
        {"fields": [PROJECT, {**SIZE, "options": [SMALL], "discoveryDefaultFrom": "project"}]},
        {"fields": [{**LIMIT, "key": "Limit"}], "secrets": []},
        {"fields": [{**PROJECT, "maxLength": 8_001}], "secrets": []},
    ],
    ids=repr,
)
def test_what_does_not_hold_together_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        reference_manifest(**wrong)


def test_a_whole_manifest_is_accepted() -> None:
    home = {"key": "home", "label": "Home", "scope": "service", "input": "path"}
    reference_manifest(
        fields=[
            KEY,
            {**LIMIT, "min": 1, "discoveryDefaultFrom": "project"},
            PROJECT,
            {**SIZE, "options": [SMALL, {"value": "l", "label": "Large"}]},
            {**home, "role": "global-location"},
        ],
        icon={"kind": "glyph", "value": "◎"},
    )


@pytest.mark.parametrize(
    ("kind", "value", "good"),
    [
        ("brand", "mem0", True),
        ("glyph", "x" * 16, True),
        ("glyph", "x" * 17, False),
        ("data-url", "data:image/png;base64,AAAA", True),
        ("data-url", "data:image/svg+xml;base64,AAAA", True),
        ("data-url", "data:text/html;base64,AAAA", False),
        ("data-url", "https://example.test/a.png", False),
        ("brand", "x" * 200_001, False),
    ],
    ids=range(8),
)
def test_an_icon_fits_its_kind(kind: Any, value: str, good: bool) -> None:
    if good:
        assert Icon(kind=kind, value=value).value == value
    else:
        with pytest.raises(ValidationError):
            Icon(kind=kind, value=value)


def test_presentation_is_no_part_of_what_matters() -> None:
    option = {**SIZE, "options": [{**SMALL, "i18nKey": "size.small"}]}
    plain = reference_manifest(fields=[{**SIZE, "options": [SMALL]}, PROJECT], secrets=[])
    shown = reference_manifest(
        fields=[
            option,
            {**PROJECT, "help": "Which.", "label": "Which project", "placeholder": "p"},
        ],
        secrets=[],
        label="Shown",
        summary="Shown.",
        icon={"kind": "brand", "value": "x"},
        summaryI18nKey="provider.shown",
    )
    assert shown.semantic() == plain.semantic()
    stricter = reference_manifest(fields=[option, {**PROJECT, "required": True}], secrets=[])
    assert stricter.semantic() != plain.semantic()


async def test_an_adapter_without_methods_refuses_by_name() -> None:
    adapter = ProviderAdapter()
    calls = {
        "discover": adapter.discover({}),
        "status": adapter.status(SPACE),
        "search": adapter.search(SPACE, SearchRequest(query="tea")),
        "browse": adapter.list(SPACE, ListRequest()),
        "graph": adapter.graph(SPACE),
        "entities": adapter.entities(SPACE, 3),
        "related": adapter.related(SPACE, "a", 2),
        "remember": adapter.remember(SPACE, TEA),
        "link": adapter.link(SPACE, "a", "b", "semantic", 0.5),
        "forget": adapter.forget(SPACE, "a"),
    }
    for operation, call in calls.items():
        with pytest.raises(ProviderUnsupported) as caught:
            await call
        assert caught.value.details == {"operation": operation}
    adapter.invalidate_status()
    await adapter.aclose()


async def test_an_adapter_makes_more_of_what_it_has() -> None:
    class Small(ProviderAdapter):
        async def list(self, space: SpaceView, request: ListRequest) -> Page:
            return Page(items=(Insight(id="a", content="A."),) * request.limit)

        async def remember(self, space: SpaceView, request: RememberRequest) -> Any:
            return {"action": "stored", "text": request.content}

    adapter = Small()
    assert len(await adapter.metadata_sample(SPACE, 3)) == 3
    answers = await adapter.remember_many(SPACE, [TEA, RememberRequest(content="Coffee.")])
    assert [answer["text"] for answer in answers] == ["Tea.", "Coffee."]


async def test_a_native_adapter_has_nothing_by_default() -> None:
    adapter = NativeAdapter()
    with pytest.raises(NotImplementedError):
        adapter.ready()
    for call in (
        adapter.create_store("a"),
        adapter.set_default_store("a"),
        adapter.remove_store("a"),
        adapter.import_draft(SPACE, [], []),
        adapter.embedding_status(),
    ):
        with pytest.raises(NotImplementedError):
            await call


def test_an_error_has_a_code_and_says_whether_to_try_again() -> None:
    kinds = [ProviderError, *ProviderError.__subclasses__()]
    codes = [kind.code_of for kind in kinds]
    assert len(codes) == len({*codes})
    again = {kind.code_of for kind in kinds if kind.default_retryable}
    assert again == {
        "provider-unavailable",
        "provider-timeout",
        "provider-busy",
        "provider-server-error",
    }
