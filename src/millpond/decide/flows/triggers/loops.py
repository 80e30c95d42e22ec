"""Flows that would set each other off for ever."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

Name = TypeVar("Name", bound=Hashable)


def find_loop(start: Name, sets_off: Callable[[Name], Iterable[Name]]) -> Sequence[Name] | None:
    """The shortest way from a flow back to itself (`a, b, a`); None if there is none.

    `sets_off` tells which flows start when one has succeeded.
    """
    ways: list[tuple[Name, ...]] = [(start,)]
    seen: set[Name] = set()
    while ways:
        way = ways.pop(0)
        for following in sets_off(way[-1]):
            if following == start:
                return (*way, start)
            if following not in seen:
                seen.add(following)
                ways.append((*way, following))
    return None
