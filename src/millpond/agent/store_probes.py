"""Tries from time to time whether the lake can be read from the stores of this site, and tells the server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from millpond.agent.threads import in_thread
from millpond.agent.volumes import sentence
from millpond.client.http import Api
from millpond.errors import MillError
from millpond.lake.http import DataPlane
from millpond.lake.range_reader import Timeouts
from millpond.lake.records import decode_lake
from millpond.retry import RetryPolicy
from millpond.wire.agent import StoreProbes
from millpond.wire.observed import StoreSeen

log = logging.getLogger(__name__)

PROBE_SECONDS = 10.0
# Where there is no other store to read from, it is only to be known.
ALONE_SECONDS = 60.0
_ONCE = RetryPolicy(attempts=1)
_TIMEOUTS = Timeouts(connect=3.0, read=10.0)


class StoreWatch:
    """Probes while the server names stores; `changed` is called when one has gone away or come back."""

    def __init__(self, probe: Callable[[], list[StoreSeen]], changed: Callable[[], None]) -> None:
        self._probe = probe
        self._changed = changed
        self._wanted: list[str] = []
        self._found: dict[str, StoreSeen] = {}
        self._task: asyncio.Task[None] | None = None

    def reconcile(self, wanted: Sequence[str]) -> None:
        if list(wanted) != self._wanted:
            self.end()
            self._wanted = list(wanted)
            self._found = {store: seen for store, seen in self._found.items() if store in wanted}
        if wanted and self._task is None:
            self._task = asyncio.create_task(self._watch(), name="stores")

    def seen(self) -> list[StoreSeen]:
        return list(self._found.values())

    def end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _watch(self) -> None:
        while True:
            try:
                found = {one.store: one for one in await in_thread(self._probe)}
            except MillError as error:  # the server is away: what was found before stays
                log.info("cannot probe stores: %s", error.message)
            except Exception:
                log.exception("cannot probe stores")
            else:
                if found != self._found:
                    self._found = found
                    self._changed()
            await asyncio.sleep(PROBE_SECONDS if len(self._wanted) > 1 else ALONE_SECONDS)


def probe_stores(api: Api) -> list[StoreSeen]:
    """Read the lake's own document from every store of this agent's site."""
    probes = api.get("/agents/stores", StoreProbes)
    plane = DataPlane(api.base_url, policy=_ONCE, timeouts=_TIMEOUTS)
    try:
        return [
            StoreSeen(store=one.store, problem=_problem(plane, one.name, one.url, probes.lake)) for one in probes.items
        ]
    finally:
        plane.close()


def _problem(plane: DataPlane, name: str, url: str, lake: str) -> str | None:
    try:
        found = decode_lake(plane.get(url))
    except MillError as error:
        return f"Cannot read {name}: {sentence(error)}"
    return None if found == lake else f"Another lake than ours is at {name}."
