"""A replica of the lake: copied in an order that can be read at any moment, cleaned after the lake, never before."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from millpond.blobs.memory import MemoryStore
from millpond.blobs.store import BlobStore, Buffer
from millpond.db import lake_replicas
from millpond.errors import BadRequest, NameTaken, NotReady, StoreUnavailable
from millpond.lake import keys
from millpond.lake.keys import is_record
from millpond.lake.records import encode_lake
from millpond.model.lake_replica import LakeReplica
from millpond.sealing import Seal
from millpond.services.datasets import datasets
from millpond.services.deps import Deps
from millpond.services.lake import collect, lake_owner
from millpond.services.lake.open_replicas import OpenReplicas
from millpond.services.lake.replicas import cleaning, keeping, replicas
from millpond.services.lake.replicas.turn import LASTS, turn_of
from millpond.services.places import sites
from millpond.testing.builders_data import a_commit, a_dataset, the_admin
from millpond.testing.clock import FakeClock

FILES = {f"{n % 3}/{n}": random.Random(n).randbytes(2000) for n in range(30)}


class KilledAt(MemoryStore):
    """Counts what is written, and fails at one of them as if the process had ended there."""

    def __init__(self, fatal: int | None = None) -> None:
        super().__init__(None)
        self.fatal = fatal
        self.written: list[str] = []

    def put(self, key: str, data: Buffer, *, if_absent: bool = False) -> None:
        if self.fatal is not None:
            self.fatal -= 1
            if self.fatal < 0:
                raise KeyboardInterrupt
        super().put(key, data, if_absent=if_absent)
        self.written.append(key)


class InMemory(OpenReplicas):
    def __init__(self, store: BlobStore) -> None:
        super().__init__()
        self.kept = store

    def store(self, replica: LakeReplica, seal: Seal) -> BlobStore:
        return self.kept


@pytest.fixture
def copy() -> KilledAt:
    return KilledAt()


@pytest.fixture
def world(deps: Deps, copy: KilledAt) -> Deps:
    made = replace(deps, replicas=InMemory(copy))
    lake_owner.claim(deps.db, deps.store, deps.clock.now())
    sites.create(made, the_admin(made), "east")
    return made


def add(world: Deps, **changes: Any) -> LakeReplica:
    given: dict[str, Any] = {"url": "s3://copy/here", "site_names": ["east"], **changes}
    return replicas.add(world, the_admin(world), "virginia", **given).replica


def contents(store: BlobStore) -> dict[str, bytes]:
    left_out = (replicas.MARK, "doctor/")
    return {info.key: store.get(info.key) for info in store.list() if not info.key.startswith(left_out)}


def check_readable(world: Deps, store: BlobStore) -> None:
    """Every record's commit is there, every commit's pages, every locator's packs."""
    shown = contents(store)
    lake = contents(world.store)
    assert all(lake[key] == data for key, data in shown.items())
    if any(is_record(key) and b'"move"' in data for key, data in shown.items()):
        assert any("/commits/" in key for key in shown)
    if any("/commits/" in key for key in shown):
        assert any("/pages/" in key for key in shown)
    if any("/locators/" in key for key in shown):
        assert any("/packs/" in key for key in shown)


def test_everything_is_copied_and_told(world: Deps, copy: KilledAt) -> None:
    a_commit(world, FILES)
    replica = add(world)
    before = replicas.show(world, "virginia")
    assert (before.lag.commits, before.lag.bytes > 0, before.replica.synced_at) == (1, True, None)
    assert keeping.keep_all(world, world.clock.now()) == 1
    after = replicas.show(world, "virginia")
    assert (after.lag.is_none, after.state, after.replica.problem) == (True, "up to date", None)
    assert contents(copy) == contents(world.store)
    assert keeping.keep_all(world, world.clock.now()) == 0, "nothing is left to do"
    with world.db.read() as tx:
        assert [one.id for one in lake_replicas.of_site(tx, replica.sites[0])] == [replica.id]


def test_only_what_is_new_is_sent(world: Deps, copy: KilledAt) -> None:
    a_commit(world, FILES)
    add(world)
    keeping.keep_all(world, world.clock.now())
    copy.written.clear()
    a_commit(world, {**FILES, "new": b"new" * 1000})
    keeping.keep_all(world, world.clock.now())
    assert sum("/packs/" in key for key in copy.written) == 1
    assert contents(copy) == contents(world.store)


def test_killed_at_every_step(world: Deps, copy: KilledAt) -> None:
    """What the replica shows can be read at any moment, and whoever comes next goes on."""
    a_commit(world, FILES)
    a_commit(world, {**FILES, "more": b"x" * 5000})
    replica = add(world)
    for step in range(1, 40):
        copy.fatal = step
        try:
            keeping.keep(world, replica)
        except KeyboardInterrupt:
            check_readable(world, copy)
            continue
        break
    else:
        raise AssertionError("it never ends")
    assert contents(copy) == contents(world.store)
    assert step > 4, "it was killed a few times"
    packs = [key for key in copy.written if "/packs/" in key]
    assert len(packs) == len(set(packs)), "no pack is sent twice"


def test_one_server_at_a_time(world: Deps, clock: FakeClock) -> None:
    a_commit(world, FILES)
    replica = add(world)
    with turn_of(world, replica):
        with pytest.raises(NotReady), turn_of(world, replica):
            pass
        assert keeping.keep(world, replica) == 0
        clock.advance(LASTS.total_seconds() + 1)  # the other was killed
        assert keeping.keep(world, replica) == 1


def test_what_the_lake_removes_goes_later(world: Deps, copy: KilledAt, clock: FakeClock) -> None:
    a_commit(world, FILES, dataset="old")
    a_commit(world, {"kept": b"kept"}, dataset="kept")
    replica = add(world)
    keeping.keep_all(world, clock.now())
    packs = [key for key in contents(copy) if "/packs/" in key]
    datasets.delete(world, the_admin(world), a_dataset(world, "old"))
    clock.advance(40 * 86_400)
    with turn_of(world, replica) as turn:
        assert cleaning.clean(turn) == 0, "the lake has it still"
    collect.collect(world, the_admin(world), now=True)
    assert [key for key in contents(copy) if "/packs/" in key] == packs, "not before it is cleaned"
    replicas.sync(world, the_admin(world), "virginia")
    keeping.keep_all(world, clock.now())
    assert contents(copy) == contents(world.store)
    assert len([key for key in contents(copy) if "/packs/" in key]) == len(packs) - 1


def test_a_lake_that_is_lost_takes_nothing_along(world: Deps, copy: KilledAt) -> None:
    a_commit(world, FILES)
    replica = add(world)
    keeping.keep_all(world, world.clock.now())
    before = contents(copy)
    for key in [info.key for info in world.store.list("projects/")]:
        world.store.delete(key)
    with turn_of(world, replica) as turn:
        assert cleaning.clean(turn) == 0
    assert contents(copy) == before


def test_a_check_finds_what_is_wrong_and_it_is_copied_again(world: Deps, copy: KilledAt) -> None:
    a_commit(world, FILES)
    add(world)
    keeping.keep_all(world, world.clock.now())
    found = replicas.check(world, the_admin(world), "virginia")
    assert (found.missing, found.wrong, found.extra) == (0, 0, 0)
    pack = next(key for key in contents(copy) if "/packs/" in key)
    page = next(key for key in contents(copy) if "/pages/" in key)
    copy.put(pack, b"short")
    copy.delete(page)
    found = replicas.check(world, the_admin(world), "virginia")
    assert (found.missing, found.wrong, list(found.examples)) == (1, 1, sorted([pack, page]))
    assert replicas.show(world, "virginia").lag.commits == 1, "nobody reads the commit there until it is whole"
    keeping.keep_all(world, world.clock.now())
    assert contents(copy) == contents(world.store)


def test_a_replica_that_became_a_lake_is_left_alone(world: Deps, copy: KilledAt) -> None:
    a_commit(world, FILES)
    replica = add(world)
    keeping.keep_all(world, world.clock.now())
    copy.put(keys.owner(7), b"{}")
    copy.written.clear()
    a_commit(world, {"new": b"new"})
    keeping.keep(world, replica)
    assert copy.written == []
    assert "lake of its own" in (replicas.show(world, "virginia").replica.problem or "")


def test_damage_in_the_lake_is_not_spread_and_holds_nobody_up(world: Deps, copy: KilledAt) -> None:
    a_commit(world, FILES, dataset="bad")
    (pack,) = [info.key for info in world.store.list("projects/") if "/packs/" in info.key]
    data = world.store.get(pack)
    world.store.put(pack, bytes([data[0] ^ 1]) + data[1:])
    a_commit(world, {"good": b"good"}, dataset="good")
    add(world)
    assert keeping.keep_all(world, world.clock.now()) == 1
    shown = replicas.show(world, "virginia")
    assert shown.lag.commits == 1 and "cannot be copied" in (shown.replica.problem or "")
    assert pack not in contents(copy)


def test_a_replica_that_is_away_is_told(world: Deps, copy: KilledAt, monkeypatch: pytest.MonkeyPatch) -> None:
    a_commit(world, FILES)
    replica = add(world)

    def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("Connection refused")

    with monkeypatch.context() as patch:
        patch.setattr(copy, "put", away)
        assert keeping.keep(world, replica) == 0
    assert "Connection refused" in (replicas.show(world, "virginia").replica.problem or "")
    replicas.sync(world, the_admin(world), "virginia")
    assert keeping.keep_all(world, world.clock.now()) == 1
    assert replicas.show(world, "virginia").replica.problem is None


def test_places_that_cannot_be_a_replica(world: Deps, copy: KilledAt) -> None:
    for url in ("/tmp/copy", "memory:", "https://example.org", "s3://", "s3://bucket?endpoint=x"):
        with pytest.raises(BadRequest):
            add(world, url=url)
    with pytest.raises(BadRequest, match="No site"):
        add(world, site_names=[])
    with pytest.raises(BadRequest, match="key"):
        add(world, credentials={"key_id": "a"})
    MemoryStore.put(copy, "somebody/elses", b"file")
    with pytest.raises(BadRequest, match="not empty"):
        add(world)
    MemoryStore.put(copy, keys.LAKE, encode_lake("another"))
    with pytest.raises(BadRequest, match="another lake"):
        add(world)
    itself = replace(world, replicas=InMemory(world.store))
    with pytest.raises(BadRequest, match="the lake itself"):
        add(itself)
    assert world.store.head(replicas.MARK) is None
    copy.delete(keys.LAKE)
    copy.delete("somebody/elses")
    add(world)
    with pytest.raises(NameTaken):
        add(world)
