"""``dsh-mnemon spaces``."""

import io
import json
import sys

import pytest


def titles(shell):
    return {space["name"]: space["active"] for space in shell.json("spaces", "list")["spaces"]}


@pytest.mark.requirement("host:cli:spaces")
def test_spaces_are_made_listed_switched_renamed_and_merged(whole):
    assert whole("spaces", "list")[:2] == (
        0, "There are none yet; `dsh-mnemon spaces create NAME` makes one.\n",
    )  # fmt: skip
    code, out, _ = whole("spaces", "create", "Project", "--description", "All of it")
    assert (code, out) == (0, "created: Project [default]\n")
    second = whole.json("spaces", "create", "Old", "--inactive")["body"]
    assert titles(whole) == {"Project": True, "Old": False}
    code, out, _ = whole("spaces", "list")
    assert out.splitlines()[:2] == ["* Project [default] mnemon", "    All of it"]
    assert whole("spaces", "activate", "Old")[1] == f"activated: Old [{second['id']}]\n"
    whole("remember", "an old fact", "--space", "Old")
    assert whole("spaces", "update", "Old", "--name", "Former")[1].startswith("updated: Former")
    code, out, _ = whole("spaces", "merge", "Project", "Former")
    assert (code, out) == (0, "merged: 1 copied, 0 were there already\n")
    assert titles(whole) == {"Project": True, "Former": False}
    again = whole.json("spaces", "merge", "default", second["id"], "--keep-active")
    assert (again["action"], again["skipped"]) == ("merged", 1)
    whole("spaces", "deactivate", "default")
    assert titles(whole) == {"Project": False, "Former": False}


@pytest.mark.requirement("host:cli:spaces")
def test_a_space_is_meant_by_id_or_by_name_or_is_the_only_active_one(space):
    for name, hint in (("Projct", " (did you mean 'Project'?)"), ("zzz", "")):
        error = space.json("remember", "x", "--space", name, code=1)["error"]
        assert error == {
            "code": "space-unknown",
            "message": f"there is no Memory Space {name!r}{hint}; there are: Project [default]",
        }
    space("spaces", "create", "Chats")
    for command in (("export",), ("remember", "x")):
        error = space.json(*command, code=1)["error"]
        assert error["code"] == "space-required"
        assert error["message"].endswith("active are: Project, Chats")
    for name in ("default", "Chats"):
        space("spaces", "deactivate", name)
    error = space.json("remember", "x", code=1)["error"]
    assert error["code"] == "space-required"
    assert "spaces activate" in error["message"]
    assert "Project, Chats" in error["message"]


@pytest.mark.requirement("host:cli:spaces")
def test_without_any_space_one_has_to_be_made(whole):
    for command, code in ((("remember", "x"), "space-required"),
                          (("remember", "x", "--space", "Shop"), "space-unknown")):  # fmt: skip
        error = whole.json(*command, code=1)["error"]
        assert error["code"] == code
        assert "spaces create" in error["message"]


def rename(shell, position, name):
    """Rename a Space by hand, which asks nobody whether the name is free."""
    registry = shell.data / "data" / ".dsh-memory-bodies.json"
    document = json.loads(registry.read_text(encoding="utf-8"))
    document["bodies"][position]["name"] = name
    registry.write_text(json.dumps(document), encoding="utf-8")


@pytest.mark.requirement("host:cli:spaces")
def test_a_space_is_meant_in_any_case_and_by_the_beginning_of_its_id(space):
    other = space.json("spaces", "create", "Big  Chats")["body"]["id"]
    for name in ("Big  Chats", "big chats", " BIG CHATS ", other, other[:4], other[:9].upper()):
        assert space.json("remember", "x", "--space", name)["memoryBodyId"] == other
    assert space.json("remember", "x", "--space", "DEFAULT")["memoryBodyId"] == "default"
    error = space.json("remember", "x", "--space", other[:3], code=1)["error"]
    assert error["code"] == "space-unknown"


@pytest.mark.requirement("host:cli:spaces")
def test_the_exact_name_wins_and_what_may_be_several_is_refused(space):
    second = space.json("spaces", "create", "Other")["body"]["id"]
    rename(space, 1, "project")
    assert space.json("remember", "x", "--space", "project")["memoryBodyId"] == second
    assert space.json("remember", "x", "--space", "Project")["memoryBodyId"] == "default"
    error = space.json("recall", "x", "--space", "PROJECT", code=1)["error"]
    assert error["code"] == "space-ambiguous"
    assert f"Project [default], project [{second}]" in error["message"]
    rename(space, 1, "Project")
    assert space.json("recall", "x", "--space", "Project", code=1)["error"]["code"] == error["code"]
    assert f"Project [{second}]" in space.json("remember", "x", code=1)["error"]["message"]
    rename(space, 1, "default")
    assert space.json("remember", "x", "--space", "default")["memoryBodyId"] == "default"


@pytest.mark.requirement("host:cli:spaces")
def test_an_error_names_five_spaces_at_most(space):
    for name in ("A1", "B1", "C1", "D1", "E1", "F1"):
        space("spaces", "create", name)
    message = space.json("remember", "x", code=1)["error"]["message"]
    assert message.endswith("active are: Project, A1, B1, C1, D1, and 2 more")


@pytest.mark.requirement("host:cli:spaces")
def test_a_name_that_people_could_not_tell_apart_is_refused(space):
    other = space.json("spaces", "create", "Other")["body"]["id"]
    for command in (
        ("create", "Project"), ("create", "  project "), ("update", "Other", "--name", "PROJECT"),
    ):  # fmt: skip
        error = space.json("spaces", *command, code=1)["error"]
        assert error["code"] == "space-name-taken"
        assert "Project [default]" in error["message"]
        assert error["details"] == {"memoryBodyId": "default"}
    assert titles(space) == {"Project": True, "Other": True}
    renamed = space.json("spaces", "update", "Other", "--name", "OTHER")["body"]
    assert (renamed["id"], renamed["name"]) == (other, "OTHER")


@pytest.mark.requirement("host:cli:spaces")
def test_a_space_is_deleted_only_with_consent(space):
    other = space.json("spaces", "create", "Other")["body"]["id"]
    space("remember", "x", "--space", "Other")
    error = space.json("spaces", "delete", "Other", code=1)["error"]
    assert error["code"] == "confirmation-required"
    assert f"Other [{other}] and every memory in it" in error["message"]
    assert titles(space) == {"Project": True, "Other": True}
    assert space("spaces", "delete", "other", "--yes")[1] == f"deleted: Other [{other}]\n"
    assert not (space.data / "data" / other).exists()
    error = space.json("spaces", "delete", "Project", "--yes", code=1)["error"]
    assert error["code"] == "last-store"
    assert "'Project'" in error["message"]
    space("spaces", "create", "Other")
    deleted = space.json("spaces", "delete", "Other", "--yes")
    assert (deleted["deleted"], deleted["name"]) == (True, "Other")


@pytest.mark.requirement("host:cli:spaces")
@pytest.mark.parametrize("answer", ["y\n", "n\n", ""], ids=["yes", "no", "end of input"])
def test_a_person_is_asked_before_a_space_is_deleted(space, monkeypatch, answer):
    space("spaces", "create", "Other")
    terminal = io.StringIO(answer)
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", terminal)
    code, out, _ = space("spaces", "delete", "Other")
    assert code == 0
    assert "every memory in it.\nDelete it? [y/N] " in out
    assert ("Other" in titles(space)) is (answer != "y\n")
    assert ("Nothing was deleted.\n" in out) is (answer != "y\n")


@pytest.mark.requirement("host:cli:spaces")
def test_a_space_of_another_provider_is_only_let_go_of(whole, tmp_path):
    file = tmp_path / "facts.db"
    whole("spaces", "connect", "holographic", "--set", f"dataPath={file}")
    (name,) = titles(whole)
    whole("remember", "Anna owns billing")
    error = whole.json("spaces", "delete", name, code=1)["error"]
    assert "Holographic holds stays there" in error["message"]
    assert whole("spaces", "delete", name, "--yes")[0] == 0
    assert titles(whole) == {}
    whole("spaces", "connect", "holographic")
    assert "Anna owns billing" in whole("recall", "who owns billing")[1]


@pytest.mark.requirement("host:cli:spaces")
def test_providers_say_how_they_stand(whole):
    code, out, _ = whole("spaces", "providers")
    assert code == 0
    native, holographic, ghost, broken = out.splitlines()
    assert native == "mnemon-native: mnemon (on)"
    assert holographic == "holographic: Holographic (off)"
    assert ghost.startswith("dsh_mnemon_provider_ghost: absent - ")
    assert broken.startswith("broken: failed - ")
    states = [item["state"] for item in whole.json("spaces", "providers")["services"]]
    assert states == ["ready", "ready", "absent", "failed"]


@pytest.mark.requirement("host:cli:spaces")
def test_a_provider_is_switched_on_and_off(whole, tmp_path):
    path = f"dataPath={tmp_path / 'facts.db'}"
    connected = whole.json("spaces", "connect", "holographic", "--set", path)
    assert connected["service"]["enabled"] is True
    (name,) = titles(whole)
    whole("remember", "Anna owns billing", "--space", name)
    assert "Anna owns billing" in whole("recall", "who owns billing")[1]
    code, out, _ = whole("spaces", "connect", "holographic", "--off")
    assert (code, out) == (0, "holographic is switched off.\n")
    assert titles(whole) == {}
    told = whole("spaces", "connect", "holographic")[1]
    assert told.startswith("holographic is switched on.\nIts Memory Spaces:\n* facts [")
    assert "Anna owns billing" in whole("recall", "who owns billing")[1]


def test_a_space_with_a_provider_and_its_settings(whole):
    made = whole.json("spaces", "create", "x", "--provider", "mnemon-native")
    assert made["body"]["providerId"] == "mnemon-native"
    error = whole.json("spaces", "create", "y", "--set", "a=b", code=1)["error"]
    assert error["code"] == "connection-native"
    assert whole.json("spaces", "create", "y", "--set", "a", code=2)["error"]["code"] == "usage"
    assert whole.json("spaces", "update", "x", code=2)["error"]["code"] == "usage"
    assert whole("spaces", "merge", "x")[0] == 2


@pytest.mark.requirement("host:cli:spaces")
def test_an_incomplete_merge_says_so(space, monkeypatch):
    from dsh_mnemon_provider_mnemon_native._adapter import MnemonNativeAdapter

    space("spaces", "create", "Old")
    old = space.json("spaces", "list")["spaces"][1]["id"]
    space("remember", "an old fact", "--space", old)

    async def partly(*_):
        return {"action": "imported", "imported": 1, "skipped": 0, "errors": [{"index": 0}]}

    monkeypatch.setattr(MnemonNativeAdapter, "import_draft", partly)
    code, out, _ = space("spaces", "merge", "Project", old)
    assert code == 1
    assert out.startswith("not merged whole (")
    assert titles(space)["Old"] is True


@pytest.mark.requirement("host:writes:live")
def test_writes_that_are_off_change_nothing(space):
    space.configure("writeEnabled: false\n")
    for arguments in (
        ("spaces", "create", "x"),
        ("spaces", "deactivate", "Project"),
        ("spaces", "connect", "holographic"),
        ("remember", "x"),
        ("spaces", "delete", "Project", "--yes"),
        ("forget", "x"),
    ):
        error = space.json(*arguments, code=1)["error"]
        assert error["code"] == "writes-disabled"
        assert str(space.settings) in error["message"]
    assert titles(space) == {"Project": True}


@pytest.mark.requirement("host:writes:live")
def test_writes_that_are_off_are_told_before_a_space_is_asked_for(whole):
    whole.configure("writeEnabled: false\n")
    for arguments in (("remember", "x"), ("link", "a", "b"), ("spaces", "merge", "a", "b")):
        assert whole.json(*arguments, code=1)["error"]["code"] == "writes-disabled"


@pytest.mark.requirement("host:cli:spaces")
def test_what_a_provider_cannot_do_is_said_in_a_sentence(whole, tmp_path):
    whole("spaces", "connect", "holographic", "--set", f"dataPath={tmp_path / 'facts.db'}")
    (name,) = titles(whole)
    error = whole.json("link", "a", "b", code=1)["error"]
    assert error["code"] == "capability-missing"
    assert error["message"] == (
        f"Holographic, which holds the Memory Space {name!r}, cannot join memories"
    )


@pytest.mark.requirement("host:layer:off")
def test_a_layer_that_is_off_is_neither_read_nor_written(space):
    space.configure("memoryTopology: {layers: {memory-spaces: {enabled: false}}}\n")
    for arguments in (
        ("spaces", "list"), ("spaces", "create", "x"), ("recall", "x"), ("related", "x"),
        ("remember", "x"), ("link", "a", "b"), ("forget", "x"), ("export",),
    ):  # fmt: skip
        assert space.json(*arguments, code=1)["error"]["code"] == "layer-off"
