"""Settings are read by the fields of a manifest."""

from typing import Any

import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderManifest
from dsh_mnemon_source_memory_spaces.provider_sdk.fields import (
    missing_settings,
    read_settings,
    secret_values,
    settings_of,
    shown_settings,
)
from dsh_mnemon_source_memory_spaces.testing import reference_manifest

pytestmark = pytest.mark.requirement("memory-spaces:provider-fields")


def manifest(*fields: dict[str, Any]) -> ProviderManifest:
    made = [
        {"label": field["key"].capitalize(), "scope": "service", "input": "text", **field}
        for field in fields
    ]
    secrets = [field["key"] for field in made if field["input"] == "secret"]
    return reference_manifest(fields=made, secrets=secrets)


SERVICE = manifest(
    {"key": "endpoint", "input": "url", "required": True, "defaultValue": "http://a.test"},
    {"key": "apiKey", "input": "secret"},
    {"key": "limit", "input": "number", "min": 1, "max": 10, "defaultValue": 5},
    {"key": "loud", "input": "boolean"},
    {
        "key": "size",
        "input": "select",
        "options": [{"value": "s", "label": "Small"}, {"value": "l", "label": "Large"}],
    },
    {"key": "home", "input": "path"},
    {"key": "project", "scope": "memory"},
)
EMPTY = {"endpoint": "http://a.test", "apiKey": "", "limit": 5}


def test_nothing_given_is_the_defaults() -> None:
    assert read_settings(SERVICE, "service", {}) == EMPTY
    assert list(read_settings(SERVICE, "service", {"loud": True, "apiKey": "x"})) == [
        "endpoint",
        "apiKey",
        "limit",
        "loud",
    ]
    assert read_settings(SERVICE, "memory", {"project": " p "}) == {"project": "p"}
    assert [field.key for field in settings_of(SERVICE, "memory")] == ["project"]


def test_given_goes_before_saved_before_default() -> None:
    saved = {"endpoint": "http://b.test", "limit": 7, "size": "s", "apiKey": "old", "gone": 1}
    read = read_settings(SERVICE, "service", {"limit": 3, "size": None}, previous=saved)
    expected = {"endpoint": "http://b.test", "apiKey": "old", "limit": 3, "size": "s"}
    assert read == expected


def test_a_blank_clears_a_setting_but_keeps_a_secret() -> None:
    saved = {"size": "s", "home": "/x", "apiKey": "old", "loud": True}
    given = {"size": "", "home": " ", "apiKey": " ", "loud": ""}
    assert read_settings(SERVICE, "service", given, previous=saved) == {**EMPTY, "apiKey": "old"}


def test_a_secret_is_cleared_by_name() -> None:
    saved = {"apiKey": "old"}
    cleared = read_settings(SERVICE, "service", {}, previous=saved, clear_secrets=["apiKey"])
    assert cleared == EMPTY
    again = read_settings(
        SERVICE, "service", {"apiKey": "new"}, previous=saved, clear_secrets=["apiKey"]
    )
    assert again["apiKey"] == "new"
    for key in ("endpoint", "project", "unknown"):
        with pytest.raises(InputError) as caught:
            read_settings(SERVICE, "service", {}, clear_secrets=[key])
        assert caught.value.code == "setting-not-secret"


@pytest.mark.parametrize("key", ["endpont", "project", "zzz"])
def test_an_unknown_key_is_refused(key: str) -> None:
    with pytest.raises(InputError) as caught:
        read_settings(SERVICE, "service", {key: "x"})
    assert caught.value.code == "setting-unknown"
    assert ("'endpoint'" in caught.value.message) is (key == "endpont")


@pytest.mark.parametrize(
    ("key", "value", "read"),
    [
        ("endpoint", " https://b.test:8080/api// ", "https://b.test:8080/api"),
        ("limit", "7", 7),
        ("limit", " 2.5 ", 2.5),
        ("limit", 10.0, 10.0),
        ("loud", "TRUE", True),
        ("loud", False, False),
        ("size", "l", "l"),
        ("home", "~/x", "~/x"),
    ],
)
def test_a_value_is_normalised(key: str, value: Any, read: Any) -> None:
    found = read_settings(SERVICE, "service", {key: value})[key]
    assert (found, type(found)) == (read, type(read))


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("endpoint", "", "setting-required"),
        ("endpoint", "b.test", "setting-invalid"),
        ("endpoint", "ftp://b.test", "setting-invalid"),
        ("endpoint", "http://", "setting-invalid"),
        ("endpoint", "http://b.test:port", "setting-invalid"),
        ("endpoint", "http://me:pw@b.test", "setting-invalid"),
        ("endpoint", "http://@b.test", "setting-invalid"),
        ("endpoint", "http://" + "b" * 2_000, "text-too-long"),
        ("endpoint", 7, "setting-invalid"),
        ("apiKey", "k" * 8_001, "text-too-long"),
        ("apiKey", "\ud800", "text-not-unicode"),
        ("limit", 0, "setting-invalid"),
        ("limit", 11, "setting-invalid"),
        ("limit", "nan", "setting-invalid"),
        ("limit", "many", "setting-invalid"),
        ("limit", True, "setting-invalid"),
        ("limit", [], "setting-invalid"),
        ("loud", "yes", "setting-invalid"),
        ("loud", 1, "setting-invalid"),
        ("size", "m", "setting-invalid"),
        ("home", "/a\0b", "setting-invalid"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(key: str, value: Any, code: str) -> None:
    with pytest.raises(InputError) as caught:
        read_settings(SERVICE, "service", {key: value})
    assert caught.value.code == code
    if isinstance(value, str) and len(value) > 10:
        assert value not in caught.value.message


def test_pattern_length_and_trailing_slash_of_a_text() -> None:
    said = manifest(
        {
            "key": "root",
            "pattern": "^v://[a-z]+$",
            "validationMessage": "write v://name",
            "normalize": "trim-trailing-slash",
            "maxLength": 12,
        },
        {"key": "ratio", "input": "number"},
    )
    assert read_settings(said, "service", {"root": "v://name//", "ratio": -3}) == {
        "root": "v://name",
        "ratio": -3,
    }
    with pytest.raises(InputError) as caught:
        read_settings(said, "service", {"root": "v://1"})
    assert (caught.value.code, caught.value.message) == ("setting-invalid", "write v://name")
    assert caught.value.details == {"key": "root"}
    with pytest.raises(InputError) as caught:
        read_settings(said, "service", {"root": "v://" + "n" * 9})
    assert caught.value.code == "text-too-long"
    with pytest.raises(InputError) as caught:
        read_settings(said, "service", {"ratio": float("inf")})
    assert caught.value.code == "setting-invalid"


def test_what_is_missing_is_named() -> None:
    said = manifest(
        {"key": "endpoint", "required": True, "defaultValue": "x"},
        {"key": "user", "required": True},
        {"key": "apiKey", "input": "secret", "required": True},
        {"key": "note"},
    )
    assert missing_settings(said, "service", {}) == ("user", "apiKey")
    assert missing_settings(said, "service", {"user": "u", "apiKey": ""}) == ("apiKey",)
    assert missing_settings(said, "memory", {}) == ()
    with pytest.raises(InputError) as caught:
        read_settings(said, "service", {"user": "u"})
    assert caught.value.code == "setting-required"


def test_secrets_are_named_not_shown() -> None:
    saved = {"endpoint": "http://a.test", "apiKey": "k", "limit": 3}
    assert shown_settings(SERVICE, "service", saved) == (
        {"endpoint": "http://a.test", "limit": 3},
        ("apiKey",),
    )
    assert shown_settings(SERVICE, "service", {"apiKey": ""}) == ({}, ())
    assert secret_values(SERVICE, saved) == ("k",)
    assert secret_values(SERVICE, {}) == ()
