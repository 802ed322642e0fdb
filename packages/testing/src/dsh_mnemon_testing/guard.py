"""The root of every contract suite, and the test by which a suite guards itself.

A suite is worth what it checks. Its subclass therefore supplies factories and hooks, and leaves the
tests alone; where it must not, it says why with `deviates`.
"""

# ruff: noqa: S101 - a contract is made of assertions

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Any, ClassVar, Final, TypeVar

import pytest

__all__ = ("Contract", "deviates", "deviations")

_REASON: Final = "_dsh_mnemon_deviation"

Test = TypeVar("Test", bound=Callable[..., Any])


def deviates(reason: str) -> Callable[[Test], Test]:
    """Mark a test that replaces one of a contract suite, with the reason for whoever reads it.

    Args:
        reason: Why the contract cannot hold as it is written; not blank.

    Raises:
        ValueError: The reason is blank.
    """
    if not reason.strip():
        raise ValueError("a deviation needs a reason")

    def mark(test: Test) -> Test:
        setattr(test, _REASON, reason)
        return test

    return mark


class Contract:
    """Root of the contract suites; ``class NewContract(Contract, contract=True)`` starts one.

    Every ``test_*`` method of a class with ``contract=True`` belongs to the contract of all its
    subclasses.
    """

    pytestmark: ClassVar[Any] = pytest.mark.anyio
    """Lets the async tests run also where anyio's automatic mode is off."""

    contract_tests: ClassVar[MappingProxyType[str, object]] = MappingProxyType({})
    """Every test of the contract by name, as the suite wrote it."""

    def __init_subclass__(cls, *, contract: bool = False, **more: Any) -> None:
        """Remember the tests of a suite before a subclass can touch them."""
        super().__init_subclass__(**more)
        if contract:
            tests: dict[str, object] = {}
            for base in reversed(cls.__mro__[1:]):
                tests |= vars(base).get("contract_tests", {})
            tests |= {name: item for name, item in vars(cls).items() if name.startswith("test_")}
            cls.contract_tests = MappingProxyType(tests)

    def test_contract_is_complete(self) -> None:
        """No test of the contract was deleted or replaced without a reason.

        If it fails: restore the tests it names. A suite is adapted through its hooks and flags; a
        test that cannot hold is replaced by one marked ``@deviates("why")``.
        """
        problems = list(deviations(type(self)))
        assert not problems, "\n".join(problems)


def deviations(suite: type[Contract]) -> Iterator[str]:
    """Tell which tests of its contract a suite lacks or replaced without `deviates`."""
    for name, written in suite.contract_tests.items():
        found = getattr(suite, name, None)
        if found is None:
            yield f"{suite.__name__}.{name} was deleted"
        elif found is not written and not getattr(found, _REASON, ""):
            yield f"{suite.__name__}.{name} was replaced without a reason"


Contract.contract_tests = MappingProxyType(
    {"test_contract_is_complete": Contract.test_contract_is_complete}
)
