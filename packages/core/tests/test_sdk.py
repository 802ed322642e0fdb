"""Registering contributions and shaping receipts (spec/core.md §6.1, §18)."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from dsh_mnemon_core import sdk
from dsh_mnemon_core.errors import LifecycleError, MnemonError, RegistrationError
from dsh_mnemon_core.fiber import Context, Plugin, open_root
from dsh_mnemon_core.runtime import open_runtime
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.sdk import (
    MEMORY_SERVICE,
    Contributions,
    MutateRequest,
    StrategyDefinition,
    StrategyManifest,
    create_receipt,
    install_memory,
)
from dsh_mnemon_core.view import ActionOffer, ViewReference


class Service:
    """Records what is installed."""

    def __init__(self) -> None:
        self.installed: dict[str, tuple[Any, ...]] = {}

    def install_contributions(
        self,
        entry_id: str,
        contributions: Contributions,
        *,
        artifact_digest: str | None = None,
        effective_digest: str | None = None,
    ) -> Callable[[], None]:
        self.installed[entry_id] = (contributions, artifact_digest, effective_digest)
        return lambda: self.installed.pop(entry_id) and None


def installer(**options: Any) -> Plugin:
    def apply(ctx: Context, _config: object) -> None:
        install_memory(ctx, Contributions(), **options)

    return Plugin(name="installer", apply=apply, requires=(MEMORY_SERVICE,))


async def test_batch_comes_and_goes_with_its_fiber() -> None:
    service = Service()
    async with open_root() as root:
        root.provide(MEMORY_SERVICE, service)
        fiber = await root.mount(
            installer(artifact_digest="a", effective_digest="e"), entry_id="row"
        )
        assert service.installed == {"row": (Contributions(), "a", "e")}
        await fiber.dispose()
        assert service.installed == {}


@pytest.mark.parametrize(
    ("instance_id", "location", "expected"),
    [("own", "row", "own"), ("  ", "row", "row"), (None, "row", "row"), (" own ", None, "own")],
)
async def test_first_entry_id_that_is_not_blank_wins(
    instance_id: str | None, location: str | None, expected: str
) -> None:
    service = Service()
    async with open_root() as root:
        root.provide(MEMORY_SERVICE, service)
        await root.mount(installer(instance_id=instance_id), entry_id=location)
        assert list(service.installed) == [expected]


@pytest.mark.parametrize("location", [None, " "])
async def test_without_any_entry_id_nothing_is_installed(location: str | None) -> None:
    async with open_root() as root:
        root.provide(MEMORY_SERVICE, Service())
        with pytest.raises(RegistrationError) as caught:
            await root.mount(installer(), entry_id=location)
    assert caught.value.code == "instance-id-missing"


async def test_plugin_that_forgets_to_require_the_service_is_told() -> None:
    async with open_root() as root:
        careless = Plugin(name="careless", apply=installer(instance_id="x").apply)
        with pytest.raises(LifecycleError) as caught:
            await root.mount(careless)
    assert caught.value.code == "service-missing"


async def test_batch_can_be_removed_early_and_never_comes_after_the_end() -> None:
    service = Service()
    contexts: list[Context] = []
    async with open_root() as root:
        root.provide(MEMORY_SERVICE, service)
        fiber = await root.mount(Plugin(name="p", apply=lambda ctx, config: contexts.append(ctx)))
        remove = install_memory(contexts[0], Contributions(), instance_id="x")
        await remove()
        assert service.installed == {}
        await fiber.dispose()
        with pytest.raises(LifecycleError) as caught:
            install_memory(contexts[0], Contributions(), instance_id="x")
    assert caught.value.code == "fiber-inactive"
    assert service.installed == {}


async def test_real_runtime_takes_the_batch() -> None:
    strategy = StrategyDefinition(
        manifest=StrategyManifest(
            type_id="s",
            package_name="p",
            deterministic=True,
            supported_source_roles=("*",),
            max_sources=1,
            max_routes=1,
            max_actions=1,
        ),
        compose=lambda request, sources, contributions: sdk.ViewSpec(
            strategy_type_id="s", sources=(), explanation="none"
        ),
    )

    def apply(ctx: Context, _config: object) -> None:
        install_memory(ctx, Contributions(strategies=(strategy,)))

    async with open_root() as root:
        runtime = await root.enter(open_runtime())
        root.provide(MEMORY_SERVICE, runtime.service)
        plugin = Plugin(name="s", apply=apply, requires=(MEMORY_SERVICE,))
        fiber = await root.mount(plugin, entry_id="row")
        (installed,) = runtime.snapshot.strategies
        assert installed.instance_key == "strategy:row"
        with pytest.raises(MnemonError) as caught:
            await root.mount(plugin, entry_id="row")
        assert caught.value.code == "instance-already-installed"
        await fiber.dispose()
        assert runtime.snapshot.strategies == ()


def mutation() -> MutateRequest:
    offer = ActionOffer(
        id="source:a/write",
        source_instance_key="source:a",
        source_action_id="write",
        description="d",
        capability="write",
        input_schema={},
    )
    view = ViewReference(id="view:1", scope=OperationScope(storage="custom"))
    return MutateRequest(view=view, offer=offer, grant=None, input={})


def moment() -> datetime:
    return datetime(2026, 1, 2, 3, 4, 5, 678_000, UTC)


@pytest.mark.parametrize(
    ("completion", "status"),
    [
        ("accepted", "succeeded"),
        ("candidate", "succeeded"),
        ("committed", "succeeded"),
        ("partial", "partial"),
        ("unknown", "partial"),
        ("failed", "failed"),
        ("cancelled", "cancelled"),
    ],
)
def test_status_of_a_receipt_follows_from_its_completion(completion: Any, status: str) -> None:
    receipt = create_receipt(mutation(), completion=completion, now=moment)
    assert receipt.status == status
    committed = completion == "committed"
    assert receipt.committed_at == ("2026-01-02T03:04:05.678Z" if committed else None)


def test_receipt_is_bound_to_its_request_and_unproven_by_default() -> None:
    first = create_receipt(mutation(), revision="r", details={"a": 1})
    assert (first.view_id, first.offer_id, first.source_instance_key) == (
        "view:1",
        "source:a/write",
        "source:a",
    )
    assert (first.completion, first.revision, first.details) == ("unknown", "r", {"a": 1})
    assert first.id.startswith("receipt:")
    assert first.id != create_receipt(mutation()).id


def test_every_public_name_exists() -> None:
    assert all(hasattr(sdk, name) for name in sdk.__all__)
