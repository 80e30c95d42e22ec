"""Which steps come before and after others."""

from __future__ import annotations

from collections.abc import Mapping


def before(needs: Mapping[str, frozenset[str]], step: str) -> set[str]:
    """Every step that must have ended before this one, not including it."""
    found: set[str] = set()
    waiting = list(needs[step])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += needs[name]
    return found


def from_here(needs: Mapping[str, frozenset[str]], step: str) -> set[str]:
    """The step and every one that comes after it."""
    return {step} | {name for name in needs if step in before(needs, name)}
