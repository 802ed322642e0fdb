"""Configuration of a mount."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.errors import ConfigurationError
from dsh_mnemon_source_documents import Config
from dsh_mnemon_source_documents._config import settings
from pydantic import ValidationError

KEY = "source:mnemon-source-documents"


def read(row: dict[str, Any], host: dict[str, Any]) -> Any:
    return settings(Config.model_validate(row), host, KEY)


@pytest.mark.requirement("documents:config:limit")
@pytest.mark.parametrize("limit", [0, 1_073_741_825, "10", 1.5, True])
def test_a_limit_out_of_range_is_refused(limit: Any) -> None:
    with pytest.raises(ValidationError):
        Config.model_validate({"limitBytes": limit})
    with pytest.raises(ConfigurationError) as caught:
        read({}, {"limitBytes": limit})
    assert caught.value.code == "config-invalid"


@pytest.mark.requirement("documents:config:limit")
def test_the_limit_is_ten_mebibytes_by_default() -> None:
    assert read({}, {}).limit_bytes == 10_485_760


@pytest.mark.requirement("documents:config:directory")
@pytest.mark.parametrize("path", ["relative", "", "/nul\0"])
def test_a_directory_is_absolute(path: str) -> None:
    with pytest.raises(ConfigurationError):
        read({}, {"dataDir": path})


@pytest.mark.requirement("documents:config:directory")
def test_without_one_the_instance_key_names_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/home/somebody"))
    root = read({}, {}).root
    assert root == Path("/home/somebody/.mnemon/sources/source%3Amnemon-source-documents")


@pytest.mark.requirement("documents:config:merge")
def test_the_row_wins_unless_accounts_are_isolated() -> None:
    row, host = {"dataDir": "/row"}, {"dataDir": "/host", "limitBytes": 5}
    assert (read(row, host).root, read(row, host).limit_bytes) == (Path("/row"), 5)
    assert read(row, {**host, "accountIsolated": True}).root == Path("/host")


@pytest.mark.requirement("documents:config:merge")
def test_an_unknown_key_names_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match="limitBytes"):
        read({}, {"limitByte": 5})
