"""Names of Providers, fields and stores: one spelling, wherever they are read."""

from __future__ import annotations

from typing import Any

import pytest
from dsh_mnemon_source_memory_spaces import Config
from dsh_mnemon_source_memory_spaces._registry import format
from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderField
from dsh_mnemon_source_memory_spaces.provider_sdk.ids import (
    FIELD_KEY,
    PROVIDER_ID,
    SPACE_ID,
    FieldKey,
    ProviderId,
    StoreName,
)
from dsh_mnemon_source_memory_spaces.testing import reference_manifest
from pydantic import TypeAdapter, ValidationError

pytestmark = pytest.mark.requirement("memory-spaces:provider-ids")


@pytest.mark.parametrize(
    ("pattern", "kind", "good", "bad"),
    [
        (PROVIDER_ID, ProviderId, ["a", "a-1", "a" * 128], ["", "A", "1a", "a_b", "a\n"]),
        (FIELD_KEY, FieldKey, ["a", "apiKey", "a_b-1"], ["", "A", "a.b", "a\n", "a" * 129]),
        (SPACE_ID, StoreName, ["a", "A_b-1", "1"], ["", "-a", "a/b", "..", "a b", "a\n"]),
    ],
)  # fmt: skip
def test_pattern_and_field_agree(pattern: Any, kind: Any, good: list[str], bad: list[str]) -> None:
    adapter: TypeAdapter[str] = TypeAdapter(kind)
    for name in good:
        assert pattern.fullmatch(name)
        assert adapter.validate_python(name) == name
    for name in bad:
        assert not pattern.fullmatch(name)
        with pytest.raises(ValidationError):
            adapter.validate_python(name)


def test_every_reader_has_the_same_rule() -> None:
    patterns = {
        ProviderField.model_json_schema()["properties"]["key"]["pattern"],
        type(reference_manifest()).model_json_schema()["properties"]["typeId"]["pattern"],
        Config.model_json_schema()["properties"]["store"]["anyOf"][0]["pattern"],
    }
    assert patterns == {f"^{rule.pattern}$" for rule in (FIELD_KEY, PROVIDER_ID, SPACE_ID)}
    assert (format.SPACE_ID, format.PROVIDER_ID, format.FIELD_KEY) == (
        SPACE_ID, PROVIDER_ID, FIELD_KEY,
    )  # fmt: skip
