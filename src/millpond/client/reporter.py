"""What is behind a run: lines go to disk at once, and a thread brings them to the server. The caller never waits."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from millpond.client.http import Api
from millpond.client.spool import TOUCH_SECONDS, Spool, encode
from millpond.client.spool_sender import REFUSED, HeldSender, Sender
from millpond.errors import MillError
from millpond.model.json_text import storable

log = logging.getLogger(__name__)

# What was logged is sent this soon, or when a batch is full.
BATCH_SECONDS = 0.5
# So many lines are kept in memory while the disk refuses them.
MOST_HELD = 10_000
MOST_WARNINGS = 1000
RETRY_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
# Between tries while somebody waits for the last of them.
_MOST_PAUSE = 2.0


class Reporter:
    """Takes lines and files of one run from any thread. A line is with the operating system when `write` returns."""

    def __init__(self, api: Api, spool: Spool) -> None:
        self._api = api
        self._spool = spool
        self._sender = Sender(api, spool.header, spool.artifacts)
        # Told whenever the sender has a reason to look, or has looked.
        self._changed = threading.Condition()
        self._finishing = threading.Event()
        self._persists = False
        self._gave_up = False
        # The last try failed: nobody waits for what is to be sent.
        self._is_away = False
        self._closed = threading.Event()
        self._warned: set[str] = set()
        # Lines that the disk refused; each goes to the disk, or to the server, once.
        self._held: deque[tuple[bytes, int]] = deque(maxlen=MOST_HELD)
        self._holding = threading.Lock()
        self._beside = HeldSender(api, spool.header)
        self._thread = threading.Thread(target=self._send_loop, name="millpond-send", daemon=True)
        self._thread.start()

    def write(self, content: bytes, lines: int = 1) -> None:
        """Put lines of the spool on disk. A disk that refuses is said once; the newest lines stay in memory."""
        if self._closed.is_set():
            self.warn(f"run {self._spool.header.run} has ended; later reports are ignored")
            return
        try:
            if self._held:
                self._write_held()
            self._spool.write(content, lines)
        except OSError as error:
            with self._holding:
                self._held.append((content, lines))
            self.warn(f"cannot write this run's reports to {self._spool.path}: {error}; they are kept in memory")
        if self._spool.is_due:
            self.wake()

    def add(self, **fields: Any) -> None:
        """Report fields of a `RunBatch`: params, tags, origin, name, experiment, progress, ended, ended_at."""
        self.write(encode(fields))

    def cut(self) -> None:
        """Let what was reported up to here be a batch of its own."""
        with suppress(OSError):  # a full disk: what follows is kept in memory
            self._spool.cut()

    def add_artifacts(self, files: Mapping[str, Path], *, wait: bool) -> None:
        """Keep files as they are now. With `wait` they are at the server when this returns, unless it is away."""
        if not files or self._is_over():
            return
        if wait and not self._spool.has_unsent_artifacts and self._send_now(files):
            return
        for path, source in files.items():
            self._spool.add_artifact(path, source)
        self.wake()
        if wait:
            with self._changed:
                self._changed.wait_for(lambda: not self._spool.has_unsent_artifacts or self._is_away)

    def add_content(self, path: str, content: bytes) -> None:
        """Keep bytes as an artifact that is sent in the background."""
        if not self._is_over():
            self._spool.add_content(path, content)
            self.wake()

    def _send_now(self, files: Mapping[str, Path]) -> bool:
        """Send files without a copy; False if the server is away, and they must be kept."""
        try:
            self._sender.send_files(files)
        except MillError as error:
            if error.transient or not isinstance(error, REFUSED):
                self._say_away(error)
                return False
            self.warn(f"the server refused artifacts of this run: {error.message}")
        return True

    def close(self, deadline_seconds: float, *, persists: bool = False) -> bool:
        """Send what can be sent in time and end the thread. False when something is left in the spool.

        With `persists`, a server that is away is tried again until the deadline, and not only once.
        """
        deadline = time.monotonic() + deadline_seconds
        self._persists = persists
        self._finishing.set()
        self.wake()
        with self._changed:
            self._changed.wait_for(lambda: self._is_sent or self._gave_up, timeout=deadline_seconds)
        self._closed.set()
        self.wake()
        self._thread.join(max(0.0, deadline - time.monotonic()))
        done = self._spool.is_sent
        if self._held or self._beside.is_waiting:
            self.warn("the last reports of this run are lost: the disk is full and the server is away")
        self._spool.close()
        self._sender.close()
        self._api.close()
        return done

    def warn(self, text: str) -> None:
        """Say something once on stderr, however often it happens."""
        if text not in self._warned and len(self._warned) < MOST_WARNINGS:
            self._warned.add(text)
            # Nobody may be there to read it: closed, or none at all.
            with suppress(OSError, ValueError, AttributeError):
                sys.stderr.write(f"millpond: {storable(text)}\n")

    def _is_over(self) -> bool:
        if self._closed.is_set():
            self.warn(f"run {self._spool.header.run} has ended; later reports are ignored")
        return self._closed.is_set()

    def wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _write_held(self) -> None:
        """Lines that the disk refused, before any later one."""
        with self._holding:
            while self._held:
                self._spool.write(*self._held[0])
                self._held.popleft()

    def _send_held(self) -> None:
        """Lines that the disk refuses still: straight to the server. Nobody who logs waits for that."""
        while self._held or self._beside.is_waiting:
            for problem in self._beside.send(self._take_held):
                self.warn(problem)

    def _take_held(self) -> list[bytes]:
        with self._holding:
            taken = [content for content, _ in self._held]
            self._held.clear()
        return taken

    @property
    def _is_sent(self) -> bool:
        return self._spool.is_sent and not self._held and not self._beside.is_waiting

    def _send_loop(self) -> None:
        failures = 0
        touched = time.monotonic()
        while not self._closed.is_set():
            try:
                if time.monotonic() - touched >= TOUCH_SECONDS:
                    # An empty report: the server, and other processes, see that this one is still there.
                    self._spool.write(encode({}))
                    touched = time.monotonic()
                self._send_waiting()
                failures, self._is_away = 0, False
            except MillError as error:
                failures += 1
                self._persists &= error.transient
                self._say_away(error)
            except Exception as error:
                # The edge of the thread: whatever happens here must never reach the training script.
                log.exception("run_send_failed")
                failures += 1
                self.warn(f"cannot send this run's reports right now: {error}")
            if failures:
                self._is_away = True
                self.wake()
            self._rest(failures)

    def _send_waiting(self) -> None:
        self._sender.create()
        self._send_held()
        self._spool.cut()
        for group, offset in self._spool.unsent():
            if self._closed.is_set():
                return
            for problem in self._sender.send(group):
                self.warn(problem)
            self._spool.sent(offset)
        self.wake()

    def _rest(self, failures: int) -> None:
        """Until it is time to look again; after a failure, until it is time to try again or to finish."""
        with self._changed:
            if not failures:
                self._changed.wait_for(self._is_wanted, timeout=BATCH_SECONDS)
                return
            pause = RETRY_SECONDS[min(failures, len(RETRY_SECONDS)) - 1]
            if self._finishing.is_set() and self._persists:
                self._changed.wait_for(self._closed.is_set, timeout=min(pause, _MOST_PAUSE))
                return
            if self._finishing.is_set():
                # The last try failed as well: the rest stays on disk for another process.
                self._gave_up = True
                self._changed.notify_all()
                self._changed.wait_for(self._closed.is_set)
                return
            self._changed.wait_for(self._finishing.is_set, timeout=pause)

    def _is_wanted(self) -> bool:
        return self._closed.is_set() or self._spool.is_due or (self._finishing.is_set() and not self._is_sent)

    def _say_away(self, error: MillError) -> None:
        where = self._spool.header.server
        if error.transient:
            self.warn(f"the server {where} is not reachable; this run is kept on disk and sent later")
        else:
            self.warn(f"the server {where} refused this run ({error.message}); it is kept in {self._spool.path}")
