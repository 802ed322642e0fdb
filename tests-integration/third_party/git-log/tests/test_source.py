import pytest
from acme_git_log import git_log_source
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_testing import SampleQuery, SourceContract

MESSAGES = ("Boil the kettle\n\nTea needs 96 degrees.", "Warm the pot", "Pour the tea")


class TestGitLog(SourceContract):
    has_actions = False
    has_management = False
    unsampled = ("read",)  # which needs a commit id, see below

    @pytest.fixture(autouse=True)
    def _commits(self, commit):
        self.commit = commit

    def make_source(self, tmp_path):
        self.commit(tmp_path)
        return git_log_source(tmp_path)

    def sample_queries(self):
        return [SampleQuery("search", {"text": "TEA"})]

    async def seed(self, source):
        for message in MESSAGES:
            self.commit(source.folder, message)

    async def writes(self, source):
        self.commit(source.folder, "Drink the tea")

    async def test_a_commit_is_read_with_its_message_and_files(self, tmp_path):
        source = await self.filled(tmp_path)
        [newest, oldest] = (await source.query("search", {"text": "tea"})).items
        assert "Pour the tea" in newest.text
        assert oldest.provenance["createdAt"] == "2026-01-02T03:04:05+00:00"
        for name in (oldest.id, oldest.id[:7]):
            [item] = (await source.query("read", {"commit": name})).items
            assert item.id == oldest.id
            assert "Tea needs 96 degrees." in item.text
            assert "notes.txt" in item.text

    async def test_only_commits_of_the_granted_history_are_read(self, tmp_path):
        source = await self.filled(tmp_path)
        grant = await source.grant()
        await self.writes(source)
        later = (await source.facts()).revision
        assert (await source.query("read", {"commit": later})).items
        for name in (later, "0123456"):
            with pytest.raises(MnemonError) as caught:
                await source.query("read", {"commit": name}, grant=grant)
            assert caught.value.code == "git-log-unknown"

    async def test_a_search_says_that_there_is_more(self, tmp_path):
        source = await self.filled(tmp_path)
        assert not (await source.query("search", {"text": "the"})).truncated
        assert (await source.query("search", {"text": "the"}, results=2)).truncated
        nothing = await source.query("search", {"text": "k.ttle"})
        assert (nothing.items, nothing.truncated) == ((), False)

    async def test_an_empty_history_has_nothing_to_find(self, tmp_path):
        source = self.started(tmp_path)
        [fragment] = (await source.project()).fragments
        assert "No commit yet" in fragment.text
        assert (await source.query("search", {"text": "tea"})).items == ()

    async def test_the_log_names_the_latest_commits_first(self, tmp_path):
        source = await self.filled(tmp_path)
        [fragment] = (await source.project()).fragments
        subjects = [line.split(" ", 2)[2] for line in fragment.text.splitlines()[1:]]
        assert subjects == ["Pour the tea", "Warm the pot", "Boil the kettle"]

    async def test_a_revision_that_is_none_is_refused(self, tmp_path):
        source = await self.filled(tmp_path)
        with pytest.raises(MnemonError) as caught:
            await source.project(revision="--all")
        assert caught.value.code == "git-log-revision"
