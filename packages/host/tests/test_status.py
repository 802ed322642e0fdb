"""``mnemon_status`` tells the truth, in few words."""

from importlib.metadata import version

import pytest
from dsh_mnemon_core.errors import CompositionRejected


async def status(host):
    async with host.agent().turn() as turn:
        return await turn.call("mnemon_status", {})


async def test_a_healthy_host(home):
    async with home.open() as host:
        assert await status(host) == {
            "healthy": True,
            "version": version("dsh-mnemon-host"),
            "commandFound": False,
            "writeEnabled": True,
            "memorySpaces": dict.fromkeys(
                ("total", "active", "healthy", "unhealthy", "providerDisabled"), 0
            ),
            "providers": [],
            "omittedProviderCount": 0,
            "sources": [{"source": "source:mnemon-source-runtime", "available": True}],
        }


@pytest.mark.requirement("host:status:truth")
async def test_a_damaged_store_is_unhealthy_with_its_reason_and_no_path(home):
    folder = home.data / "runtime"
    folder.mkdir(parents=True)
    (folder / "memories.json").write_text("{", encoding="utf-8")
    async with home.open() as host:
        found = await status(host)
    assert found["healthy"] is False
    [source] = found["sources"]
    assert source["available"] is False
    assert source["reason"]
    assert "source:mnemon-source-runtime is unavailable" in found["error"]
    assert str(home.data) not in str(found)


async def test_a_source_that_fails_later_is_seen_now(home, told, told_rows):
    async with home.open(*told_rows()) as host, host.agent().turn() as turn:
        assert (await turn.call("mnemon_status", {}))["healthy"] is True
        told.availability = "unavailable"
        told.hints = {"reason": "the disk is gone " + "x" * 500, "file": "/secret"}
        found = await turn.call("mnemon_status", {})
        assert found["healthy"] is False
        assert len(found["sources"][0]["reason"]) == 300
        assert "secret" not in str(found)


async def test_a_source_that_failed_for_this_turn_is_told_although_it_is_back(
    home, told, told_rows
):
    told.failures["facts"] = OSError("/secret")
    async with home.open(*told_rows()) as host, host.agent().turn() as turn:
        del told.failures["facts"]
        found = await turn.call("mnemon_status", {})
        assert found["healthy"] is False
        assert found["sources"] == [{"source": "source:told", "available": True}]
        assert "secret" not in found["error"]


async def test_a_source_without_management_is_judged_by_the_view(home, told, told_rows):
    async with home.open(*told_rows(source={"management": False})) as host:
        assert (await status(host))["sources"] == [{"source": "source:told", "available": True}]
        told.failures["facts"] = OSError()
        found = await status(host)
        assert found["sources"] == [{"source": "source:told", "available": False}]
        assert found["healthy"] is False


async def test_a_broken_contract_is_told_too(home, told, told_rows):
    async with home.open(*told_rows()) as host, host.agent().turn() as turn:
        told.availability = "perhaps"
        found = await turn.call("mnemon_status", {})
        assert found["healthy"] is False
        assert "availability" in found["error"]


async def test_what_is_no_illness_is_no_error(home, told_rows):
    async with home.open(*told_rows(), settings="memoryView: {strategyTypeId: other}\n") as host:
        assert host.live.current.evaluation.diagnostics
        assert (await status(host))["healthy"] is True


async def test_the_error_is_bounded(home, told_rows, source_row, make_told):
    rows = []
    for number in range(7):
        told = make_told(failures={"facts": OSError()})
        rows.append(source_row(f"{'x' * 150}{number}", told, type_id=f"type-{number}"))
    async with home.open(*told_rows(), *rows) as host:
        assert len((await status(host))["error"]) == 1000


async def test_writes_are_off_when_either_configuration_says_so(home, told_rows):
    async with home.open(*told_rows()) as host, host.agent().turn() as turn:
        for value in (False, True):
            await host.settings.mutate(
                "mnemon", [{"op": "set", "path": ["writeEnabled"], "value": value}]
            )
            assert (await turn.call("mnemon_status", {}))["writeEnabled"] is value


@pytest.mark.requirement("host:status:truth")
async def test_settings_that_are_not_in_force_are_unhealthy_until_they_are_mended(home):
    async with home.open(settings="timeoutMs: 5000\n") as host:
        for broken in ("timeoutMs: [", "timeoutMs: much", b"\xff"):
            data = broken if isinstance(broken, bytes) else broken.encode()
            home.settings.write_bytes(data)
            await host.settings.refresh()
            found = await status(host)
            assert found["healthy"] is False
            assert found["error"].startswith("what settings.yaml says now is not in force: ")
            assert str(home.settings.parent) not in found["error"]
        home.settings.write_text("timeoutMs: 6000\n", encoding="utf-8")
        await host.settings.refresh()
        assert (await status(host))["healthy"] is True


@pytest.mark.requirement("host:status:truth")
async def test_choices_that_were_not_restored_are_unhealthy(home):
    async with home.open() as host:
        host._opening.problem = CompositionRejected("dependency-unavailable", "needy lacks a part.")
        found = await status(host)
    assert found["healthy"] is False
    assert found["error"] == "what settings.yaml says now is not in force: needy lacks a part"
