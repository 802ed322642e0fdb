"""``dsh-mnemon spaces``."""

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
            "message": f"there is no Memory Space {name!r}{hint}; `dsh-mnemon spaces list` shows "
            "them all",
        }
    space("spaces", "create", "Project")
    assert (
        space.json("recall", "x", "--space", "Project", code=1)["error"]["code"]
        == "space-ambiguous"
    )
    assert space.json("export", code=1)["error"]["code"] == "space-required"
    for name in ("default", space.json("spaces", "list")["spaces"][1]["id"]):
        space("spaces", "deactivate", name)
    error = space.json("remember", "x", code=1)["error"]
    assert (error["code"], "spaces create" in error["message"]) == ("space-required", True)


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
    from dsh_mnemon_provider_mnemon_native.provider import MnemonNativeAdapter

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
        ("forget", "x"),
    ):
        assert space.json(*arguments, code=1)["error"]["code"] == "writes-disabled"
    assert titles(space) == {"Project": True}


@pytest.mark.requirement("host:layer:off")
def test_a_layer_that_is_off_is_neither_read_nor_written(space):
    space.configure("memoryTopology: {layers: {memory-spaces: {enabled: false}}}\n")
    for arguments in (
        ("spaces", "list"), ("spaces", "create", "x"), ("recall", "x"), ("related", "x"),
        ("remember", "x"), ("link", "a", "b"), ("forget", "x"), ("export",),
    ):  # fmt: skip
        assert space.json(*arguments, code=1)["error"]["code"] == "layer-off"
