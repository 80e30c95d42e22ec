"""Copies the lake to its replica in a process that is killed at its n-th write there."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from millpond.blobs.location import open_store
from millpond.blobs.store import BlobStore
from millpond.db import lake_replicas
from millpond.db.engine import Database
from millpond.model.lake_replica import LakeReplica
from millpond.sealing import Seal
from millpond.services.deps import Deps, SystemClock
from millpond.services.events import EventHub
from millpond.services.lake.open_replicas import OpenReplicas
from millpond.services.lake.replicas import keeping
from millpond.settings import Settings


def main(database: str, lake: str, endpoint: str, step: int) -> None:
    db = Database(f"sqlite:///{database}")
    with db.read() as tx:
        (replica,) = lake_replicas.all_of(tx)
    url = f"{replica.url}?endpoint={endpoint}&path_style=true"
    store, left = open_store(url), step
    put = store.put

    def dying(*given: object, **named: object) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        put(*given, **named)  # type: ignore[arg-type]

    store.put = dying  # type: ignore[assignment, method-assign]

    class Opened(OpenReplicas):
        def store(self, replica: LakeReplica, seal: Seal) -> BlobStore:
            return store

    settings = Settings(Path(database).parent, lake_url=lake)
    deps = Deps(db, open_store(lake), SystemClock(), EventHub(), settings, b"", replicas=Opened())
    keeping.keep(deps, replica)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
