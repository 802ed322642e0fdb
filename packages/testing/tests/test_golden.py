"""Golden files are read whatever cases they hold."""

import json

import pytest
from dsh_mnemon_core._engine.generation import build_candidate
from dsh_mnemon_testing.fakes import SOURCE_MANIFEST, STRATEGY_MANIFEST
from dsh_mnemon_testing.golden import golden, options_from, snapshot_from

pytestmark = pytest.mark.requirement("testing:golden")

SOURCES = {
    "sources": [{"entryId": "s", "manifest": SOURCE_MANIFEST}],
    "strategies": [{"entryId": "t", "manifest": STRATEGY_MANIFEST, "compose": {}}],
}


def test_cases_are_numbered_and_named(tmp_path):
    cases = [{"name": "first"}, {"input": 1}]
    text = json.dumps({"about": "x", "cases": cases})
    (tmp_path / "compose.json").write_text(text, encoding="utf-8")
    read = golden(tmp_path, "compose")
    assert read.cases == cases
    assert read.ids() == ["0-first", "1-case"]
    assert read.data["about"] == "x"


def test_file_without_cases_has_none(tmp_path):
    (tmp_path / "x.json").write_text('{"depth": {}}', encoding="utf-8")
    assert golden(tmp_path, "x").cases == []


def test_snapshot_is_made_of_fakes():
    trace = []
    snapshot = snapshot_from({**SOURCES, "options": {}}, trace, revision=7)
    assert snapshot.revision == 7
    assert [item.instance_key for item in snapshot.contributors] == ["source:s", "strategy:t"]
    build_candidate(snapshot, options_from(None))
    assert trace == ["create source:s"]


@pytest.mark.parametrize("ceiling", [None, ["project"]], ids=["none", "some"])
def test_options_are_translated(ceiling):
    given = {
        "strategyTypeId": "fake",
        "strategyFallback": "sole-strategy",
        "sourceTimeoutMs": 5,
        "sourceCapabilities": {} if ceiling is None else {"source:s": ceiling},
    }
    options = options_from(given, strategy_instance_key="strategy:t")
    assert (options.strategy_type_id, options.source_timeout_ms) == ("fake", 5)
    assert options.strategy_instance_key == "strategy:t"
    source = snapshot_from(SOURCES, []).sources[0]
    assert options.source_capabilities(source) == ceiling
