"""What is taken out of a text before it leaves a Provider."""

import json
from urllib.parse import quote, quote_plus

import pytest
from dsh_mnemon_source_memory_spaces.provider_sdk.redaction import bare_key, redact
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.requirement("memory-spaces:provider-redaction")

SECRET = 'pass "word"/with\\ümlaut+'


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        quote(SECRET, safe=""),
        quote_plus(SECRET),
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
    ],
)
@pytest.mark.parametrize("given_as", [SECRET, f"Bearer  {SECRET}", f"token {SECRET}"])
def test_every_form_of_a_secret_is_taken_out(form: str, given_as: str) -> None:
    assert redact(f"before {form} after {form}", [given_as]) == (
        "before [redacted] after [redacted]"
    )


def test_short_values_are_left_alone() -> None:
    assert redact("ab abcde", ["ab", "abcde", ""]) == "ab abcde"


def test_a_secret_within_another_leaves_no_rest() -> None:
    assert redact("x-abcdef-123456", ["abcdef", "abcdef-123456"]) == "x-[redacted]"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("key sk-abcdEFGH_1 end", "key [redacted] end"),
        ("sk-short", "sk-short"),
        ("Authorization: Bearer abc.def", "Authorization: [redacted]"),
        ("authorization=Token abc", "authorization=[redacted]"),
        ('{"x-api-key": "abc", "a": 1}', '{"x-api-key": "[redacted]", "a": 1}'),
        ("t eyJhbGciOi.eyJzdWIi.c2ln, ok", "t [redacted], ok"),
        (
            "key ov3A.tenant1.Q2F0c0FyZUdyZWF0QW5pbWFscw ok",
            "key [redacted] ok",
        ),
        ("at api.hindsight.vectorize.io", "at api.hindsight.vectorize.io"),
        ("in http://Host1.example.internalnetworkname/x", None),
        ("pkg.module.some_function_name_here_1", None),
    ],
)
def test_shapes_of_keys_are_known(text: str, shown: str | None) -> None:
    assert redact(text) == (text if shown is None else shown)


def test_the_rest_is_one_short_line() -> None:
    assert redact("a\x00b\r\n\t c\x1b[31m\x85") == "a b c [31m"
    assert redact("x" * 600) == "x" * 499 + "…"
    assert redact("x" * 600, longest=10) == "x" * 9 + "…"


def test_a_secret_over_the_end_is_taken_out_before_the_cut() -> None:
    assert "s3cret" not in redact("x" * 490 + "s3cret-key-of-mine", ["s3cret-key-of-mine"])


def test_a_bare_key_has_no_scheme() -> None:
    assert bare_key(" BEARER \t abc ") == "abc"
    assert bare_key("bearerabc") == "bearerabc"


@given(secret=st.text(min_size=12), before=st.text(), after=st.text())
def test_no_secret_survives(secret: str, before: str, after: str) -> None:
    kept = secret.strip()
    if len(kept) >= 6 and kept not in "[redacted]":
        assert kept not in redact(before + secret + after, [secret], longest=100_000).replace(
            "[redacted]", "\0"
        )
