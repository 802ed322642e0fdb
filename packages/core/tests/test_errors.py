import pytest
from dsh_mnemon_core import errors
from dsh_mnemon_core.errors import (
    CompositionUnavailable,
    InputError,
    MnemonError,
    SourceReadFailure,
)


def test_error_keeps_code_message_and_details():
    error = InputError("input-invalid", "no query", details={"path": ["query"]})
    assert (error.code, error.message, str(error)) == ("input-invalid", "no query", "no query")
    assert error.to_wire() == {
        "code": "input-invalid",
        "message": "no query",
        "details": {"path": ["query"]},
    }


def test_details_cannot_be_changed():
    given = {"a": 1}
    error = MnemonError("x", "y", details=given)
    given["a"] = 2
    assert error.details == {"a": 1}
    with pytest.raises(TypeError):
        error.details["a"] = 3


def test_wire_leaves_out_what_is_not_set():
    assert MnemonError("x", "y").to_wire() == {"code": "x", "message": "y"}


def test_class_decides_retryable_unless_the_raiser_does():
    assert SourceReadFailure("x", "y").to_wire()["retryable"] is True
    assert not SourceReadFailure("x", "y", retryable=False).retryable
    assert MnemonError("x", "y", retryable=True).retryable


def test_unavailable_composition_carries_its_evaluation():
    report = object()
    error = CompositionUnavailable(report)
    assert error.evaluation is report
    assert error.code == "memory-composition-unavailable"
    assert error.retryable


def test_every_error_is_of_the_tree():
    classes = [getattr(errors, name) for name in errors.__all__]
    assert all(issubclass(cls, MnemonError) for cls in classes)
    named = errors.__doc__.split()
    assert all(cls.__name__ in named for cls in classes)
