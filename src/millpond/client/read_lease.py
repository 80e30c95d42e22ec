"""The lease that reading takes on a cached commit: short, renewed in the background, given back at the end."""

from __future__ import annotations

import atexit
import logging
import os
import socket
import threading
import uuid

from millpond.client.caches import hold_cached, release_cached
from millpond.client.http import Api
from millpond.errors import MillError, NotFound, NotReady
from millpond.wire.cache import CacheHold

log = logging.getLogger(__name__)

# Several times within what the server grants (15 minutes): a renewal or two may be lost on the way.
RENEW_SECONDS = 240.0
# The server is asked once more soon when it could not be reached; ending a lease waits no longer than this for it.
AGAIN_SECONDS = 30.0
PATIENCE_SECONDS = 5.0


class ReadLease:
    """Keeps one cached commit from being evicted until `end`, or until this process is over.

    Whoever lost the object may still read the files: the lease lasts all the same. A process that is killed is waited
    for until its lease runs out. In a forked process nothing is renewed: the parent's lease is the parent's.
    """

    def __init__(self, server: str, token: str | None, cached_id: str) -> None:
        """NotReady or NotFound if it may not be read any more."""
        self.cached_id = cached_id
        self._reader = uuid.uuid4().hex
        self._api = Api(server, token, patience=PATIENCE_SECONDS)
        self._process = os.getpid()
        self._over = threading.Event()
        try:
            self._renew()
        except BaseException:
            self._api.close()
            raise
        atexit.register(self.end)
        threading.Thread(target=self._keep, name=f"lease {cached_id}", daemon=True).start()

    @property
    def is_held(self) -> bool:
        """False once it has ended, or was lost; and in another process than the one that took it."""
        return not self._over.is_set() and self._process == os.getpid()

    def end(self) -> None:
        """Give it back. It never fails: a server that cannot be reached lets it run out."""
        if not self.is_held:
            return
        self._over.set()
        atexit.unregister(self.end)
        try:
            release_cached(self._api, self.cached_id, reader=self._reader)
        except MillError as error:
            log.info("lease not released; it will expire: cached=%s %s", self.cached_id, error.message)
        finally:
            self._api.close()

    def _keep(self) -> None:
        wait = RENEW_SECONDS
        while not self._over.wait(wait):
            try:
                self._renew()
                wait = RENEW_SECONDS
            except (NotReady, NotFound) as error:
                log.warning("the data being read is no longer held: %s", error.message)
                self._over.set()
            except MillError as error:
                log.info("lease not renewed, retrying: cached=%s %s", self.cached_id, error.message)
                wait = AGAIN_SECONDS

    def _renew(self) -> None:
        where = f"{socket.gethostname()}, process {os.getpid()}"
        hold_cached(self._api, self.cached_id, CacheHold(kind="read", reader=self._reader, reason=where[:200]))
