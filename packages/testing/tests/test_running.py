"""A Source run by hand is asked as Core asks it."""

from pathlib import Path

import pytest
from dsh_mnemon_core.errors import InputError, ViewRejected
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_testing.running import start_source

TEXT = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
}
MANIFEST = {
    "capabilities": ["project", "search", "write"],
    "routes": [
        {
            "id": "search",
            "description": "Finds.",
            "capability": "search",
            "inputSchema": TEXT,
            "maxCalls": 2,
            "maxResults": 3,
            "maxCharacters": 50,
        }
    ],
    "actions": [{"id": "add", "description": "Adds.", "capability": "write", "inputSchema": TEXT}],
}


@pytest.fixture
def start(fake_source):
    def start(**spec):
        return start_source(
            fake_source(manifest=MANIFEST, **spec),
            key="source:fake",
            folder=Path(),
            scope=OperationScope(storage="custom"),
            configuration={"limit": 3},
            secrets={"token": "t"},
        )

    return start


async def test_factory_gets_configuration_and_secrets(start):
    source = start()
    context = source.live.runtime.context
    assert context.configuration == {"limit": 3}
    assert context.secrets["token"].get_secret_value() == "t"
    assert context.provenance.entry_id == "fake"


async def test_requests_are_those_of_core(start, fake_trace):
    source = start(project={"text": "cover", "grant": True})
    await source.project(7, mode="eager")
    await source.query("search", {"text": "x"}, results=16, characters=20)
    receipt = await source.mutate("add", {"text": "x"})
    await source.dispose()
    assert receipt.completion == "committed"
    assert [line for line in fake_trace if not line.startswith("facts")] == [
        "create source:fake",
        'project source:fake {"expectedRevision":"r1","includeProjection":true,"mode":"eager",'
        '"maxCharacters":7}',
        'project source:fake {"expectedRevision":"r1","includeProjection":false,"mode":"routed",'
        '"maxCharacters":1}',
        'query source:fake/search {"maxResults":3,"maxCharacters":20,"input":{"text":"x"}}',
        'project source:fake {"expectedRevision":"r1","includeProjection":false,"mode":"routed",'
        '"maxCharacters":1}',
        'mutate source:fake/add {"input":{"text":"x"},"grant":"source:fake/grant"}',
        "dispose source:fake",
    ]


async def test_answers_are_judged_as_core_judges_them(start):
    with pytest.raises(ViewRejected, match="ghost"):
        await start(facts={"routeIds": ["ghost"]}).facts()
    with pytest.raises(InputError):
        await start(project={"grant": True}).query("search", {})


@pytest.mark.parametrize("missing", ["query", "mutate"])
async def test_a_callback_that_is_missing_is_named(start, missing):
    source = start(project={"grant": True}, **{missing: "absent"})
    call = (
        source.query("search", {"text": ""})
        if missing == "query"
        else source.mutate("add", {"text": ""})
    )
    with pytest.raises(AssertionError, match=missing):
        await call


async def test_what_the_manifest_lacks_is_named(start):
    source = start(project={"grant": True})
    for call in (source.query("browse", {}), source.mutate("browse", {})):
        with pytest.raises(AssertionError, match="declares no 'browse'"):
            await call
    with pytest.raises(AssertionError, match="no manage"):
        await source.manage("clear")


async def test_a_grant_that_is_missing_is_named(start):
    with pytest.raises(AssertionError, match="no ReadGrant"):
        await start().query("search", {"text": ""})
