"""The lake as it is reached through endpoints of sites."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millpond.blobs.objects import ObjectStore


class OpenEndpoints:
    """Opens the lake once for each endpoint. Used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[tuple[str, str], ObjectStore] = {}

    def at(self, lake_url: str, endpoint: str) -> ObjectStore:
        """BadRequest for a lake that is reached at one place only."""
        # Servers with a lake in a directory do without what speaks with object stores.
        from millpond.blobs.clouds import open_at  # noqa: PLC0415

        with self._lock:
            found = self._open.get((lake_url, endpoint))
            if found is None:
                found = self._open[lake_url, endpoint] = open_at(lake_url, endpoint, os.environ)
            return found
