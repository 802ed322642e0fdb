"""The stored forms (spec/sources.md §2.3)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dsh_mnemon_source_runtime._format import Damage, decode, encode, markdown, revision
from dsh_mnemon_source_runtime.contracts import Entry
from hypothesis import given
from hypothesis import strategies as st

GOOD: dict[str, Any] = {
    "content": "a",
    "created_at": "x",
    "updated_at": "y",
    "target": "memory",
    "importance": "low",
}


def stored(*rows: Any, **document: Any) -> bytes:
    return json.dumps({"version": 1, "entries": rows, **document}).encode()


@pytest.mark.requirement("runtime:files:damaged")
class TestDamage:
    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"{",
            b"\xff{}",
            b"\xef\xbb\xbf{}",
            b'{"version":1,"entries":[],"x":NaN}',
            b'{"version":1,"entries":[],"x":1e400}',
            b'{"version":1,"entries":[{}],"entries":[]}',
            stored(GOOD).replace(b'"content"', b'"content": "b", "content"'),
            b"[" * 100_000,
        ],
    )
    def test_what_is_no_json_is_named_so(self, data: bytes) -> None:
        with pytest.raises(Damage) as caught:
            decode(data)
        assert (caught.value.reason, caught.value.index) == ("not-json", None)

    @pytest.mark.parametrize(
        "data",
        [
            b"[]",
            b"null",
            stored(version=True),
            stored(version="1"),
            stored(version=0),
            stored(version=1.5),
            stored(entries=None),
        ],
    )
    def test_another_shape_is_another_version(self, data: bytes) -> None:
        with pytest.raises(Damage) as caught:
            decode(data)
        assert caught.value.reason == "wrong-version"

    def test_a_later_version_is_named_as_such(self) -> None:
        with pytest.raises(Damage) as caught:
            decode(stored(version=2, entries=None))
        assert caught.value.reason == "newer-version"

    @pytest.mark.parametrize(
        "row",
        [
            "a",
            {**GOOD, "content": 1},
            {**GOOD, "content": " \u3000"},
            {**GOOD, "content": "a\ud800"},
            {**GOOD, "created_at": None},
            {**GOOD, "updated_at": 5},
            {**GOOD, "target": ["memory"]},
            {**GOOD, "target": "user", "branches": None},
        ],
    )
    def test_a_bad_entry_is_named_by_its_index(self, row: Any) -> None:
        with pytest.raises(Damage) as caught:
            decode(stored(GOOD, row))
        assert (caught.value.reason, caught.value.index) == ("invalid-entry", 1)


@pytest.mark.requirement("runtime:files:normal-form")
class TestReading:
    def test_contents_are_collapsed_and_times_kept(self) -> None:
        (entry,) = decode(stored({**GOOD, "content": " a\n b ", "created_at": "last week"}))
        assert (entry.content, entry.created_at) == ("a b", "last week")

    @pytest.mark.parametrize("branches", [[], "main", ["a b"], [1], None])
    def test_branches_that_are_no_list_of_names_are_dropped(self, branches: Any) -> None:
        (entry,) = decode(stored({**GOOD, "branches": branches}))
        assert entry.branches is None
        assert "branches" not in entry.to_json()

    def test_stored_branches_are_kept_as_they_are(self) -> None:
        (entry,) = decode(stored({**GOOD, "branches": ["a..b", "a..b"]}))
        assert entry.branches == ("a..b", "a..b")

    def test_a_version_written_as_a_fraction_is_the_same_number(self) -> None:
        assert decode(b'{"version":1.0,"entries":[]}') == ()


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).map(
    lambda text: "x" + text.replace("§", "")
)
branches = st.lists(st.from_regex(r"[A-Za-z0-9._/-]{1,9}", fullmatch=True), max_size=3)
entries = st.lists(
    st.builds(
        lambda content, target, importance, stamp, names: decode(
            stored(
                {
                    "content": content,
                    "target": target,
                    "importance": importance,
                    "created_at": stamp,
                    "updated_at": stamp,
                    **({"branches": names} if target == "memory" else {}),
                }
            )
        )[0],
        texts,
        st.sampled_from(["memory", "user"]),
        st.sampled_from(["critical", "normal", "low"]),
        st.text(st.characters(exclude_categories=["Cs"])),
        branches,
    ),
    max_size=5,
)


@pytest.mark.requirement("runtime:files:bytes")
@given(entries)
def test_what_is_written_reads_back_the_same(rows: list[Entry]) -> None:
    again = decode(encode(rows))
    assert list(again) == rows
    assert encode(again) == encode(rows)
    document = {"version": 1, "entries": [entry.to_json() for entry in rows]}
    assert encode(rows).decode() == json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    assert revision(again) == revision(rows)


@pytest.mark.requirement("runtime:files:bytes")
@pytest.mark.parametrize("odd", ["\x00", "\u2028", "\u202e", "\\", '"', "\u0007", "\U0001f9e0"])
def test_json_is_written_as_ecmascript_writes_it(odd: str) -> None:
    row = decode(stored({**GOOD, "created_at": odd}))
    escapes = {"\x00": "\\u0000", "\\": "\\\\", '"': '\\"', "\u0007": "\\u0007"}
    assert f'"created_at": "{escapes.get(odd, odd)}"'.encode() in encode(row)


@pytest.mark.requirement("runtime:files:bytes")
def test_markdown_never_shows_branches_or_annotations() -> None:
    rows = decode(stored({**GOOD, "branches": ["main"]}, {**GOOD, "content": "b"}))
    assert markdown(rows, "memory") == "a\n§\nb\n".encode()
    assert markdown(rows, "user") == b""
