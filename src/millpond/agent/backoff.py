"""Exponential backoff with jitter, so that many agents do not retry at the same moment."""

from __future__ import annotations

import asyncio
import random

from millpond.errors import DiskFull, MillError

FIRST_SECONDS = 0.2
LONGEST_SECONDS = 5.0


def may_pass(error: MillError) -> bool:
    """True if the same call may succeed later: the other side is unreachable, overloaded or failed itself."""
    return error.transient or isinstance(error, DiskFull) or type(error) is MillError


class Backoff:
    def __init__(self, *, first: float = FIRST_SECONDS, longest: float = LONGEST_SECONDS) -> None:
        self._first, self._longest = first, longest
        self._tries = 0

    def next(self) -> float:
        """Seconds to wait after one more failure."""
        pause = min(self._longest, self._first * 2.0 ** min(self._tries, 20))
        self._tries += 1
        return pause * random.uniform(0.7, 1.0)

    async def wait(self) -> None:
        await asyncio.sleep(self.next())

    def reset(self) -> None:
        self._tries = 0
