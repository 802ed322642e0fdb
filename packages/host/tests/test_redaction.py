import pytest
from dsh_mnemon_host.config import (
    REDACTED,
    HostConfig,
    is_secret_name,
    plain,
    read_strict,
    redact,
    restore,
    snapshot,
)
from pydantic import SecretStr


@pytest.mark.parametrize(
    "name",
    ["apiKey", "api_key", "API-KEY", "key", "accessToken", "token", "clientSecret", "password",
     "rootApiKey", "credential", "credentials", "Authorization", "cookie"],
)  # fmt: skip
def test_secret_names(name):
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    ["maxTokens", "maintenanceMaxTokens", "sourceKeys", "residentSourceKeys", "keyboard", "model",
     "monkey", "endpoint", "tokenizer"],
)  # fmt: skip
def test_other_names(name):
    assert not is_secret_name(name)


def test_redaction_masks_by_name_at_every_depth():
    document = {
        "embeding": {"apiKey": "k", "maxTokens": 5},
        "list": [{"token": "t"}, "token"],
        "apiKey": "",
        "password": 7,
    }
    assert redact(document) == {
        "embeding": {"apiKey": REDACTED, "maxTokens": 5},
        "list": [{"token": REDACTED}, "token"],
        "apiKey": "",
        "password": 7,
    }


def test_a_masked_secret_that_comes_back_stays_what_it_was():
    previous = {"embedding": {"apiKey": "k", "model": "m"}, "other": 1}
    sent = {"embedding": {"apiKey": REDACTED, "model": REDACTED}, "list": [REDACTED]}
    assert restore(sent, previous) == {
        "embedding": {"apiKey": "k", "model": REDACTED}, "list": [REDACTED],
    }  # fmt: skip
    assert restore({"apiKey": REDACTED}, None) == {"apiKey": ""}
    assert restore({"apiKey": {"token": REDACTED}}, {"apiKey": "k"}) == {"apiKey": {"token": ""}}
    assert restore(REDACTED, "k", "apiKey") == "k"
    assert restore([{"token": REDACTED}], [{"token": "t"}]) == [{"token": ""}]


def test_plain_shows_secrets_in_clear_and_snapshot_does_not():
    config = read_strict(HostConfig, {"embedding": {"apiKey": "sk-1"}})
    assert plain(config)["embedding"]["apiKey"] == "sk-1"
    assert snapshot(config)["embedding"]["apiKey"] == REDACTED
    assert plain({"a": (SecretStr("x"),)}) == {"a": ["x"]}
    assert "sk-1" not in repr(config)
