"""The Source contract passes for a good Source, and each of its tests is able to fail."""

import textwrap

import anyio  # noqa: F401 - loaded before pytester takes stock of the modules
import pytest
from dsh_mnemon_testing import SourceContract
from dsh_mnemon_testing.guard import Contract

PRELUDE = """
import time
from pathlib import Path

import anyio
import attrs
from dsh_mnemon_core.sdk import *
from dsh_mnemon_core.errors import *
from dsh_mnemon_core.view import *
from dsh_mnemon_testing import *
from my_notes.source import *
from notes_contract import TestNotes as Notes


class Broken(Notes):
    manifest = MANIFEST

    def make_source(self, tmp_path):
        def create(context):
            return Source(context, tmp_path)

        return SourceDefinition(manifest=self.manifest, create=create)


class TestBroken(Broken):
    pass


"""

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

VARIANTS = {
    "a secret in the grant": (
        """
        class TestBroken(Broken):
            def secrets(self, tmp_path):
                return {"token": "s3cret"}

        class Source(NotesSource):
            def __init__(self, context, folder):
                super().__init__(context, folder)
                self.token = context.secrets["token"].get_secret_value()

            async def project(self, request):
                made = await super().project(request)
                value = {**made.read_grant.value, "headers": [{"auth": f"Bearer {self.token}"}]}
                return attrs.evolve(made, read_grant=attrs.evolve(made.read_grant, value=value))
        """,
        {"test_grant_has_its_consistency_and_no_secret"},
    ),
    "a configured secret in the presentation": (
        """
        class TestBroken(Broken):
            def configuration(self, tmp_path):
                return {"servers": [{"apiKey": ["s3cret"], "port": 1}]}

        class Source(NotesSource):
            def __init__(self, context, folder):
                super().__init__(context, folder)
                self.text = str(context.configuration)

            async def project(self, request):
                made = await super().project(request)
                items = (PresentationItem(id="a", title=self.text),)
                shown = Presentation(visible_items=1, items=items)
                return attrs.evolve(made, presentation=shown)
        """,
        {"test_grant_has_its_consistency_and_no_secret"},
    ),
    "a snapshot that is the live state": (
        """
        class Source(NotesSource):
            async def query(self, request):
                if "notes" in request.grant.value:
                    grant = attrs.evolve(request.grant, value={"notes": await self._notes()})
                    request = attrs.evolve(request, grant=grant)
                return await super().query(request)
        """,
        {"test_query_honours_its_grant"},
    ),
    "a grant that is refused": (
        """
        class Source(NotesSource):
            async def query(self, request):
                if "notes" not in request.grant.value:
                    raise AuthorityError("grant-unknown", "not a grant of this Source")
                return await super().query(request)
        """,
        set(),
    ),
    "nothing written for the snapshot": (
        """
        class TestBroken(Broken):
            async def writes(self, source):
                pass

        Source = NotesSource
        """,
        {"test_query_honours_its_grant"},
    ),
    "a sample that finds nothing": (
        """
        class TestBroken(Broken):
            def sample_queries(self):
                return [SampleQuery("search", {"text": "coffee"})]

            async def writes(self, source):
                await source.mutate("add", {"text": "Coffee."})

        Source = NotesSource
        """,
        {"test_query_is_bound_to_its_question"},
    ),
    "a cancellation that becomes an error": (
        """
        class Source(NotesSource):
            async def query(self, request):
                try:
                    await anyio.sleep(0)
                except BaseException as error:
                    raise StorageError("store-unreadable", "interrupted") from None
                return await super().query(request)

            async def mutate(self, request):
                try:
                    await anyio.sleep(0)
                except BaseException as error:
                    raise StorageError("store-unwritable", "interrupted") from None
                return await super().mutate(request)
        """,
        {"test_cancelled_reads_end_as_cancelled", "test_cancelled_change_leaves_a_whole_store"},
    ),
    "a cancellation that is not heard": (
        """
        class TestBroken(Broken):
            patience = 0.1

        class Source(NotesSource):
            async def query(self, request):
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(0.2)
                return await super().query(request)
        """,
        {"test_cancelled_reads_end_as_cancelled"},
    ),
    "a change that is cancelled before it begins and made": (
        """
        class Source(NotesSource):
            async def mutate(self, request):
                with anyio.CancelScope(shield=True):
                    receipt = await super().mutate(request)
                await anyio.sleep(0)
                return receipt
        """,
        {"test_cancelled_change_leaves_a_whole_store"},
    ),
    "a commit that is none": (
        """
        class Source(NotesSource):
            async def mutate(self, request):
                self.kept = [*await self._notes(), request.input["text"]]
                return create_receipt(request, completion="committed")

            async def _notes(self):
                return getattr(self, "kept", None) or await super()._notes()

            async def manage(self, request):
                self.kept = []
                return await super().manage(request)
        """,
        {
            "test_receipts_say_what_happened",  # a failing one succeeds
            "test_cancelled_change_leaves_a_whole_store",  # a fresh instance shows nothing
            "test_stale_management_is_refused",
        },
    ),
    "no change that fails": (
        """
        class TestBroken(Broken):
            def sample_mutations(self):
                return [SampleMutation("add", {"text": "Tea."})]

        Source = NotesSource
        """,
        {"test_receipts_say_what_happened"},
    ),
    "a change of unknown outcome": (
        """
        class TestBroken(Broken):
            def sample_mutations(self):
                unsure = SampleMutation("add", {"text": "?"}, "unknown")
                return [*super().sample_mutations(), unsure]

        class Source(NotesSource):
            async def mutate(self, request):
                if request.input["text"] == "?":
                    return create_receipt(request, completion="unknown")
                return await super().mutate(request)
        """,
        set(),
    ),
    "no operation": (
        """
        class TestBroken(Broken):
            def sample_operations(self):
                return []

        Source = NotesSource
        """,
        {"test_stale_management_is_refused"},
    ),
    "samples that are missing or not wanted": (
        """
        class TestBroken(Broken):
            unsampled = ("search",)

        Source = NotesSource
        """,
        {"test_flags_and_samples_match_the_manifest"},
    ),
    "told apart by configuration, with one definition": (
        """
        class TestBroken(Broken):
            def make_source(self, tmp_path):
                def create(context):
                    return NotesSource(context, Path(context.configuration["dataDir"]))

                return SourceDefinition(manifest=MANIFEST, create=create)

            def configuration(self, tmp_path):
                return {"dataDir": str(tmp_path)}
        """,
        set(),
    ),
    "another backend, forgotten at the end": (
        """
        STORES = {}

        class TestBroken(Broken):
            is_durable = False

            def stored(self, tmp_path):
                return STORES.get(tmp_path)

        class Source(NotesSource):
            def __init__(self, context, folder):
                super().__init__(context, folder)
                self.folder = folder
                STORES[folder] = []

            def _load(self):
                return STORES[self.folder]

            async def _change(self, step):
                await anyio.sleep(0)
                STORES[self.folder] = step(self._load())
                return digest(self._load())
        """,
        set(),
    ),
    "deviations with a reason": (
        """
        class TestBroken(Broken):
            @deviates("the manifest of this Source has an icon")
            def test_manifest_round_trips(self):
                assert self.manifest

        Source = NotesSource
        """,
        set(),
    ),
    "a store that links": (
        """
        class Source(NotesSource):
            async def facts(self, request):
                (self._file.parent / "empty").mkdir(exist_ok=True)
                link = self._file.parent / "link"
                link.unlink(missing_ok=True)
                link.symlink_to(str(time.time_ns()))
                return await super().facts(request)
        """,
        {"test_facts_and_projections_write_nothing"},
    ),
}


@pytest.fixture
def run(project):
    """Return a function that runs the contract over a Source and tells which tests failed."""
    suite = (project.path / "tests" / "test_source.py").read_text(encoding="utf-8")
    (project.path / "src" / "notes_contract.py").write_text(suite, encoding="utf-8")

    def run(code: str) -> set[str]:
        file = project.path / "tests" / "test_broken.py"
        file.write_text(PRELUDE + textwrap.dedent(code), encoding="utf-8")
        recorder = project.inline_run("-p", "no:cacheprovider", "-q", str(file))
        assert sum(recorder.countoutcomes()) >= 20
        return {
            report.location[2].partition(".")[2].partition("[")[0]
            for report in recorder.getfailures()
        }

    return run


def test_every_test_of_the_contract_has_a_source_that_fails_it():
    assert set(BROKEN) == set(SourceContract.contract_tests)
    assert set(Contract.contract_tests) <= set(BROKEN)


@pytest.mark.parametrize("name", BROKEN)
def test_contract_test_is_able_to_fail(run, name):
    assert run(BROKEN[name]) == {name} | ALSO.get(name, set())


@pytest.mark.parametrize("variant", VARIANTS)
def test_contract_of_a_variant(run, variant):
    code, failing = VARIANTS[variant]
    assert run(code) == failing


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
