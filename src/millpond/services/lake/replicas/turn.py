"""One server's turn to write to a replica: nobody else does, as long as it lasts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from millpond.blobs.store import BlobStore
from millpond.db import lake_replicas as replicas
from millpond.errors import Conflict, NotReady
from millpond.lake import keys
from millpond.model.ids import new_id
from millpond.model.lake_replica import LakeReplica
from millpond.services.deps import Deps

# So long after its server was last heard of nobody else writes to a replica.
LASTS = timedelta(seconds=60)
# A request to a store is over, one way or the other, before this.
_MARGIN = timedelta(seconds=20)


@dataclass
class Turn:
    deps: Deps
    replica: LakeReplica
    store: BlobStore
    who: str
    until: datetime
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def keep(self) -> None:
        """Called before everything that is written. NotReady once another server has its turn."""
        with self._lock:
            now = self.deps.clock.now()
            if now < self.until - LASTS / 2:
                return
            with self.deps.db.write() as tx:
                if not replicas.take(tx, self.replica.id, self.who, now=now, until=now + LASTS):
                    raise NotReady(f"Another server works on replica {self.replica.name!r}.")
            self.until = now + LASTS

    def delete(self, key: str) -> None:
        """Never late: the object may have been copied again by another server."""
        self.keep()
        if self.deps.clock.now() > self.until - _MARGIN:
            raise NotReady("The work on the replica was held up for too long and stops.")
        self.store.delete(key)

    def check_ours(self) -> None:
        """Conflict once the replica has become a lake of its own: then nothing is written there any more."""
        if any(True for _ in self.store.list(keys.OWNERS, after=keys.owner(self.deps.fence.epoch))):
            raise Conflict(
                f"Replica {self.replica.name!r} is a lake of its own now: another server has taken it over.",
                hint=f"Forget it: mill lake replica rm {self.replica.name}",
            )


@contextmanager
def turn_of(deps: Deps, replica: LakeReplica) -> Iterator[Turn]:
    """NotReady while another server has its turn; that of one that was killed ends by itself."""
    held = Turn(deps, replica, deps.replicas.store(replica, deps.seal), new_id(20), datetime.min)
    held.until = deps.clock.now() - LASTS
    held.keep()
    try:
        yield held
    finally:
        with deps.db.write() as tx:
            replicas.release(tx, held.who)
