"""The pytest plugin in a project of somebody else."""

import pytest

FIXTURES = """
import socket
import urllib.request

import pytest
from dsh_mnemon_core.plugin import Contributions
from dsh_mnemon_testing import FROZEN, NetworkBlocked


def test_clock(frozen_now):
    assert frozen_now() == FROZEN


@pytest.mark.anyio
async def test_runner(memory_runner, fake_source, fake_strategy, fake_trace):
    memory_runner.install("mine", Contributions(sources=(fake_source(project={"text": "hi"}),)))
    projection = {"mode": "eager", "maxCharacters": 5}
    strategy = fake_strategy(compose={"projection": projection})
    memory_runner.install("all", Contributions(strategies=(strategy,)))
    with await memory_runner.begin_turn() as turn:
        assert [fragment.text for fragment in turn.view.projection] == ["hi"]
    assert fake_trace[:2] == ["create source:mine", "facts source:mine"]


def test_defaults_of_a_fake_may_be_replaced(fake_source, fake_strategy):
    source = fake_source(manifest={"typeId": "notes"}).manifest
    assert (source.type_id, source.role) == ("notes", "working-context")
    strategy = fake_strategy(manifest={"maxSources": 1}).manifest
    assert (strategy.max_sources, strategy.type_id) == (1, "fake")


@pytest.fixture(scope="module")
def fetched():
    with pytest.raises(NetworkBlocked):
        urllib.request.urlopen("http://192.0.2.1/")
    return True


def test_wider_fixtures_reach_nobody_either(fetched):
    assert fetched


@pytest.mark.requirement("mine:marks")
def test_marker():
    pass
"""

LEAKING = """
import asyncio

import pytest

LEFT = []


@pytest.mark.anyio
async def test_leak(memory_runner):
    LEFT.append(asyncio.create_task(asyncio.sleep(3600), name="left"))


@pytest.mark.anyio
async def test_open_turns_are_no_leak(memory_runner, fake_source, fake_strategy):
    from dsh_mnemon_core.plugin import Contributions

    memory_runner.install("mine", Contributions(sources=(fake_source(),)))
    memory_runner.install("all", Contributions(strategies=(fake_strategy(),)))
    await memory_runner.begin_turn()
"""

ASSERTING = """
from dsh_mnemon_testing import SourceContract, fake_source


class TestMine(SourceContract):
    has_projection = False

    def make_source(self, tmp_path):
        manifest = {
            "typeId": "mine",
            "packageName": "mine",
            "role": "mine",
            "capabilities": ["project"],
            "consistency": "exact-snapshot",
        }
        return fake_source({"manifest": manifest})
"""


def run(pytester, *arguments):
    return pytester.runpytest(
        "-p", "no:cacheprovider", "-W", "error", "--strict-markers", *arguments
    )


@pytest.mark.requirement("testing:plugin:fixtures")
def test_fixtures_and_marker(pytester):
    pytester.makepyfile(FIXTURES)
    run(pytester).assert_outcomes(passed=5)


@pytest.mark.requirement("testing:runner:leaks")
def test_leak_check_fails_the_test_that_leaks(pytester):
    pytester.makepyfile(LEAKING)
    result = run(pytester)
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*LeakedResources: the task left runs on*"])


@pytest.mark.requirement("testing:plugin:marker")
def test_marker_is_described(pytester):
    run(pytester, "--markers").stdout.fnmatch_lines(["@pytest.mark.requirement(id): *"])


@pytest.mark.requirement("testing:plugin:network")
def test_sockets_are_free_outside_of_tests(pytester):
    pytester.makepyfile("import socket\n\nBEFORE = socket.socket.connect\n\ndef test(): pass\n")
    pytester.makeconftest(
        "import socket\n\n"
        "def pytest_sessionfinish(session):\n"
        "    before = session.items[0].module.BEFORE\n"
        "    assert socket.socket.connect is before\n"
    )
    run(pytester).assert_outcomes(passed=1)


@pytest.mark.requirement("testing:source-contract")
def test_assertions_of_the_contracts_explain_themselves(pytester):
    pytester.makepyfile(ASSERTING)
    arguments = ("-p", "no:cacheprovider", "-k", "test_flags_and_samples")
    result = pytester.runpytest_subprocess(*arguments)
    result.assert_outcomes(failed=1, deselected=20)
    result.stdout.fnmatch_lines(["E * assert False == ('project' in ('project',))"])
