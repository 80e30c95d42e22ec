"""Finds the largest load that still holds, in few tries: each is a run of seconds or minutes."""

from __future__ import annotations

from collections.abc import Callable


def largest(holds: Callable[[int], bool], *, first: int = 1, most: int = 1 << 16) -> int:
    """The largest whole number from 1 to `most` that holds; 0 if not even 1 does. What holds, holds for less, too.

    Doubles from `first` until it no longer holds, then halves the gap.
    """
    low, high, step = 0, most + 1, max(1, min(first, most))
    while step < high:
        if not holds(step):
            high = step
            break
        low = step
        if step == most:
            return most
        step = min(step * 2, most)
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low
