import pytest
from acme_git_log import plugin
from dsh_mnemon_core.errors import ConfigurationError
from dsh_mnemon_core.plugin import Contributions

EVERYTHING = {
    "projection": {"mode": "routed", "maxCharacters": 500},
    "routeIds": "offered",
    "required": False,
}


@pytest.fixture
def strategy(memory_runner, fake_strategy):
    definition = fake_strategy(compose=EVERYTHING)
    memory_runner.install("strategy", Contributions(strategies=(definition,)))


@pytest.mark.usefixtures("strategy")
async def test_a_turn_sees_and_searches_the_history(memory_runner, commit, tmp_path):
    commit(tmp_path, "Boil the kettle")
    await memory_runner.mount(plugin, instance_id="git", config={"repository": str(tmp_path)})
    with await memory_runner.begin_turn() as turn:
        [fragment] = turn.view.projection
        assert "Boil the kettle" in fragment.text
        commit(tmp_path, "Burn the kettle")
        evidence = await turn.execute_route("source:git/search", {"text": "kettle"})
        assert len(evidence.items) == 1  # the turn's View is pinned
    with await memory_runner.begin_turn() as turn:
        evidence = await turn.execute_route("source:git/search", {"text": "kettle"})
        assert len(evidence.items) == 2


@pytest.mark.usefixtures("strategy")
@pytest.mark.parametrize("name", ["", "missing"])
async def test_a_folder_without_a_repository_takes_no_turn_down(memory_runner, tmp_path, name):
    await memory_runner.mount(plugin, config={"repository": str(tmp_path / name)})
    with await memory_runner.begin_turn() as turn:
        assert turn.view.projection == ()
        assert turn.view.routes == ()


@pytest.mark.usefixtures("strategy")
async def test_without_git_no_turn_goes_down_either(memory_runner, commit, tmp_path, monkeypatch):
    commit(tmp_path, "Boil the kettle")
    monkeypatch.setenv("PATH", str(tmp_path))
    await memory_runner.mount(plugin, config={"repository": str(tmp_path)})
    with await memory_runner.begin_turn() as turn:
        assert turn.view.projection == ()


def test_the_path_is_absolute():
    with pytest.raises(ConfigurationError):
        plugin.configure({"repository": "somewhere"})
