"""``dsh-mnemon compose``."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from dsh_mnemon_core.plugin import MemoryPlugin, ProvidedCapability
from dsh_mnemon_core.sdk import MEMORY_SERVICE, Contributions, Plugin, install_memory
from dsh_mnemon_core.slots import define_memory_view_extension


@pytest.mark.requirement("host:cli:compose")
def test_everything_that_the_profile_names_is_listed_with_its_providers(whole):
    shown = whole.json("compose", "list")
    spaces = next(e for e in shown["entries"] if e["entryId"] == "mnemon-source-memory-spaces")
    assert [(c["id"], c["packageName"], c["state"]) for c in spaces["children"]] == [
        ("mnemon-native", "dsh-mnemon-provider-mnemon-native", "active"),
        ("holographic", "dsh-mnemon-provider-holographic", "active"),
        ("dsh_mnemon_provider_ghost", "dsh-mnemon-provider-ghost", "absent"),
        ("broken", "dsh-mnemon-provider-mnemon-native", "failed"),
    ]
    code, out, _ = whole("compose", "list")
    assert code == 0
    lines = {line.split()[0]: line for line in out.splitlines()}
    assert "absent" in lines["mnemon-strategy-ghost"]
    assert "absent" in lines["dsh_mnemon_provider_ghost"]
    assert "active*" in lines["mnemon-strategy-default-three-tier"]
    assert "disabled" in lines["mnemon-strategy-light-context"]
    assert "enhancement (projection): Light context" in lines["mnemon-strategy-light-context"]
    assert "main Strategy: Layered" in lines["mnemon-strategy-default-three-tier"]
    assert "! broken: " in out
    assert "! mnemon-strategy-ghost: " in out
    assert "! dsh_mnemon_provider_ghost" not in out
    assert out.endswith("* main Strategy in force: default-three-tier (Layered)\n")


@pytest.mark.requirement("host:cli:compose")
def test_providers_are_named_also_while_their_source_does_not_run(whole):
    whole("compose", "disable", "mnemon-source-memory-spaces")
    shown = whole.json("compose", "list")
    spaces = next(e for e in shown["entries"] if e["entryId"] == "mnemon-source-memory-spaces")
    assert {child["state"] for child in spaces["children"]} == {"disabled"}
    assert [child["packageName"] for child in spaces["children"]] == [
        "dsh-mnemon-provider-mnemon-native", "dsh-mnemon-provider-holographic",
        "dsh-mnemon-provider-ghost", "dsh-mnemon-provider-mnemon-native",
    ]  # fmt: skip


@pytest.mark.requirement("host:cli:compose")
def test_a_change_is_previewed_made_and_taken_back(whole):
    whole("runtime", "add", "--target", "user", "Prefers answers in British English " * 5)
    arguments = ("--strategy", "general", "--disable", "mnemon-source-memory-spaces")
    code, out, _ = whole("compose", "preview", *arguments)
    assert code == 0
    assert "mnemon-source-memory-spaces: on -> off" in out
    assert "main Strategy: default-three-tier -> general" in out
    assert "routes: - source:mnemon-source-memory-spaces/inspect" in out
    assert "actions: - source:mnemon-source-memory-spaces/manage-spaces" in out
    assert "source:mnemon-source-memory-spaces: routed, " in out
    assert whole.json("compose", "preview", *arguments)["strategyTypeId"]["to"] == "general"
    assert whole.json("compose", "list")["strategyTypeId"] == "default-three-tier"
    whole("compose", "strategy", "general")
    enabled = whole.json("compose", "enable", "mnemon-strategy-light-context")
    assert enabled["strategyTypeId"] == "general"
    assert enabled["changed"] == [
        {"entryId": "mnemon-strategy-light-context", "from": False, "to": True}
    ]
    assert "changedStrategy" not in enabled
    assert whole("compose", "preview", "--strategy", "general")[1].startswith(
        "Everything is like that already."
    )


@pytest.mark.requirement("host:cli:compose")
def test_a_change_says_what_it_changed_and_nothing_else(whole):
    light = "mnemon-strategy-light-context"
    for arguments, lines in (
        (("enable", light), [f"{light}: off -> on; serves from the next turn"]),
        (("enable", light), ["Nothing to change."]),
        (("disable", light), [f"{light}: on -> off; serves from the next turn"]),
        (("strategy", "General"), [
            "mnemon-strategy-general: off -> on; serves from the next turn",
            "main Strategy: default-three-tier -> general; serves from the next turn",
        ]),
        (("strategy", "general"), ["Nothing to change."]),
        (("strategy", "分层策略"), [
            "main Strategy: general -> default-three-tier; serves from the next turn",
        ]),
        (("strategy", "mnemon-strategy-general"), [
            "main Strategy: default-three-tier -> general; serves from the next turn",
        ]),
    ):  # fmt: skip
        code, out, _ = whole("compose", *arguments)
        assert (code, out.splitlines()) == (0, lines), arguments
    shown = whole.json("compose", "strategy", "layered")
    assert shown["changedStrategy"] == {"from": "general", "to": "default-three-tier"}
    assert shown["changed"] == []
    preview = whole.json("compose", "preview", "--strategy", "GENERAL")
    assert preview["strategyTypeId"]["to"] == "general"


@pytest.mark.requirement("host:cli:compose")
def test_an_unknown_main_strategy_is_told_the_names_that_people_know(whole):
    error = whole.json("compose", "strategy", "best", code=1)["error"]
    assert error["code"] == "strategy-unknown"
    assert "default-three-tier (Layered), general (General)" in error["message"]


@pytest.mark.requirement("host:cli:compose")
@pytest.mark.parametrize("name", ["holographic", "broken", "dsh_mnemon_provider_ghost", "ghost"])
def test_a_provider_is_no_entry_and_has_a_command_of_its_own(whole, name):
    for command in ("enable", "disable"):
        error = whole.json("compose", command, name, code=1)["error"]
        assert error["code"] == "entry-unknown"
        assert f"`dsh-mnemon spaces connect {name}`" in error["message"]
        assert "mnemon-source-memory-spaces" in error["message"]


@pytest.mark.requirement("host:cli:compose")
def test_a_source_that_is_switched_off_names_what_switches_it_on(whole):
    off = "mnemon-source-runtime"
    whole("compose", "disable", off)
    error = whole.json("runtime", "list", code=1)["error"]
    assert error["code"] == "source-not-installed"
    assert f"`dsh-mnemon compose enable {off}`" in error["message"]
    whole.profile.write_text(FEW.replace("_runtime", "_documents"), encoding="utf-8")
    whole("compose", "strategy", "general")
    error = whole.json("runtime", "list", code=1)["error"]
    assert error["code"] == "source-not-installed"
    assert "compose enable" not in error["message"]


README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


@pytest.mark.requirement("host:cli:compose")
def test_options_of_an_entry_are_set_as_the_page_of_settings_shows(whole):
    [shown] = [
        block
        for block in re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
        if block.startswith("memoryView:")
    ]
    whole.configure(shown)
    with whole.profile.open("a", encoding="utf-8") as profile:
        profile.write(
            "  - {id: mnemon-strategy-scoped, module: dsh_mnemon_strategy_scoped, enabled: false}\n"
        )
    names = ("mnemon-strategy-scoped", "mnemon-strategy-light-context")

    def options():
        entries = {item["entryId"]: item for item in whole.json("compose", "list")["entries"]}
        assert {entries[name]["state"] for name in names} == {"active"}
        return [entries[name]["config"] for name in names]

    chosen = ["source:mnemon-source-runtime", "source:mnemon-source-documents"]
    assert options() == [{"sourceKeys": chosen}, {"maxProjectionCharacters": 2000}]
    whole("spaces", "create", "Project")
    selected = whole.json("compose", "preview", "--enable", names[0])["after"]
    assert {item["source"] for item in selected["projection"]} == set(chosen)
    whole("compose", "disable", *names)
    whole("compose", "enable", *names)
    assert options() == [{"sourceKeys": chosen}, {"maxProjectionCharacters": 2000}]


@pytest.mark.requirement("host:cli:compose")
def test_the_group_has_an_example_that_runs(whole):
    _, out, _ = whole("compose", "--help")
    assert "dsh-mnemon compose list" in out
    assert whole("compose", "list")[0] == 0


@pytest.mark.requirement("host:cli:compose")
def test_what_cannot_be_says_why_and_changes_nothing(whole):
    before = whole.json("compose", "list")
    code, out, _ = whole("compose", "preview", "--enable", "mnemon-strategy-ghost")
    assert code == 1
    assert "This cannot be: " in out
    assert "[entry-unusable]" in out
    for arguments, error in (
        (("enable", "mnemon-strategy-ghost"), "entry-unusable"),
        (("enable", "mnemon-strategy-generl"), "entry-unknown"),
        (("disable", "mnemon"), "entry-locked"),
        (("strategy", "best"), "strategy-unknown"),
    ):
        assert whole.json("compose", *arguments, code=1)["error"]["code"] == error
    assert whole.json("compose", "list") == before
    assert whole("compose", "enable")[0] == 2
    assert whole.json("compose", "preview", code=2)["error"]["code"] == "usage"


FEW = """\
version: 1
entries:
  - {id: mnemon, module: dsh_mnemon_host}
  - {id: a, module: dsh_mnemon_source_runtime}
  - {id: general, module: dsh_mnemon_strategy_general, enabled: false}
  - {id: light, module: dsh_mnemon_strategy_light_context, enabled: false}
"""


@pytest.mark.requirement("host:cli:compose")
def test_what_serves_is_told_apart_from_what_is_chosen(whole):
    whole.profile.write_text(FEW, encoding="utf-8")
    _, out, _ = whole("compose", "list")
    assert out.splitlines()[-1] == "No main Strategy is in force; default-three-tier is chosen."
    _, out, _ = whole("compose", "preview", "--enable", "general")
    assert "There is no View now: " in out
    assert "actions: + source:a/mutate" in out
    _, out, _ = whole("compose", "enable", "general")
    assert out.splitlines()[-1] == (
        "* main Strategy in force: general (General); default-three-tier is chosen, but cannot "
        "serve"
    )


def test_a_view_that_cannot_be_now_is_told_beside_the_one_that_could(whole):
    whole.configure("memoryView: {entries: {mnemon-source-documents: {enabled: false}}}\n")
    code, out, _ = whole("compose", "preview", "--enable", "mnemon-source-documents")
    assert code == 0
    assert "  routes: + source:mnemon-source-documents/search" in out
    assert "source:mnemon-source-documents: nothing -> routed, " in out


@pytest.mark.requirement("host:cli:compose")
def test_saved_choices_that_are_not_in_force_are_told(whole, monkeypatch):
    said = MemoryPlugin(
        package_name="needy",
        label={"en": "Needy", "zh-CN": "x"},
        description={"en": "Needs what nobody has.", "zh-CN": "x"},
        roles=("strategy-extension",),
        provides=(ProvidedCapability(id="needy"),),
        requires=("nobody.has.this",),
    )
    definition = define_memory_view_extension(
        type_id="needy", package_name="needy", slot="projection", contribute=lambda *_: None
    )

    def apply(ctx, _config):
        install_memory(ctx, Contributions(plugin=said, strategy_extensions=(definition,)))

    module = ModuleType("needy")
    module.plugin = Plugin(
        name="needy", apply=apply, requires=(MEMORY_SERVICE,), memory_plugin=said
    )
    monkeypatch.setitem(sys.modules, "needy", module)
    rows = FEW.replace("enabled: false", "enabled: true", 1)
    whole.profile.write_text(
        rows + "  - {id: needy, module: needy, enabled: false}\n", encoding="utf-8"
    )
    whole.configure("memoryView: {entries: {needy: {enabled: true}}}\n")
    code, out, _ = whole("compose", "list")
    assert code == 0
    assert "! saved choices are not in force: " in out
