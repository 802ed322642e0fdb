"""The Source contract passes for a good Source, and each of its tests is able to fail."""

import pytest
from dsh_mnemon_testing import SourceContract
from dsh_mnemon_testing.guard import Contract

BROKEN = {
    "test_manifest_round_trips": """
        @attrs.frozen(kw_only=True)
        class Wide(SourceManifest):
            icon: str = "note"

        class TestBroken(Broken):
            manifest = Wide(**attrs.asdict(MANIFEST, recurse=False))

        Source = NotesSource
    """,
    "test_facts_stay_within_the_manifest": """
        class Source(NotesSource):
            async def facts(self, request):
                facts = await super().facts(request)
                late = request.scope.agent_id == "agent-two"
                return attrs.evolve(facts, route_ids=("search", "browse")) if late else facts
    """,
    "test_facts_and_projections_write_nothing": """
        class Source(NotesSource):
            async def facts(self, request):
                (self._file.parent / "access").write_text(str(time.time_ns()))
                return await super().facts(request)
    """,
    "test_projection_fits_its_ceiling": """
        class Source(NotesSource):
            async def project(self, request):
                return await super().project(attrs.evolve(request, max_characters=10_000))
    """,
    "test_grant_has_its_consistency_and_no_secret": """
        class Source(NotesSource):
            async def project(self, request):
                made = await super().project(request)
                grant = attrs.evolve(made.read_grant, consistency="namespace-pinned-live-read")
                return attrs.evolve(made, read_grant=grant)
    """,
    "test_no_fragment_without_a_projection": """
        class Source(NotesSource):
            async def project(self, request):
                return await super().project(attrs.evolve(request, include_projection=True))
    """,
    "test_query_stays_within_its_ceilings": """
        class Source(NotesSource):
            async def query(self, request):
                route = attrs.evolve(request.route, max_characters=10_000)
                return await super().query(attrs.evolve(request, route=route))
    """,
    "test_query_is_bound_to_its_question": """
        class Source(NotesSource):
            async def query(self, request):
                found = await super().query(request)
                return attrs.evolve(found, route_id=request.route.source_route_id)
    """,
    "test_query_honours_its_grant": """
        class Source(NotesSource):
            async def query(self, request):
                grant = attrs.evolve(request.grant, value={"notes": await self._notes()})
                return await super().query(attrs.evolve(request, grant=grant))
    """,
    "test_cancelled_reads_end_as_cancelled": """
        class Source(NotesSource):
            async def facts(self, request):
                try:
                    self.latest = await super().facts(request)
                except BaseException:
                    return attrs.evolve(self.latest, availability="unavailable")
                return self.latest
    """,
    "test_concurrent_projections_do_not_mix": """
        class Source(NotesSource):
            async def project(self, request):
                self.limit = request.max_characters
                await anyio.sleep(0)
                limit = min(self.limit, request.max_characters)
                return await super().project(attrs.evolve(request, max_characters=limit))
    """,
    "test_receipts_say_what_happened": """
        class Source(NotesSource):
            async def mutate(self, request):
                try:
                    return await super().mutate(request)
                except ConflictError:
                    return create_receipt(request, completion="unknown")
    """,
    "test_cancelled_change_leaves_a_whole_store": """
        class Source(NotesSource):
            async def mutate(self, request):
                try:
                    await anyio.sleep(0)
                except BaseException:
                    return create_receipt(request, completion="cancelled")
                return await super().mutate(request)
    """,
    "test_stale_management_is_refused": """
        class Source(NotesSource):
            async def manage(self, request):
                revision = (await self.facts(None)).revision
                return await super().manage(attrs.evolve(request, expected_revision=revision))
    """,
    "test_flags_and_samples_match_the_manifest": """
        class TestBroken(Broken):
            has_projection = False

        Source = NotesSource
    """,
    "test_two_instances_share_nothing": """
        class Source(NotesSource):
            latest = {}  # by the folder of the test, since tests follow one another

            async def mutate(self, request):
                receipt = await super().mutate(request)
                self.latest[self._file.parents[1]] = request.input["text"]
                return receipt

            async def project(self, request):
                made = await super().project(request)
                text = self.latest.get(self._file.parents[1], "")[: request.max_characters]
                fragments = tuple(attrs.evolve(item, text=text) for item in made.fragments)
                return attrs.evolve(made, fragments=fragments)
    """,
    "test_dispose_may_be_repeated": """
        class Source(NotesSource):
            open = True

            async def dispose(self):
                assert self.open
                self.open = False
    """,
    "test_contract_is_complete": """
        class TestBroken(Broken):
            test_no_fragment_without_a_projection = None

            def test_manifest_round_trips(self):
                pass

        Source = NotesSource
    """,
}

ALSO = {
    "test_facts_stay_within_the_manifest": {
        "test_concurrent_projections_do_not_mix",
        "test_facts_and_projections_write_nothing",
    },
}
"""What else must fail, because it asks for facts in the scope in which they are wrong."""


@pytest.mark.requirement("testing:source-contract")
def test_every_test_of_the_contract_has_a_source_that_fails_it():
    assert set(BROKEN) == set(SourceContract.contract_tests)
    assert set(Contract.contract_tests) <= set(BROKEN)


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.requirement("testing:source-contract")
def test_contract_test_is_able_to_fail(run_contract, name):
    assert run_contract(BROKEN[name]) == {name} | ALSO.get(name, set())


MINIMAL = """
from dsh_mnemon_testing import SourceContract, fake_source


class TestMinimal(SourceContract):
    has_projection = has_routes = has_actions = has_management = False
    is_durable = False

    def make_source(self, tmp_path):
        return fake_source(
            {
                "manifest": {
                    "typeId": "quiet",
                    "packageName": "quiet-source",
                    "role": "quiet",
                    "capabilities": ["status"],
                    "consistency": "exact-snapshot",
                }
            }
        )

    async def seed(self, source):
        source.live.runtime.spec = {**source.live.runtime.spec, "facts": {"revision": "r2"}}
"""


@pytest.mark.requirement("testing:source-contract:flags")
def test_source_that_offers_nothing_skips_what_it_lacks(pytester):
    pytester.makepyfile(MINIMAL)
    result = pytester.runpytest("-p", "no:cacheprovider", "-rs")
    result.assert_outcomes(passed=11, skipped=10)
    result.stdout.fnmatch_lines(["*TestMinimal says has_actions = False"])


def test_factories_that_are_missing_are_named(tmp_path):
    suite = SourceContract()
    with pytest.raises(NotImplementedError, match="make_source"):
        suite.make_source(tmp_path)


async def test_hooks_that_are_missing_are_named(tmp_path):
    suite = SourceContract()
    with pytest.raises(NotImplementedError, match="writes"):
        await suite.writes(None)
    assert suite.sample_queries() == suite.sample_mutations() == suite.sample_operations() == ()
