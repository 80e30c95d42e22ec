"""Keeps one child process running: starts it again, ever more patiently, whenever it ends."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Sequence
from logging import getLogger
from pathlib import Path

logger = getLogger(__name__)

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 30.0
# One that lived this long was well: the next wait is short again.
_WELL_SECONDS = 60.0
_STOP_SECONDS = 5.0
_LOG_BYTES = 10_000_000


class Child:
    """Its output goes to `log`; of a log that has grown too long, the older part is kept beside it."""

    def __init__(self, command: Sequence[str], *, log: Path) -> None:
        self._command = list(command)
        self._log = log
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._run, name="child", daemon=True)

    @property
    def pid(self) -> int | None:
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def start(self) -> None:
        self._thread.start()

    def restart(self) -> None:
        """End the child, if it runs; it is started again a moment later."""
        with self._lock:
            process = self._process
        if process is not None and process.poll() is None:
            process.terminate()

    def stop(self) -> None:
        """End the child: asked first, then forced."""
        self._stopping.set()
        with self._lock:
            process = self._process
        if process is not None and process.poll() is None:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
        self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        wait = _FIRST_WAIT
        while not self._stopping.is_set():
            began = time.monotonic()
            status = self._run_once()
            if self._stopping.is_set():
                return
            lived = time.monotonic() - began
            wait = _FIRST_WAIT if lived > _WELL_SECONDS else min(_LONGEST_WAIT, wait * 2)
            logger.warning("child_ended command=%s status=%s again_in=%.1fs log=%s", self._command[2:4], status, wait,
                           self._log)  # fmt: skip
            self._stopping.wait(wait)

    def _run_once(self) -> int | str:
        if self._log.exists() and self._log.stat().st_size > _LOG_BYTES:
            self._log.replace(self._log.with_suffix(".log.old"))
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as log, self._lock:
            if self._stopping.is_set():
                return "stopping"
            try:
                # In a session of its own: Ctrl-C at the terminal reaches the server alone, which ends us in order.
                self._process = subprocess.Popen(
                    self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
                )
            except OSError as error:
                return str(error)
        return self._process.wait()
