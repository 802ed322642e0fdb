"""Configuration of the row, of the Host, and both together (spec/sources.md §1.2, §2.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
from dsh_mnemon_core.errors import ConfigurationError
from dsh_mnemon_source_runtime._config import Config, settings
from dsh_mnemon_source_runtime.contracts import Limits
from pydantic import ValidationError

KEY = "source:mnemon-source-runtime"


def row(**values: Any) -> Config:
    return Config.model_validate(values)


@pytest.mark.requirement("runtime:config:limits")
class TestLimits:
    def test_the_defaults(self, tmp_path: Path) -> None:
        found = settings(row(dataDir=str(tmp_path)), {}, KEY)
        assert found.limits == Limits(memory=10_240, user=4_096)
        assert (found.root, found.user_root) == (tmp_path, tmp_path)

    @pytest.mark.parametrize("key", ["memoryLimitBytes", "userLimitBytes"])
    @pytest.mark.parametrize("value", [0, 1_048_577, 1.5, "5", True, None])
    def test_they_are_integers_in_range(self, key: str, value: Any) -> None:
        with pytest.raises(ValidationError):
            row(**{key: value})

    @pytest.mark.parametrize("value", [1, 1_048_576])
    def test_the_bounds_are_included(self, value: int) -> None:
        found = settings(row(memoryLimitBytes=value, userLimitBytes=value), {}, KEY)
        assert found.limits == Limits(memory=value, user=value)


@pytest.mark.requirement("runtime:config:directories")
class TestDirectories:
    @pytest.mark.parametrize("key", ["dataDir", "userDataDir"])
    @pytest.mark.parametrize("value", ["relative", "", "~/memory", "/with\0nul"])
    def test_they_are_absolute(self, key: str, value: str) -> None:
        with pytest.raises(ValidationError):
            row(**{key: value})

    def test_the_default_is_named_by_the_instance(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", "/home/somebody")
        found = settings(row(), {}, "source:group:mnemon/x y")
        folder = "source%3Agroup%3Amnemon%2Fx%20y"
        assert found.root == Path("/home/somebody/.mnemon/sources") / folder
        assert found.user_root == found.root

    def test_a_global_profile_has_a_root_of_its_own(self) -> None:
        found = settings(row(dataDir="/local", userDataDir="/global"), {}, KEY)
        assert (found.root, found.user_root) == (Path("/local"), Path("/global"))


@pytest.mark.requirement("runtime:config:merge")
class TestMerging:
    HOST: ClassVar = {"dataDir": "/host", "userDataDir": "/global", "memoryLimitBytes": 5}

    def test_the_row_wins_key_by_key(self) -> None:
        found = settings(row(dataDir="/row", userLimitBytes=7), self.HOST, KEY)
        assert (found.root, found.user_root) == (Path("/row"), Path("/global"))
        assert found.limits == Limits(memory=5, user=7)

    def test_what_the_row_does_not_set_does_not_win(self) -> None:
        assert settings(row(), self.HOST, KEY).limits.memory == 5

    def test_the_host_wins_where_accounts_are_isolated(self) -> None:
        host = {**self.HOST, "accountIsolated": True}
        found = settings(row(dataDir="/row", userLimitBytes=7), host, KEY)
        assert (found.root, found.limits) == (Path("/host"), Limits(memory=5, user=7))

    @pytest.mark.parametrize("isolated", [False, 1, "true"])
    def test_only_true_isolates(self, isolated: Any) -> None:
        host = {**self.HOST, "accountIsolated": isolated}
        assert settings(row(dataDir="/row"), host, KEY).root == Path("/row")

    def test_a_bad_value_of_the_host_is_refused_by_name(self) -> None:
        with pytest.raises(ConfigurationError) as caught:
            settings(row(), {"dataDir": "here", "memoryLimit": 5}, KEY)
        assert [item["key"] for item in caught.value.details["problems"]] == [
            "dataDir",
            "memoryLimit",
        ]
