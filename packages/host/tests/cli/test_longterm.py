"""``dsh-mnemon remember``, ``recall``, ``related``, ``link`` and ``forget``."""

import json

import pytest
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
    assert (code, out) == (0, f"there already: {first} (unknown) in Project\n")


@pytest.mark.requirement("host:cli:longterm")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("remember", "x" * 8001), "invalid-input"),
        (("remember", "字" * 2731), "invalid-input"),
        (("remember", "x" * 8193), "text-too-long"),
        (("remember", " "), "text-required"),
        (("remember", "x", "--importance", "6"), "number-range"),
        (("remember", "x", "--tag", "a,b"), "value-invalid"),
        (("recall", "x", "--limit", "51"), "number-range"),
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
        "mnemon-native": "ok", "holographic": "ok", "dsh_mnemon_provider_ghost": "ok",
        "broken": "error",
    }  # fmt: skip
    assert providers["broken"]["code"] == "config-invalid"


@pytest.mark.requirement("host:cli:doctor")
def test_doctor_names_a_damaged_registry(space):
    registry = space.data / "data" / ".dsh-memory-bodies.json"
    registry.write_text("{", encoding="utf-8")
    findings = space.json("doctor", code=1)["findings"]
    assert str(registry) in [item["subject"] for item in findings if item["level"] == "error"]
    error = space.json("remember", "x", code=1)["error"]
    assert error["code"] != "internal"
