"""Refusals of configurations name place, problem and the nearest key (D33)."""

from typing import Annotated, Any

import pytest
from dsh_mnemon_core.checks import integer
from dsh_mnemon_core.configuration import read_configuration, reading
from dsh_mnemon_core.errors import ConfigurationError
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator
from typing_extensions import TypedDict


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Part(Strict):
    instance_id: str = Field(alias="instanceId")


class Settings(Strict):
    time_out: int = Field(default=1, alias="timeoutMs")
    plain: str = ""
    token: SecretStr | None = None
    parts: tuple[Part, ...] = ()
    named: dict[str, Part] | None = None


class Whole(Strict):
    @model_validator(mode="after")
    def refuse(self) -> "Whole":
        raise ValueError("nothing pleases it")


def problems(model: type[BaseModel], value: object) -> list[dict[str, str]]:
    with pytest.raises(ConfigurationError) as caught:
        read_configuration(model, value, "row 'x'")
    assert caught.value.code == "config-invalid"
    assert "row 'x'" in caught.value.message
    listed: list[dict[str, str]] = caught.value.details["problems"]
    return listed


def test_valid_values_are_read() -> None:
    assert read_configuration(Settings, None, "x") == Settings()
    assert read_configuration(Settings, {"timeoutMs": 5}, "x").time_out == 5
    ready = Settings(plain="p")
    assert read_configuration(Settings, ready, "x") is ready


def test_what_is_no_mapping_is_called_so() -> None:
    (problem,) = problems(Settings, ["plain"])
    assert problem["problem"] == "it is no mapping"
    (problem,) = problems(Settings, {"parts": [5]})
    assert (problem["key"], problem["problem"]) == ("parts.0", "it is no mapping")


@pytest.mark.parametrize(
    ("value", "key", "suggestion"),
    [
        ({"timeoutMS": 1}, "timeoutMS", "timeoutMs"),
        ({"plane": ""}, "plane", "plain"),
        ({"parts": [{"instanceId": "a", "instanceid": 1}]}, "parts.0.instanceid", "instanceId"),
        ({"named": {"n": {"instanceId": "a", "instance": 1}}}, "named.n.instance", "instanceId"),
    ],
)
def test_unknown_key_names_the_nearest(value: Any, key: str, suggestion: str) -> None:
    (problem,) = problems(Settings, value)
    assert problem["key"] == key
    assert "unknown key" in problem["problem"]
    assert repr(suggestion) in problem["problem"]


def test_unknown_key_without_a_near_one_suggests_nothing() -> None:
    (problem,) = problems(Settings, {"zzz": 1})
    assert "?" not in problem["problem"]


def test_unknown_key_inside_a_union_names_the_nearest_of_its_member() -> None:
    class Either(Strict):
        choice: int | Part = 0

    listed = problems(Either, {"choice": {"instanceId": "a", "instanceid": 1}})
    assert any("'instanceId'" in problem["problem"] for problem in listed)


def test_unknown_key_where_no_model_is_known_suggests_nothing() -> None:
    class Typed(TypedDict):
        __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]
        instance: str

    class Outer(Strict):
        typed: Typed | None = None

    (problem,) = problems(Outer, {"typed": {"instance": "a", "instanc": 1}})
    assert problem["problem"] == "unknown key"


def test_every_problem_is_listed_and_no_value_is_shown() -> None:
    value = {"timeoutMs": "s3cret-number", "token": 5, "parts": [{}]}
    listed = problems(Settings, value)
    assert [problem["key"] for problem in listed] == ["timeoutMs", "token", "parts.0.instanceId"]
    assert "s3cret" not in str(listed)


def test_problem_of_the_whole_value_has_no_key() -> None:
    for model, value in ((Whole, {}), (Settings, [1])):
        (problem,) = problems(model, value)
        assert problem["key"] == ""


def test_a_reader_of_the_core_validates_a_field_and_names_its_code() -> None:
    def digit(value: Any) -> int:
        return integer(value, "small {thing}", 1, 9)

    class Read(Strict):
        small: Annotated[int, BeforeValidator(reading(digit))] = 1
        plain: str = ""

    assert read_configuration(Read, {"small": 2.0}, "x").small == 2
    assert problems(Read, {"small": 10, "plain": 5, "smal": 1}) == [
        {
            "key": "small",
            "code": "integer-range",
            "problem": "small {thing} must be an integer within 1..9",
        },
        {"key": "plain", "code": "string-type", "problem": "Input should be a valid string"},
        {
            "key": "smal",
            "code": "extra-forbidden",
            "problem": "unknown key (did you mean 'small'?)",
        },
    ]
