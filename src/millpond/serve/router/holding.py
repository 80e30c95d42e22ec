"""Requests that wait for a replica: bounded in number and seconds, and woken as soon as one takes requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ..errors import ServeError
from .dispatch import Dispatcher, Target
from .replicas import Replica


@dataclass(slots=True)
class _Waiting:
    """The requests of one endpoint that wait, oldest first, with the time of day they came."""

    since: dict[asyncio.Event, float] = field(default_factory=dict)


class Holding:
    """The waiting requests of all endpoints. Lives in the event loop."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._endpoints: dict[str, _Waiting] = {}

    def wake(self) -> None:
        """Let all look again: a replica may be there for them."""
        for waiting in self._endpoints.values():
            for event in waiting.since:
                event.set()

    async def wait(self, target: Target, choose: Callable[[Target], Replica | None]) -> tuple[Target, Replica]:
        """What `choose` finds for this request, as soon as it does. ServeError 503 when too many wait, or for too long.

        The endpoint may be changed or deleted meanwhile: then ServeError 404, or the rules that hold now.
        """
        target = self._dispatcher.renewed(target)
        replica = choose(target)
        if replica is not None:
            return target, replica
        name = target.endpoint.name
        rule = target.endpoint.hold
        waiting = self._endpoints.setdefault(name, _Waiting())
        if len(waiting.since) >= rule.requests or not rule.seconds:
            raise self._refused(target, f"No replica of '{name}' is ready, and no more requests are held.")
        event = asyncio.Event()
        waiting.since[event] = time.time()
        target.stats.held_total += 1
        try:
            async with asyncio.timeout(rule.seconds):
                while True:
                    target = self._dispatcher.renewed(target)
                    replica = choose(target)
                    if replica is not None:
                        return target, replica
                    event.clear()
                    await event.wait()
        except TimeoutError:
            raise self._refused(target, f"No replica of '{name}' was ready within {rule.seconds:g} s.") from None
        finally:
            del waiting.since[event]

    def held(self, endpoint: str) -> tuple[int, float | None]:
        """How many requests wait now, and since when the oldest of them."""
        waiting = self._endpoints.get(endpoint)
        if waiting is None or not waiting.since:
            return 0, None
        return len(waiting.since), next(iter(waiting.since.values()))

    def _refused(self, target: Target, text: str) -> ServeError:
        return self._dispatcher.refuse(target, ServeError(503, f"{text} Try again later.", retry_after=5))
