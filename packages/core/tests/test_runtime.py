import anyio
import pytest
from dsh_mnemon_core.errors import LifecycleError, ManagementError, RegistrationError, TurnError
from dsh_mnemon_core.runtime import GenerationOptions, open_runtime
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.source import ManagementRequest
from dsh_mnemon_core.wire import to_wire

SCOPE = OperationScope(storage="custom")


@pytest.fixture
async def runtime(anyio_backend):
    with anyio.fail_after(20):
        async with open_runtime() as runtime:
            yield runtime


def install(runtime, bench, definition, entry=None):
    return runtime.service.install_contributions(
        entry or definition.manifest.type_id, bench.batch(definition)
    )


def keys(attachment):
    return attachment.host.evaluation.source_instance_keys


class TestService:
    async def test_plugins_see_one_method_on_a_frozen_service(self, runtime):
        public = [name for name in dir(runtime.service) if not name.startswith("_")]
        assert public == ["install_contributions"]
        with pytest.raises(AttributeError):
            runtime.service.install_contributions = None

    async def test_a_batch_is_installed_and_removed(self, runtime, bench):
        remove = runtime.service.install_contributions(
            "row", bench.batch(bench.source()), artifact_digest="sha", effective_digest="own"
        )
        (source,) = runtime.snapshot.sources
        assert source.provenance.artifact_digest == "sha"
        assert source.effective_digest == "own"
        remove()
        assert runtime.snapshot.sources == ()

    async def test_a_refused_batch(self, runtime, bench):
        install(runtime, bench, bench.source())
        with pytest.raises(RegistrationError) as caught:
            install(runtime, bench, bench.source())
        assert caught.value.code == "instance-already-installed"


class TestAttachment:
    async def test_it_follows_what_is_installed(self, runtime, bench):
        attachment = runtime.attach_generation()
        assert attachment.host.evaluation.state == "incomplete"
        install(runtime, bench, bench.strategy())
        remove = install(runtime, bench, bench.source())
        assert attachment.host.evaluation.state == "ready"
        remove()
        assert attachment.host.serving_id is None

    async def test_several_hosts_share_definitions_and_no_runtime(self, runtime, bench):
        install(runtime, bench, bench.strategy())
        install(runtime, bench, bench.source())
        first = runtime.attach_generation()
        second = runtime.attach_generation(GenerationOptions(source_timeout_ms=1))
        assert first.host.serving_id != second.host.serving_id
        with first.host.acquire() as one, second.host.acquire() as other:
            assert one.generation.sources[0].record is other.generation.sources[0].record
            assert one.generation.sources[0].runtime is not other.generation.sources[0].runtime

    async def test_a_released_one_keeps_serving_what_it_has(self, runtime, bench):
        install(runtime, bench, bench.strategy())
        remove = install(runtime, bench, bench.source())
        attachment = runtime.attach_generation()
        serving = attachment.host.serving_id
        attachment.release()
        attachment.release()
        remove()
        assert attachment.host.serving_id == serving
        assert await attachment.turns.begin_turn("t", SCOPE)

    async def test_a_disposed_one_ends_its_turns_and_is_forgotten(self, runtime, bench):
        install(runtime, bench, bench.strategy())
        install(runtime, bench, bench.source())
        attachment = runtime.attach_generation()
        await attachment.turns.begin_turn("t", SCOPE)
        await attachment.dispose()
        with pytest.raises(TurnError):
            await attachment.turns.execute_route("t", "source:alpha/search", {})
        with pytest.raises(LifecycleError) as caught:
            attachment.host.acquire()
        assert caught.value.code == "host-disposed"
        assert not runtime._attachments

    async def test_a_turn_walks_from_the_runtime_to_evidence(self, runtime, bench):
        install(runtime, bench, bench.strategy())
        install(runtime, bench, bench.source())
        turns = runtime.attach_generation().turns
        context = await turns.begin_turn("t", SCOPE)
        evidence = await turns.execute_route("t", context.view.routes[0].id, {})
        assert to_wire(evidence.items) == [{"id": "one", "text": "one", "provenance": {}}]
        assert turns.end_turn("t")

    async def test_management_reaches_the_serving_generation(self, runtime, bench):
        install(runtime, bench, bench.strategy())
        install(runtime, bench, bench.source())
        attachment = runtime.attach_generation()
        catalog = await attachment.management_catalog(SCOPE)
        assert catalog["generationId"] == attachment.host.serving_id
        revision = await attachment.management_revision("source:alpha", SCOPE)
        request = ManagementRequest(
            source_instance_key="source:alpha",
            scope=SCOPE,
            mode="mutate",
            operation="clean",
            expected_revision=revision,
            confirmed=True,
        )
        assert (await attachment.execute_management(request)).value == {"did": "clean"}
        with pytest.raises(ManagementError):
            await attachment.management_revision("source:gone", SCOPE)
        assert attachment.host.draining_ids == ()


@pytest.mark.requirement("core:batch:once")
class TestBatch:
    async def test_hosts_serve_on_and_reconcile_once_at_its_end(self, runtime, bench):
        install(runtime, bench, bench.strategy())
        remove = install(runtime, bench, bench.source("alpha"))
        attachment = runtime.attach_generation()
        serving = attachment.host.serving_id
        with runtime.batch():
            remove()
            assert attachment.host.serving_id == serving
            install(runtime, bench, bench.source("beta"))
            install(runtime, bench, bench.source("gamma"))
            assert keys(attachment) == ("source:alpha",)
        assert keys(attachment) == ("source:beta", "source:gamma")
        assert attachment.host.evaluation.contribution_revision == 5

    async def test_a_host_attached_meanwhile_starts_from_before(self, runtime, bench):
        install(runtime, bench, bench.strategy())
        install(runtime, bench, bench.source("alpha"))
        with runtime.batch():
            install(runtime, bench, bench.source("beta"))
            attachment = runtime.attach_generation()
            assert keys(attachment) == ("source:alpha",)
            assert attachment.host.serving_id is not None
        assert keys(attachment) == ("source:alpha", "source:beta")


def failing(bench, type_id):
    async def dispose(source):
        raise OSError(source.key)

    return bench.source(type_id, dispose=dispose)


class TestClosing:
    async def test_it_refuses_new_work(self, bench):
        async with open_runtime() as runtime:
            remove = install(runtime, bench, bench.source())
        for call in (lambda: install(runtime, bench, bench.strategy()), runtime.attach_generation):
            with pytest.raises(LifecycleError) as caught:
                call()
            assert caught.value.code == "runtime-disposed"
        remove()

    async def test_it_raises_one_flat_group_for_everything(self, bench):
        async with open_runtime() as runtime:
            install(runtime, bench, bench.strategy())
            install(runtime, bench, failing(bench, "alpha"))
            install(runtime, bench, failing(bench, "beta"))
            attachments = [runtime.attach_generation() for _ in range(2)]
            with pytest.raises(ExceptionGroup) as caught:
                await runtime.close()
            told = sorted(str(error) for error in caught.value.exceptions)
            assert told == ["source:alpha", "source:alpha", "source:beta", "source:beta"]
            assert all(item.host.serving_id is None for item in attachments)

    async def test_leaving_the_block_raises_it_too(self, bench):
        async def run():
            async with open_runtime() as runtime:
                install(runtime, bench, bench.strategy())
                install(runtime, bench, failing(bench, "alpha"))
                runtime.attach_generation()

        with pytest.raises(ExceptionGroup) as caught:
            await run()
        assert [type(error) for error in caught.value.exceptions] == [OSError]

    async def test_an_exception_of_the_block_comes_out_as_it_is(self, bench):
        async def run():
            async with open_runtime() as runtime:
                install(runtime, bench, bench.source())
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await run()

    async def test_all_attachments_end_at_once(self, bench):
        with anyio.fail_after(20):
            async with open_runtime() as runtime, anyio.create_task_group() as group:
                install(runtime, bench, bench.strategy())
                install(runtime, bench, bench.source())
                first, second = (runtime.attach_generation() for _ in range(2))
                leases = first.host.acquire(), second.host.acquire()
                group.start_soon(runtime.close)
                await anyio.wait_all_tasks_blocked()
                assert first.host.serving_id is second.host.serving_id is None
                for lease in leases:
                    lease.release()

    async def test_cancellation_still_disposes(self, bench):
        gone = []

        async def dispose(source):
            await anyio.lowlevel.checkpoint()
            gone.append(source.key)

        with anyio.fail_after(20):
            with anyio.CancelScope() as scope:
                async with open_runtime() as runtime:
                    install(runtime, bench, bench.strategy())
                    install(runtime, bench, bench.source(dispose=dispose))
                    attachment = runtime.attach_generation()
                    await attachment.turns.begin_turn("t", SCOPE)
                    scope.cancel()
                    await anyio.sleep_forever()
        assert scope.cancelled_caught
        assert gone == ["source:alpha"]
