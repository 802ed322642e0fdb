"""``dsh-mnemon export``: what goes out, and what it says of the rest."""

import json
import sqlite3
from contextlib import closing
from uuid import uuid4

import pytest
from dsh_mnemon_host.transfer.export import read_space
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


@pytest.fixture
def file(tmp_path):
    def write(value, name):
        path = tmp_path / name
        path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
        return path

    return write


def drawn(shell, *more):
    """Two memories and every kind of link, drawn by hand."""
    ids = [
        shell.json("remember", text, "--entity", "Anna", *more)["result"]["id"]
        for text in ("tea at noon", "coffee after it")
    ]
    for kind in ("causal", "semantic", "entity", "temporal"):
        shell("link", *ids, "--type", kind, "--weight", "0.4", "--reason", f"why,\n {kind}", *more)
    shell("link", *reversed(ids), "--type", "entity", "--weight", "0.1", *more)
    return ids


@pytest.mark.requirement("host:export:drawn")
def test_every_link_that_a_person_drew_goes_round_with_its_reason(space, file):
    drawn(space)
    exported = json.loads(space("export")[1])
    told = {(link["edge_type"], link["weight"], link.get("reason")) for link in exported["edges"]}
    assert told == {
        *((kind, 0.4, f"why,\n {kind}") for kind in ("causal", "semantic", "temporal")),
        ("entity", 0.1, None),
    }  # fmt: skip
    assert len(exported["edges"]) == 8
    space("spaces", "create", "Copy")
    copied = space.json("import", file(exported, "again.json"), "--space", "Copy")
    assert (copied["edges_inserted"], copied["errors"]) == (8, [])
    again = json.loads(space("export", "--space", "Copy")[1])
    # An import draws the links in time between neighbours itself.
    lasting = [link for link in exported["edges"] if link["edge_type"] != "temporal"]
    assert again == {**exported, "edges": lasting}


@pytest.mark.requirement("host:export:drawn")
def test_what_an_import_draws_again_is_not_exported(space):
    for text in ("Anna likes tea", "Anna likes coffee"):
        space("remember", text, "--entity", "Anna")
    assert json.loads(space("export")[1])["edges"] == []


@pytest.mark.requirement("host:export:drawn")
def test_a_source_that_recall_cannot_ask_for_goes_round(space, file):
    plain = {"schema_version": "1", "insights": [{"content": "one"}, {"content": "two"}]}
    space("import", file(plain, "plain.json"))
    exported = json.loads(space("export")[1])
    assert {item["source"] for item in exported["insights"]} == {"import"}
    space("spaces", "create", "Copy")
    space("import", file(exported, "again.json"), "--space", "Copy")
    assert json.loads(space("export", "--space", "Copy")[1]) == exported


DOCUMENTS = st.integers(2, 6).flatmap(
    lambda count: st.fixed_dictionaries(
        {
            "schema_version": st.just("1"),
            "insights": st.tuples(
                *[
                    st.fixed_dictionaries(
                        {
                            "content": st.just(f"word{place}"),
                            "category": st.sampled_from(["fact", "general"]),
                            "importance": st.integers(1, 5),
                            "tags": st.lists(st.sampled_from(["a", "b"]), unique=True),
                            "entities": st.lists(st.sampled_from(["Anna", "Kai"]), unique=True),
                            "source": st.sampled_from(["user", "import", "who knows"]),
                            "created_at": st.just(f"2026-01-{place + 1:02}T00:00:00Z"),
                        }
                    )
                    for place in range(count)
                ]
            ).map(list),
            "edges": st.lists(
                st.fixed_dictionaries(
                    {
                        "source_index": st.integers(0, count - 1),
                        "target_index": st.integers(0, count - 1),
                        "edge_type": st.sampled_from(
                            ["semantic", "causal", "entity", "supersedes"]
                        ),
                        "weight": st.sampled_from([0.1, 0.5, 1]),
                    },
                    optional={"reason": st.sampled_from(["because of it", "a\n b", "理由"])},
                ).filter(lambda edge: edge["source_index"] != edge["target_index"]),
                unique_by=lambda edge: (
                    edge["source_index"], edge["target_index"], edge["edge_type"]
                ),
                max_size=12,
            ),
        }
    )
)  # fmt: skip


@pytest.mark.requirement("host:export:drawn")
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(document=DOCUMENTS)
def test_what_goes_out_comes_in_and_goes_out_the_same(space, file, document):
    def through(value):
        name = f"Space {uuid4()}"
        space("spaces", "create", name, "--inactive")
        assert space.json("import", file(value, "value.json"), "--space", name)["errors"] == []
        return json.loads(space("export", "--space", name)[1])

    def ordered(value):
        ends = ("source_index", "target_index", "edge_type")
        return {**value, "edges": sorted(value["edges"], key=lambda e: [e[end] for end in ends])}

    assert through(document) == ordered(document)


@pytest.mark.requirement("host:export:unreadable")
def test_an_export_counts_what_cannot_be_read(space, tmp_path):
    drawn(space)
    space("remember", "a third")
    store = space.data / "data" / "default" / "mnemon.db"
    spoil(
        store,
        "UPDATE insights SET created_at = '2020-13-45' WHERE content = 'a third'",
        "UPDATE edges SET weight = 'heavy' WHERE edge_type = 'semantic'",
    )
    target = tmp_path / "out.json"
    told = json.loads(space("export", target, "--json")[1])
    assert (told["insights"], told["complete"], told["unreadable"]) == (2, False, 3)
    code, out, err = space("export", target, "--force")
    assert (code, out.split(" written")[0]) == (1, "2 memories and 6 links")
    assert err == (
        "error: 3 memories or links were left out as unreadable (`dsh-mnemon doctor` says where); "
        "this is not all\n"
    )
    code, out, _ = space("doctor")
    (line,) = [line for line in out.splitlines() if "unreadable: " in line]
    assert f"3 rows are left out as unreadable: {store}" in line
    code, out, _ = space("recall", "tea")
    assert (code, out.splitlines()[-1]) == (
        0, "! Project: 1 unreadable memory was left out; `dsh-mnemon doctor` says where",
    )  # fmt: skip
    assert space.json("recall", "tea")["complete"] is False


def spoil(path, *statements):
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


@pytest.mark.requirement("host:export:unreadable")
@pytest.mark.parametrize(
    ("page", "gaps"),
    [
        ({"truncated": True, "complete": False}, ("the Provider cannot give more than one page",)),
        ({"complete": False, "sources": [{"status": "query-required"}]},
         ("the Provider cannot list what it holds",)),
        ({"complete": False, "sources": [{"status": "unsupported", "hint": "it can do nothing"}]},
         ("it can do nothing",)),
        ({"complete": False, "sources": [{"status": "ready", "unreadable": 1, "hint": "1 item"}]},
         ()),
    ],
)  # fmt: skip
async def test_an_export_says_why_it_is_not_whole(page, gaps):
    class Session:
        async def pages(self, operation, asked):
            assert asked["memoryBodyIds"] == ["x"]
            yield {"items": [], "edges": [], **(page if operation == "list" else {})}

    found = await read_space(Session(), "x")
    assert (found.gaps, found.complete) == (gaps, False)
