"""Which offer a named tool serves."""

from dsh_mnemon_host.bindings import RUNTIME_MUTATE, bind, named_offer, source_types


async def pinned(host):
    memory = host.lifecycle.memory("main")
    execution = memory.execution
    with execution.graph.attachment.host.acquire() as lease:
        return execution.context.view, source_types(lease.generation)


async def test_the_default_instance_is_bound(home):
    async with home.open() as host, host.agent().turn():
        view, types = await pinned(host)
        assert types == {"source:mnemon-source-runtime": "runtime"}
        assert bind(view, types) == {"source:mnemon-source-runtime/mutate": "mnemon_runtime_memory"}


async def test_an_only_instance_is_bound_and_routes_are_not(home, told_rows):
    async with home.open(*told_rows()) as host, host.agent().turn():
        view, types = await pinned(host)
        assert bind(view, types) == {"source:told/mutate": "mnemon_runtime_memory"}


async def test_several_instances_without_a_default_bind_nothing(
    home, told_rows, source_row, make_told
):
    rows = (*told_rows(), source_row("more", make_told()))
    async with home.open(*rows) as host, host.agent().turn() as turn:
        view, types = await pinned(host)
        assert len(view.action_offers) == 2
        assert bind(view, types) == {}
        assert "mnemon_runtime_memory" not in turn.messages[-1].text


async def test_another_type_is_not_bound(home, told_rows):
    async with home.open(*told_rows(source={"type_id": "notes"})) as host, host.agent().turn():
        view, types = await pinned(host)
        assert named_offer(view, types, RUNTIME_MUTATE) is None
        assert bind(view, types) == {}
