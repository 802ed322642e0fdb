import pytest
from dsh_mnemon_core._engine.activation import GenerationOptions, check_graph, select
from dsh_mnemon_core._engine.registry import Snapshot, merge, records
from dsh_mnemon_core.errors import CompositionRejected, InputError
from dsh_mnemon_core.plugin import MemoryPlugin, ProvidedCapability


def described(bench, entry, *, provides=("own",), exclusive=False, requires=()):
    """Return one Source with a descriptor."""
    text = {"en": "x", "zh-CN": "x"}
    plugin = MemoryPlugin(
        package_name="bench-alpha",
        label=text,
        description=text,
        roles=("source",),
        provides=[ProvidedCapability(id=name, exclusive=exclusive) for name in provides],
        requires=requires,
    )
    return records(entry, bench.batch(bench.source(), plugin=plugin))


def installed(*batches):
    snapshot = Snapshot()
    for batch in batches:
        snapshot = merge(snapshot, batch, 1)
    return snapshot


def graph_refusal(*batches):
    with pytest.raises(CompositionRejected) as caught:
        check_graph(installed(*batches))
    return caught.value.code


def test_implicit_capabilities_need_no_descriptor(bench):
    wanted = ("source", "source.working-context", "strategy", "given")
    check_graph(
        installed(
            described(bench, "a", requires=wanted), described(bench, "b", provides=("given",))
        )
    )


def test_a_requirement_that_nobody_provides(bench):
    assert graph_refusal(described(bench, "a", requires=("lost",))) == "dependency-unavailable"


def test_a_capability_may_be_shared_unless_one_wants_it_alone(bench):
    check_graph(installed(described(bench, "a"), described(bench, "b")))
    both = described(bench, "a", exclusive=True), described(bench, "b")
    assert graph_refusal(*both) == "capability-conflict"


@pytest.mark.parametrize("timeout", [0, 300_001, True, "10"])
def test_deadline_is_bounded(timeout):
    with pytest.raises(InputError) as caught:
        GenerationOptions(source_timeout_ms=timeout)
    assert caught.value.code == "integer-range"
    assert GenerationOptions().source_timeout_ms == 10_000


@pytest.fixture
def strategies(bench):
    """Return two Strategies of one type and one of another."""
    snapshot = bench.snapshot(bench.strategy("plain"), bench.strategy("other"))
    twin = records("twin", bench.batch(bench.strategy("plain")))
    return merge(snapshot, twin, 1)


def selected(snapshot, **options):
    return select(snapshot, GenerationOptions(**options)).strategy.instance_key


def refusal(snapshot, **options):
    with pytest.raises(CompositionRejected) as caught:
        select(snapshot, GenerationOptions(**options))
    return caught.value.code


def test_strategy_by_key_or_type(strategies):
    assert selected(strategies, strategy_instance_key="strategy:twin") == "strategy:twin"
    assert selected(strategies, strategy_type_id="other") == "strategy:other"
    key = {"strategy_instance_key": "strategy:plain", "strategy_type_id": "other"}
    assert selected(strategies, **key) == "strategy:plain"


def test_strategy_that_cannot_be_told(strategies):
    assert refusal(strategies) == "strategy-selection-required"
    assert refusal(strategies, strategy_type_id="plain") == "strategy-type-ambiguous"
    assert refusal(strategies, strategy_type_id="gone") == "strategy-type-unavailable"
    gone = {"strategy_instance_key": "strategy:gone", "strategy_fallback": "sole-strategy"}
    assert refusal(strategies, **gone) == "strategy-instance-unavailable"


def test_sole_strategy_stands_in_for_a_missing_type(bench, strategies):
    wanted = {"strategy_type_id": "gone", "strategy_fallback": "sole-strategy"}
    assert refusal(strategies, **wanted) == "strategy-type-unavailable"
    selection = select(bench.snapshot(bench.strategy()), GenerationOptions(**wanted))
    (note,) = selection.diagnostics
    assert (note.code, note.contribution_instance_key) == ("strategy-fallback", "strategy:plain")


@pytest.mark.requirement("core:slots:undeclared")
def test_undeclared_slot_rejects_a_named_target_and_idles_a_wildcard(bench):
    strategy = bench.strategy(manifest={"extension_slots": ("selection",)})
    wild = bench.extension("wild", contribute=bool, slot="capture")
    fitting = bench.extension("fitting", contribute=bool, slot="selection", target="plain")
    foreign = bench.extension("foreign", contribute=bool, slot="capture", target="other")
    selection = select(bench.snapshot(strategy, wild, fitting), GenerationOptions())
    assert selection.extension_keys == ("strategy-extension:fitting",)
    assert [(d.code, d.contribution_instance_key) for d in selection.diagnostics] == [
        ("strategy-extension-inactive", "strategy-extension:wild")
    ]
    idle = select(bench.snapshot(strategy, foreign), GenerationOptions())
    assert [d.code for d in idle.diagnostics] == ["strategy-extension-inactive"]
    named = bench.extension("named", contribute=bool, slot="capture", target="plain")
    assert refusal(bench.snapshot(strategy, named)) == "extension-slot-unsupported"
