"""The contract of Strategy extensions as a test class to subclass (spec/core.md §14, §20)."""

# ruff: noqa: S101 - a contract is made of assertions

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final

from dsh_mnemon_core.scope import OperationScope, ViewRequest
from dsh_mnemon_core.slots import validate_memory_view_extension
from dsh_mnemon_core.source import AvailableSource
from dsh_mnemon_core.strategy import STANDARD_SLOTS, ExtensionDefinition
from dsh_mnemon_core.values import canonical, json_clone
from dsh_mnemon_core.wire import to_wire
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dsh_mnemon_testing.arbitrary import available_sources, requests
from dsh_mnemon_testing.guard import Contract

__all__ = ("ExtensionContract",)

_LIMIT: Final = 64_000
"""Characters of a contribution's canonical text."""

_REQUEST: Final = ViewRequest(scope=OperationScope(storage="custom"))


class ExtensionContract(Contract, contract=True):
    """Checks that an extension keeps its promises; subclass it as ``class TestMyExtension``.

    Factory: `make_extension` (required). Adaptation: `source_sets`, `examples`, and for a slot of
    one Strategy's own `check_value` and `named_sources`.

    Flag, True unless set to False: `follows_sources`.
    """

    follows_sources: ClassVar[bool] = True
    """Names only Sources it was shown; False when its configuration names them."""

    examples: ClassVar[int] = 60
    """Sets of Sources drawn by each test."""

    def make_extension(self) -> ExtensionDefinition:
        """Return the extension under test."""
        raise NotImplementedError(f"{type(self).__name__} needs make_extension()")

    def source_sets(self) -> st.SearchStrategy[list[AvailableSource]]:
        """Return the sets of Sources to draw from; any of the product's roles by default."""
        return available_sources()

    def check_value(self, value: Any) -> None:
        """Check a contributed value against its slot; the standard slots by default."""
        slot = self.make_extension().manifest.slot
        assert slot in STANDARD_SLOTS, f"override check_value() for the slot {slot}"
        validate_memory_view_extension(slot, value)

    def named_sources(self, value: Any) -> Iterable[str]:
        """Return the Source instance keys a contributed value names."""
        return (*value.get("sourceKeys", ()), *value.get("writableSourceKeys", ()))

    # -- the tests ---------------------------------------------------------------------------------

    def test_contribution_is_pure(self) -> None:
        """The same request and Sources give the same value, and are left as they were.

        If it fails: look for a clock, a random number, an iterated set, anything kept between calls
        and an in-place ``sort``. Core calls an extension twice and rejects the View when the two
        values differ.
        """

        def check(request: ViewRequest, sources: list[AvailableSource]) -> None:
            before = to_wire([request, sources])
            extension = self.make_extension()
            value = to_wire(extension.contribute(request, sources))
            assert to_wire(extension.contribute(request, sources)) == value
            assert to_wire(self.make_extension().contribute(request, sources)) == value
            assert to_wire([request, sources]) == before

        self._draw(check)

    def test_contribution_is_bounded(self) -> None:
        """The value is JSON of at most 64 000 characters, however many Sources there are.

        If it fails: name Sources by key instead of describing them, and bound every list and text.
        """

        def check(request: ViewRequest, sources: list[AvailableSource]) -> None:
            value = json_clone(self.make_extension().contribute(request, sources))
            assert len(canonical(value)) <= _LIMIT

        self._draw(check)

    def test_value_fits_its_slot(self) -> None:
        """The value is one the slot accepts.

        If it fails: `slots.define_memory_view_extension` checks the values of standard slots as
        they are made, and its error says which field is wrong. Most often a list of Sources is
        longer than 32.
        """

        def check(request: ViewRequest, sources: list[AvailableSource]) -> None:
            self.check_value(json_clone(self.make_extension().contribute(request, sources)))

        self._draw(check)

    def test_silent_when_nothing_applies(self) -> None:
        """Without Sources there is a valid value that names none; otherwise it names shown ones.

        If it fails: return a neutral value instead of raising when no Source fits. When your
        configuration names the Sources, so that they may be absent, set ``follows_sources`` False.
        """
        nothing = json_clone(self.make_extension().contribute(_REQUEST, []))
        self.check_value(nothing)
        if not self.follows_sources:
            return
        assert not [*self.named_sources(nothing)], "names Sources though there are none"

        def check(request: ViewRequest, sources: list[AvailableSource]) -> None:
            shown = {source.source_instance_key for source in sources}
            value = json_clone(self.make_extension().contribute(request, sources))
            assert {*self.named_sources(value)} <= shown, "names Sources nobody installed"

        self._draw(check)

    def _draw(self, check: Callable[[ViewRequest, list[AvailableSource]], None]) -> None:
        bound = settings(
            max_examples=self.examples,
            deadline=None,
            database=None,
            suppress_health_check=(HealthCheck.too_slow,),
        )
        bound(given(requests(), self.source_sets())(check))()
