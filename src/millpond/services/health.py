"""Whether the parts that this server needs are there: database, lake, disk and clock. Looked at all the time.

What is told goes to anybody (`/readyz`, the page's banner), so it names no host, path or project; `mill doctor` says
more to those who are signed in. A probe that hangs counts as failed, and no request ever waits for one.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from logging import getLogger

from sqlalchemy import text

from millpond.db import server_processes
from millpond.errors import DiskFull, MillError
from millpond.lake import keys
from millpond.model.quantity import format_bytes, format_seconds
from millpond.services.deps import Deps
from millpond.services.lake.fence import FencedStore

logger = getLogger(__name__)

LOOK_SECONDS = 2.0
# A probe that takes longer has failed for now.
PATIENCE_SECONDS = 8.0
# Less room than this on the server's disk, and logs and uploads are about to fail.
_LEAST_FREE = 200_000_000
_MOST_SKEW = 10.0
# A jump of the clock is told for so long.
_JUMP_TOLD_SECONDS = 300.0
_PROBE_FILE = ".health-probe"
_PROBE_BYTES = 4096
# Names that are not found: the words of libpq, of the resolver, and of the object store's client.
_NAMES = ("could not translate host name", "name or service not known", "temporary failure in name resolution",
          "failed to lookup address", "dns error", "nodename nor servname")  # fmt: skip


@dataclass(frozen=True, slots=True)
class PartHealth:
    """`seconds` since when it is not well; 0 while it is."""

    name: str
    ok: bool
    message: str
    # Without it the server can do nothing: others are to be asked.
    is_needed: bool = False
    seconds: float = 0.0


class _Unwell(Exception):
    """What a probe has found, in words for anybody."""


class Health:
    """Of one server process. Used from any thread."""

    def __init__(self, deps: Deps, *, look_seconds: float = LOOK_SECONDS) -> None:
        self._deps = deps
        self._look_seconds = look_seconds
        self._turn = threading.Lock()
        self._found: dict[str, PartHealth] = {}
        self._since: dict[str, float] = {}
        self._begun: dict[str, float] = {}
        self._stopping = threading.Event()
        self._is_watched = False
        self._jump: tuple[float, float] | None = None
        self._clocks = (deps.clock.now(), deps.clock.elapsed())
        self._probes: Mapping[str, Callable[[], str]] = {
            "database": self._database, "lake": self._lake, "disk": self._disk, "clock": self._clock,
        }  # fmt: skip

    def watch(self) -> None:
        """Look at every part again and again, each in a thread of its own, until `stop`."""
        self._is_watched = True
        for name in self._probes:
            threading.Thread(target=self._look_on, args=(name,), name=f"health {name}", daemon=True).start()

    def stop(self) -> None:
        self._stopping.set()

    def parts(self) -> Sequence[PartHealth]:
        """As they were a moment ago."""
        if not self._is_watched:
            for name in self._probes:
                self._look(name)
        now = self._deps.clock.elapsed()
        with self._turn:
            return [self._part(name, now) for name in self._probes]

    def _part(self, name: str, now: float) -> PartHealth:
        found = self._found.get(name)
        begun = self._begun.get(name)
        needed = name == "database"
        if begun is not None and now - begun > PATIENCE_SECONDS:
            return PartHealth(name, False, f"{_TITLES[name]} does not answer in time.", needed, now - begun)
        if found is None:
            return PartHealth(name, True, "Not looked at yet.", needed)
        seconds = now - self._since.get(name, now)
        return PartHealth(name, found.ok, found.message, needed, 0.0 if found.ok else seconds)

    def _look_on(self, name: str) -> None:
        while not self._stopping.is_set():
            self._look(name)
            self._stopping.wait(self._look_seconds)

    def _look(self, name: str) -> None:
        with self._turn:
            self._begun[name] = self._deps.clock.elapsed()
        try:
            found = PartHealth(name, True, self._probes[name]())
        except _Unwell as error:
            found = PartHealth(name, False, str(error))
        except Exception as error:  # noqa: BLE001 — whatever keeps a part from answering is what is looked for
            found = PartHealth(name, False, _why(_TITLES[name], error))
        with self._turn:
            begun = self._begun.pop(name, self._deps.clock.elapsed())
            before = self._found.get(name)
            self._found[name] = found
            if not found.ok:
                self._since.setdefault(name, begun)
            else:
                self._since.pop(name, None)
        if (before is not None and before.ok != found.ok) or (before is None and not found.ok):
            log = logger.info if found.ok else logger.warning
            log("health part=%s ok=%s message=%s", name, found.ok, found.message)

    # Probes: what they return is well, what they raise is not --------------------------------------

    def _database(self) -> str:
        with self._deps.db.read() as tx:
            tx.execute(text("SELECT 1"))
        return "The database answers."

    def _lake(self) -> str:
        store = self._deps.store
        (store.unfenced if isinstance(store, FencedStore) else store).head(keys.LAKE)
        return "The lake answers."

    def _disk(self) -> str:
        folder = self._deps.settings.data_dir
        probe = folder / f"{_PROBE_FILE}-{os.getpid()}"
        try:
            probe.write_bytes(bytes(_PROBE_BYTES))
        except OSError as error:
            raise _Unwell("The server's disk is full or cannot be written.") from error
        finally:
            with suppress(OSError):
                probe.unlink(missing_ok=True)
        free = shutil.disk_usage(folder).free
        if free < _LEAST_FREE:
            raise _Unwell(f"The server's disk is nearly full: {format_bytes(free)} left.")
        return "The server's disk has room."

    def _clock(self) -> str:
        now, elapsed = self._deps.clock.now(), self._deps.clock.elapsed()
        (before, then), self._clocks = self._clocks, (now, elapsed)
        jumped = (now - before).total_seconds() - (elapsed - then)
        if abs(jumped) > _MOST_SKEW:
            self._jump = (jumped, elapsed)
        if self._jump is not None and elapsed - self._jump[1] < _JUMP_TOLD_SECONDS:
            size, way = abs(self._jump[0]), "forwards" if self._jump[0] > 0 else "backwards"
            raise _Unwell(f"The server's clock jumped {way} by {format_seconds(size)}.")
        self._jump = None
        if not self._deps.db.is_sqlite:
            with suppress(*self._deps.db.errors), self._deps.db.read() as tx:
                skew = (self._deps.clock.now() - server_processes.now(tx)).total_seconds()
                if abs(skew) > _MOST_SKEW:
                    raise _Unwell(f"The server's clock differs from the database's by {format_seconds(abs(skew))}.")
        return "The server's clock goes evenly."


_TITLES = {"database": "The database", "lake": "The lake", "disk": "The server's disk", "clock": "The server's clock"}


def _why(title: str, error: Exception) -> str:
    """In words that say nothing of hosts and paths."""
    said = " ".join(str(part) for part in (error, error.__cause__ or "")).lower()
    if isinstance(error, DiskFull):
        return f"{title} has no room left."
    if any(words in said for words in _NAMES):
        return f"{title} cannot be reached: its name is not found (DNS)."
    if "refused" in said or "no such file or directory" in said:
        return f"{title} cannot be reached: nothing listens at its address."
    if "timeout" in said or "timed out" in said:
        return f"{title} does not answer in time."
    if isinstance(error, MillError | OSError) or title == "The database":
        return f"{title} does not answer."
    logger.warning("health_probe_failed part=%s", title, exc_info=error)
    return f"{title} cannot be looked at: see the server's log."
