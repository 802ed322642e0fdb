"""A Provider that hangs, raises, answers rubbish or too much (spec/README.md D18)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import anyio
import attrs
import pytest
from dsh_mnemon_source_memory_spaces._children import Children, MountedChildren
from dsh_mnemon_source_memory_spaces._recall.pipeline import recall
from dsh_mnemon_source_memory_spaces._recall.quality import POLICIES, Quality
from dsh_mnemon_source_memory_spaces._recall.report import RecallReport, RecallRequest, Target
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    Insight,
    ProviderConfig,
    ProviderUnavailable,
    SearchAnswer,
    SearchRequest,
    SpaceView,
)
from dsh_mnemon_source_memory_spaces.testing.reference import (
    ReferenceAdapter,
    reference_manifest,
    reference_provider,
)

pytestmark = pytest.mark.requirement("memory-spaces:recall:faults")

GOOD = SearchAnswer(results=(Insight(id="g1", content="good", score=0.9),))
SECRET = "k3y-of-the-service"


@pytest.fixture
def make_target(mount: Callable[..., MountedChildren]) -> Callable[..., Target]:
    """Make a Space of a Provider whose search is a given function."""

    def make(name: str, search: Any, **said: Any) -> Target:
        class Adapter(ReferenceAdapter):
            async def search(self, space: SpaceView, request: SearchRequest) -> SearchAnswer:
                answer: SearchAnswer = await search(request)
                return answer

        module = reference_provider(manifest=reference_manifest(name, **said), adapter=Adapter)
        children = Children(
            mount(module),
            authority=lambda _: None,
            config=ProviderConfig(),  # type: ignore[arg-type, return-value]
        )
        child = children.get(name)
        return Target(
            space=SpaceView(id=f"space-{name}", name=f"Space {name}"),
            provider_id=name,
            manifest=child.manifest,
            adapter=child.adapter,
            secrets=(SECRET,),
        )

    return make


async def good(_request: SearchRequest) -> SearchAnswer:
    return GOOD


def raising(error: BaseException) -> Any:
    async def search(_request: SearchRequest) -> SearchAnswer:
        raise error

    return search


def answering(value: Any) -> Any:
    async def search(_request: SearchRequest) -> Any:
        return value

    return search


async def ask(*targets: Target, seconds: float = 5, **request: Any) -> RecallReport:
    quality = Quality("strict-v1", POLICIES["strict-v1"])
    wanted = RecallRequest(**{"query": "q", **request})
    return await recall(wanted, targets, quality=quality, seconds=seconds)


class TestFaults:
    async def test_one_that_hangs_does_not_hold_up_the_others(
        self, make_target: Callable[..., Target]
    ) -> None:
        async def hang(_request: SearchRequest) -> SearchAnswer:
            await anyio.sleep_forever()
            raise AssertionError

        with anyio.fail_after(3):
            report = await ask(make_target("alpha", good), make_target("beta", hang), seconds=0.05)
        assert [hit.insight.id for hit in report.results] == ["g1"]
        assert report.hint == "Space beta: unavailable: no answer within 0.05 s"
        assert [source.status for source in report.sources] == ["ready", "unavailable"]

    async def test_one_that_swallows_cancellation_once_is_given_up_too(
        self, make_target: Callable[..., Target]
    ) -> None:
        async def stubborn(_request: SearchRequest) -> SearchAnswer:
            try:
                await anyio.sleep_forever()
            except anyio.get_cancelled_exc_class():
                await anyio.sleep_forever()
            raise AssertionError

        with anyio.fail_after(3):
            report = await ask(make_target("alpha", stubborn), seconds=0.05)
        assert report.sources[0].status == "unavailable"

    async def test_all_searches_share_one_deadline_with_the_recovery(
        self, make_target: Callable[..., Target]
    ) -> None:
        calls: list[str] = []

        async def slow(request: SearchRequest) -> SearchAnswer:
            calls.append(request.mode)
            await anyio.sleep(0.1 if request.mode == "smart" else 60)
            return GOOD

        native = make_target("mnemon-native", slow)
        target = make_native(native)
        began = anyio.current_time()
        report = await ask(target, seconds=0.3, query="one two three four")
        assert anyio.current_time() - began < 2
        assert calls == ["smart", "keyword"]
        assert [hit.insight.id for hit in report.results] == ["g1"]
        assert report.hint is None

    @pytest.mark.parametrize(
        ("error", "line"),
        [
            (ProviderUnavailable("connection refused"), "connection refused"),
            (
                ProviderUnavailable(f"401 with key {SECRET}\nand more"),
                "401 with key [redacted] and more",
            ),
            (ValueError("/home/somebody/.secret"), "the Provider failed unexpectedly (ValueError)"),
            (ProviderUnavailable(" "), "provider-unavailable"),
        ],
    )
    async def test_one_that_raises_is_one_redacted_line(
        self, make_target: Callable[..., Target], error: Exception, line: str
    ) -> None:
        report = await ask(make_target("alpha", raising(error)), make_target("beta", good))
        assert report.hint == f"Space alpha: unavailable: {line}"
        assert len(report.results) == 1

    async def test_a_foreign_exception_is_logged_without_its_words(
        self, make_target: Callable[..., Target], caplog: pytest.LogCaptureFixture
    ) -> None:
        await ask(make_target("alpha", raising(ValueError(f"with {SECRET}"))))
        [record] = caplog.records
        first, *places = record.getMessage().splitlines()[1:]
        assert (record.levelname, first) == ("ERROR", "ValueError")
        assert places[-1].startswith(f"  {__file__}:")
        assert SECRET not in caplog.text
        caplog.clear()
        await ask(make_target("alpha", raising(ProviderUnavailable("busy"))))
        assert caplog.records == []

    async def test_a_line_is_bounded(self, make_target: Callable[..., Target]) -> None:
        report = await ask(make_target("alpha", raising(ProviderUnavailable("x" * 5_000))))
        assert report.sources[0].hint is not None
        assert len(report.sources[0].hint) == 300

    async def test_a_cancellation_of_its_own_is_no_answer(
        self, make_target: Callable[..., Target]
    ) -> None:
        own = anyio.get_cancelled_exc_class()()
        report = await ask(make_target("alpha", raising(own)), make_target("beta", good))
        assert report.hint == "Space alpha: unavailable: the call ended without an answer"
        assert len(report.results) == 1

    async def test_a_cancellation_from_outside_is_passed_on(
        self, make_target: Callable[..., Target]
    ) -> None:
        async def hang(_request: SearchRequest) -> SearchAnswer:
            await anyio.sleep_forever()
            raise AssertionError

        with anyio.move_on_after(0.05) as scope:
            await ask(make_target("alpha", hang))
        assert scope.cancelled_caught

    @pytest.mark.parametrize("rubbish", [None, [], "text", {"results": []}])
    async def test_no_answer_at_all_is_unavailable(
        self, make_target: Callable[..., Target], rubbish: Any
    ) -> None:
        report = await ask(make_target("alpha", answering(rubbish)), make_target("beta", good))
        assert report.sources[0].status == "unavailable"
        assert report.hint is not None
        assert "search results" in report.hint
        assert len(report.results) == 1

    async def test_results_that_are_no_list_are_unavailable(
        self, make_target: Callable[..., Target]
    ) -> None:
        answer = SearchAnswer(results="many")  # type: ignore[arg-type]
        report = await ask(make_target("alpha", answering(answer)))
        assert report.sources[0].status == "unavailable"

    @pytest.mark.parametrize(
        "item",
        [
            {"id": "a", "content": "x"},
            Insight(id="", content="x"),
            Insight(id="a", content="  "),
            Insight(id=5, content="x"),  # type: ignore[arg-type]
            Insight(id="a", content=None),  # type: ignore[arg-type]
            Insight(id="a" * 501, content="x"),
            Insight(id="a", content="\ud800"),
        ],
    )
    async def test_an_unreadable_item_is_left_out_and_counted(
        self, make_target: Callable[..., Target], item: Any
    ) -> None:
        answer = SearchAnswer(results=(item, *GOOD.results), hint=f"index {SECRET} is warming up")
        report = await ask(make_target("alpha", answering(answer)))
        assert [hit.insight.id for hit in report.results] == ["g1"]
        assert report.hint == (
            "Space alpha: index [redacted] is warming up; 1 unreadable items were left out"
        )

    async def test_fields_of_a_wrong_kind_are_dropped(
        self, make_target: Callable[..., Target]
    ) -> None:
        odd: dict[str, Any] = {
            "importance": True,
            "tags": "a,b",
            "entities": ["Ada", 5, "\ud800"],
            "confidence": math.inf,
            "created_at": 20260301,
            "category": " ",
            "depth": 1.5,
            "external_uri": "u" * 3_000,
        }
        answer = SearchAnswer(results=[Insight(id="a", content="x" * 200_000, score=1, **odd)])  # type: ignore[arg-type]
        report = await ask(make_target("alpha", answering(answer)))
        row = report.results[0].to_json()
        assert len(row["content"]) == 100_000
        assert row["entities"] == ("Ada",)
        assert len(row["externalUri"]) == 2_000
        gone = ("importance", "tags", "confidence", "createdAt", "category", "depth")
        assert not any(key in row for key in gone)

    @pytest.mark.parametrize("score", ["high", True, math.nan, math.inf])
    async def test_a_score_that_is_no_number_is_dropped_and_counted(
        self, make_target: Callable[..., Target], score: Any
    ) -> None:
        answer = SearchAnswer(results=(Insight(id="a", content="x", score=score), *GOOD.results))
        report = await ask(make_target("alpha", answering(answer)))
        assert [hit.insight.id for hit in report.results] == ["g1"]
        assert report.sources[0].to_json()["quality"]["droppedInvalidScore"] == 1

    async def test_too_much_is_cut_and_said(self, make_target: Callable[..., Target]) -> None:
        many = tuple(Insight(id=f"i{n}", content="x", score=0.9) for n in range(500))
        report = await ask(make_target("alpha", answering(SearchAnswer(results=many))), limit=2)
        assert len(report.results) == 2
        assert report.sources[0].to_json()["quality"]["fetched"] == 6
        assert report.hint == ("Space alpha: 494 items beyond what was asked for were left out")

    async def test_a_repeated_id_keeps_its_first_rank(
        self, make_target: Callable[..., Target]
    ) -> None:
        twice = (
            Insight(id="a", content="first", score=0.7),
            Insight(id="b", content="second", score=0.9),
            Insight(id="a", content="again", score=0.95),
        )
        report = await ask(
            make_target("alpha", answering(SearchAnswer(results=twice))), make_target("beta", good)
        )
        found = [(hit.insight.content, hit.federated_score) for hit in report.results]
        assert found == [("first", 1 / 61), ("good", 1 / 61), ("second", 1 / 62)]

    async def test_one_that_cannot_be_searched_is_named_and_not_asked(
        self, make_target: Callable[..., Target]
    ) -> None:
        mute = make_target("alpha", raising(AssertionError()), capabilities={"browse": True})
        report = await ask(mute, make_target("beta", good))
        assert report.sources[0].to_json()["status"] == "unsupported"
        assert report.hint == "Space alpha: Alpha cannot be searched"
        # Only one Provider was searched, so nothing had to be fused.
        assert report.results[0].federated_score is None

    async def test_everything_dropped_is_empty(self, make_target: Callable[..., Target]) -> None:
        low = SearchAnswer(results=(Insight(id="a", content="x", score=0.1),))
        report = await ask(make_target("alpha", answering(low)))
        assert (report.sources[0].status, report.sources[0].retained) == ("empty", 0)


def make_native(target: Target) -> Target:
    """Return the same Space as one of a Provider of origin ``native``."""
    own = reference_manifest("mnemon-native", origin="native", fields=[], secrets=[])
    return attrs.evolve(target, manifest=own)
