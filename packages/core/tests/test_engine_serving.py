import anyio
import pytest
from dsh_mnemon_core._engine.serving import GenerationHost
from dsh_mnemon_core.errors import CompositionUnavailable, LifecycleError
from dsh_mnemon_core.source import SourceDefinition


@pytest.fixture
async def tasks(anyio_backend):
    """Return a task group that must come to its end by itself."""
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            yield group


@pytest.fixture
async def host(bench, tasks):
    return GenerationHost(bench.options(), tasks)


@pytest.fixture
def tracked(bench):
    """Return a factory of Sources whose disposals are listed, and the list."""
    gone = []

    def make(type_id="alpha", **more):
        async def dispose(source):
            gone.append(source.key)
            if more.get("failing"):
                raise OSError(source.key)

        return bench.source(type_id, dispose=dispose, manifest=more.get("manifest"))

    return make, gone


def serve(host, bench, *definitions, revision=1):
    return host.reconcile(bench.snapshot(*definitions, revision=revision))


def codes(report):
    return [item.code for item in report.diagnostics]


async def test_before_the_first_snapshot_nothing_is_composed(host):
    assert host.inspect() == {
        "drainingGenerationIds": [],
        "evaluation": {
            "state": "incomplete",
            "contributionRevision": 0,
            "sourceInstanceKeys": [],
            "diagnostics": [{"code": "not-composed", "message": "nothing has been composed yet"}],
        },
    }
    with pytest.raises(CompositionUnavailable) as caught:
        host.acquire()
    assert caught.value.evaluation is host.evaluation


async def test_a_ready_report_names_what_serves(bench, host):
    strategy = bench.strategy(manifest={"extension_slots": ("selection",)})
    report = serve(host, bench, bench.source(), strategy, bench.extension(contribute=bool))
    assert report.state == "ready"
    assert report.generation_id == host.serving_id
    assert report.source_instance_keys == ("source:alpha",)
    assert report.strategy_instance_key == "strategy:plain"
    assert report.strategy_extension_instance_keys == ("strategy-extension:extra",)
    assert host.inspect()["servingGenerationId"] == host.serving_id
    await host.dispose()


async def test_what_is_missing_is_said_in_order(bench, host):
    assert codes(serve(host, bench)) == ["missing-source", "missing-strategy"]
    assert codes(serve(host, bench, bench.strategy())) == ["missing-source"]
    assert codes(serve(host, bench, bench.source())) == ["missing-strategy"]


async def test_a_rejected_candidate_is_disposed_and_reported_with_its_cause(bench, host, tracked):
    source, gone = tracked
    bad = SourceDefinition(manifest=bench.source("bad").manifest, create=lambda _context: None)
    report = serve(host, bench, source("alpha"), source("beta"), bad, bench.strategy())
    await host.idle()
    assert gone == ["source:beta", "source:alpha"]
    assert report.state == "rejected"
    (note,) = report.diagnostics
    assert (note.code, note.cause) == ("composition-rejected", "source-runtime-invalid")


async def test_a_candidate_that_failed_before_any_factory_leaves_nothing_to_dispose(bench, host):
    serve(host, bench, bench.source(), bench.strategy("a"), bench.strategy("b"))
    assert host.evaluation.state == "rejected"
    assert host.draining_ids == ()
    await host.idle()


@pytest.mark.requirement("core:removal:fail-closed")
class TestRemoval:
    """A rejected candidate keeps the old generation unless something it uses was removed."""

    def base(self, bench, **more):
        strategy = bench.strategy(manifest={"extension_slots": ("selection",)}, **more)
        return strategy, bench.extension(contribute=bool)

    def broken(self, bench, type_id="broken"):
        manifest = bench.source(type_id).manifest
        return SourceDefinition(manifest=manifest, create=lambda _context: None)

    async def test_a_failed_addition_keeps_serving(self, bench, host):
        base = self.base(bench)
        serve(host, bench, bench.source(), *base)
        serving = host.serving_id
        serve(host, bench, bench.source(), self.broken(bench), *base, revision=2)
        assert host.evaluation.state == "rejected"
        assert host.serving_id == serving
        await host.dispose()

    async def test_a_failed_restart_under_the_same_key_keeps_serving(self, bench, host):
        base = self.base(bench)
        serve(host, bench, bench.source(), *base)
        serving = host.serving_id
        serve(host, bench, self.broken(bench, "alpha"), *base, revision=2)
        assert host.serving_id == serving
        await host.dispose()

    @pytest.mark.requirement("core:factory:left-out")
    async def test_what_serves_is_never_left_out(self, bench, tasks):
        host = GenerationHost(bench.options(source_fallback="leave-out"), tasks)
        broken, strategy = self.broken(bench), bench.strategy()
        report = serve(host, bench, bench.source(), broken, strategy)
        assert (report.state, codes(report)) == ("ready", ["source-runtime-invalid"])
        first = host.serving_id
        report = serve(host, bench, self.broken(bench, "alpha"), broken, strategy, revision=2)
        assert (report.state, host.serving_id) == ("rejected", first)
        report = serve(host, bench, bench.source(), strategy, revision=3)
        assert (report.state, codes(report)) == ("ready", [])
        await host.dispose()

    async def test_a_source_that_the_strategy_ignores_counts(self, bench, host):
        def ignore_all(_request, _sources, _contributions):
            return bench.spec()

        base = self.base(bench, compose=ignore_all)
        serve(host, bench, bench.source("alpha"), bench.source("beta"), *base)
        serve(host, bench, bench.source("alpha"), self.broken(bench), *base, revision=2)
        assert host.serving_id is None

    @pytest.mark.parametrize("removed", ["strategy", "extension"])
    async def test_strategy_and_active_extension_count(self, bench, host, removed):
        strategy, extension = self.base(bench)
        serve(host, bench, bench.source(), strategy, extension)
        left = extension if removed == "strategy" else strategy
        serve(host, bench, bench.source(), self.broken(bench), left, revision=2)
        assert host.serving_id is None

    async def test_an_idle_extension_does_not_count(self, bench, host):
        strategy, _ = self.base(bench)
        idle = bench.extension(contribute=bool, slot="capture")
        serve(host, bench, bench.source(), strategy, idle)
        serving = host.serving_id
        serve(host, bench, bench.source(), self.broken(bench), strategy, revision=2)
        assert host.serving_id == serving
        await host.dispose()

    async def test_an_incomplete_snapshot_removes_too(self, bench, host):
        serve(host, bench, bench.source(), *self.base(bench))
        serve(host, bench, *self.base(bench), revision=2)
        assert host.evaluation.state == "incomplete"
        assert host.serving_id is None


@pytest.mark.requirement("core:lease:draining")
async def test_a_draining_generation_can_be_leased_and_a_drained_one_cannot(bench, host, tracked):
    source, gone = tracked
    serve(host, bench, source(), bench.strategy())
    with host.acquire() as lease:
        serve(host, bench, source(), bench.strategy(), revision=2)
        assert host.draining_ids == (lease.id,)
        inner = host.acquire(lease.id)
        assert inner.generation is lease.generation
    await host.idle()
    assert gone == []
    inner.release()
    inner.release()
    with pytest.raises(CompositionUnavailable):
        host.acquire(lease.id)
    await host.idle()
    assert gone == ["source:alpha"]
    assert host.draining_ids == ()
    with pytest.raises(CompositionUnavailable):
        host.acquire(lease.id)
    await host.dispose()


async def test_the_same_snapshot_keeps_the_generation_and_its_runtimes(bench, host, tracked):
    source, gone = tracked
    serve(host, bench, source(), bench.strategy())
    lease = host.acquire()
    serve(host, bench, source(), bench.strategy())
    await host.idle()
    assert host.serving_id == lease.id
    assert gone == ["source:alpha"]
    lease.release()
    assert host.acquire().generation is lease.generation
    assert gone == ["source:alpha"]


async def test_a_generation_that_is_being_disposed_does_not_come_back(bench, host, tracked):
    source, gone = tracked
    serve(host, bench, source(), bench.strategy())
    first = host.acquire()
    first.release()
    serve(host, bench)
    serve(host, bench, source(), bench.strategy())
    second = host.acquire()
    assert second.id == first.id
    assert second.generation is not first.generation
    await host.idle()
    assert gone == ["source:alpha"]
    assert second.generation.open
    assert host.serving_id == second.id
    second.release()
    await host.dispose()


async def test_disposal_waits_for_leases_and_raises_one_group_each_time(bench, host, tracked):
    source, gone = tracked
    serve(
        host, bench, source("alpha", failing=True), source("beta", failing=True), bench.strategy()
    )
    lease, ends = host.acquire(), []

    async def end():
        with pytest.raises(ExceptionGroup) as caught:
            await host.dispose()
        ends.append([str(error) for error in caught.value.exceptions])

    async with anyio.create_task_group() as group:
        group.start_soon(end)
        group.start_soon(end)
        await anyio.wait_all_tasks_blocked()
        assert ends == []
        with pytest.raises(LifecycleError) as caught:
            host.acquire()
        assert caught.value.code == "host-disposed"
        lease.release()
    assert ends == [["source:beta", "source:alpha"]] * 2
    assert gone == ["source:beta", "source:alpha"]


async def test_disposal_goes_on_whatever_becomes_of_its_caller(bench, host, tracked):
    source, gone = tracked
    serve(host, bench, source(), bench.strategy())
    lease, ended = host.acquire(), []

    async def end():
        try:
            await host.dispose()
        finally:
            ended.append(gone.copy())

    async with anyio.create_task_group() as group:
        group.start_soon(end)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
        for _ in range(9):
            await anyio.lowlevel.cancel_shielded_checkpoint()
        assert ended == []
        lease.release()
    assert ended == [["source:alpha"]]


async def test_a_disposed_host_follows_nothing(bench, host):
    serve(host, bench, bench.source(), bench.strategy())
    await host.dispose()
    report = serve(host, bench, bench.source(), bench.strategy(), revision=2)
    assert report.contribution_revision == 1
    assert host.serving_id is None
