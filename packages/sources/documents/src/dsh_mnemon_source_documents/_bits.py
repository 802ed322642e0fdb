"""Sets of small numbers as integers, and counters over such sets (pure).

Bit ``n`` of a set stands for slot ``n``. A counter keeps one number per slot, its binary digits
spread over several sets ("planes"), so that adding to ten thousand numbers takes a few operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs


def of(slots: Iterable[int], size: int) -> int:
    """Return the set of ``slots``, all below ``size``."""
    buffer = bytearray(size // 8 + 1)
    for slot in slots:
        buffer[slot >> 3] |= 1 << (slot & 7)
    return int.from_bytes(buffer, "little")


def members(bits: int) -> Iterator[int]:
    """Yield the slots of a set, ascending."""
    digits = f"{bits:b}"[::-1]
    slot = digits.find("1")
    while slot >= 0:
        yield slot
        slot = digits.find("1", slot + 1)


@attrs.define
class Counter:
    """One number per slot; ``planes[i]`` holds the slots whose number has the binary digit i."""

    planes: list[int] = attrs.field(factory=list[int])

    def copy(self) -> Counter:
        """Return a counter of its own with the same numbers."""
        return Counter(list(self.planes))

    def add(self, amount: int, bits: int) -> None:
        """Add an amount to the numbers of some slots."""
        digit = 0
        while amount:
            if amount & 1:
                self._carry(digit, bits)
            amount >>= 1
            digit += 1

    def _carry(self, digit: int, bits: int) -> None:
        while bits:
            while len(self.planes) <= digit:
                self.planes.append(0)
            plane = self.planes[digit]
            self.planes[digit], bits = plane ^ bits, plane & bits
            digit += 1

    def at_least(self, amount: int, bits: int) -> int:
        """Return those slots of a set whose number is at least ``amount``."""
        greater, equal = 0, bits
        for digit in range(max(len(self.planes), amount.bit_length()) - 1, -1, -1):
            plane = self.planes[digit] if digit < len(self.planes) else 0
            if amount >> digit & 1:
                equal &= plane
            else:
                greater |= equal & plane
                equal &= ~plane
        return greater | equal

    def groups(self, bits: int) -> Iterator[tuple[int, int]]:
        """Yield number and slots of a set, the greatest number first, no empty group."""
        yield from self._groups(len(self.planes) - 1, bits, 0)

    def _groups(self, digit: int, bits: int, number: int) -> Iterator[tuple[int, int]]:
        if not bits:
            return
        if digit < 0:
            yield number, bits
            return
        plane = self.planes[digit]
        yield from self._groups(digit - 1, bits & plane, number | 1 << digit)
        yield from self._groups(digit - 1, bits & ~plane, number)
