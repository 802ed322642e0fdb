"""From namespaces to Spaces (spec/sources.md §4.3)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from dsh_mnemon_source_memory_spaces._discovery import checked, project, seeded
from dsh_mnemon_source_memory_spaces._registry.content import Content
from dsh_mnemon_source_memory_spaces._registry.records import SpaceRecord
from dsh_mnemon_source_memory_spaces.provider_sdk import ExternalSpace, ProviderProtocol


@pytest.fixture
def manifest(alpha_manifest: Callable[..., Any]) -> Any:
    keys = ("name", "project", "userId", "workingDirectory", "targetUri")
    fields = [{"key": key, "label": key, "scope": "memory", "input": "text"} for key in keys]
    home = {"key": "home", "label": "Home", "scope": "service", "input": "text"}
    secret = {"key": "token", "label": "Token", "scope": "memory", "input": "secret"}
    return alpha_manifest(
        fields=[*fields, secret, {**home, "discoveryDefaultFrom": "project"}], secrets=["token"]
    )


@pytest.fixture
def projected(manifest: Any, clock: Any) -> Callable[..., Content]:
    def run(found: list[ExternalSpace], content: Content | None = None) -> Content:
        return project("alpha", manifest, found, content or Content(), clock())

    return run


def space(**changes: Any) -> SpaceRecord:
    known: dict[str, Any] = {
        "id": "alpha-x",
        "name": "Old",
        "description": "Old text",
        "active": False,
        "provider_id": "alpha",
        "created_at": "2026-01-01T00:00:00.000Z",
        "updated_at": "2026-01-01T00:00:00.000Z",
    }
    return SpaceRecord(**{**known, **changes})


def found(external_id: str = "x", **connection: Any) -> ExternalSpace:
    return ExternalSpace(external_id=external_id, connection=connection)


@pytest.mark.requirement("memory-spaces:discovery:names")
@pytest.mark.parametrize(
    ("connection", "name"),
    [
        ({"project": "one", "userId": "u"}, "one"),
        ({"name": " Best ", "project": "one"}, "Best"),
        ({"project": "*", "userId": "u"}, "u"),
        ({"targetUri": "viking://user/memories/*"}, "memories"),
        ({"workingDirectory": "C:\\work\\thing\\"}, "thing"),
        ({"userId": "/ /"}, "Alpha x"),
        ({}, "Alpha x"),
        ({"project": "p" * 300}, "p" * 99 + "…"),
    ],
)
def test_a_nameless_namespace_is_named_by_its_nearest_field(
    projected: Any, connection: dict[str, Any], name: str
) -> None:
    (space,) = projected([found(**connection)]).external
    assert space.name == name
    assert space.description == "Alpha memory namespace mapped from x."


@pytest.mark.requirement("memory-spaces:discovery:identity")
def test_a_new_space_is_active_and_named_by_its_external_id(projected: Any) -> None:
    (one,) = projected([attrs.evolve(found(), name=" N ", description=" D ")]).external
    assert one.id == f"alpha-{hashlib.sha256(b'x').hexdigest()[:24]}"
    assert (one.name, one.description, one.active) == ("N", "D", True)
    assert (one.external_id, one.metadata_source) == ("x", "provider")
    assert one.created_at == one.updated_at == "2026-03-01T00:00:00.000Z"


@pytest.mark.requirement("memory-spaces:discovery:identity")
def test_an_id_that_is_taken_gets_the_next_hash(projected: Any) -> None:
    plain = f"alpha-{hashlib.sha256(b'x').hexdigest()[:24]}"
    second = f"alpha-{hashlib.sha256(b'x:1').hexdigest()[:24]}"
    others = tuple(space(id=name, provider_id="beta") for name in (plain, second))
    content = projected([found()], Content(external=others))
    assert content.external[:2] == others
    assert content.external[2].id == f"alpha-{hashlib.sha256(b'x:2').hexdigest()[:24]}"


@pytest.mark.requirement("memory-spaces:discovery:curated")
@pytest.mark.parametrize(
    ("source", "name"), [("provider", "New"), ("manual", "Old"), ("ai", "Old"), (None, "Old")]
)
def test_curated_texts_survive(projected: Any, source: Any, name: str) -> None:
    known = space(external_id="x", metadata_source=source)
    (one,) = projected(
        [attrs.evolve(found(project="p"), name="New")], Content(external=(known,))
    ).external
    assert (one.id, one.name, one.active) == ("alpha-x", name, False)
    assert one.connection["project"] == "p"
    assert one.created_at == known.created_at
    assert one.updated_at == "2026-03-01T00:00:00.000Z"


@pytest.mark.requirement("memory-spaces:discovery:replaced")
def test_what_vanished_goes_and_what_was_made_by_hand_stays(projected: Any) -> None:
    gone = space(id="alpha-gone", external_id="gone")
    by_hand = space(id="alpha-hand", connection={"project": "h", "token": ""})
    adopted = space(id="alpha-adopted", connection={"project": "x", "token": ""})
    other = space(id="beta-1", provider_id="beta")
    content = Content(external=(other, gone, by_hand, adopted, attrs.evolve(other, id="beta-2")))
    after = projected([found("x", project="x"), found("y")], content)
    new = f"alpha-{hashlib.sha256(b'y').hexdigest()[:24]}"
    assert [space.id for space in after.external] == [
        "beta-1",
        "alpha-hand",
        "alpha-adopted",
        new,
        "beta-2",
    ]
    assert after.external[2].external_id == "x"


@pytest.mark.requirement("memory-spaces:discovery:replaced")
def test_settings_that_were_entered_survive(projected: Any) -> None:
    known = space(external_id="x", connection={"token": "hush", "project": "old"})
    (one,) = projected([found(project="new")], Content(external=(known,))).external
    assert one.connection == {"project": "new", "token": "hush"}


@pytest.mark.requirement("memory-spaces:discovery:protocol")
@pytest.mark.parametrize(
    "wrong",
    [
        [found(""), found("y")],
        [found("x" * 2_001)],
        [found("\ud800")],
        [found("x"), found(" x ")],
        [attrs.evolve(found(), external_id=7)],
    ],
)
def test_a_wrong_list_is_refused_as_a_whole(wrong: list[ExternalSpace]) -> None:
    with pytest.raises(ProviderProtocol):
        checked(wrong)


@pytest.mark.requirement("memory-spaces:discovery:protocol")
def test_a_connection_with_foreign_keys_is_refused(projected: Any) -> None:
    with pytest.raises(ProviderProtocol):
        projected([found(home="x")])


@pytest.mark.requirement("memory-spaces:discovery:seed")
def test_an_empty_default_is_taken_from_the_first_namespace(manifest: Any) -> None:
    spaces = [found("a", project="first"), found("b", project="second")]
    assert seeded(manifest, {}, spaces) == {"home": "first"}
    assert seeded(manifest, {"home": ""}, spaces) == {"home": "first"}
    assert seeded(manifest, {"home": "mine"}, spaces) == {"home": "mine"}
    assert seeded(manifest, {}, [found("a"), found("b", project="second")]) == {}
    assert seeded(manifest, {}, []) == {}
