"""Cursors of Providers and of the Source."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_source_memory_spaces.provider_sdk.cursor import read_cursor, write_cursor

pytestmark = pytest.mark.requirement("memory-spaces:cursor")


def cursor_of(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


@pytest.mark.parametrize(
    ("place", "kinds"),
    [
        (["2026-01-02 03:04:05", 7], (str, int)),
        (["名", None], (str, str | None)),
        (["a", "b", 0.5], (str, str | None, float)),
        ([], ()),
    ],
)
def test_it_leads_back_to_its_place(place: list[Any], kinds: tuple[Any, ...]) -> None:
    cursor = write_cursor(["list", None], place)
    assert cursor.replace("-", "").replace("_", "").isalnum()
    assert read_cursor(["list", None], cursor, *kinds) == place
    assert read_cursor(("list", None), cursor + "=" * (-len(cursor) % 4), *kinds) == place


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "no cursor",
        "é",
        cursor_of([]),
        cursor_of({}),
        cursor_of(7),
        base64.urlsafe_b64encode(b"[" * 200_000).decode(),
        write_cursor(["another"], ["x", 7]),
        write_cursor(["list"], [7, "x"]),
        write_cursor(["list"], ["x", True]),
        write_cursor(["list"], ["x", None]),
        write_cursor(["list"], ["x"]),
        write_cursor(["list"], ["x", 7, 7]),
    ],
)
def test_a_wrong_one_is_refused(cursor: str) -> None:
    with pytest.raises(InputError) as caught:
        read_cursor(["list"], cursor, str, int)
    assert caught.value.code == "cursor-invalid"
