"""The event hub of one server process: tells browsers what changed and wakes loops and long polls.

Services publish from any thread; streams and long polls live in the event loop. Nothing here blocks.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from millpond.model.ids import new_id

HELD_EVENTS = 5_000
HEARTBEAT_SECONDS = 15.0
# Then the browser comes back by itself and is looked at anew: roles and sessions end without an event, too.
STREAM_SECONDS = 900.0
# A reader this far behind is told to load everything anew instead of being fed from memory.
QUEUED_EVENTS = 1_000


@dataclass(frozen=True, slots=True)
class Event:
    number: int
    topic: str
    project_id: str | None
    data: dict[str, Any]


@dataclass(eq=False)
class _Stream:
    loop: asyncio.AbstractEventLoop
    topics: frozenset[str]
    sees: Callable[[str | None], bool]
    user_id: str | None
    waiting: deque[Event] = field(default_factory=deque)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    overflowed: bool = False
    ended: bool = False

    def wants(self, event: Event) -> bool:
        return event.topic in self.topics and self.sees(event.project_id)


class EventHub:
    """Implements `deps.Events`. Ids are `<start>-<n>`; what is no longer held is answered by the event `reset`."""

    def __init__(self, *, held: int = HELD_EVENTS) -> None:
        self.start = new_id()
        self._lock = threading.Lock()
        self._held: deque[Event] = deque(maxlen=held)
        self._number = 0
        self._streams: set[_Stream] = set()
        self._wakes: Counter[str] = Counter()
        self._bells: dict[str, set[threading.Event]] = {}
        self._polls: dict[str, set[tuple[asyncio.AbstractEventLoop, asyncio.Event]]] = {}
        self._closed = False

    # Called by services, from any thread ---------------------------------------------------------

    def publish(self, topic: str, *, project_id: str | None, data: dict[str, Any]) -> None:
        with self._lock:
            self._number += 1
            event = Event(self._number, topic, project_id, data)
            self._held.append(event)
            for stream in self._streams:
                if not stream.wants(event):
                    continue
                if len(stream.waiting) >= QUEUED_EVENTS:
                    stream.overflowed = True
                else:
                    stream.waiting.append(event)
                _ring(stream.loop, stream.changed)

    def wake(self, topic: str) -> None:
        with self._lock:
            self._wakes[topic] += 1
            for bell in self._bells.get(topic, ()):
                bell.set()
            for loop, poll in self._polls.get(topic, ()):
                _ring(loop, poll)

    def access_changed(self, user_id: str) -> None:
        """End this user's streams: the browser comes back at once and is looked at anew."""
        with self._lock:
            for stream in self._streams:
                if stream.user_id == user_id:
                    _end(stream)

    def close(self) -> None:
        """End every stream and long poll, so that the server can stop."""
        with self._lock:
            self._closed = True
            for stream in self._streams:
                _end(stream)
            for polls in self._polls.values():
                for loop, poll in polls:
                    _ring(loop, poll)

    # Loops ---------------------------------------------------------------------------------------

    def bell(self, topic: str, bell: threading.Event) -> None:
        """Set `bell` at every wake of `topic` from now on."""
        with self._lock:
            self._bells.setdefault(topic, set()).add(bell)

    # Long polls ----------------------------------------------------------------------------------

    def mark(self, topic: str) -> int:
        """How often `topic` was woken: look at the world *after* this, then `wait(topic, since=mark)`."""
        with self._lock:
            return self._wakes[topic]

    async def wait(self, topic: str, *, since: int, timeout: float) -> bool:
        """Return when `topic` has been woken after `since`; False when the time is up or the server stops."""
        poll = asyncio.Event()
        entry = (asyncio.get_running_loop(), poll)
        with self._lock:
            if self._closed or self._wakes[topic] > since:
                return not self._closed
            self._polls.setdefault(topic, set()).add(entry)
        try:
            await asyncio.wait_for(poll.wait(), timeout)
        except TimeoutError:
            return False
        finally:
            with self._lock:
                self._polls[topic].discard(entry)
        return not self._closed

    @property
    def is_closed(self) -> bool:
        return self._closed

    # Streams -------------------------------------------------------------------------------------

    async def stream(
        self,
        topics: Collection[str],
        *,
        sees: Callable[[str | None], bool],
        user_id: str | None = None,
        last_id: str | None = None,
        heartbeat: float = HEARTBEAT_SECONDS,
        lifetime: float = STREAM_SECONDS,
    ) -> AsyncIterator[str]:
        """Server-sent events as text, from behind `last_id` on, until the reader leaves or the hub closes."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + lifetime
        stream = _Stream(loop, frozenset(topics), sees, user_id)
        with self._lock:
            missed = self._after(last_id)
            now = self._number
            if missed is not None:
                stream.waiting.extend(event for event in missed if stream.wants(event))
            stream.ended = self._closed
            self._streams.add(stream)
        try:
            yield self._reset(now) if missed is None else self._hello(last_id or f"{self.start}-{now}")
            while True:
                for event in self._take(stream):
                    yield event
                if stream.ended or loop.time() >= ends_at:
                    return
                try:
                    await asyncio.wait_for(stream.changed.wait(), heartbeat)
                except TimeoutError:
                    yield ": still here\n\n"
        finally:
            with self._lock:
                self._streams.discard(stream)

    def _take(self, stream: _Stream) -> list[str]:
        """What is to be sent now. The lock is held so that no event falls between taking and waiting again."""
        with self._lock:
            stream.changed.clear()
            taken, stream.waiting = stream.waiting, deque()
            overflowed, stream.overflowed = stream.overflowed, False
            number = self._number
        return [self._reset(number)] if overflowed else [self._text(event) for event in taken]

    def _after(self, last_id: str | None) -> list[Event] | None:
        """Events behind `last_id`; None when they are no longer all held."""
        if last_id is None:
            return []
        start, _, number = last_id.rpartition("-")
        if start != self.start or not number.isdecimal():
            return None
        first = self._held[0].number if self._held else self._number + 1
        if int(number) + 1 < first:
            return None
        return [event for event in self._held if event.number > int(number)]

    def _text(self, event: Event) -> str:
        return f"id: {self.start}-{event.number}\nevent: {event.topic}\ndata: {json.dumps(event.data)}\n\n"

    def _reset(self, number: int) -> str:
        return f"id: {self.start}-{number}\nevent: reset\ndata: {{}}\n\n"

    def _hello(self, last_id: str) -> str:
        # No event, but the browser remembers the id: if it must come back before the first event, it misses nothing.
        return f"retry: 1000\nid: {last_id}\n\n"


def _end(stream: _Stream) -> None:
    stream.ended = True
    _ring(stream.loop, stream.changed)


def _ring(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    """Set an asyncio event from any thread; a loop that is already closed has nobody left to tell."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(event.set)
