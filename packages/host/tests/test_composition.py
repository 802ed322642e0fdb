"""What takes part, and changing it while Agents run (host.md §20)."""

import itertools
from uuid import uuid4

import attrs
import pytest
from dsh_mnemon_core.errors import (
    AuthorityError,
    CompositionRejected,
    ConflictError,
    InputError,
    MnemonError,
    StorageError,
)
from dsh_mnemon_core.plugin import MemoryPlugin, ProvidedCapability
from dsh_mnemon_core.profile import Row
from dsh_mnemon_core.sdk import Contributions
from dsh_mnemon_core.slots import Projection, define_memory_view_extension
from dsh_mnemon_host.composition.change import Change
from dsh_mnemon_host.composition.choices import effective_rows
from dsh_mnemon_host.condition import diagnose, read_condition
from dsh_mnemon_host.config import MemoryView


def off(name, module):
    return Row(id=name, module=module, enabled=False)


RUNTIME = Row(id="mnemon-source-runtime", module="dsh_mnemon_source_runtime")
LAYERED = Row(
    id="mnemon-strategy-default-three-tier", module="dsh_mnemon_strategy_default_three_tier"
)
GENERAL = off("second", "dsh_mnemon_strategy_general")
LIGHT = attrs.evolve(
    off("light", "dsh_mnemon_strategy_light_context"), config={"maxProjectionCharacters": 60}
)
TWIN = off("twin", "dsh_mnemon_strategy_light_context")
ABSENT = off("ghost", "dsh_mnemon_ghost")
ROWS = (RUNTIME, LAYERED, GENERAL, LIGHT, TWIN, ABSENT)
ADD = {"action": "add", "target": "user", "content": "Prefers answers in British English " * 9}


@pytest.fixture
def rows():
    """The Runtime Source, Layered, and what is off."""
    return ROWS


@pytest.fixture
def fickle_row(home):
    """Make a row, off, of an enhancement that contributes what a test tells it."""

    def make(contribute):
        definition = define_memory_view_extension(
            type_id="fickle", package_name="fickle", slot="projection", contribute=contribute
        )
        row = home.row("fickle", Contributions(strategy_extensions=(definition,)))
        return attrs.evolve(row, enabled=False)

    return make


def entry(shown, name):
    return next(item for item in shown["entries"] if item["entryId"] == name)


async def wake(host):
    async with host.agent(str(uuid4())).turn() as turn:
        assert turn.problem is None
        return turn.messages[-1].text


# -- looking --------------------------------------------------------------------------------------


@pytest.mark.requirement("host:compose:list")
async def test_entries_stand_in_order_and_absent_ones_are_no_failure(home):
    async with home.open(LAYERED, ABSENT, RUNTIME) as host:
        shown = await host.composition.describe()
    assert [item["entryId"] for item in shown["entries"]] == [
        "ghost", "mnemon", "mnemon-source-runtime", "mnemon-strategy-default-three-tier",
    ]  # fmt: skip
    assert entry(shown, "ghost")["state"] == "absent"
    assert "not installed" in entry(shown, "ghost")["diagnostic"]
    assert entry(shown, "mnemon")["writable"] is False
    runtime = entry(shown, "mnemon-source-runtime")
    assert runtime["packageName"] == "dsh-mnemon-source-runtime"
    assert runtime["roles"] == ["source"]
    assert runtime["requiredBy"] == ["mnemon-strategy-default-three-tier"]
    strategy = entry(shown, "mnemon-strategy-default-three-tier")
    assert strategy["strategyTypeId"] == shown["strategyTypeId"] == "default-three-tier"
    assert shown["diagnostics"] == []
    assert shown["writable"] is True


async def test_the_revision_moves_with_what_it_is_about(home, rows):
    async with home.open(*rows) as host:
        before = (await host.composition.describe())["revision"]
        assert (await host.composition.describe())["revision"] == before
        await host.composition.apply(Change(enable=("second",)), expected_revision=before)
        with pytest.raises(ConflictError) as caught:
            await host.composition.apply(Change(disable=("second",)), expected_revision=before)
        assert caught.value.code == "composition-moved"


@pytest.mark.requirement("host:compose:list")
async def test_an_entry_without_a_list_of_providers_has_no_children(home, told, told_rows):
    """Options called `providers` of another plugin need not be a list of modules."""
    source, strategy = told_rows(source={"type_id": "memory-spaces"})
    for providers, names in (
        (5, None),
        (["some_module.sub", {"use": "other_module"}], ["some-module", "other-module"]),
    ):
        row = attrs.evolve(source, config={"providers": providers})
        async with home.open(row, strategy) as host:
            children = entry(await host.composition.describe(), "told").get("children")
        assert (children and [child["packageName"] for child in children]) == names


KEPT = {"embedding": {"apiKey": "sk-one"}, "plain": "x"}
KEPT |= {"connections": [{"mem0": {"apiKey": "sk-two", "accessToken": ""}}]}


@pytest.mark.requirement("host:compose:list")
async def test_secrets_of_options_are_never_shown_and_yet_move_the_revision(home, told_rows):
    source, strategy = told_rows()

    async def described(config):
        async with home.open(attrs.evolve(source, config=config), strategy) as host:
            return await host.composition.describe()

    shown = await described(KEPT)
    assert entry(shown, "told")["config"] == {
        "embedding": {"apiKey": "**********"},
        "plain": "x",
        "connections": [{"mem0": {"apiKey": "**********", "accessToken": ""}}],
    }
    assert "sk-" not in str(shown)
    assert (await described(KEPT))["revision"] == shown["revision"]
    other = await described({**KEPT, "embedding": {"apiKey": "sk-three"}})
    assert entry(other, "told") == entry(shown, "told")
    assert other["revision"] != shown["revision"]


async def test_options_that_are_sent_back_as_shown_keep_their_secrets(home, told_rows):
    source, strategy = told_rows()
    async with home.open(attrs.evolve(source, config=KEPT), strategy) as host:
        sent = {**entry(await host.composition.describe(), "told")["config"], "plain": "y"}
        del sent["connections"]
        await host.composition.apply(Change(configs={"told": sent}))
        (row,) = [row for row in host.rows.current if row.id == "told"]
        assert row.config == {**KEPT, "plain": "y"}


@pytest.mark.requirement("host:compose:list")
@pytest.mark.parametrize(
    ("failure", "code"),
    [(StorageError("registry-damaged", "it is damaged"), "registry-damaged"),
     (None, "answer-unexpected")],
)  # fmt: skip
async def test_a_source_that_cannot_tell_of_its_providers_says_why(
    home, told, told_rows, failure, code
):
    source, strategy = told_rows()
    if failure is not None:
        told.failures["manage provider-services"] = failure
    row = attrs.evolve(source, config={"providers": ["some_module"]})
    async with home.open(row, strategy) as host:
        (child,) = entry(await host.composition.describe(), "told")["children"]
        told.failures["manage provider-services"] = InputError("operation-unsupported", "no")
        (plain,) = entry(await host.composition.describe(), "told")["children"]
    assert (child["id"], child["state"], child["code"]) == ("some_module", "unknown", code)
    assert child["diagnostic"]
    assert plain == {"id": "some_module", "packageName": "some-module", "state": "active"}


# -- changing -------------------------------------------------------------------------------------


@pytest.mark.requirement("host:compose:live")
async def test_a_switch_serves_from_the_next_turn_on_and_is_stored(home, rows):
    async with home.open(*rows) as host:
        agent = host.agent()
        async with agent.turn():
            pinned = host.lifecycle.memory("main").view
            await host.composition.apply(Change(strategy="second"))
            assert host.lifecycle.memory("main").view is pinned
        async with agent.turn():
            following = host.lifecycle.memory("main").view
        assert following.strategy_type_id == "general"
        assert pinned.strategy_type_id == "default-three-tier"
    async with home.open(*rows) as host, host.agent().turn():
        assert host.lifecycle.memory("main").view.strategy_type_id == "general"


@pytest.mark.requirement("host:compose:restore")
async def test_switching_off_again_restores_the_view(home, rows):
    async with home.open(*rows) as host:
        await host.people.write_runtime(ADD)
        before = await wake(host)
        await host.composition.apply(Change(enable=("light",)))
        narrow = await wake(host)
        assert len(narrow) < len(before)
        await host.composition.apply(Change(disable=("light",)))
        assert await wake(host) == before


async def test_options_are_stored_with_the_choice(home, rows):
    async with home.open(*rows) as host:
        await host.people.write_runtime(ADD)
        options = {"light": {"maxProjectionCharacters": 200}}
        shown = await host.composition.apply(Change(enable=("light",), configs=options))
        assert entry(shown, "light")["config"] == {"maxProjectionCharacters": 200}
        projection = (await host.composition.preview(Change(strategy="general")))["before"]
        assert sum(item["characters"] for item in projection["projection"]) <= 200
    assert "maxProjectionCharacters: 200" in home.settings.read_text(encoding="utf-8")


async def test_a_change_by_another_process_is_taken_over_at_the_next_turn(home, rows):
    async with home.open(*rows) as host, home.open(*rows) as other:
        await other.composition.apply(Change(strategy="general"))
        async with host.agent().turn():
            assert host.lifecycle.memory("main").view.strategy_type_id == "general"


@pytest.mark.requirement("host:compose:preview")
async def test_a_preview_composes_apart_and_publishes_nothing(home, rows):
    async with home.open(*rows) as host:
        await host.people.write_runtime(ADD)
        serving = (await host.graph()).attachment.host.serving_id
        shown = await host.composition.preview(Change(strategy="general", enable=("light",)))
        assert shown["changes"] == [
            {"entryId": "second", "from": False, "to": True},
            {"entryId": "light", "from": False, "to": True},
        ]
        assert shown["strategyTypeId"] == {"from": "default-three-tier", "to": "general"}
        assert shown["after"]["strategy"] == "strategy:second"
        assert shown["after"]["enhancements"] == ["strategy-extension:light"]
        assert shown["before"]["projection"] != shown["after"]["projection"]
        assert (await host.graph()).attachment.host.serving_id == serving
        assert entry(await host.composition.describe(), "second")["enabled"] is False
    assert not home.settings.exists()


@pytest.mark.requirement("host:compose:refused")
@pytest.mark.parametrize(
    ("change", "code"),
    [
        (Change(), "change-empty"),
        (Change(enable=("secnod",)), "entry-unknown"),
        (Change(enable=("second",), disable=("second",)), "entry-contradictory"),
        (Change(strategy="third"), "strategy-unknown"),
        (Change(disable=("mnemon",)), "entry-locked"),
        (Change(enable=("ghost",)), "entry-unusable"),
        (Change(disable=("mnemon-source-runtime",)), "composition-empty"),
        (Change(enable=("light",), configs={"light": {"maxCharacters": 1}}), "config-invalid"),
    ],
)
async def test_what_cannot_be_changes_nothing(home, rows, change, code):
    async with home.open(*rows) as host:
        before, shown = await wake(host), await host.composition.describe()
        with pytest.raises(MnemonError) as caught:
            await host.composition.apply(change)
        assert caught.value.code == code
        assert await host.composition.describe() == shown
        assert await wake(host) == before
        assert not home.settings.exists()


async def test_refusals_say_what_was_meant_and_have_their_kinds(home, rows):
    async with home.open(*rows) as host:
        for name, hint in (("secnod", " (did you mean 'second'?)"), ("zzzzz", "")):
            with pytest.raises(InputError) as caught:
                await host.composition.preview(Change(enable=(name,)))
            assert caught.value.message == (
                f"the profile has no entry {name!r}{hint}; `dsh-mnemon compose list` shows them all"
            )
        with pytest.raises(AuthorityError):
            await host.composition.preview(Change(disable=("mnemon",)))
        shown = await host.composition.preview(Change(disable=("mnemon-source-runtime",)))
        assert shown["problem"]["code"] == "composition-empty"
        assert "after" not in shown


@pytest.mark.requirement("host:compose:contradicts")
@pytest.mark.parametrize(
    "contribute",
    [
        pytest.param(
            lambda counter: lambda *_: Projection(max_projection_characters=next(counter)),
            id="another answer the second time",
        ),
        pytest.param(lambda _: lambda *_: {"maxProjectionCharacters": -1}, id="out of range"),
        pytest.param(lambda _: lambda *_: 1 / 0, id="raises"),
    ],
)
async def test_an_enhancement_that_breaks_its_contract_is_refused_by_name(
    home, rows, fickle_row, contribute
):
    row = fickle_row(contribute(itertools.count(100)))
    async with home.open(*rows, row) as host:
        before = await wake(host)
        with pytest.raises(MnemonError, match="fickle"):
            await host.composition.apply(Change(enable=("fickle",)))
        shown = await host.composition.preview(Change(enable=("fickle",)))
        assert "fickle" in shown["problem"]["message"]
        assert await wake(host) == before
        assert entry(await host.composition.describe(), "fickle")["enabled"] is False


async def test_two_of_one_slot_are_refused_by_name(home, rows):
    async with home.open(*rows) as host:
        await host.composition.apply(Change(enable=("light",)))
        with pytest.raises(CompositionRejected, match="slot projection"):
            await host.composition.apply(Change(enable=("twin",)))
        assert entry(await host.composition.describe(), "light")["active"] is True
        assert entry(await host.composition.describe(), "twin")["enabled"] is False


async def test_without_the_chosen_strategy_the_only_one_serves_and_says_so(home, rows):
    async with home.open(*rows) as host:
        await host.composition.apply(Change(strategy="general"))
        await host.composition.apply(Change(disable=("second",)))
        async with host.agent().turn():
            view = host.lifecycle.memory("main").view
        assert view.strategy_type_id == "default-three-tier"


# -- what was saved -------------------------------------------------------------------------------


@pytest.mark.requirement("host:compose:saved")
async def test_saved_choices_that_no_longer_compose_are_told_and_left_aside(home, rows):
    text = "memoryView: {entries: {light: {enabled: true, config: {maxCharacters: 1}}}}\n"
    async with home.open(*rows, settings=text) as host:
        assert await wake(host), "a row that is wrong fails alone"
        assert entry(await host.composition.describe(), "light")["state"] == "failed"
    needy = MemoryPlugin(
        package_name="needy",
        label={"en": "Needy", "zh-CN": "x"},
        description={"en": "Needs what nobody has.", "zh-CN": "x"},
        roles=("strategy-extension",),
        provides=(ProvidedCapability(id="needy"),),
        requires=("nobody.has.this",),
    )
    row = attrs.evolve(
        home.row(
            "needy",
            Contributions(
                plugin=needy,
                strategy_extensions=(
                    define_memory_view_extension(
                        type_id="needy",
                        package_name="needy",
                        slot="projection",
                        contribute=lambda *_: Projection(max_projection_characters=500),
                    ),
                ),
            ),
        ),
        enabled=False,
    )
    text = "memoryView: {entries: {needy: {enabled: true}}}\n"
    async with home.open(*rows, row, settings=text) as host:
        assert host.choices_problem.code == "dependency-unavailable"
        findings = diagnose(await read_condition(host))
        assert ("memoryView", "dependency-unavailable") in {(f.subject, f.code) for f in findings}
        assert await wake(host)
        shown = await host.composition.describe()
        assert entry(shown, "needy")["enabled"] is False
        assert shown["diagnostics"][0]["code"] == "dependency-unavailable"
    assert home.settings.read_text(encoding="utf-8") == text


async def test_saved_choices_are_in_force_at_the_start(home, rows):
    entries = "{second: {enabled: true}, gone: {enabled: true}}"
    text = f"memoryView: {{strategyTypeId: general, entries: {entries}}}\n"
    async with home.open(*rows, settings=text) as host, host.agent().turn():
        assert host.choices_problem is None
        assert host.lifecycle.memory("main").view.strategy_type_id == "general"


def test_options_win_over_the_rows_key_by_key():
    row = Row(id="a", module="m", config={"x": 1, "y": 2})
    host = Row(id="mnemon", module="dsh_mnemon_host")
    choices = MemoryView.model_validate(
        {
            "entries": {
                "a": {"enabled": False, "config": {"y": 3}},
                "mnemon": {"enabled": False},
            }
        }
    )
    assert effective_rows((row, host), choices) == (
        Row(id="a", module="m", enabled=False, config={"x": 1, "y": 3}),
        host,
    )


async def test_a_preview_names_the_texts_that_would_be_others(home, rows):
    async with home.open(*rows) as host:
        shown = await host.composition.preview(Change(strategy="general"))
        old, new = ({item["name"]: item for item in shown[key]["sections"]}
                    for key in ("before", "after"))  # fmt: skip
        assert "mnemon:runtime-memory-protocol" in old
        assert old["mnemon:routing"] != new["mnemon:routing"]
        assert new["mnemon:strategy"]["characters"] > 500


async def test_a_row_that_fails_anyway_is_no_reason_against_a_change(home, rows):
    bad = Row(id="bad", module="dsh_mnemon_no_such_module")
    async with home.open(*rows, bad) as host:
        assert "problem" not in await host.composition.preview(Change(strategy="general"))
        with pytest.raises(CompositionRejected, match="bad: dsh_mnemon_no_such_module"):
            await host.composition.apply(Change(enable=("bad",)))
        with pytest.raises(CompositionRejected, match="bad"):
            await host.composition.apply(Change(enable=("bad",)))
