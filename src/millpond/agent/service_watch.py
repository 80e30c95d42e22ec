"""Looks at what the process of a service tells of itself, and says when that is worth telling the server."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from millpond.agent import service_folder
from millpond.agent.own_address import LOOPBACK
from millpond.wire.desired import DesiredService
from millpond.wire.observed import ServiceSeen

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.2
# Counts alone are told at most this often.
TELL_SECONDS = 2.0


class ServiceWatch:
    """Of one placement; of a job that is no service it sees nothing."""

    def __init__(self, directory: Path, host: Callable[[], str | None] = lambda: LOOPBACK) -> None:
        """`host`: where ports of the process are reached at its site; None while that is not known."""
        self._directory = directory
        self._host = host
        self._marks: tuple[object, ...] = ()
        self._looked = self._told = 0.0
        self._waits = False
        self.seen: ServiceSeen | None = None

    def look(self) -> bool:
        """True if the server should hear of it now: it became ready, requests wait for a replica, or counts moved."""
        now = time.monotonic()
        if now < self._looked + LOOK_SECONDS:
            return False
        self._looked = now
        marks = service_folder.marks(self._directory)
        if marks == self._marks or not any(marks):
            return False
        before, self._marks, self.seen = self.seen, marks, self._read()
        if self.seen.ready is None and service_folder.has_told(self._directory):
            self._marks = ()
        waits, self._waits = self._waits, _requests_wait(self.seen)
        is_urgent = before is None or before.ready != self.seen.ready or (self._waits and not waits)
        if not is_urgent and (now < self._told + TELL_SECONDS or not _has_moved(before, self.seen)):
            # Counts that nobody hears of now are told with what comes next.
            self._marks = ()
            return False
        self._told = now
        return True

    def _read(self) -> ServiceSeen:
        """A replica that nobody could reach yet is not ready, and looked at again."""
        seen = service_folder.seen(self._directory)
        if seen.ready is None:
            return seen
        host = self._host()
        ready = None if host is None else service_folder.reached(seen.ready, host)
        return seen.model_copy(update={"ready": ready})

    def look_again(self) -> None:
        """Read the last word of a process that has ended."""
        if any(service_folder.marks(self._directory)):
            self.seen = self._read()

    def write(self, asked: DesiredService | None) -> None:
        """Give the process its files as they are wanted now; one that cannot be written now is tried again."""
        if asked is None or not (self._directory / service_folder.SERVICE).is_dir():
            return
        try:
            service_folder.write_files(self._directory, asked)
        except OSError as error:
            log.warning("cannot write files of the service: placement=%s %s", self._directory.name, error)


def _requests_wait(seen: ServiceSeen) -> bool:
    return any(one.get("held") for one in _endpoints(seen))


def _has_moved(before: ServiceSeen | None, after: ServiceSeen) -> bool:
    """True if something other than the time of the report has changed."""
    if before is None or before.stats is None or after.stats is None:
        return (before.stats if before else None) is not after.stats
    return {**before.stats, "at": 0} != {**after.stats, "at": 0}


def _endpoints(seen: ServiceSeen) -> list[dict[str, Any]]:
    found = (seen.stats or {}).get("endpoints")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
