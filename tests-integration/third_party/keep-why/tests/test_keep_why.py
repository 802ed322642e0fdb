import attrs
from acme_keep_why import keep_why, plugin
from dsh_mnemon_core.plugin import Contributions
from dsh_mnemon_testing import ExtensionContract
from dsh_mnemon_testing.arbitrary import available_sources

ROLES = ("working-context", "durable-evidence")


def with_history(sources):
    """Turn what is called durable evidence into git histories."""
    return [
        attrs.evolve(source, source_type_id="git-log") if source.role == ROLES[1] else source
        for source in sources
    ]


class TestKeepWhy(ExtensionContract):
    def make_extension(self):
        return keep_why()


class TestKeepWhyBesideHistories(TestKeepWhy):
    def source_sets(self):
        return available_sources(ROLES).map(with_history)


def described(type_id, role, **more):
    capabilities = ["project", "write"]
    return {"manifest": {"typeId": type_id, "role": role, "capabilities": capabilities, **more}}


async def test_it_names_working_memory_where_there_is_a_history(
    memory_runner, fake_source, fake_strategy
):
    seen = []
    strategy = fake_strategy(manifest={"extensionSlots": ["capture"]})

    def compose(request, sources, contributions):
        seen[:] = [item.value["sourceKeys"] for item in contributions]
        return strategy.compose(request, sources, contributions)

    watched = attrs.evolve(strategy, compose=compose)
    memory_runner.install("strategy", Contributions(strategies=(watched,)))
    memory = fake_source(**described("memory", "working-context"))
    memory_runner.install("memory", Contributions(sources=(memory,)))
    await memory_runner.mount(plugin)
    with await memory_runner.begin_turn():
        assert seen == [()]
    history = fake_source(**described("git-log", "durable-evidence"))
    remove = memory_runner.install("git", Contributions(sources=(history,)))
    with await memory_runner.begin_turn():
        assert seen == [("source:memory",)]
    await remove()
