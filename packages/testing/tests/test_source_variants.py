"""The Source contract over Sources that are good in their own way, or bad in a particular one."""

import pytest

pytestmark = pytest.mark.requirement("testing:source-contract")

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
            patience = 0.02

        class Source(NotesSource):
            async def query(self, request):
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(0.05)
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
    "resources that must be closed": (
        """
        OPEN = []

        class TestBroken(Broken):
            @pytest.fixture(scope="class", autouse=True)
            def nothing_is_left_open(self):
                yield
                assert OPEN == []

        class Source(NotesSource):
            def __init__(self, context, folder):
                super().__init__(context, folder)
                OPEN.append(self)

            async def dispose(self):
                OPEN[:] = [source for source in OPEN if source is not self]
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


@pytest.mark.parametrize("variant", VARIANTS)
def test_contract_of_a_variant(run_contract, variant):
    code, failing = VARIANTS[variant]
    assert run_contract(code) == failing
