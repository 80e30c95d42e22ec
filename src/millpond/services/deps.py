"""What every service needs, as one value built in app.py and passed first: no globals, no hidden clock."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from millpond.blobs.store import BlobStore
from millpond.db.engine import Database
from millpond.lake.lru import Kept
from millpond.lake.renames import Summary
from millpond.model.ids import new_id
from millpond.recent_log import RecentLog
from millpond.sealing import Seal
from millpond.services.commits.packs.recent_places import RecentPlaces
from millpond.services.commits.pages import PageCache
from millpond.services.endpoints.loads import Loads
from millpond.services.flows.library import ServerLibrary
from millpond.services.jobs.recent_shares import RecentShares
from millpond.services.jobs.tunnels import Tunnels
from millpond.services.lake.endpoints import OpenEndpoints
from millpond.services.lake.fence import Fence, NoFence
from millpond.services.lake.open_replicas import OpenReplicas
from millpond.services.loop_rounds import LoopRounds
from millpond.services.measures import Measures
from millpond.services.quotas.calls import CallMeter
from millpond.services.repeated_reports import Repeats
from millpond.services.sign_in.discovery import KnownProviders
from millpond.services.unchanged_since import Unchanged
from millpond.settings import Settings

DIFFS_BYTES = 64 << 20
# Other systems than Linux have no clock that goes on while the machine sleeps.
_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    def now(self) -> datetime:
        """The moment, with an offset."""
        ...

    def elapsed(self) -> float:
        """Seconds from some moment on, sleep included; nobody can set this clock."""
        ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def elapsed(self) -> float:
        return time.clock_gettime(_STEADY)


class Events(Protocol):
    """Tells pages and waiting loops that something changed. Never blocks or fails; call it after the transaction."""

    def publish(self, topic: str, *, project_id: str | None, data: dict[str, Any]) -> None:
        """Send to browsers subscribed to `topic` whose user has a role in the project (None: everybody)."""
        ...

    def wake(self, topic: str) -> None:
        """Wake what waits for `topic`: `schedule`, `branches`, `verify`, `agents` (all long polls of agents) …"""
        ...

    def access_changed(self, user_id: str) -> None:
        """Roles or sign-ins of this user changed: what is streaming to them is looked at anew."""
        ...


class LakeUse:
    """When packs were last about to be read straight from the store, for work that has time until that is over."""

    def __init__(self) -> None:
        self.last_read = datetime.min.replace(tzinfo=UTC)


def _weigh(summary: Summary) -> int:
    return summary.weight


@dataclass(frozen=True, slots=True)
class Deps:
    db: Database
    store: BlobStore
    clock: Clock
    events: Events
    settings: Settings
    # Signs session cookies and local lake URLs; placement tokens are derived from it. From the `server` row.
    secret: bytes
    # Closed once another server owns the lake; `store` asks it before every write.
    fence: Fence = field(default_factory=NoFence)
    # Pages of trees that were read lately.
    pages: PageCache = field(default_factory=PageCache)
    # Where the blobs of packs lie that came lately.
    recent_places: RecentPlaces = field(default_factory=RecentPlaces)
    # Packs found good while their URLs still worked: they are read once more when those have expired.
    found_good: set[str] = field(default_factory=set)
    # Packs somebody waits for: they are checked at once, though their upload may still go on.
    check_soon: set[str] = field(default_factory=set)
    lake_use: LakeUse = field(default_factory=LakeUse)
    # Differences that are being paged through, by the two trees.
    diffs: Kept[tuple[str, str], Summary] = field(default_factory=lambda: Kept(DIFFS_BYTES, weigh=_weigh))
    # For how long agents were silent and jobs unused.
    unchanged: Unchanged = field(default_factory=Unchanged)
    # What agents said of their volumes a moment ago.
    repeats: Repeats = field(default_factory=Repeats)
    # The lake as sites with an endpoint of their own reach it.
    endpoints: OpenEndpoints = field(default_factory=OpenEndpoints)
    # The stores of the lake's replicas.
    replicas: OpenReplicas = field(default_factory=OpenReplicas)
    # Streams to jobs that their agents have not come for yet.
    tunnels: Tunnels = field(default_factory=Tunnels)
    # Shares of a long queue, worked out a moment ago.
    recent_shares: RecentShares = field(default_factory=RecentShares)
    # Components that flows may use.
    library: ServerLibrary = field(default_factory=ServerLibrary)
    # API calls of projects in this minute.
    calls: CallMeter = field(default_factory=CallMeter)
    # What this process has counted, for /metrics.
    measures: Measures = field(default_factory=Measures)
    # The load of endpoints over the last minutes.
    loads: Loads = field(default_factory=Loads)
    # Seals the credentials of connections; its key lies in a file, never in the database.
    seal: Seal = field(default_factory=Seal.throwaway)
    # Tells the processes that share a database apart.
    server_id: str = field(default_factory=new_id)
    # Where other servers of the database reach this one; None: there are none.
    address: str | None = None
    # Of this program.
    version: str = ""
    # The newest lines of this server's log.
    recent_log: RecentLog = field(default_factory=RecentLog)
    # When background loops last came round.
    rounds: LoopRounds = field(default_factory=LoopRounds)
    # What OpenID providers say of themselves, and their keys.
    sign_in: KnownProviders = field(default_factory=KnownProviders)
