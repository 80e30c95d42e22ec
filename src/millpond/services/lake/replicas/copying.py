"""Copies one commit of the lake into a replica: its packs, its pages with their locators, then the commit itself.

Every object is checked as it passes: packs blob by blob, pages and commits by their own digest. What is copied is noted
at once, so that whoever goes on after a crash does not send it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from millpond.db import blobs
from millpond.db import lake_replica_content as replica_content
from millpond.db.lake_replica_content import MissingCommit
from millpond.decide.replication import copy_order
from millpond.errors import Corrupt
from millpond.lake.digests import digest_of
from millpond.lake.keys import ProjectKeys
from millpond.lake.locators import unpack_locator
from millpond.lake.packs import verify_pack
from millpond.lake.pages import unpack_page
from millpond.lake.reader import TreeReader
from millpond.lake.store_retry import sensible
from millpond.services.commits.pages import ProjectPages, page_ids
from millpond.services.lake.replicas.turn import Turn

# Each holds one pack in memory.
AT_ONCE = 3

T = TypeVar("T")


def copy_commit(turn: Turn, wanted: MissingCommit) -> None:
    """All of it is in the replica when this returns."""
    deps, replica_id, keys = turn.deps, turn.replica.id, ProjectKeys(wanted.project_id)
    reader = TreeReader(ProjectPages(deps.store, deps.pages, wanted.project_id), wanted.tree)
    all_pages = page_ids(reader)
    with deps.db.read() as tx:
        pages = replica_content.missing_pages(tx, replica_id, wanted.project_id, all_pages)
    leaves = [page_id for page_id, level in pages.items() if level == 0]
    # Read first: what they name is then there before they are.
    locators = dict(_side_by_side(lambda page_id: (page_id, _locator(turn, keys, page_id)), leaves))
    named = {place.pack_id for frame in locators.values() for place in unpack_locator(frame).values()}
    with deps.db.read() as tx:
        needed = named.union(*blobs.packs_of_pages(tx, wanted.project_id, leaves).values())
        parts = copy_order(packs := replica_content.missing_packs(tx, replica_id, needed), pages)
    _side_by_side(lambda pack_id: _copy_pack(turn, keys, pack_id, packs[pack_id]), parts.packs)
    _side_by_side(lambda page_id: _copy_page(turn, keys, page_id, locators.get(page_id)), parts.leaves)
    _side_by_side(lambda page_id: _copy_page(turn, keys, page_id, None), parts.index_pages)
    with deps.db.write() as tx:
        replica_content.add_pages(tx, replica_id, wanted.project_id, pages)
    _copy_document(turn, keys, wanted.id)
    with deps.db.write() as tx:
        replica_content.add_commit(tx, replica_id, wanted.id, deps.clock.now())


def copy_plain(turn: Turn, key: str) -> None:
    """An object that nothing but its key names."""
    turn.keep()
    turn.store.put(key, turn.deps.store.get(key))


def _copy_pack(turn: Turn, keys: ProjectKeys, pack_id: str, size: int) -> None:
    """One that is there with its whole size was copied before: an object is there whole, or not at all."""
    turn.keep()
    key = keys.pack(pack_id)
    there = turn.store.head(key)
    if there is None or there.size != size:
        turn.store.put(key, sensible(lambda: _checked_pack(turn, key, pack_id, size)))
    with turn.deps.db.write() as tx:
        replica_content.add_packs(tx, turn.replica.id, [pack_id])


def _checked_pack(turn: Turn, key: str, pack_id: str, size: int) -> bytes:
    data = turn.deps.store.get(key)
    if len(data) != size:
        raise Corrupt(f"Pack {pack_id} has {len(data)} bytes in the lake, not {size}.")
    verify_pack(pack_id, data)
    return data


def _copy_page(turn: Turn, keys: ProjectKeys, page_id: str, locator: bytes | None) -> None:
    def checked() -> bytes:
        frame = turn.deps.store.get(keys.page(page_id))
        unpack_page(page_id, frame)
        return frame

    turn.keep()
    turn.store.put(keys.page(page_id), sensible(checked))
    if locator is not None:
        turn.store.put(keys.locator(page_id), locator)


def _locator(turn: Turn, keys: ProjectKeys, page_id: str) -> bytes:
    def checked() -> bytes:
        frame = turn.deps.store.get(keys.locator(page_id))
        unpack_locator(frame)
        return frame

    return sensible(checked)


def _copy_document(turn: Turn, keys: ProjectKeys, commit_id: str) -> None:
    def checked() -> bytes:
        data = turn.deps.store.get(keys.commit(commit_id))
        if digest_of(data).hex() != commit_id:
            raise Corrupt(f"Commit {commit_id[:12]} is damaged in the lake.")
        return data

    turn.keep()
    turn.store.put(keys.commit(commit_id), sensible(checked))


def _side_by_side(work: Callable[[str], T], ids: Iterable[str]) -> list[T]:
    """A few at a time. After an error none is begun any more."""
    with ThreadPoolExecutor(AT_ONCE, "replica") as pool:
        begun = [pool.submit(work, one) for one in ids]
        try:
            return [one.result() for one in begun]
        finally:
            pool.shutdown(cancel_futures=True)
