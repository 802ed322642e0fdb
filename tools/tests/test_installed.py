import importlib.metadata
from types import SimpleNamespace

import pytest

from tools import installed


@pytest.fixture
def present(monkeypatch: pytest.MonkeyPatch) -> list[SimpleNamespace]:
    """Distributions that the environment seems to hold."""
    found = [SimpleNamespace(name="attrs"), SimpleNamespace(name="dsh-mnemon-core")]
    monkeypatch.setattr(importlib.metadata, "distributions", lambda: iter(found))
    return found


@pytest.mark.usefixtures("present")
def test_a_package_of_a_checkout_is_no_installed_package() -> None:
    [problem] = installed.problems(["dsh-mnemon-core"])
    assert problem.startswith("dsh_mnemon_core comes from ")


def test_an_uninvited_package_is_named(present: list[SimpleNamespace]) -> None:
    present += [SimpleNamespace(name="dsh-mnemon-host"), SimpleNamespace(name="dsh-mnemon")]
    assert list(installed.problems(["dsh-mnemon-core"]))[:2] == [
        "dsh-mnemon is installed, though nothing asked for it",
        "dsh-mnemon-host is installed, though nothing asked for it",
    ]


def test_a_missing_package_is_named_and_fails(
    present: list[SimpleNamespace], capsys: pytest.CaptureFixture[str]
) -> None:
    present.clear()
    assert installed.main(["dsh-mnemon-core"]) == 1
    assert capsys.readouterr().err == "error: dsh-mnemon-core is not installed\n"


def test_an_environment_as_expected_passes(
    present: list[SimpleNamespace], monkeypatch: pytest.MonkeyPatch
) -> None:
    # pytest lies in the environment proper, as an installed wheel does.
    present[:] = [SimpleNamespace(name="pytest")]
    monkeypatch.setattr(installed, "_PREFIX", "pytest")
    assert installed.main(["pytest"]) == 0
