import asyncio
import inspect
import subprocess
import sys

import anyio
import pytest
from dsh_mnemon_core._foreign import asking, calling, contain, judging, plain
from dsh_mnemon_core.errors import (
    InputError,
    LifecycleError,
    SourceFault,
    SourceReadFailure,
    ViewRejected,
)

OWN = [
    SystemExit(0),
    KeyboardInterrupt(),
    asyncio.CancelledError(),
    GeneratorExit(),
    BaseException("own"),
    BaseExceptionGroup("own", [KeyboardInterrupt()]),
]
"""What a plugin may raise of its own accord although it is no ``Exception``."""


@pytest.mark.parametrize("error", OWN, ids=repr)
@pytest.mark.requirement("core:foreign:contained")
async def test_whatever_foreign_code_raises_of_its_own_accord_is_its_failure(error):
    fault = contain(error)
    assert isinstance(fault, LifecycleError)
    assert (fault.code, fault.__cause__) == ("fiber-broken", error)
    assert type(error).__name__ in fault.message

    async def ask():
        raise error

    with pytest.raises(SourceFault) as caught:
        await asking(SourceFault, "source-query-raised", "it failed", ask)
    assert caught.value.code == "source-query-raised"
    with pytest.raises(SourceFault), calling(SourceFault, "x", "y"):
        raise error


def test_exceptions_are_kept_as_they_are():
    error = KeyError("own")
    assert contain(error) is error


@pytest.mark.requirement("core:foreign:contained")
async def test_what_comes_from_outside_passes():
    passed = []
    with anyio.CancelScope() as scope:
        scope.cancel()
        try:
            await anyio.lowlevel.checkpoint()
        except anyio.get_cancelled_exc_class() as error:
            with pytest.raises(type(error)) as raised:
                contain(error)
            passed.append(raised.value is error)
            raise
    assert passed == [True]


@pytest.mark.requirement("core:foreign:contained")
@pytest.mark.skipif(sys.platform == "win32", reason="no signal can be sent to oneself")
def test_ctrl_c_ends_everything_although_foreign_code_gets_the_second():
    """The very signals, in a process of its own."""
    program = """
import os, signal, anyio
from dsh_mnemon_core._foreign import asking
from dsh_mnemon_core.errors import SourceFault

async def ask():
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGINT)

async def main():
    try:
        await asking(SourceFault, "x", "y", ask)
    except SourceFault:
        print("contained")
    await anyio.sleep_forever()

try:
    anyio.run(main)
except KeyboardInterrupt:
    print("ended")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.endswith("ended\n")


@pytest.mark.requirement("core:foreign:contained")
async def test_a_task_that_is_cancelled_without_a_scope_is_cancelled_while_it_asks():
    started, ended = anyio.Event(), []

    async def ask():
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("asked")

    task = asyncio.ensure_future(asking(SourceFault, "x", "y", ask))
    with anyio.fail_after(20):
        await started.wait()
        task.cancel()  # as the first Ctrl-C does with the main task
        with pytest.raises(asyncio.CancelledError):
            await task
    assert ended == ["asked"]


async def test_what_is_asked_may_answer_or_refuse():
    async def refuse():
        raise InputError("input-invalid", "no")

    async def answer():
        return 7

    assert await asking(SourceFault, "x", "y", answer) == 7
    with pytest.raises(InputError):
        await asking(SourceFault, "x", "y", refuse)


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
