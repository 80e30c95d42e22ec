"""Numbers of the server's backups for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from millpond.api.metrics.families import one
from millpond.services.backups import schedule
from millpond.services.deps import Deps


class BackupCollector(Collector):
    """Reads the database at each scrape; keeps nothing. Without a place for backups there are no samples."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    def collect(self) -> Iterator[Metric]:
        found = schedule.status(self._deps)
        has_place, newest = found.place is not None, found.newest
        began = newest.started_at if newest is not None and has_place else None
        yield one(
            "backup_late", "1 if the newest backup is too old.", float(bool(found.problem)) if has_place else None
        )
        yield one(
            "backup_timestamp_seconds", "The moment that the newest backup shows, in seconds since 1970.",
            began.timestamp() if began else None,
        )  # fmt: skip
        yield one("backup_bytes", "Bytes of the newest backup.", (newest.bytes or 0) if newest and began else None)
