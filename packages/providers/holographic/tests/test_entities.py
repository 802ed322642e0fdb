"""The entities a text names (§6.4)."""

from __future__ import annotations

import pytest
from dsh_mnemon_provider_holographic._entities import extract, hermes_entities


@pytest.mark.requirement("holographic:entities:extract")
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Grace Hopper maintains it.", ["Grace Hopper"]),
        ("The Blue Heron is down.", ["Blue Heron"]),
        ("When Monday comes", []),
        ('The "billing-api" service', ["billing-api"]),
        ("He said “Red Falcon” and 'Fira Code'.", ["Red Falcon", "Fira Code"]),
        ('项目代号是"北极星",负责人', ["北极星"]),
        ("项目「北极星」与《手册》、『注』", ["北极星", "手册"]),
        ("call `parse_utc()` twice", ["parse_utc()"]),
        ("It's the user's choice, isn't it", []),
        ("Guido van Rossum aka BDFL reviewed it", ["Rossum", "BDFL"]),
        ("Alan Turing also known as Prof", ["Alan Turing", "Prof"]),
        ("Next Steps and Release Notes", []),
        ('"one two three four five six seven eight nine"', []),
        (f'"{"long " * 20}"', []),
        ('"x" and "the"', []),
        ("Grace  Hopper and grace hopper, Grace\nHopper", ["Grace Hopper"]),
    ],
)
def test_a_text_names_entities(content: str, expected: list[str]) -> None:
    assert extract(content) == expected


@pytest.mark.requirement("holographic:entities:extract")
def test_given_entities_come_first_and_once() -> None:
    found = extract("Grace Hopper met Alan Turing.", [" alan turing ", "x", "y" * 101, "Ada"])
    assert found == ["alan turing", "Ada", "Grace Hopper"]


@pytest.mark.requirement("holographic:entities:extract")
def test_fifty_entities_are_the_most() -> None:
    assert len(extract("Grace Hopper", [f"name {number}" for number in range(60)])) == 50


@pytest.mark.requirement("holographic:entities:hermes")
def test_hermes_takes_the_whole_tail() -> None:
    text = "Guido van Rossum aka BDFL reviewed the parser proposal."
    assert hermes_entities(text) == ["Guido van Rossum", "BDFL reviewed the parser proposal"]
