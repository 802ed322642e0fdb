"""Query identity and the admission of evidence."""

import pytest
from dsh_mnemon_core.evidence import EvidenceItem
from dsh_mnemon_strategy_default_three_tier._envelope import (
    ITEM_CHARACTERS,
    Ceilings,
    TurnEvidence,
    admit,
    query_identity,
)
from hypothesis import given
from hypothesis import strategies as st

WIDE = Ceilings(results=10, characters=100_000, medium=10, unknown=10)


def item(id_, text="text", **provenance):
    return EvidenceItem(
        id=id_, text=text, provenance={"relevanceTier": "high", "memoryBodyId": "a", **provenance}
    )


def ids(admission):
    return [entry.item.id for entry in admission.admitted]


def same(left, right):
    return query_identity("source:x", left) == query_identity("source:x", right)


@pytest.mark.requirement("layered:recall:identity")
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Deploy the API!", "deploy   the api"),
        ("release-notes_2024", "Release notes 2024"),
        ("Über café", "über CAFÉ"),
        ("部署，区域", "部署 区域"),
        ("#1 + 2", "1 2"),
        ("  ", "?!"),
    ],
)
def test_queries_that_differ_in_case_and_punctuation_are_the_same(left, right):
    assert same(left, right)


@pytest.mark.requirement("layered:recall:identity")
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("C++", "C#"),
        ("C++", "C"),
        ("C+", "C++"),
        ("F# syntax", "F syntax"),
        ("ab", "a b"),
        ("café", "cafe"),
        ("v1", "v2"),
    ],
)
def test_queries_that_ask_for_something_else_are_different(left, right):
    assert not same(left, right)


@pytest.mark.requirement("layered:recall:identity")
def test_source_and_spaces_belong_to_the_identity():
    base = query_identity("source:x", "q", ["a", "b"])
    assert query_identity("source:x", "q", ["b", "a"]) == base
    assert query_identity("source:x", "q", ["a"]) != base
    assert query_identity("source:y", "q", ["a", "b"]) != base


@pytest.mark.requirement("layered:recall:admission")
@pytest.mark.parametrize(
    "refused",
    [
        item(""),
        item("x" * 1_001),
        item("p", relevanceTier="low"),
        item("p", text=""),
    ],
)
def test_an_inadmissible_item_is_left_out_and_the_next_one_let_in(refused):
    admission = admit([refused, item("q", "other")], WIDE)
    assert ids(admission) == ["q"]
    assert admission.reduced


@pytest.mark.requirement("layered:recall:admission")
def test_an_id_of_a_thousand_characters_is_let_in():
    assert ids(admit([item("x" * 1_000)], WIDE)) == ["x" * 1_000]


@pytest.mark.requirement("layered:recall:admission")
def test_doubtful_tiers_have_counts_that_refusals_do_not_use_up():
    items = [
        item("m1", "one", relevanceTier="medium"),
        item("m1", "one again", relevanceTier="medium"),
        item("m2", "two", relevanceTier="medium"),
        item("m3", "three", relevanceTier="medium"),
        item("u1", "four", relevanceTier="strange"),
        item("u2", "five", relevanceTier=None),
        item("u3", "six", relevanceTier=None),
    ]
    limits = Ceilings(results=10, characters=1_000, medium=2, unknown=2)
    assert ids(admit(items, limits)) == ["m1", "m2", "u1", "u2"]


@pytest.mark.requirement("layered:recall:admission")
def test_references_and_contents_are_let_in_once():
    items = [
        item("p", "same  text"),
        item("p", "another"),
        item("q", " same\ntext "),
        item("p", "third", memoryBodyId="b"),
    ]
    admission = admit(items, WIDE)
    assert [entry.reference for entry in admission.admitted] == [("a", "p"), ("b", "p")]
    assert ids(admit([item("r", "same text")], WIDE, {admission.admitted[0].digest})) == []


@pytest.mark.requirement("layered:recall:admission")
def test_nothing_is_reduced_when_everything_fits():
    admission = admit([item("p", "one"), item("q", "x" * ITEM_CHARACTERS)], WIDE)
    assert not admission.reduced
    assert admission.characters == 3 + ITEM_CHARACTERS
    assert admit([item("p", "x" * (ITEM_CHARACTERS + 1))], WIDE).reduced


@pytest.mark.requirement("layered:recall:admission")
def test_a_turn_remembers_what_it_let_in():
    turn = TurnEvidence()
    turn.admit("source:x", [item("p", "one")], WIDE)
    assert turn.holds("source:x", "a", "p")
    assert not turn.holds("source:y", "a", "p")
    assert not turn.holds("source:x", "b", "p")
    assert ids(turn.admit("source:y", [item("q", "one"), item("r", "two")], WIDE)) == ["r"]


@pytest.mark.requirement("layered:recall:metadata")
def test_the_model_sees_known_fields_only_clipped_and_in_order():
    entry = admit(
        [
            EvidenceItem(
                id="p",
                text="content",
                score=0.9,
                provenance={
                    "externalUri": "u" * 2_001,
                    "memoryBodyId": "b" * 1_000,
                    "memoryBodyName": "n" * 301,
                    "category": "fact",
                    "importance": 0,
                    "tags": [f"t{number}" * 200 for number in range(9)],
                    "source": None,
                    "relevanceTier": "high",
                    "normalizedScore": 0.9,
                    "memoryCapabilities": {"search": True},
                },
            )
        ],
        WIDE,
    ).admitted[0]
    assert list(entry.row) == [
        "id",
        "content",
        "category",
        "importance",
        "tags",
        "memoryBodyId",
        "memoryBodyName",
        "memoryCapabilities",
        "externalUri",
    ]
    assert entry.row["importance"] == 0
    assert len(entry.row["tags"]) == 8
    assert {len(tag) for tag in entry.row["tags"]} == {300}
    assert entry.row["memoryBodyName"] == "n" * 299 + "…"
    assert len(entry.row["memoryBodyId"]) == 1_000
    assert entry.row["externalUri"] == "u" * 1_999 + "…"
    assert entry.item.score == 0.9


@pytest.mark.requirement("layered:recall:metadata")
def test_an_item_whose_provenance_is_no_object_has_no_metadata():
    entry = admit([EvidenceItem(id="p", text="t", provenance=None)], WIDE).admitted[0]
    assert entry.row == {"id": "p", "content": "t"}
    assert entry.space == ""


ITEMS = st.lists(
    st.builds(
        lambda id_, text, tier, space: item(id_, text, relevanceTier=tier, memoryBodyId=space),
        st.text(max_size=3),
        st.text(max_size=30),
        st.sampled_from(["high", "medium", "low", "unknown", None]),
        st.sampled_from(["a", "b", None]),
    ),
    max_size=12,
)


@pytest.mark.requirement("layered:recall:admission")
@given(ITEMS, st.integers(0, 6), st.integers(0, 60))
def test_admission_keeps_its_ceilings(items, results, characters):
    admission = admit(items, Ceilings(results=results, characters=characters))
    entries = admission.admitted
    assert len(entries) <= results
    assert admission.characters <= characters
    assert len({entry.reference for entry in entries}) == len(entries)
    assert len({entry.digest for entry in entries}) == len(entries)
    tiers = [entry.item.provenance["relevanceTier"] for entry in entries]
    assert "low" not in tiers
    assert tiers.count("medium") <= 1
    assert tiers.count("unknown") + tiers.count(None) <= 1
    assert all(0 < len(entry.item.text) <= ITEM_CHARACTERS for entry in entries)
    if not admission.reduced:
        assert [entry.item for entry in entries] == items
