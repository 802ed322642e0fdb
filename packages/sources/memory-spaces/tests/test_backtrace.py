"""Logging of foreign exceptions without their words."""

from __future__ import annotations

import logging

import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_source_memory_spaces._backtrace import backtrace, log_failure

pytestmark = pytest.mark.requirement("memory-spaces:backtrace")

SECRET = "k3y-of-the-service"


def raises(error: Exception) -> None:
    raise error


def caught(call: object, *arguments: object) -> Exception:
    try:
        call(*arguments)  # type: ignore[operator]
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def test_type_and_place_are_told_and_nothing_else() -> None:
    error = caught(raises, ValueError(SECRET))
    error.add_note(SECRET)
    first, *places = backtrace(error).splitlines()
    assert first == "ValueError"
    assert places[-1].startswith(f"  {__file__}:")
    assert places[-1].endswith(", in raises")
    assert SECRET not in backtrace(error)


def test_an_error_of_ours_tells_its_code() -> None:
    error = caught(raises, InputError("value-invalid", SECRET))
    assert backtrace(error).splitlines()[0] == "InputError (value-invalid)"


def test_what_led_to_it_comes_first() -> None:
    def explicit() -> None:
        try:
            raises(KeyError(SECRET))
        except KeyError as error:
            raise ValueError(SECRET) from error

    def implicit() -> None:
        try:
            raises(KeyError(SECRET))
        except KeyError:
            raises(ValueError(SECRET))

    def hidden() -> None:
        try:
            raises(KeyError(SECRET))
        except KeyError:
            raise ValueError(SECRET) from None

    def types(call: object) -> list[str]:
        lines = backtrace(caught(call)).splitlines()
        return [line for line in lines if not line.startswith(" ")]

    assert types(explicit) == ["KeyError", "which led to", "ValueError"]
    assert types(implicit) == ["KeyError", "which led to", "ValueError"]
    assert types(hidden) == ["ValueError"]


def test_members_of_a_group_and_circles_are_told_once() -> None:
    one, two = caught(raises, KeyError(SECRET)), caught(raises, TypeError(SECRET))
    one.__cause__, two.__cause__ = two, one
    text = backtrace(ExceptionGroup(SECRET, [one, two]))
    assert (text.count("KeyError"), text.count("TypeError")) == (1, 1)
    assert SECRET not in text


def test_it_is_logged_as_an_error(caplog: pytest.LogCaptureFixture) -> None:
    log_failure(logging.getLogger("x"), "%s failed", "alpha", error=caught(raises, OSError(SECRET)))
    [record] = caplog.records
    assert (record.levelname, record.exc_info) == ("ERROR", None)
    assert record.getMessage().startswith("alpha failed\nOSError\n  ")
    assert SECRET not in caplog.text
