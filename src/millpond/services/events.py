"""The event hub of one server process: tells browsers what changed and wakes loops and long polls.

Services publish from any thread; streams and long polls live in the event loop. Nothing here blocks. Of several servers
on one database each hub also tells what the others publish (`event_bus.py`): numbers are then those of the database.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from millpond.model.ids import new_id

HELD_EVENTS = 5_000
HEARTBEAT_SECONDS = 15.0
# Then the browser comes back by itself and is looked at anew: roles and sessions end without an event, too.
STREAM_SECONDS = 900.0
# What happens within this time is sent together: pages need no more, and hundreds of them would be most of what a busy
# server does. What comes after a quiet while is sent at once.
GATHER_SECONDS = 0.25
# Of hundreds of pages each is told more rarely, so that all together are written to so often at most.
SENDS_PER_SECOND = 500.0
# A reader this far behind is told to load everything anew instead of being fed from memory.
QUEUED_EVENTS = 1_000
# Loops that run in every server and are woken where something happened; the others see it when they look again.
_WOKEN_HERE = frozenset({"schedule", "flows", "searches", "endpoints", "clusters", "verify"})
# How long a stream waits for events that its reader has seen through another server.
_CATCH_UP_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Event:
    number: int
    topic: str
    project_id: str | None
    # As it is sent: hundreds of streams tell the same.
    text: str


class SignalKind(StrEnum):
    EVENT = "event"
    WAKE = "wake"
    # Roles or sign-ins of the user `topic` changed.
    ACCESS = "access"
    # Events were lost: everybody loads everything anew.
    RESET = "reset"


@dataclass(frozen=True, slots=True)
class Signal:
    """What one server tells all of them."""

    kind: SignalKind
    topic: str = ""
    project_id: str | None = None
    data: dict[str, Any] = field(default_factory=dict, hash=False)


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
        # Of all events behind this number none is missing in `_held`.
        self._held_from = 0
        self._streams: set[_Stream] = set()
        self._wakes: Counter[str] = Counter()
        self._bells: dict[str, set[threading.Event]] = {}
        self._polls: dict[str, set[tuple[asyncio.AbstractEventLoop, asyncio.Event]]] = {}
        self._closed = False
        self._told = 0
        # To all servers, this one included; None: there is no other.
        self._send: Callable[[Signal], None] | None = None

    # Called by services, from any thread ---------------------------------------------------------

    def publish(self, topic: str, *, project_id: str | None, data: dict[str, Any]) -> None:
        if self._send is not None:
            self._send(Signal(SignalKind.EVENT, topic, project_id, data))
            return
        with self._lock:
            self._tell(self._number + 1, topic, project_id, data)

    def wake(self, topic: str) -> None:
        self._wake(topic)
        if self._send is not None and topic not in _WOKEN_HERE:
            self._send(Signal(SignalKind.WAKE, topic))

    def access_changed(self, user_id: str) -> None:
        """End this user's streams: the browser comes back at once and is looked at anew."""
        self._end_streams(user_id)
        if self._send is not None:
            self._send(Signal(SignalKind.ACCESS, user_id))

    # Called by the bus ---------------------------------------------------------------------------

    def join(
        self, database_id: str, number: int, known: Sequence[tuple[int, Signal]], *, send: Callable[[Signal], None]
    ) -> None:
        """Tell all servers of a database what happens here from now on; `known` is what they told last."""
        with self._lock:
            self.start, self._number = database_id, number
            self._held.clear()
            self._held_from = known[0][0] - 1 if known else number
            for place, signal in known:
                self._hold(place, signal)
            self._number, self._send = number, send

    def deliver(self, signals: Sequence[tuple[int, Signal]], *, own: Collection[int]) -> None:
        """What all servers told, by number and in order; `own` are those of this server, which woke itself at once."""
        for number, signal in signals:
            match signal.kind:
                case SignalKind.EVENT | SignalKind.RESET:
                    with self._lock:
                        self._hold(number, signal)
                case SignalKind.WAKE if number not in own:
                    self._wake(signal.topic)
                case SignalKind.ACCESS if number not in own:
                    self._end_streams(signal.topic)
            with self._lock:
                self._number = number

    def _hold(self, number: int, signal: Signal) -> None:
        if signal.kind is SignalKind.EVENT:
            self._tell(number, signal.topic, signal.project_id, signal.data)
        elif signal.kind is SignalKind.RESET:
            self._held.clear()
            self._held_from = self._number = number
            for stream in self._streams:
                stream.overflowed = True
                _ring(stream.loop, stream.changed)

    def _tell(self, number: int, topic: str, project_id: str | None, data: dict[str, Any]) -> None:
        text = f"id: {self.start}-{number}\nevent: {topic}\ndata: {json.dumps(data)}\n\n"
        event = Event(number, topic, project_id, text)
        self._number = number
        self._told += 1
        if len(self._held) == self._held.maxlen:
            self._held_from = self._held[0].number
        self._held.append(event)
        told: defaultdict[asyncio.AbstractEventLoop, list[asyncio.Event]] = defaultdict(list)
        for stream in self._streams:
            if not stream.wants(event):
                continue
            was_told = bool(stream.waiting)
            if len(stream.waiting) >= QUEUED_EVENTS:
                stream.overflowed = True
            else:
                stream.waiting.append(event)
            if not was_told:
                told[stream.loop].append(stream.changed)
        for loop, changed in told.items():
            _ring(loop, *changed)

    def _wake(self, topic: str) -> None:
        with self._lock:
            self._wakes[topic] += 1
            for bell in self._bells.get(topic, ()):
                bell.set()
            for loop, poll in self._polls.get(topic, ()):
                _ring(loop, poll)

    def _end_streams(self, user_id: str) -> None:
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

    def mark(self, *topics: str) -> int:
        """How often `topics` were woken: look at the world *after* this, then `wait(*topics, since=mark)`."""
        with self._lock:
            return self._woken(topics)

    async def wait(self, *topics: str, since: int, timeout: float) -> bool:
        """Return when one of `topics` has been woken after `since`; False when the time is up or the server stops."""
        poll = asyncio.Event()
        entry = (asyncio.get_running_loop(), poll)
        with self._lock:
            if self._closed or self._woken(topics) > since:
                return not self._closed
            for topic in topics:
                self._polls.setdefault(topic, set()).add(entry)
        try:
            await asyncio.wait_for(poll.wait(), timeout)
        except TimeoutError:
            return False
        finally:
            with self._lock:
                for topic in topics:
                    self._polls[topic].discard(entry)
                    if not self._polls[topic]:
                        del self._polls[topic]
        return not self._closed

    def waiting(self, topic: str) -> int:
        """How many long polls wait for `topic` now."""
        with self._lock:
            return len(self._polls.get(topic, ()))

    @property
    def streams(self) -> int:
        """How many readers follow events here."""
        return len(self._streams)

    @property
    def told(self) -> int:
        """How many events were told here since the process began."""
        return self._told

    def _woken(self, topics: Sequence[str]) -> int:
        return sum(self._wakes[topic] for topic in topics)

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
        await self._catch_up(last_id)
        with self._lock:
            missed = self._after(last_id)
            now = self._number
            if missed is not None:
                stream.waiting.extend(event for event in missed if stream.wants(event))
            stream.ended = self._closed
            self._streams.add(stream)
        try:
            yield self._reset(now) if missed is None else self._hello(last_id or f"{self.start}-{now}")
            sent_at = 0.0
            while True:
                if told := self._take(stream):
                    yield told
                    sent_at = loop.time()
                if stream.ended or loop.time() >= ends_at:
                    return
                try:
                    # Not `wait_for`, which begins a task for it: of hundreds of pages that would be most of the work.
                    async with asyncio.timeout(heartbeat):
                        await stream.changed.wait()
                except TimeoutError:
                    yield ": still here\n\n"
                gather = max(GATHER_SECONDS, len(self._streams) / SENDS_PER_SECOND)
                if (rest := sent_at + gather - loop.time()) > 0 and not stream.ended:
                    await asyncio.sleep(rest)
        finally:
            with self._lock:
                self._streams.discard(stream)

    def _take(self, stream: _Stream) -> str:
        """What is to be sent now. The lock is held so that no event falls between taking and waiting again."""
        with self._lock:
            stream.changed.clear()
            taken, stream.waiting = stream.waiting, deque()
            overflowed, stream.overflowed = stream.overflowed, False
            number = self._number
        return self._reset(number) if overflowed else "".join(event.text for event in taken)

    async def _catch_up(self, last_id: str | None) -> None:
        """Wait for what the reader has seen through another server already, as long as that may take."""
        start, _, number = (last_id or "").rpartition("-")
        if self._send is None or start != self.start or not number.isdecimal():
            return
        ends_at = asyncio.get_running_loop().time() + _CATCH_UP_SECONDS
        while self._number < int(number) and asyncio.get_running_loop().time() < ends_at and not self._closed:
            await asyncio.sleep(0.02)

    def _after(self, last_id: str | None) -> list[Event] | None:
        """Events behind `last_id`; None when they are no longer all held."""
        if last_id is None:
            return []
        start, _, number = last_id.rpartition("-")
        if start != self.start or not number.isdecimal():
            return None
        if not self._held_from <= int(number) <= self._number:
            return None
        return [event for event in self._held if event.number > int(number)]

    def _reset(self, number: int) -> str:
        return f"id: {self.start}-{number}\nevent: reset\ndata: {{}}\n\n"

    def _hello(self, last_id: str) -> str:
        # No event, but the browser remembers the id: if it must come back before the first event, it misses nothing.
        return f"retry: 1000\nid: {last_id}\n\n"


def _end(stream: _Stream) -> None:
    stream.ended = True
    _ring(stream.loop, stream.changed)


def _ring(loop: asyncio.AbstractEventLoop, *events: asyncio.Event) -> None:
    """Set asyncio events from any thread; a loop that is already closed has nobody left to tell."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(_set, events)


def _set(events: Sequence[asyncio.Event]) -> None:
    for event in events:
        event.set()
