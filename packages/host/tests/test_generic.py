"""``mnemon_view_route`` and ``mnemon_view_action``."""

import attrs
import pytest
from dsh_mnemon_core.errors import (
    AuthorityError,
    BudgetExhausted,
    InputError,
    ReceiptInvalid,
    SourceFault,
)

ROUTE, OFFER = "source:told/look", "source:told/mutate"


@pytest.fixture
async def turn(home, told, told_rows):
    async with home.open(*told_rows()) as host, host.agent().turn() as turn:
        yield turn


async def look(turn, **input):
    return await turn.call("mnemon_view_route", {"routeId": ROUTE, "input": input})


async def test_a_route_answers_with_evidence(turn):
    evidence = await look(turn, query="q")
    assert evidence["routeId"] == ROUTE
    assert evidence["consistency"] == "exact-snapshot"
    assert [item["text"] for item in evidence["items"]] == ["TOLD"]


class Compact:
    """A turn policy that answers in its own words."""

    async def query(self, route, grant, input, execute):
        return attrs.evolve(await execute(input), output={"compact": True})


async def test_the_output_of_the_strategy_comes_first(home, told_rows, strategy_row):
    row = strategy_row("compact", policy=lambda _view: Compact())
    async with home.open(told_rows()[0], row) as host, host.agent().turn() as turn:
        assert await look(turn, query="q") == {"compact": True}


async def test_an_action_answers_with_the_receipt(turn, told):
    told.answer = {"kept": [1]}
    receipt = await turn.call("mnemon_view_action", {"offerId": OFFER, "input": {"a": 1}})
    assert receipt["offerId"] == OFFER
    assert receipt["status"] == "succeeded"
    assert receipt["completion"] == "committed"
    assert receipt["details"] == {"kept": [1]}
    assert ("mutate", {"a": 1}) in told.calls


@pytest.mark.requirement("host:tools:tolerant")
async def test_input_is_read_as_tolerantly_as_arguments(turn, told):
    await look(turn, query="", limit="7", tags=None)
    await turn.call("mnemon_view_route", {"routeId": ROUTE, "input": '{"query": "null"}'})
    await look(turn, query="[]", tags=[], limit="")
    assert [what for phase, what in told.calls if phase == "query"] == [
        {"query": "", "limit": 7},
        {"query": "null"},
        {"query": "[]", "tags": ()},
    ]


@pytest.mark.parametrize(
    ("arguments", "kind", "code"),
    [
        ({"routeId": "source:told/lok", "input": {}}, AuthorityError, "route-unavailable"),
        ({"routeId": ROUTE, "input": {}}, InputError, "input-invalid"),
        ({"routeId": ROUTE, "input": {"query": 7}}, InputError, "input-invalid"),
        ({"routeId": ROUTE, "input": {"query": "q", "lmit": 1}}, InputError, "input-invalid"),
        ({"routeId": ROUTE, "input": "query"}, InputError, "input-invalid"),
        ({"routeId": ROUTE}, InputError, "input-invalid"),
        ({"route_id": ROUTE, "input": {}}, InputError, "input-invalid"),
    ],
)
async def test_wrong_calls_are_refused_before_any_source(turn, told, arguments, kind, code):
    with pytest.raises(kind) as caught:
        await turn.call("mnemon_view_route", arguments)
    assert caught.value.code == code
    assert not [phase for phase, _ in told.calls if phase == "query"]


async def test_unknown_offers_are_refused(turn):
    with pytest.raises(AuthorityError) as caught:
        await turn.call("mnemon_view_action", {"offerId": "nonesuch", "input": {}})
    assert caught.value.code == "action-unavailable"


async def test_calls_are_bounded_by_the_route(turn):
    for _ in range(3):
        await look(turn, query="q")
    with pytest.raises(BudgetExhausted) as caught:
        await look(turn, query="q")
    assert caught.value.code == "route-calls-exhausted"


async def test_what_a_source_raises_is_told_without_its_text(turn, told):
    told.failures["query"] = ValueError("/secret/path")
    with pytest.raises(SourceFault) as caught:
        await look(turn, query="q")
    assert "secret" not in caught.value.message


async def test_a_malformed_receipt_is_refused(turn, told):
    told.answer = {"x": float("nan")}
    with pytest.raises((ReceiptInvalid, InputError)):
        await turn.call("mnemon_view_action", {"offerId": OFFER, "input": {}})
