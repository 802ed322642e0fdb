"""``dsh-mnemon remember``, ``recall``, ``related``, ``link`` and ``forget``."""

import json
import os
import shutil
from types import SimpleNamespace

import pytest
from dsh_mnemon_host.people import People
from dsh_mnemon_host.source_session import SourceSession


def keep(shell, content, *more):
    return shell.json("remember", content, *more)["result"]["id"]


@pytest.mark.requirement("host:cli:longterm")
def test_a_memory_is_kept_found_followed_and_forgotten(space):
    code, out, _ = space(
        "remember", "We chose Postgres for row level security", "--category", "decision",
        "--importance", "5", "--tag", "db", "--entity", "Postgres", "--source", "agent",
    )  # fmt: skip
    assert code == 0
    assert out.startswith("added ")
    assert out.endswith("(committed) in Project\n")
    (row,) = space.json("recall", "why Postgres", "--limit", "5")["results"]
    assert (row["category"], row["importance"], row["source"]) == ("decision", 5, "agent")
    assert row["tags"] == ["db"]
    assert "Postgres" in row["entities"]
    effect = keep(space, "Reports moved to the new database")
    code, out, _ = space("link", row["id"], effect, "--type", "causal", "--reason", "it led to it")
    assert (code, out) == (0, "linked (committed) in Project\n")
    near = space.json("related", row["id"], "--edge", "causal", "--depth", "1")
    assert [item["id"] for item in near["results"]] == [effect]
    code, out, _ = space("related", row["id"])
    assert out.splitlines()[0] == "- Reports moved to the new database"
    assert effect in out
    code, out, _ = space("forget", row["id"])
    assert code == 0
    assert out.splitlines()[0] == f"deleted {row['id']} (committed) in Project"
    assert space("recall", "why Postgres")[1] == "Nothing was found.\n"
    assert space.json("forget", row["id"], code=1)["error"]["code"]


@pytest.mark.requirement("host:cli:longterm")
def test_recall_narrows_by_space_kind_and_speaker(space):
    space("spaces", "create", "Other")
    keep(space, "rule one", "--space", "Project", "--category", "fact")
    keep(space, "rule two", "--space", "Other", "--source", "agent")

    def found(*more):
        return {row["content"] for row in space.json("recall", "rule", *more)["results"]}

    assert found() == {"rule one", "rule two"}
    assert found("--space", "Other") == {"rule two"}
    assert found("--space", "Other", "--space", "Project") == {"rule one", "rule two"}
    assert found("--category", "fact") == {"rule one"}
    assert found("--source", "agent") == {"rule two"}
    assert found("--mode", "keyword", "--intent", "ENTITY") == {"rule one", "rule two"}


def test_a_repeated_memory_is_skipped_and_names_the_first(space):
    first = keep(space, "rule one")
    code, out, _ = space("remember", "rule one")
    assert (code, out) == (0, f"there already: {first} in Project\n")
    assert space.json("remember", "rule one")["completion"] == "unknown"


@pytest.mark.requirement("host:cli:longterm")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("remember", "x" * 8001), "invalid-input"),
        (("remember", "字" * 2731), "invalid-input"),
        (("remember", "x" * 8193), "text-too-long"),
        (("remember", " "), "text-required"),
        (("remember", "x", "--tag", "a,b"), "value-invalid"),
        (("recall", ""), "text-required"),
        (("related", "nobody"), None),
        (("link", "a", "b"), None),
        (("forget", "nobody"), None),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_refused_says_why(space, arguments, code):
    error = space.json(*arguments, code=1)
    assert error["error"]["message"]
    assert code in (None, error["error"]["code"])


@pytest.mark.requirement("host:cli:exit-codes")
@pytest.mark.parametrize(
    ("arguments", "range"),
    [
        (("remember", "x", "--importance", "6"), "1..5"),
        (("recall", "x", "--limit", "0"), "1..50"),
        (("recall", "x", "--limit", "51"), "1..50"),
        (("related", "x", "--depth", "6"), "1..5"),
        (("link", "a", "b", "--weight", "nan"), "0..1"),
        (("link", "a", "b", "--weight", "-0.1"), "0..1"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_number_out_of_range_is_wrong_usage(space, arguments, range):
    *_, option, value = arguments
    error = space.json(*arguments, code=2)["error"]
    assert error["code"] == "usage"
    assert all(part in error["message"] for part in (option, value, range))


@pytest.mark.requirement("host:cli:exit-codes")
def test_the_ends_of_a_range_are_in_it(space):
    assert space("remember", "rule one", "--importance", "1")[0] == 0
    assert space("remember", "rule two", "--importance", "5")[0] == 0
    for limit in ("1", "50"):
        assert space.json("recall", "rule", "--limit", limit)["results"]
    ends = [row["id"] for row in space.json("recall", "rule")["results"]]
    for weight in ("0", "1"):
        assert space("link", *ends, "--weight", weight)[0] == 0


@pytest.mark.requirement("host:cli:longterm")
@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("remember", " "), "content"),
        (("remember", "x" * 8193), "content"),
        (("remember", "x", "--tag", "a", "--tag", "b,c"), "tags"),
        (("recall", ""), "query"),
        (("spaces", "create", "x" * 101), "name"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_refusal_speaks_of_the_field_and_of_no_operation(space, arguments, field):
    message = space.json(*arguments, code=1)["error"]["message"]
    assert field in message
    for inner in ("request.", "Input should", "String should", "body-", "search:", "remember:"):
        assert inner not in message


@pytest.mark.requirement("host:cli:longterm")
def test_recall_without_a_space_says_so_and_what_to_do(whole):
    code, out, _ = whole("recall", "x")
    assert code == 0
    assert out.startswith("Nothing was found.\n! nothing was searched: ")
    assert "spaces create" in out
    whole("spaces", "create", "Project")
    assert [item["memoryBodyName"] for item in whole.json("recall", "x")["sources"]] == ["Project"]
    assert whole("recall", "x")[1] == "Nothing was found.\n"
    whole("spaces", "deactivate", "Project")
    found = whole.json("recall", "x")
    assert (found["results"], found["sources"]) == ([], [])
    assert "spaces activate" in found["hint"]
    assert "Project" in found["hint"]
    error = whole.json("recall", "x", "--space", "project", code=1)["error"]
    assert error["code"] == "space-inactive"
    assert "'Project'" in error["message"]


@pytest.mark.requirement("host:cli:longterm")
def test_a_memory_is_meant_by_the_beginning_of_its_id(space):
    first, second = keep(space, "the outage"), keep(space, "the new rule")
    assert space("link", first[:8], second[:4].upper(), "--type", "causal")[0] == 0
    near = space.json("related", first[:4], "--edge", "causal")
    assert [item["id"] for item in near["results"]] == [second]
    assert space.json("related", first[:3], code=1)["error"]["code"] == "provider-not-found"
    _, out, _ = space("forget", first[:6])
    assert out.startswith(f"deleted {first} (committed)")
    error = space.json("forget", first[:6], code=1)["error"]
    assert error["code"] == "provider-not-found"


class Ids:
    """The ids that a Space lists, page by page; its Provider fails where a page is missing."""

    def __init__(self, *pages):
        self.pages = pages

    async def __call__(self, _session, operation, question):
        assert (operation, question["query"]) == ("list", "2f0c")
        for ids in self.pages:
            items = [{"id": id, "content": f"memory {id} " + "x" * 60} for id in ids or ()]
            status = "unavailable" if ids is None else "ready"
            yield {"items": items, "sources": [{"status": status}]}


def listing(monkeypatch, *pages):
    ids = Ids(*pages)
    monkeypatch.setattr(SourceSession, "pages", lambda *arguments: ids(*arguments))


@pytest.mark.requirement("host:cli:longterm")
def test_an_id_that_several_memories_begin_with_is_refused_with_the_candidates(space, monkeypatch):
    listing(monkeypatch, [f"2f0c-{n}" for n in range(4)], [f"2f0c-{n}" for n in range(4, 7)])
    error = space.json("forget", "2f0c", code=1)["error"]
    assert error["code"] == "memory-ambiguous"
    assert "2f0c-4 (memory 2f0c-4" in error["message"]
    assert "2f0c-5" not in error["message"]
    assert error["message"].endswith("and 2 more")


@pytest.mark.requirement("host:cli:longterm")
def test_the_very_id_wins_over_one_that_begins_with_it(space, monkeypatch):
    listing(monkeypatch, ["2f0c-1"], ["2f0c"])
    assert space.json("forget", "2f0c", code=1)["error"]["details"]["id"] == "2f0c"


@pytest.mark.requirement("host:cli:longterm")
def test_a_listing_ends_where_the_provider_fails(space, monkeypatch):
    listing(monkeypatch, None, ["2f0c-1"])
    assert space.json("forget", "2f0c", code=1)["error"]["details"]["id"] == "2f0c"


@pytest.mark.requirement("host:cli:longterm")
def test_an_id_that_nobody_knows_is_said_to_be_unknown(space):
    error = space.json("related", "nobody", code=1)["error"]
    assert error["code"] == "provider-not-found"
    code, out, err = space("related", "nobody")
    assert (code, out) == (1, "")
    assert "nobody" in err


@pytest.mark.requirement("host:cli:longterm")
def test_what_a_traversal_had_to_leave_out_is_said(space, monkeypatch):
    kept, read = keep(space, "rule one"), SourceSession.read

    async def hinting(self, operation, input=None):
        answer = await read(self, operation, input)
        return (
            {**answer, "hint": "Project: 1 row is no memory"} if operation == "related" else answer
        )

    monkeypatch.setattr(SourceSession, "read", hinting)
    code, out, _ = space("related", kept)
    assert (code, out) == (0, "Nothing was found.\n! Project: 1 row is no memory\n")


@pytest.mark.parametrize("query", ["the of and", "\"'(", "NEAR(a b)", "😀", "a:b* OR -c", "的"])
def test_odd_queries_find_nothing_and_break_nothing(space, query):
    keep(space, "rule one")
    code, out, _ = space("recall", "--json", "--", query)
    assert (code, json.loads(out)["results"]) == (0, [])


@pytest.mark.requirement("host:cli:longterm")
def test_a_damaged_store_is_named_and_the_others_answer(space):
    space("spaces", "create", "Other")
    other = space.json("spaces", "list")["spaces"][1]["id"]
    keep(space, "rule one", "--space", "Project")
    keep(space, "rule two", "--space", "Other")
    for file in (space.data / "data" / other).glob("*"):
        if file.is_file():
            file.write_bytes(b"no database " * 400)
    code, out, _ = space("recall", "rule")
    assert code == 0
    assert "rule one" in out
    assert "! Other: " in out
    report = space.json("doctor", code=1)["findings"]
    (bad,) = [item for item in report if item.get("code") == "space-unhealthy"]
    assert bad["subject"] == f"Other [{other}]"
    assert "deactivate" in bad["remedy"]
    assert "Other" in space("status")[1]


@pytest.mark.requirement("host:cli:doctor")
def test_doctor_names_a_provider_that_failed_and_none_that_is_not_installed(space):
    findings = space.json("doctor", code=1)["findings"]
    providers = {item["subject"]: item for item in findings if item["check"] == "provider"}
    levels = {name: item["level"] for name, item in providers.items()}
    assert levels == {
        "not installed": "ok", "mnemon-native": "ok", "holographic": "ok", "broken": "error",
    }  # fmt: skip
    absent = providers["not installed"]["message"]
    assert absent.startswith("dsh_mnemon_provider_ghost; ")
    assert "dsh-mnemon-provider-ghost" in absent
    assert providers["broken"]["code"] == "config-invalid"


@pytest.fixture
def hidden(space):
    """Two Memory Spaces, one of which is registered in a file that is damaged now."""
    space("spaces", "connect", "holographic", "--set", f"dataPath={space.data / 'h.db'}")
    (known,) = [s for s in space.json("spaces", "list")["spaces"] if not s["native"]]
    file = space.data / "state" / "memory-providers.json"
    file.write_text("{bad", encoding="utf-8")
    return known["name"], file


@pytest.mark.requirement("host:cli:gaps")
def test_a_damaged_file_that_hides_spaces_is_named_wherever_they_are_listed(space, hidden):
    _, file = hidden
    for arguments in (("recall", "x"), ("spaces", "list"), ("spaces", "providers")):
        code, out, _ = space(*arguments)
        assert code == 0
        (line,) = [line for line in out.splitlines() if line.startswith("! ")]
        assert f"{file} is damaged (not-json)" in line
        assert "until it is repaired or moved away" in line
    listed = space.json("spaces", "list")
    assert (len(listed["spaces"]), listed["complete"]) == (1, False)
    assert listed["faults"][0]["file"] == str(file)


@pytest.mark.requirement("host:cli:gaps")
def test_a_damaged_file_that_hides_spaces_is_named_where_one_is_chosen(space, hidden):
    name, file = hidden
    code, _, err = space("remember", "x", "--space", name)
    assert code == 1
    assert "there is no Memory Space" in err
    assert f"{file} is damaged (not-json)" in err
    error = space.json("remember", "x", "--space", name, code=1)["error"]
    assert (error["code"], error["details"]["faults"][0]["file"]) == ("space-unknown", str(file))
    code, out, err = space("remember", "x")
    assert (code, out.split()[0]) == (0, "added")
    assert err.startswith("warning: other Memory Spaces may be missing: ")
    assert str(file) in err
    space("spaces", "deactivate", "Project")
    code, _, err = space("remember", "y")
    assert (code, str(file) in err) == (1, True)


@pytest.mark.requirement("host:cli:gaps")
def test_nothing_that_can_be_seen_is_not_nothing_there(space, hidden):
    _, file = hidden
    (space.data / "data" / ".dsh-memory-bodies.json").unlink()
    shutil.rmtree(space.data / "data" / "default")
    for arguments in (("spaces", "list"), ("forget", "x", "--space", "h"), ("recall", "x")):
        code, out, err = space(*arguments)
        assert (code, out) == (1, "")
        assert f"{file} is damaged (not-json)" in err


@pytest.mark.requirement("host:cli:doctor")
@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_doctor_warns_of_keys_that_others_may_read(space):
    def warned():
        findings = space.json("doctor", code=1)["findings"]
        found = [item for item in findings if item.get("code") == "storage-exposed"]
        return {item["subject"]: (item["level"], item["remedy"]) for item in found}

    space("spaces", "connect", "holographic")
    file = space.data / "state" / "memory-providers.json"
    assert warned() == {}
    file.chmod(0o666)
    file.parent.chmod(0o777)
    told = warned()
    assert set(told) == {str(file), str(file.parent)}
    assert {level for level, _ in told.values()} == {"warning"}
    assert f"`chmod 0600 {file}`" in told[str(file)][1]
    assert f"`chmod 0700 {file.parent}`" in told[str(file.parent)][1]
    space("spaces", "connect", "holographic", "--off")
    assert file.stat().st_mode & 0o777 == 0o600
    assert set(warned()) == {str(file.parent)}


@pytest.mark.requirement("host:cli:longterm")
def test_basic_recall_takes_the_text_as_it_stands(space):
    keep(space, "100% sure")
    keep(space, "quite sure")
    (row,) = space.json("recall", "%", "--mode", "basic")["results"]
    assert row["content"] == "100% sure"


@pytest.mark.requirement("host:cli:longterm")
def test_a_write_that_nobody_vouches_for_is_told_in_words(space, monkeypatch):
    async def change(*_, **__):
        fault = {"code": "provider-timeout", "message": "no answer within 5 s"}
        return SimpleNamespace(value={"completion": "unknown", "result": {"error": fault}})

    monkeypatch.setattr(People, "change", change)
    code, out, _ = space("remember", "x")
    assert (code, out.splitlines()[1]) == (1, "no answer within 5 s [provider-timeout]")


@pytest.mark.requirement("host:cli:doctor")
def test_doctor_names_a_damaged_registry(space):
    registry = space.data / "data" / ".dsh-memory-bodies.json"
    registry.write_text("{", encoding="utf-8")
    findings = space.json("doctor", code=1)["findings"]
    assert str(registry) in [item["subject"] for item in findings if item["level"] == "error"]
    error = space.json("remember", "x", code=1)["error"]
    assert error["code"] != "internal"
