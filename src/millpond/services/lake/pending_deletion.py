"""Removing objects that nothing names any more. One server at a time, and only as long as it holds the permission.

Keys of pages come back when the same page is uploaded again, so an object must never be removed late: whoever was
held up for longer than the permission lasts stops.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from logging import getLogger

from millpond.db import collecting, promised_pages, server
from millpond.errors import NotReady
from millpond.lake.keys import ProjectKeys, is_record
from millpond.model.ids import new_id
from millpond.services.deps import Deps
from millpond.services.lake import drift

logger = getLogger(__name__)

_LASTS = timedelta(minutes=5)
# A request to the store is over, one way or the other, before this.
_MARGIN = timedelta(minutes=2)
_AT_ONCE = 500
_PARALLEL = 8
# Below a project that was deleted, uploads may have URLs that still work.
_LATE_WRITES = timedelta(hours=1)


@dataclass
class Permission:
    """To remove objects of the lake. Renewed with each part of the work."""

    deps: Deps
    who: str
    until: datetime

    def renew(self) -> None:
        """NotReady if another server has it, LakeTakenOver if the lake is another's."""
        now = self.deps.clock.now()
        self.deps.fence.check(now=True)
        with self.deps.db.write() as tx:
            if not server.take_collector(tx, self.who, now=now, until=now + _LASTS):
                raise NotReady("A collection is already running.", hint="Wait until it is done.")
        self.until = now + _LASTS

    def delete(self, key: str) -> None:
        if self.deps.clock.now() > self.until - _MARGIN:
            raise NotReady("The collection was paused for too long and stops.", hint="Start it again.")
        self.deps.store.delete(key)


@contextmanager
def permission(deps: Deps) -> Iterator[Permission]:
    """NotReady while another collection runs; one whose server was killed ends by itself after some minutes."""
    held = Permission(deps, new_id(20), deps.clock.now())
    held.renew()
    try:
        yield held
    finally:
        with deps.db.write() as tx:
            server.release_collector(tx, held.who)


def take_back(deps: Deps) -> None:
    """When a server starts: a collection of one that was killed is over, if nobody else can run one and nothing that
    it asked for can come late, because database and lake are both of this data directory, which is locked."""
    if deps.settings.database_url is None and deps.settings.lake_url is None:
        with deps.db.write() as tx:
            server.release_collector(tx)


def finish(deps: Deps) -> int:
    """Housekeeping: remove what a collection that was cut off has left; nobody can send such pages again before."""
    with deps.db.read() as tx:
        is_left = bool(collecting.deleting(tx, limit=1) or promised_pages.doomed(tx, limit=1))
    if not is_left:
        return 0
    try:
        with permission(deps) as held:
            return remove_all(held)
    except NotReady as error:
        logger.info("doomed_left reason=%s", error.message)
        return 0


def remove_all(held: Permission) -> int:
    """Remove every doomed object and every pack that is being deleted; how many. Can be cut off at any moment.

    Not of projects that differ from the lake: what was doomed in an older copy of the database may be in use again.
    """
    with held.deps.db.read() as tx:
        found = promised_pages.doomed_projects(tx)
    besides = {project_id for project_id in found if drift.why_not_collect(held.deps, project_id) is not None}
    return _remove_packs(held, besides) + _remove_objects(held, besides)


def _remove_packs(held: Permission, besides: Collection[str]) -> int:
    count = 0
    while True:
        held.renew()
        with held.deps.db.read() as tx:
            found = collecting.deleting(tx, limit=_AT_ONCE, besides=besides)
        if not found:
            return count
        _delete(held, [ProjectKeys(project_id).pack(pack_id) for project_id, pack_id in found])
        for _, pack_id in found:  # with its blobs: thousands of rows, so one by one
            with held.deps.db.write() as tx:
                collecting.delete_packs(tx, [pack_id])
        count += len(found)


def _remove_objects(held: Permission, besides: Collection[str]) -> int:
    count, after = 0, ""
    while True:
        held.renew()
        with held.deps.db.read() as tx:
            found = promised_pages.doomed(tx, limit=_AT_ONCE, after=after, besides=besides)
        if not found:
            return count
        after = found[-1].key
        plain = [item.key for item in found if not item.is_prefix]
        _delete(held, [key for key in plain if not is_record(key)])
        # One after the other: as long as any is left, the last one says that the dataset was purged.
        for key in filter(is_record, plain):
            held.delete(key)
        late = held.deps.clock.now() - _LATE_WRITES
        below = [item.key for item in found if item.is_prefix and item.doomed_at <= late]
        for prefix in below:
            count += _delete_below(held, prefix)
        with held.deps.db.write() as tx:
            promised_pages.removed(tx, [*plain, *below])
        count += len(plain)


def _delete_below(held: Permission, prefix: str) -> int:
    count = 0
    keys: list[str] = []
    for info in held.deps.store.list(prefix):
        keys.append(info.key)
        if len(keys) == _AT_ONCE:
            held.renew()
            _delete(held, keys)
            count, keys = count + len(keys), []
    _delete(held, keys)
    return count + len(keys)


def _delete(held: Permission, keys: Collection[str]) -> None:
    with ThreadPoolExecutor(_PARALLEL) as pool:
        for done in [pool.submit(held.delete, key) for key in keys]:
            done.result()
