"""The Provider contract over Providers that are bad in one particular way."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import attrs
import pytest
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    EntityCount,
    ExternalSpace,
    Graph,
    GraphEdge,
    Insight,
    ListRequest,
    Page,
    ProviderDefinition,
    ProviderManifest,
    ProviderModule,
    ProviderRejected,
    RememberRequest,
    SearchAnswer,
    SearchRequest,
    SpaceStatus,
    SpaceView,
)
from dsh_mnemon_source_memory_spaces.testing import (
    EVERYTHING,
    NativeReferenceAdapter,
    ProviderContract,
    ReferenceAdapter,
    ReferenceService,
    RunningProvider,
    SpaceSetup,
    reference_manifest,
    reference_provider,
)
from pydantic import BaseModel

pytestmark = pytest.mark.requirement("memory-spaces:provider-contract")


class Anything(BaseModel):
    pass


KEY = "s3cret-key-of-the-service"


class Suite(ProviderContract):
    """A suite that is run by hand, over one adapter class."""

    manifest: ProviderManifest = reference_manifest()
    adapter: type[ReferenceAdapter] = ReferenceAdapter

    def __init__(self) -> None:
        self.by_folder: dict[Path, ReferenceService] = {}

    def served(self, tmp_path: Path) -> ReferenceService:
        names = () if self.manifest.origin == "native" else ("one", "two")
        return self.by_folder.setdefault(tmp_path, ReferenceService(*names, key=KEY))

    def make_provider(self, tmp_path: Path) -> ProviderModule:
        return reference_provider(
            self.served(tmp_path), manifest=self.manifest, adapter=self.adapter
        )

    def service(self, tmp_path: Path) -> Mapping[str, Any]:
        return {"apiKey": KEY}

    async def damage(self, running: RunningProvider) -> None:
        service = self.served(running.folder)
        for operation in ("status", "search", "list", "remember"):
            service.fail(operation, ProviderRejected("damaged"))


async def run(suite: Suite, name: str, tmp_path: Path) -> None:
    """Run one test of a suite as pytest would, with the first of its parameters."""
    await anyio.Path(tmp_path).mkdir(exist_ok=True)
    test = getattr(suite, name)
    values = {"tmp_path": tmp_path, "mode": "smart"}
    arguments = {key: values[key] for key in inspect.signature(test).parameters}
    async with AsyncExitStack() as suite._stack:
        await test(**arguments)


def suite_of(adapter: type[ReferenceAdapter], **changes: Any) -> Suite:
    suite = Suite()
    suite.adapter = adapter
    suite.manifest = reference_manifest(**changes)
    return suite


BAD: dict[str, tuple[type[ReferenceAdapter], str]] = {}


def bad(test: str) -> Callable[[type[ReferenceAdapter]], type[ReferenceAdapter]]:
    def register(adapter: type[ReferenceAdapter]) -> type[ReferenceAdapter]:
        BAD[adapter.__name__] = (adapter, test)
        return adapter

    return register


@bad("test_search_finds_what_was_kept")
class MissesTheLimit(ReferenceAdapter):
    async def search(self, space: SpaceView, request: SearchRequest) -> SearchAnswer:
        return await super().search(space, attrs.evolve(request, limit=50))


@bad("test_search_finds_what_was_kept")
class FindsNothing(ReferenceAdapter):
    async def search(self, space: SpaceView, request: SearchRequest) -> SearchAnswer:
        return SearchAnswer()


@bad("test_search_finds_what_was_kept")
class ScoresAbove(ReferenceAdapter):
    async def search(self, space: SpaceView, request: SearchRequest) -> SearchAnswer:
        found = await super().search(space, request)
        return SearchAnswer(results=tuple(attrs.evolve(item, score=7) for item in found.results))


@bad("test_search_finds_what_was_kept")
class ScoresNothing(ReferenceAdapter):
    async def search(self, space: SpaceView, request: SearchRequest) -> SearchAnswer:
        found = await super().search(space, request)
        nan = float("nan")
        return SearchAnswer(results=tuple(attrs.evolve(item, score=nan) for item in found.results))


@bad("test_search_finds_what_was_kept")
class Repeats(ReferenceAdapter):
    async def search(self, space: SpaceView, request: SearchRequest) -> SearchAnswer:
        found = await super().search(space, request)
        return SearchAnswer(results=found.results * 2)


@bad("test_search_finds_nothing_for_other_words")
class FillsUp(ReferenceAdapter):
    async def search(self, space: SpaceView, request: SearchRequest) -> SearchAnswer:
        page = await self.list(space, ListRequest(limit=request.limit))
        return SearchAnswer(results=page.items)


@bad("test_an_empty_space_answers")
class UnhealthyWhenEmpty(ReferenceAdapter):
    async def status(self, space: SpaceView) -> SpaceStatus:
        found = await super().status(space)
        return SpaceStatus(healthy=bool(found.stats and found.stats.total_insights))


@bad("test_list_shows_everything_once")
class PagesOverlap(ReferenceAdapter):
    async def list(self, space: SpaceView, request: ListRequest) -> Page:
        page = await super().list(space, request)
        if request.limit == 1 and page.next_cursor == "2":
            return attrs.evolve(page, items=(await super().list(space, ListRequest())).items[:1])
        return page


@bad("test_list_shows_everything_once")
class LosesOne(ReferenceAdapter):
    async def list(self, space: SpaceView, request: ListRequest) -> Page:
        page = await super().list(space, request)
        return attrs.evolve(page, items=page.items[1:])


@bad("test_list_shows_everything_once")
class GoesInCircles(ReferenceAdapter):
    async def list(self, space: SpaceView, request: ListRequest) -> Page:
        return attrs.evolve(await super().list(space, request), next_cursor="0")


@bad("test_list_filters_by_category")
class IgnoresTheCategory(ReferenceAdapter):
    async def list(self, space: SpaceView, request: ListRequest) -> Page:
        return await super().list(space, attrs.evolve(request, category=None))


@bad("test_metadata_sample_is_small")
class SamplesEverything(ReferenceAdapter):
    async def metadata_sample(self, space: SpaceView, limit: int) -> Sequence[Insight]:
        return (await self.list(space, ListRequest())).items


@bad("test_graph_joins_what_it_shows")
class Dangles(ReferenceAdapter):
    async def graph(self, space: SpaceView, cursor: str | None = None) -> Graph:
        graph = await super().graph(space, cursor)
        edge = GraphEdge(source_id="gone", target_id="gone", label="", color="#000000")
        return attrs.evolve(graph, edges=(edge,))


@bad("test_graph_joins_what_it_shows")
class NamesItsColours(ReferenceAdapter):
    async def graph(self, space: SpaceView, cursor: str | None = None) -> Graph:
        graph = await super().graph(space, cursor)
        return attrs.evolve(graph, nodes=[attrs.evolve(n, color="red") for n in graph.nodes])


@bad("test_entities_are_counted")
class CountsUpwards(ReferenceAdapter):
    async def entities(self, space: SpaceView, limit: int) -> Sequence[EntityCount]:
        return sorted(await super().entities(space, limit), key=lambda item: item.count)


@bad("test_related_starts_from_a_known_memory")
class ReturnsTheStart(ReferenceAdapter):
    async def related(
        self, space: SpaceView, id: str, depth: int, edge: str | None = None
    ) -> Sequence[Insight]:
        return (await self.list(space, ListRequest())).items


@bad("test_discovered_namespaces_are_distinct")
class DiscoversTwice(ReferenceAdapter):
    async def discover(self, connection: Mapping[str, Any]) -> Sequence[ExternalSpace]:
        return [*await super().discover(connection)] * 2


@bad("test_cancelled_reads_end_as_cancelled")
class SwallowsCancellation(ReferenceAdapter):
    async def status(self, space: SpaceView) -> SpaceStatus:
        try:
            return await super().status(space)
        except BaseException:
            return SpaceStatus(healthy=False, error="cancelled")


@bad("test_reads_at_once_do_not_mix")
class RemembersTheSpace(ReferenceAdapter):
    last: SpaceView

    async def list(self, space: SpaceView, request: ListRequest) -> Page:
        self.last = space
        await anyio.lowlevel.checkpoint()
        return await super().list(self.last, request)


@bad("test_a_write_says_what_it_did")
class SaysNothing(ReferenceAdapter):
    async def remember(self, space: SpaceView, request: RememberRequest) -> Mapping[str, Any]:
        return {"id": (await super().remember(space, request))["id"]}


@bad("test_a_write_says_what_it_did")
class ProvesNothing(ReferenceAdapter):
    async def remember(self, space: SpaceView, request: RememberRequest) -> Mapping[str, Any]:
        return {**await super().remember(space, request), "action": "done"}


@bad("test_a_write_keeps_what_it_was_given")
class ChangesTheImportance(ReferenceAdapter):
    async def remember(self, space: SpaceView, request: RememberRequest) -> Mapping[str, Any]:
        return await super().remember(space, attrs.evolve(request, importance=1))


@bad("test_text_is_kept_literally")
class Tidies(ReferenceAdapter):
    async def remember(self, space: SpaceView, request: RememberRequest) -> Mapping[str, Any]:
        tidy = " ".join(request.content.split())
        return await super().remember(space, attrs.evolve(request, content=tidy))


@bad("test_an_archived_original_is_kept_whole")
class CutsLongText(ReferenceAdapter):
    async def remember(self, space: SpaceView, request: RememberRequest) -> Mapping[str, Any]:
        short = request.content[:8_000]
        return await super().remember(space, attrs.evolve(request, content=short))


@bad("test_a_batch_answers_each_request")
class AnswersOnce(ReferenceAdapter):
    async def remember_many(
        self, space: SpaceView, requests: Sequence[RememberRequest]
    ) -> Sequence[Mapping[str, Any]]:
        return (await super().remember_many(space, requests))[:1]


@bad("test_writes_at_once_are_all_kept")
class ReadsWaitsWrites(ReferenceAdapter):
    async def remember(self, space: SpaceView, request: RememberRequest) -> Mapping[str, Any]:
        held = self.service.namespaces["one"]
        before = dict(held.insights)
        answer = await super().remember(space, request)
        held.insights = {**before, answer["id"]: held.insights[answer["id"]]}
        return answer


@bad("test_spaces_and_instances_do_not_mix")
class PutsAllInOne(ReferenceAdapter):
    async def list(self, space: SpaceView, request: ListRequest) -> Page:
        return await super().list(attrs.evolve(space, external_id="one"), request)


@bad("test_a_foreign_space_is_refused")
class ReadsAnySpace(ReferenceAdapter):
    async def search(self, space: SpaceView, request: SearchRequest) -> SearchAnswer:
        return self.service.namespaces["one"].search(request)


@bad("test_a_foreign_space_is_refused")
class WritesAnywhere(ReferenceAdapter):
    async def remember(self, space: SpaceView, request: RememberRequest) -> Mapping[str, Any]:
        known = SpaceSetup(id="one", external_id="one").view()
        return await super().remember(known, request)


@bad("test_forgetting_takes_away")
class KeepsWhatItForgot(ReferenceAdapter):
    async def forget(self, space: SpaceView, id: str) -> Mapping[str, Any]:
        return {"action": "deleted", "id": id}


@bad("test_forgetting_nothing_forgets_nothing")
class ClaimsToForget(ReferenceAdapter):
    async def forget(self, space: SpaceView, id: str) -> Mapping[str, Any]:
        return {"action": "deleted", "id": id}


@bad("test_joined_memories_are_related")
class ForgetsEdges(ReferenceAdapter):
    async def related(
        self, space: SpaceView, id: str, depth: int, edge: str | None = None
    ) -> Sequence[Insight]:
        return []


@bad("test_joined_memories_are_related")
class MakesUpReasons(ReferenceAdapter):
    async def graph(self, space: SpaceView, cursor: str | None = None) -> Graph:
        graph = await super().graph(space, cursor)
        edges = tuple(attrs.evolve(edge, reason="because") for edge in graph.edges)
        return attrs.evolve(graph, edges=edges)


@bad("test_a_cancelled_write_is_whole_or_not_there")
class WritesAfterTheEnd(ReferenceAdapter):
    async def remember(self, space: SpaceView, request: RememberRequest) -> Mapping[str, Any]:
        with anyio.CancelScope(shield=True):
            answer = await super().remember(space, request)
        await anyio.lowlevel.checkpoint()
        return answer


@bad("test_damage_is_told_not_hidden")
class IsAlwaysHealthy(ReferenceAdapter):
    async def status(self, space: SpaceView) -> SpaceStatus:
        return SpaceStatus(healthy=True)


@bad("test_damage_is_told_not_hidden")
class HidesDamage(ReferenceAdapter):
    async def search(self, space: SpaceView, request: SearchRequest) -> SearchAnswer:
        try:
            return await super().search(space, request)
        except ProviderRejected:
            return SearchAnswer()


@bad("test_no_secret_is_ever_said")
class PrintsItsKey(ReferenceAdapter):
    def __repr__(self) -> str:
        return f"Adapter({self.service.key})"


@bad("test_no_secret_is_ever_said")
class EchoesItsKey(ReferenceAdapter):
    async def status(self, space: SpaceView) -> SpaceStatus:
        found = await super().status(space)
        return attrs.evolve(found, error=f"401 for {self.service.key}" if found.error else None)


@bad("test_the_factory_only_makes")
class OpensAtOnce(ReferenceAdapter):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        (self.context.memory_spaces.data_dir() / "memory.db").touch()


@bad("test_a_closed_adapter_leaves_nothing_running")
class KeepsNothing(ReferenceAdapter):
    async def aclose(self) -> None:
        for namespace in self.service.namespaces.values():
            namespace.insights.clear()


@pytest.mark.parametrize("name", BAD)
async def test_the_contract_notices(name: str, tmp_path: Path) -> None:
    adapter, test = BAD[name]
    await run(suite_of(ReferenceAdapter), test, tmp_path / "good")
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        await run(suite_of(adapter), test, tmp_path / "bad")


NATIVE_BAD: dict[str, tuple[type[NativeReferenceAdapter], str]] = {}


class TakesAnyName(NativeReferenceAdapter):
    async def create_store(self, store_id: str) -> None:
        if store_id != ".hidden":
            await super().create_store(store_id)


class KeepsTheFolder(NativeReferenceAdapter):
    async def remove_store(self, store_id: str) -> None:
        self._known(store_id)
        if store_id != "one":
            del self.service.namespaces[store_id]


class ImportsTwice(NativeReferenceAdapter):
    async def import_draft(self, space: SpaceView, insights: Any, edges: Any) -> Any:
        answer = await super().import_draft(space, insights, edges)
        return {**answer, "imported": len(insights), "skipped": 0}


class ShowsItsKey(NativeReferenceAdapter):
    async def embedding_status(self) -> Mapping[str, Any]:
        return {**await super().embedding_status(), "apiKey": "x"}


@pytest.mark.parametrize(
    ("adapter", "test"),
    [
        (TakesAnyName, "test_stores_come_and_go"),
        (KeepsTheFolder, "test_stores_come_and_go"),
        (ImportsTwice, "test_an_import_can_be_repeated"),
        (ShowsItsKey, "test_embeddings_are_reported"),
    ],
)
async def test_the_contract_notices_bad_stores(
    adapter: type[NativeReferenceAdapter], test: str, tmp_path: Path
) -> None:
    await run(suite_of(NativeReferenceAdapter, origin="native"), test, tmp_path / "good")
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        await run(suite_of(adapter, origin="native"), test, tmp_path / "bad")


async def test_a_default_that_does_not_fit_is_noticed(tmp_path: Path) -> None:
    field = {"key": "limit", "label": "Limit", "scope": "service", "input": "number", "max": 3}
    secret = {"key": "apiKey", "label": "Key", "scope": "service", "input": "secret"}
    for fields in (
        [secret, {**field, "defaultValue": "2"}],
        [{**secret, "defaultValue": "changeme"}],
    ):
        suite = suite_of(ReferenceAdapter, fields=fields)
        with pytest.raises(AssertionError):
            await run(suite, "test_field_defaults_fit_their_fields", tmp_path / str(len(fields)))


async def test_a_module_of_another_id_is_noticed(tmp_path: Path) -> None:
    class Renamed(Suite):
        asked = 0

        def make_provider(self, tmp_path: Path) -> ProviderModule:
            self.asked += 1
            made = super().make_provider(tmp_path)
            return made if self.asked == 1 else attrs.evolve(made, id="another")

    with pytest.raises(AssertionError):
        await run(Renamed(), "test_manifest_round_trips", tmp_path)


async def test_a_configuration_that_takes_anything_is_noticed(tmp_path: Path) -> None:
    class Loose(Suite):
        def make_provider(self, tmp_path: Path) -> ProviderModule:
            return attrs.evolve(super().make_provider(tmp_path), config_model=Anything)

    with pytest.raises(pytest.fail.Exception):
        await run(Loose(), "test_mounting_is_repeatable", tmp_path)


async def test_a_manifest_that_changes_is_noticed(tmp_path: Path) -> None:
    class Changing(Suite):
        count = 0

        def make_provider(self, tmp_path: Path) -> ProviderModule:
            self.count += 1
            self.manifest = reference_manifest(version=f"0.{self.count}")
            return super().make_provider(tmp_path)

    with pytest.raises(AssertionError):
        await run(Changing(), "test_mounting_is_repeatable", tmp_path)


async def test_what_a_suite_must_supply_is_named(tmp_path: Path) -> None:
    class Empty(ProviderContract):
        pass

    with pytest.raises(NotImplementedError, match="Empty needs make_provider"):
        Empty().make_provider(tmp_path)
    with pytest.raises(NotImplementedError, match="has_damage"):
        await Empty().damage(None)
    assert Empty().service(tmp_path) == Empty().child_config(tmp_path) == {}


def test_a_deleted_or_replaced_test_is_noticed() -> None:
    class Without(ProviderContract):
        test_text_is_kept_literally = None

    class Replaced(ProviderContract):
        async def test_text_is_kept_literally(self, tmp_path: Path) -> None:
            pass

    for suite in (Without, Replaced):
        with pytest.raises(AssertionError, match="test_text_is_kept_literally"):
            suite().test_contract_is_complete()


def test_everything_is_declared() -> None:
    assert reference_manifest().capabilities.model_dump() == dict(EVERYTHING)
    assert ProviderDefinition(manifest=reference_manifest(), create=ReferenceAdapter).manifest
