from typing import Any

import attrs
import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.evidence import Evidence, EvidenceItem, Receipt
from dsh_mnemon_core.scope import OperationScope, ViewBudget
from dsh_mnemon_core.source import SourceFacts
from dsh_mnemon_core.values import FrozenDict
from dsh_mnemon_core.wire import from_wire, nearest, to_wire, wire_name
from hypothesis import given
from hypothesis import strategies as st


def _whole(value: Any) -> int:
    if not isinstance(value, int):
        raise InputError("not-whole", "whole numbers only")
    return value


@attrs.frozen(kw_only=True)
class Leaf:
    size: int = attrs.field(converter=_whole)
    import_: str | None = None
    made_at: str = "now"


@attrs.frozen(kw_only=True)
class Tree:
    first_leaf: Leaf
    more_leaves: tuple[Leaf, ...] = ()
    last_leaf: Leaf | None = None
    anything: Any = None


def test_names_are_camel_case():
    assert wire_name("max_evidence_characters") == "maxEvidenceCharacters"
    assert wire_name("id") == "id"
    assert wire_name("import_") == "import"


def test_values_go_out_in_camel_case_without_what_is_absent():
    tree = Tree(
        first_leaf=Leaf(size=1, import_="x"),
        more_leaves=(Leaf(size=2),),
        anything=FrozenDict(a=(Leaf(size=3),)),
    )
    assert to_wire(tree) == {
        "firstLeaf": {"size": 1, "import": "x", "madeAt": "now"},
        "moreLeaves": [{"size": 2, "madeAt": "now"}],
        "anything": {"a": [{"size": 3, "madeAt": "now"}]},
    }


def test_required_nulls_stay():
    @attrs.frozen(kw_only=True)
    class Box:
        content: Any

    assert to_wire(Box(content=None)) == {"content": None}


def test_values_come_in_by_their_wire_keys():
    tree = from_wire(
        Tree,
        {
            "firstLeaf": {"size": 1, "madeAt": "then"},
            "moreLeaves": ({"size": 2},),
            "lastLeaf": {"size": 3},
            "anything": {"kept": ["as", "it", "is"]},
        },
    )
    assert tree.first_leaf.made_at == "then"
    assert tree.more_leaves == (Leaf(size=2),)
    assert tree.last_leaf == Leaf(size=3)
    assert tree.anything == {"kept": ["as", "it", "is"]}
    assert from_wire(Tree, {"firstLeaf": {"size": 1}, "lastLeaf": None}).last_leaf is None


def refusal(cls, value):
    with pytest.raises(InputError) as caught:
        from_wire(cls, value)
    return caught.value


def test_unknown_keys_name_the_nearest_known_one():
    error = refusal(Tree, {"firstLeaf": {"siez": 1}})
    assert error.code == "key-unknown"
    assert "'siez'" in error.message
    assert "'size'" in error.message
    assert refusal(Tree, {"firstLeaf": {"size": 1}, "zzz": 1}).message.endswith("'zzz'")


def test_objects_must_be_objects():
    assert refusal(Tree, []).code == "not-an-object"
    assert refusal(Tree, {"firstLeaf": 7}).code == "not-an-object"


def test_nothing_is_coerced_and_a_missing_key_is_judged_by_its_reader():
    assert refusal(Leaf, {"size": "1"}).code == "not-whole"
    assert refusal(Leaf, {}).code == "not-whole"
    assert from_wire(Leaf, {"size": 1, "import": 7}).import_ == 7


def test_what_is_no_array_is_left_to_the_class():
    assert from_wire(Tree, {"firstLeaf": {"size": 1}, "moreLeaves": "ab"}).more_leaves == "ab"


def test_nearest_name():
    assert nearest("lable", ["label", "limit"]) == " (did you mean 'label'?)"
    assert nearest("label", []) == ""


TEXT = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(TEXT, inner, max_size=3).map(FrozenDict)
    ),
    max_leaves=6,
)
OPTIONAL = st.none() | TEXT
EXTRA = st.dictionaries(TEXT.map("x-{}".format), JSON, max_size=2).map(FrozenDict)
ITEMS = st.builds(
    EvidenceItem,
    id=TEXT,
    text=TEXT,
    provenance=JSON,
    score=st.none() | st.integers(0, 9),
    revision=OPTIONAL,
    extra=EXTRA,
)
VALUES = st.one_of(
    st.builds(ViewBudget, max_routes=st.integers(1, 10_000)),
    st.builds(
        OperationScope,
        storage=st.sampled_from(("global", "workspace")),
        workspace_id=st.sampled_from((None, "/w")),
    ),
    st.builds(
        Evidence,
        id=TEXT,
        view_id=TEXT,
        route_id=TEXT,
        source_instance_key=TEXT,
        items=st.lists(ITEMS, max_size=3).map(tuple),
        truncated=st.booleans(),
        consistency=OPTIONAL,
        unavailable=OPTIONAL,
        metadata=JSON,
        output=JSON,
        extra=EXTRA,
    ),
    st.builds(
        Receipt,
        id=TEXT,
        view_id=TEXT,
        offer_id=TEXT,
        source_instance_key=TEXT,
        status=TEXT,
        completion=TEXT,
        committed_at=OPTIONAL,
        details=JSON,
    ),
    st.builds(
        SourceFacts,
        source_instance_key=TEXT,
        source_type_id=TEXT,
        role=TEXT,
        availability=st.just("ready"),
        revision=TEXT,
    ),
)


@given(VALUES)
def test_wire_and_back_gives_an_equal_value(value):
    again = from_wire(type(value), to_wire(value))
    assert to_wire(again) == to_wire(value)
    assert type(again) is type(value)
