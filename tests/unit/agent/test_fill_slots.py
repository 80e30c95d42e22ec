"""Slots of fills: those that somebody waits for do not stand behind others."""

from __future__ import annotations

import asyncio

from millpond.agent.fill_slots import FillSlots


class Line:
    """Fills that run until they are let go; those in `first` go first."""

    def __init__(self, slots: FillSlots) -> None:
        self.running: set[str] = set()
        self._slots = slots
        self._ends: dict[str, asyncio.Event] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self.first: set[str] = set()

    async def begin(self, name: str, *, first: bool = False) -> None:
        if first:
            self.first.add(name)
        self._ends[name] = asyncio.Event()
        self._tasks.append(asyncio.create_task(self._run(name)))
        await self.settle()

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await self.settle()

    async def settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)

    async def _run(self, name: str) -> None:
        async with self._slots.take(lambda: name in self.first):
            self.running.add(name)
            await self._ends[name].wait()
        self.running.discard(name)


def test_those_that_go_first_have_slots_of_their_own() -> None:
    async def scenario() -> None:
        slots = FillSlots(2)
        line = Line(slots)
        for name in ("a", "b", "c"):
            await line.begin(name)
        assert line.running == {"a", "b"}
        await line.begin("now", first=True)
        assert line.running == {"a", "b", "now"}
        await line.end("a")
        assert line.running == {"b", "now"}, "the others wait until there are fewer in all"
        await line.end("now")
        assert line.running == {"b", "c"}
        for name in ("b", "c"):
            await line.end(name)
        assert not line.running

    asyncio.run(scenario())


def test_one_that_becomes_urgent_begins() -> None:
    async def scenario() -> None:
        slots = FillSlots(1)
        line = Line(slots)
        await line.begin("a")
        await line.begin("b")
        assert line.running == {"a"}
        line.first.add("b")
        slots.look()
        await line.settle()
        assert line.running == {"a", "b"}
        for name in ("a", "b"):
            await line.end(name)

    asyncio.run(scenario())
