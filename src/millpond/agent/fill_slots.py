"""How many fills run at once: a few, and those that somebody waits for do not stand in line behind others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class FillSlots:
    """Whether a fill goes first may change while it waits or runs: it is asked anew. For one event loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._running: list[Callable[[], bool]] = []
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def take(self, goes_first: Callable[[], bool]) -> AsyncIterator[None]:
        """Run the block when it has a slot: those that go first have as many of their own as there are in all."""
        while not self._has_room(goes_first):
            self._changed.clear()
            await self._changed.wait()
        self._running.append(goes_first)
        try:
            yield
        finally:
            self._running.remove(goes_first)
            self._changed.set()

    def look(self) -> None:
        """What goes first may have changed."""
        self._changed.set()

    def _has_room(self, goes_first: Callable[[], bool]) -> bool:
        if goes_first():
            return sum(one() for one in self._running) < self._most
        return len(self._running) < self._most
