"""A server that ends hard at one chosen step: beside an object that is written or removed, or a transaction that ends.

Run in a process of its own (`serve_until`). Every write to lake and database is a step, whatever it is for: there is no
list of steps that somebody could forget to lengthen.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sqlalchemy import Connection

from millpond.app import Ready, serve
from millpond.blobs.local import LocalStore
from millpond.db.engine import Database
from millpond.services.commits.packs import verify
from millpond.settings import Settings

_START_SECONDS = 60.0
# Not of the request: noted now and then, by whichever comes first.
_ASIDE = frozenset({"tokens._note_use"})


class Steps:
    """What the server does, from every thread; the process is gone at the chosen step."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: Counter[str] = Counter()
        self._order: list[str] = []
        self._fatal: str | None = None

    def begin(self, fatal: str | None) -> None:
        with self._lock:
            self._seen.clear()
            self._order.clear()
            self._fatal = fatal

    def taken(self) -> list[str]:
        with self._lock:
            return list(self._order)

    def step(self, name: str) -> None:
        with self._lock:
            self._seen[name] += 1
            count = self._seen[name]
            numbered = name if count == 1 else f"{name}, time {count}"
            self._order.append(numbered)
            if numbered == self._fatal:
                os.kill(os.getpid(), signal.SIGKILL)

    def around(self, verb: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """A method of a store, whose first argument is a key."""

        def stepping(store: LocalStore, key: str, *arguments: Any, **named: Any) -> Any:
            name = f"{verb} {_kind(key)}"
            self.step(f"before {name}")
            answer = call(store, key, *arguments, **named)
            self.step(f"after {name}")
            return answer

        return stepping

    def write(self, original: Callable[[Database], Any]) -> Callable[[Database], Any]:
        @contextmanager
        def stepping(db: Database) -> Iterator[Connection]:
            caller = sys._getframe(2)
            who = f"{Path(caller.f_code.co_filename).stem}.{caller.f_code.co_name}"
            with original(db) as tx:
                yield tx
                if who not in _ASIDE:
                    self.step(f"before the end of {who}'s transaction")
            if who not in _ASIDE:
                self.step(f"after the end of {who}'s transaction")

        return stepping


def _kind(key: str) -> str:
    parts = key.split("/")
    return parts[2] if parts[0] == "projects" else parts[0]


def serve_until(data_dir: Path, home: Path, pipe: Pipe) -> None:
    """Serve until killed. Says its URL; then each word that comes is the step to die at (or None), answered by the
    steps taken since the word before."""
    os.environ["MILL_HOME"] = str(home)
    steps = Steps()
    settings = Settings(data_dir=data_dir, port=0, start_agent=False, collect_seconds=0)

    def listen(ready: Ready) -> None:
        pipe.send(ready.url)
        threading.Thread(target=obey, daemon=True).start()

    def obey() -> None:
        while True:
            fatal = pipe.recv()
            pipe.send(steps.taken())
            steps.begin(fatal)

    with (
        patch.object(LocalStore, "put", steps.around("writing to", LocalStore.put)),
        patch.object(LocalStore, "delete", steps.around("removing from", LocalStore.delete)),
        patch.object(Database, "write", steps.write(Database.write)),
        # Packs are checked when somebody builds on them, never by the loop: its steps would come at any moment.
        patch.object(verify, "AT_REST", timedelta(days=1)),
    ):
        serve(settings, port_is_fixed=True, admin_password="only for a test", on_ready=listen)


@dataclass
class DyingServer:
    url: str
    token: str
    process: multiprocessing.process.BaseProcess
    pipe: Pipe

    def die_at(self, step: str | None) -> list[str]:
        """From now on. The steps taken so far."""
        self.pipe.send(step)
        assert self.pipe.poll(_START_SECONDS)
        taken: list[str] = self.pipe.recv()
        return taken

    def is_dead(self) -> bool:
        self.process.join(0 if self.process.is_alive() else _START_SECONDS)
        return not self.process.is_alive()

    def kill(self) -> None:
        self.process.kill()
        self.process.join(_START_SECONDS)


@contextmanager
def dying_server(data_dir: Path) -> Iterator[DyingServer]:
    """On a free port; what an earlier one left in `data_dir` is what it begins with."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "tests.integration.dying_client"])
    ours, theirs = context.Pipe()
    home = data_dir.with_name(f"{data_dir.name}-home")
    process = context.Process(target=serve_until, args=(data_dir, home, theirs))
    process.start()
    theirs.close()
    try:
        assert ours.poll(_START_SECONDS), "the server did not start"
        url = ours.recv()
        yield DyingServer(url, (data_dir / "cli-token").read_text().strip(), process, ours)
    finally:
        process.kill()
        process.join(_START_SECONDS)
        ours.close()
