"""Keeping one insight (spec/mnemon-native.md §3, §4, §5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from dsh_mnemon_provider_mnemon_native._engine import MnemonStore
from dsh_mnemon_provider_mnemon_native._ranking import Query
from dsh_mnemon_provider_mnemon_native._write.drafts import checked
from dsh_mnemon_provider_mnemon_native._write.limits import NewInsight
from dsh_mnemon_provider_mnemon_native._write.similarity import suggestion_for
from dsh_mnemon_provider_mnemon_native.errors import InvalidInput, TextNotUnicode
from dsh_mnemon_source_memory_spaces.provider_sdk import DraftEdge, DraftInsight

pytestmark = pytest.mark.requirement("native:remember")


@pytest.mark.requirement("native:limits")
@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("category", {"category": "idea"}),
        ("importance", {"importance": 0}),
        ("importance", {"importance": 6}),
        ("entity_mode", {"entity_mode": "none"}),
        ("content", {"content": ""}),
        ("content", {"content": " \n"}),
        ("content", {"content": "x" * 8_001}),
        ("content", {"content": "数" * 2_667}),
        ("content", {"content": "x" * 8_193, "exact": True}),
        ("tags", {"tags": ("t" * 101,)}),
        ("tags", {"tags": tuple(map(str, range(21)))}),
        ("entities", {"entities": ("数" * 67,)}),
        ("entities", {"entities": tuple(map(str, range(51)))}),
    ],
)
async def test_a_broken_limit_is_refused_before_anything_is_written(
    store: MnemonStore, field: str, values: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput) as raised:
        await store.remember(NewInsight(**{"content": "x", **values}))
    assert raised.value.details["field"] == field
    assert (await store.status()).oplog_count == 0


@pytest.mark.requirement("native:limits")
@pytest.mark.parametrize("field", ["content", "tags", "entities", "source"])
async def test_half_characters_are_refused(store: MnemonStore, field: str) -> None:
    value: Any = "half \ud800"
    values = {field: (value,) if field in {"tags", "entities"} else value}
    with pytest.raises(TextNotUnicode) as raised:
        await store.remember(NewInsight(**{"content": "x", **values}))
    assert raised.value.code == "text-not-unicode"


@pytest.mark.requirement("native:limits")
async def test_the_largest_values_are_kept(store: MnemonStore) -> None:
    new = NewInsight(
        content="数" * 2_666,
        tags=(" a ", "", *("t" * 100,) * 19),
        entities=("e" * 200, " "),
        exact=False,
    )
    done = await store.remember(new)
    assert done.outcome.row is not None
    assert done.outcome.row.tags == ("a", *("t" * 100,) * 19)
    assert (await store.remember(NewInsight(content="x" * 8_192, exact=True))).outcome.row


@pytest.mark.requirement("native:repeat")
async def test_only_identical_content_is_skipped(store: MnemonStore) -> None:
    first = await store.remember(NewInsight(content="Deploys happen on Friday evening"))
    again = await store.remember(NewInsight(content="Deploys happen on Friday evening"))
    assert (again.outcome.action, again.outcome.suggestion) == ("skipped", "DUPLICATE")
    assert (again.outcome.id, again.outcome.replaced_id) == ("n2", first.outcome.id)
    for content in ("Deploys happen on Friday evening.", "deploys happen on friday evening"):
        similar = await store.remember(NewInsight(content=content))
        assert (similar.outcome.action, similar.outcome.suggestion) == ("added", "DUPLICATE")
    forced = await store.remember(
        NewInsight(content="Deploys happen on Friday evening", diff=False)
    )
    assert (forced.outcome.action, forced.outcome.suggestion) == ("added", "ADD")
    log = [(entry.operation, entry.insight_id, entry.detail) for entry in await store.log()]
    assert log[-2] == ("diff-skip", "n2", "duplicate of n1")


@pytest.mark.requirement("native:repeat")
async def test_forgotten_content_can_be_remembered_again(store: MnemonStore) -> None:
    await store.remember(NewInsight(content="once"))
    await store.forget("n1")
    assert (await store.remember(NewInsight(content="once"))).outcome.action == "added"


@pytest.mark.requirement("native:repeat")
async def test_the_newest_repeat_is_named(store: MnemonStore, clock: Any) -> None:
    await store.remember(NewInsight(content="once"))
    clock.advance(minutes=1)
    await store.remember(NewInsight(content="once", diff=False))
    again = await store.remember(NewInsight(content="once"))
    assert again.outcome.replaced_id == "n2"


@pytest.mark.requirement("native:suggestion")
@pytest.mark.parametrize(
    ("new", "old", "tokens", "similarity", "expected"),
    [
        ("a", "b", 0.4, 0.4, "ADD"),
        ("use tabs", "use tabs", 0.95, 0.95, "DUPLICATE"),
        ("do not use tabs", "do use tabs indeed", 0.95, 0.95, "CONFLICT"),
        ("it isn’t used", "it is in use", 0.95, 0.95, "CONFLICT"),
        ("notable nothing", "notable something", 0.95, 0.95, "DUPLICATE"),
        ("उनको not_ कुछ", "उनको note कुछ", 0.95, 0.95, "DUPLICATE"),
        ("tabs are never used", "tabs are used", 0.75, 0.75, "CONFLICT"),
        ("不再使用缩进", "使用缩进", 0.75, 0.75, "CONFLICT"),
        ("tabs are used", "tabs get used", 0.75, 0.75, "UPDATE"),
        ("near by vector", "near in vector", 0.2, 0.95, "DUPLICATE"),
        ("no near by vector", "near by vectors", 0.2, 0.95, "CONFLICT"),
        ("use tabs " + "always " * 20, "use tabs", 0.95, 0.95, "UPDATE"),
    ],
)
def test_the_advice_for_a_pair(
    new: str, old: str, tokens: float, similarity: float, expected: str
) -> None:
    assert suggestion_for(new, old, tokens, similarity) == expected


@pytest.mark.requirement("native:entities")
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("merge", ("Given", "OrderService", "Kafka")),
        ("provided", ("Given",)),
        ("auto", ("OrderService", "Kafka")),
    ],
)
async def test_entities_are_provided_or_found(
    store: MnemonStore, mode: Any, expected: tuple[str, ...]
) -> None:
    done = await store.remember(
        NewInsight(
            content="OrderService reads Kafka", entities=("Given", "Given"), entity_mode=mode
        )
    )
    assert done.outcome.row is not None
    assert done.outcome.row.entities == expected
    assert (await store.show("n1")).entities == expected


@pytest.mark.requirement("native:entities")
async def test_provided_entities_stay_when_none_is_found(store: MnemonStore) -> None:
    new = NewInsight(content="nothing here", entities=("Given",), entity_mode="auto")
    await store.remember(new)
    assert (await store.show("n1")).entities == ("Given",)


@pytest.mark.requirement("native:entities")
async def test_words_that_are_entities_elsewhere_are_found(store: MnemonStore) -> None:
    await store.remember(NewInsight(content="one", entities=("zeppelin", "Mara")))
    done = await store.remember(NewInsight(content="the zeppelin of Mara and Zeppelin"))
    assert done.outcome.row is not None
    assert done.outcome.row.entities == ("Mara", "zeppelin")
    assert done.outcome.edges.entity == 4
    await store.forget("n1")
    await store.forget("n2")
    done = await store.remember(NewInsight(content="a zeppelin again"))
    assert done.outcome.edges.entity == 0


@pytest.mark.requirement("native:edges")
async def test_entity_edges_stop_at_fifty(store: MnemonStore) -> None:
    names = tuple(f"thing{number}" for number in range(30))
    await store.remember(NewInsight(content="first", entities=names))
    done = await store.remember(NewInsight(content="second", entities=names))
    assert done.outcome.edges.entity == 50


@pytest.mark.requirement("native:edges")
async def test_edges_in_time_reach_a_day_back(store: MnemonStore, clock: Any) -> None:
    await store.remember(NewInsight(content="long ago", source="agent"))
    clock.advance(hours=25)
    done = await store.remember(NewInsight(content="now", source="user"))
    assert done.outcome.edges.temporal == 0
    clock.advance(hours=1)
    done = await store.remember(NewInsight(content="later", source="agent"))
    assert done.outcome.edges.temporal == 4
    edges = {
        (edge.source_id, edge.target_id): (edge.weight, edge.metadata)
        for edge in (await store.graph(limit=10)).edges
    }
    assert edges["n1", "n3"] == (1.0, '{"direction":"precedes","sub_type":"backbone"}')
    assert edges["n3", "n1"] == (1.0, '{"direction":"succeeds","sub_type":"backbone"}')
    weight, metadata = edges["n3", "n2"]
    assert weight == pytest.approx(1 / (2 + 0.5 / 3600))
    assert metadata == '{"hours_diff":"1.00","sub_type":"proximity"}'


@pytest.mark.requirement("native:edges")
async def test_a_cause_points_to_its_effect(store: MnemonStore) -> None:
    await store.remember(NewInsight(content="report queries miss an index"))
    await store.remember(NewInsight(content="report queries are slow because of that"))
    await store.remember(NewInsight(content="queries for a report prevented other work"))
    await store.remember(NewInsight(content="unrelated text entirely"))
    causal = [
        (edge.source_id, edge.target_id, edge.metadata)
        for edge in (await store.graph(limit=10)).edges
        if edge.type == "causal"
    ]
    assert ("n1", "n2", '{"overlap":"0.5000","sub_type":"causes"}') in causal
    # Only the old one gives a reason: it is the effect.
    assert ("n3", "n2", '{"overlap":"0.4000","sub_type":"prevents"}') in causal
    assert len(causal) == 2


@pytest.mark.requirement("native:candidates")
async def test_candidates_for_links_are_offered(store: MnemonStore) -> None:
    await store.remember(NewInsight(content="alpha beta gamma"))
    done = await store.remember(NewInsight(content="alpha delta in order to win"))
    assert [(one.row.id, one.similarity) for one in done.semantic] == [("n1", 1 / 3)]
    assert [(one.row.id, one.hop, one.signal, one.sub_type) for one in done.causal] == [
        ("n1", 1, "in order to", "enables")
    ]


@pytest.mark.requirement("native:exact")
async def test_a_batch_of_originals_is_written_whole_or_not_at_all(
    make_store: Callable[..., MnemonStore],
) -> None:
    store = make_store()
    await store.remember(NewInsight(content="known"))
    written = await store.remember_many(
        [NewInsight(content=content) for content in ("one", "known", "two", "one", "x" * 8_192)]
    )
    assert [(one.action, one.id) for one in written] == [
        ("added", "n2"),
        ("skipped", "n1"),
        ("added", "n3"),
        ("skipped", "n2"),
        ("added", "n4"),
    ]
    with pytest.raises(InvalidInput):
        await store.remember_many([NewInsight(content="three"), NewInsight(content="x" * 8_193)])
    ids = iter(["m1", "n1"])
    clash = make_store(new_id=lambda: next(ids))
    with pytest.raises(Exception, match="cannot be used"):
        await clash.remember_many([NewInsight(content="four"), NewInsight(content="five")])
    assert (await store.status()).total_insights == 4
    assert await store.search("four") == []


@pytest.mark.requirement("native:exact")
async def test_originals_are_never_pruned(make_store: Callable[..., MnemonStore]) -> None:
    store = make_store()
    await store.remember(NewInsight(content="became an original"))
    await store.remember_many(
        [NewInsight(content="became an original"), NewInsight(content="an original")]
    )
    await store.remember(NewInsight(content="single original", exact=True))
    for id in ("n1", "n2", "n3"):
        assert (await store.show(id)).access_count == 3


@pytest.mark.requirement("native:limits")
async def test_half_characters_are_refused_wherever_text_comes_in(store: MnemonStore) -> None:
    half = "\udc00"
    await store.remember(NewInsight(content="x"))
    for call in (
        store.recall(Query(text=half)),
        store.search(half),
        store.basic(half),
        store.list(limit=1, query=half),
        store.related(half),
        store.show(half),
        store.forget(half),
        store.link("n1", half),
        store.link("n1", "n1", metadata={"reason": half}),
    ):
        with pytest.raises(TextNotUnicode):
            await call
    for broken in (
        DraftInsight(content="y", source=half),
        DraftInsight(content=half),
        DraftInsight(content="y", tags=(half,)),
    ):
        with pytest.raises(InvalidInput):
            checked([broken])
    edge = DraftEdge(source_index=0, target_index=1, edge_type="causal", reason=half)
    with pytest.raises(InvalidInput):
        checked([DraftInsight(content="y"), DraftInsight(content="z")], [edge])
