"""The one way from an offer to a Receipt."""

import pytest
from dsh_mnemon_core.errors import AuthorityError, CapacityError, TurnError

OFFER = {"offerId": "source:told/mutate", "input": {}}
FULL = CapacityError("runtime-capacity", "full", details={"used": 1})
ADD = {"action": "add", "target": "memory", "content": "x"}


def put(key, value):
    return [{"op": "set", "path": [key], "value": value}]


async def test_an_offer_with_an_authority_is_never_authorized(home, told, told_rows):
    rows = told_rows(source={"authority": "somebody"})
    async with home.open(*rows) as host, host.agent().turn() as turn:
        for name, arguments in (("mnemon_view_action", OFFER), ("mnemon_runtime_memory", ADD)):
            with pytest.raises(AuthorityError) as caught:
                await turn.call(name, arguments)
            assert caught.value.code == "action-unauthorized"
    assert not [phase for phase, _ in told.calls if phase == "mutate"]


async def test_authority_is_judged_at_the_last_moment(home, told, told_rows):
    """A switch that is turned while the input is checked still counts."""
    async with home.open(*told_rows()) as host, host.agent().turn() as turn:
        turns = host.live.current.turns
        execute = turns.execute_action

        async def switched(*arguments, **named):
            await host.settings.mutate("mnemon", put("writeEnabled", False))
            return await execute(*arguments, **named)

        turns.execute_action = switched
        with pytest.raises(AuthorityError) as caught:
            await turn.call("mnemon_view_action", OFFER)
        assert caught.value.code == "action-unauthorized"


async def test_an_ended_turn_executes_nothing(home, told, told_rows):
    async with home.open(*told_rows()) as host:
        agent = host.agent()
        execution = await host.executions.turn(agent, 1)
        host.executions.close(execution)
        with pytest.raises(TurnError) as caught:
            await host._actions.execute(execution, OFFER["offerId"], {})
        assert caught.value.code == "turn-ended"


@pytest.mark.parametrize("workflow", [None, "another"])
async def test_other_strategies_commit_directly(home, told, told_rows, workflow):
    told.failures["mutate"] = FULL
    rows = told_rows(strategy={"workflow": workflow})
    async with home.open(*rows) as host, host.agent().turn() as turn:
        with pytest.raises(CapacityError) as caught:
            await turn.call("mnemon_view_action", OFFER)
        assert caught.value.code == "runtime-capacity"
    assert not [phase for phase, _ in told.calls if phase.startswith("manage")]


@pytest.mark.parametrize("workflow", [None, "another", "runtime-capacity"])
async def test_a_person_gets_the_workflow_of_the_serving_strategy(home, told, told_rows, workflow):
    told.failures["manage mutate"] = FULL
    plan = {"requiresMaintenance": True, "entries": (), "limit": 1, "target": "memory"}
    told.answer = {"maintenance-plan": plan}
    async with home.open(*told_rows(strategy={"workflow": workflow})) as host:
        with pytest.raises(CapacityError) as caught:
            await host.people.write_runtime(ADD)
        assert caught.value.code == "runtime-capacity"
    planned = [phase for phase, _ in told.calls if phase == "manage maintenance-plan"]
    assert len(planned) == (workflow == "runtime-capacity")
