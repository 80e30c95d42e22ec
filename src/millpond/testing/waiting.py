"""Waiting for a condition with a deadline: what tests use in place of sleeping and hoping."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(condition: Callable[[], T], *, within: float = 60.0, what: str = "the condition") -> T:
    """The first true answer of `condition`; AssertionError when there is none `within` so many seconds."""
    deadline = time.monotonic() + within
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come true within {within} s; it was {answer!r}")
        time.sleep(0.01)
