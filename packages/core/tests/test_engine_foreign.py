import inspect

import anyio
import pytest
from dsh_mnemon_core._engine.foreign import calling, judging, plain
from dsh_mnemon_core.errors import InputError, SourceFault, SourceReadFailure, ViewRejected


def test_foreign_exceptions_become_ours_with_their_cause():
    with (
        pytest.raises(SourceFault, match="it failed") as caught,
        calling(SourceFault, "source-query-raised", "it failed"),
    ):
        raise KeyError("secret")
    assert caught.value.code == "source-query-raised"
    assert isinstance(caught.value.__cause__, KeyError)
    assert "secret" not in caught.value.message


def test_our_own_errors_pass_a_call_unchanged():
    error = InputError("input-invalid", "no")
    with pytest.raises(InputError) as caught, calling(SourceFault, "x", "y"):
        raise error
    assert caught.value is error


async def test_cancellation_is_nobodys_exception():
    with anyio.CancelScope() as scope:
        scope.cancel()
        with calling(SourceFault, "x", "y"):
            await anyio.sleep_forever()
    assert scope.cancelled_caught


def test_judged_errors_become_the_kind_and_keep_their_code():
    for keep_codes, code in ((True, "text-too-long"), (False, "facts-malformed")):
        with (
            pytest.raises(ViewRejected, match="facts: too long") as caught,
            judging(ViewRejected, "facts-malformed", "facts", keep_codes=keep_codes),
        ):
            raise InputError("text-too-long", "too long")
        assert caught.value.code == code


def test_errors_of_the_kind_are_judged_already():
    error = SourceReadFailure("source-project-failed", "m")
    with pytest.raises(SourceReadFailure) as caught, judging(ViewRejected, "x", "y"):
        raise error
    assert caught.value is error


@pytest.mark.parametrize("error", [AttributeError("a"), TypeError("b"), ValueError("c")])
def test_wrong_types_are_malformed(error):
    with pytest.raises(ViewRejected) as caught, judging(ViewRejected, "facts-malformed", "facts"):
        raise error
    assert caught.value.code == "facts-malformed"
    assert caught.value.__cause__ is error


def test_a_coroutine_of_a_plain_function_is_closed():
    async def late():
        """Never runs."""

    answer = late()
    assert plain(answer) is answer
    assert inspect.getcoroutinestate(answer) == inspect.CORO_CLOSED
    assert plain(7) == 7
