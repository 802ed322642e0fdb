import gc
import sys

import pytest
from dsh_mnemon_core._engine.generation import (
    CandidateFailed,
    build_candidate,
    dispose_sources,
    generation_input,
)
from dsh_mnemon_core.errors import ConfigurationError
from dsh_mnemon_core.source import SourceDefinition
from dsh_mnemon_core.wire import to_wire
from pydantic import SecretStr


def made_by(bench, create):
    """Return a Source whose factory is ``create``."""
    return SourceDefinition(manifest=bench.source().manifest, create=create)


def failure(bench, *definitions, **options):
    with pytest.raises(CandidateFailed) as caught:
        bench.generation(*definitions, **options)
    return caught.value


def test_factory_learns_its_identity_configuration_and_secrets(bench):
    seen = []

    def create(context):
        seen.append(context)
        return bench.source().create(context)

    bench.generation(
        made_by(bench, create),
        source_configuration=lambda record: {"for": [record.instance_key]},
        source_secrets=lambda _record: {"token": SecretStr("hush")},
    )
    (context,) = seen
    assert context.source_instance_key == "source:alpha"
    assert context.provenance.entry_id == "alpha"
    assert context.configuration == {"for": ("source:alpha",)}
    assert context.secrets["token"].get_secret_value() == "hush"


@pytest.mark.parametrize(
    ("create", "code"),
    [
        (lambda _context: object(), "source-runtime-invalid"),
        (lambda _context: 1 / 0, "source-factory-raised"),
        (lambda _context: sys.exit(3), "source-factory-raised"),
        (lambda _context: None, "source-runtime-invalid"),
    ],
    ids=["wrong", "raises", "exits", "none"],
)
async def test_bad_factories_reject_the_candidate(bench, create, code):
    error = failure(bench, made_by(bench, create))
    assert error.cause.code == code
    assert error.created == ()


def test_an_asynchronous_factory_is_no_factory(bench):
    async def create(_context):
        """Never runs."""

    error = failure(bench, made_by(bench, create))
    assert error.cause.code == "source-runtime-invalid"


@pytest.mark.requirement("core:factory:left-out")
def test_a_source_that_cannot_be_created_is_left_out_where_the_host_says_so(bench):
    bad = SourceDefinition(manifest=bench.source("bad").manifest, create=lambda _context: None)
    generation = bench.generation(bench.source("good"), bad, source_fallback="leave-out")
    assert [source.key for source in generation.sources] == ["source:good"]
    (note,) = generation.selection.diagnostics
    assert (note.code, note.contribution_instance_key) == ("source-runtime-invalid", "source:bad")


def test_error_of_ours_keeps_its_code(bench):
    def create(_context):
        raise ConfigurationError("config-invalid", "no folder")

    assert failure(bench, made_by(bench, create)).cause.code == "config-invalid"


def test_what_was_created_before_a_failure_is_handed_on(bench):
    broken = SourceDefinition(manifest=bench.source("beta").manifest, create=lambda _context: None)
    error = failure(bench, bench.source("alpha"), broken)
    assert [source.key for source in error.created] == ["source:alpha"]


@pytest.mark.parametrize(
    "options",
    [
        {"source_configuration": lambda _record: 1 / 0},
        {"source_capabilities": lambda _record: 1 / 0},
        {"source_secrets": lambda _record: 1 / 0},
        {"source_secrets": lambda _record: {"token": "plain text"}},
        {"source_configuration": lambda _record: {"a": {1}}},
        {"source_capabilities": lambda _record: ("swim",)},
    ],
)
def test_a_failing_host_callback_rejects_before_the_factory_runs(bench, options):
    made = []
    error = failure(bench, made_by(bench, made.append), **options)
    assert error.cause.code in {
        "source-factory-raised",
        "json-non-json-value",
        "capability-unsupported",
    }
    assert made == []


def input_of(generation):
    return to_wire(
        generation_input(
            generation.snapshot,
            generation.options,
            generation.selection,
            list(generation.sources),
        )
    )


def test_equal_inputs_name_the_same_generation(bench):
    assert bench.generation(bench.source()).id == bench.generation(bench.source()).id
    assert bench.generation(bench.source()).id.startswith("generation:")


@pytest.mark.parametrize(
    "options",
    [
        {"source_timeout_ms": 1},
        {"source_configuration": lambda _record: {"a": 1}},
        {"source_capabilities": lambda _record: ("search",)},
        {"source_secrets": lambda _record: {"token": SecretStr("hush")}},
    ],
)
def test_whatever_a_host_changes_makes_another_generation(bench, options):
    plain = bench.generation(bench.source())
    assert bench.generation(bench.source(), **options).id != plain.id


@pytest.mark.requirement("core:secrets:digest")
def test_secrets_enter_the_identity_as_a_keyed_digest_only(bench):
    def generation(secret):
        return bench.generation(
            bench.source(), source_secrets=lambda _record: {"token": SecretStr(secret)}
        )

    first = generation("hush")
    assert generation("hush").id == first.id
    assert generation("other").id != first.id
    assert "hush" not in repr(input_of(first))
    assert "secrets" not in repr(input_of(bench.generation(bench.source())))


def test_active_extensions_belong_to_the_identity(bench):
    strategy = bench.strategy(manifest={"extension_slots": ("selection",)})
    extension = bench.extension(contribute=bool)
    generation = bench.generation(bench.source(), strategy, extension)
    assert (
        input_of(generation)["strategyExtensions"][0]["instanceKey"] == "strategy-extension:extra"
    )
    assert "strategyExtensions" not in input_of(bench.generation(bench.source(), strategy))


@pytest.mark.requirement("core:removal:used")
def test_used_keys_are_those_of_all_sources_the_strategy_and_active_extensions(bench):
    strategy = bench.strategy(manifest={"extension_slots": ("selection",)})
    generation = bench.generation(
        bench.source("alpha"),
        bench.source("beta"),
        strategy,
        bench.extension("active", contribute=bool),
        bench.extension("idle", contribute=bool, slot="capture"),
    )
    assert generation.used_keys() == {
        "source:alpha",
        "source:beta",
        "strategy:plain",
        "strategy-extension:active",
    }


async def test_disposal_goes_backwards_and_survives_failures(bench):
    gone = []

    async def dispose(source):
        gone.append(source.key)
        if source.key == "source:beta":
            raise OSError("disk")

    generation = bench.generation(
        bench.source("alpha", dispose=dispose),
        bench.source("beta", dispose=dispose),
        bench.source("gamma"),
    )
    (error,) = await dispose_sources(generation.sources)
    assert gone == ["source:beta", "source:alpha"]
    assert isinstance(error, OSError)
    assert error.__notes__ == ["while disposing source:beta"]


class Execution:
    """The identity of one executing turn."""


@pytest.mark.requirement("core:ledger:turn")
def test_a_ledger_lives_as_long_as_its_turn(bench):
    generation = bench.generation(bench.source())
    first, second = Execution(), Execution()
    assert generation.ledger(first) is generation.ledger(first)
    assert generation.ledger(first) is not generation.ledger(second)
    del first
    gc.collect()
    assert list(generation.ledgers) == [second]


def test_source_by_key(bench):
    generation = bench.generation(bench.source())
    assert generation.source("source:alpha") is generation.sources[0]
    assert generation.source("source:beta") is None


def test_a_snapshot_is_checked_before_any_factory(bench):
    made = []
    snapshot = bench.snapshot(made_by(bench, made.append), bench.strategy(), revision=-1)
    with pytest.raises(CandidateFailed) as caught:
        build_candidate(snapshot, bench.options())
    assert caught.value.cause.code == "revision-invalid"
    assert made == []
