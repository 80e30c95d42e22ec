"""The main story of data on both databases: commit, share, cache, lease, evict, delete."""

from __future__ import annotations

import threading

import pytest

from millpond.db import blobs, datasets, lake_stats, leases, volumes
from millpond.errors import InUse, NameTaken, RefMoved
from millpond.lake.digests import digest_of
from millpond.model.cached_state import CachedState
from millpond.model.quantity import DAY
from millpond.services.caches import eviction, job_caches
from millpond.services.caches import requests as cache_requests
from millpond.services.caches.requests import CacheFilter
from millpond.services.commits import commits
from millpond.services.commits.commits import NewCommit
from millpond.services.commits.packs import verify
from millpond.services.datasets import datasets as dataset_service
from millpond.services.deps import Deps
from millpond.testing.builders_data import (
    GB,
    a_commit,
    a_dataset,
    a_sized_commit,
    a_tree,
    a_volume,
    an_agent,
    carry_out,
    send,
    the_admin,
    the_project,
    the_volume,
)
from millpond.testing.builders_work import add_commit, add_job
from millpond.testing.clock import FakeClock


def test_sums_of_bytes_may_be_larger_than_one_number_of_the_database(deps: Deps) -> None:
    """External entries may claim any size: hand-made commits must not keep others from their lists."""
    for number in range(3):
        add_commit(deps.db, f"huge-{number}", size=(1 << 62) - 1)
    with deps.db.read() as tx:
        assert datasets.totals(tx, among=None) == (3, 3 << 62)
        assert lake_stats.of_project(tx, the_project(deps).id).logical == 3 << 62


def test_a_commit_is_counted_and_its_blobs_are_known(deps: Deps) -> None:
    a_commit(deps, {"a": b"1", "b/c": b"22"})
    a_commit(deps, {"a": b"1", "b/c": b"333"})
    with deps.db.read() as tx:
        (card,) = datasets.cards(tx, among=None, limit=9, search="XR")
        assert (card.commits, card.files, card.bytes) == (2, 2, 4)
        assert datasets.totals(tx, among=None) == (1, 4)
        assert datasets.totals(tx, among=()) == (0, 0)
        project_id = the_project(deps).id
        wanted = [digest_of(b"1"), digest_of(b"333"), digest_of(b"other")]
        assert blobs.known(tx, project_id, wanted, owner="user:nobody") == set()
    assert verify.verify_some(deps) == 2
    with deps.db.read() as tx:
        assert blobs.known(tx, project_id, wanted, owner="user:nobody") == set(wanted[:2])
        assert set(blobs.places(tx, project_id, wanted, owner="user:nobody")) == set(wanted[:2])


def test_names_are_unique_among_the_living(deps: Deps) -> None:
    first = a_dataset(deps)
    with pytest.raises(NameTaken):
        dataset_service.create(deps, the_admin(deps), the_project(deps), name="xray")
    dataset_service.delete(deps, the_admin(deps), first)
    assert a_dataset(deps).id != first.id


def test_two_who_move_one_branch_at_once(deps: Deps) -> None:
    """Exactly one wins each round, and the loser is told where the branch is now."""
    head = a_commit(deps, {"a": b"0"})
    project = the_project(deps)
    admin = the_admin(deps)
    trees = [a_tree({"a": b"%d" % number}) for number in range(1, 5)]
    asked = [NewCommit(upload=send(deps, admin, tree), tree=tree.root, expected=head.id) for tree in trees]
    outcomes: list[str] = []

    def commit(request: NewCommit) -> None:
        try:
            outcomes.append(commits.create(deps, admin, project, "xray", request)[1].id)
        except RefMoved as error:
            outcomes.append(f"moved to {error.details['head']}")

    threads = [threading.Thread(target=commit, args=(request,)) for request in asked]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (won,) = [outcome for outcome in outcomes if not outcome.startswith("moved")]
    assert outcomes.count(f"moved to {won}") == 3


def test_many_requests_reserve_the_same_bytes_once(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent, capacity=10 * GB, reserve_bytes=0)
    found = [a_sized_commit(deps, a_dataset(deps), size=6 * GB) for _ in range(2)]
    admin = the_admin(deps)
    outcomes: list[str] = []

    def ask(number: int) -> None:
        name = f"xray@{found[number % 2].id}"
        try:
            added = cache_requests.request(deps, admin, dataset=name, volume="nfs")
            outcomes.append("started" if added.started else "there")
        except Exception as error:
            outcomes.append(type(error).__name__)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(set(outcomes)) == ["DoesNotFit", "started", "there"]
    assert outcomes.count("started") == 1
    assert outcomes.count("DoesNotFit") == 4


def test_a_cached_commit_lives_is_leased_and_evicted(deps: Deps) -> None:
    agent = an_agent(deps)
    volume = a_volume(deps, agent)
    commit = a_commit(deps, {"a": b"1"})
    cached = cache_requests.request(deps, the_admin(deps), dataset="xray").cached
    carry_out(deps, agent)
    job, by = add_job(deps.db), the_admin(deps).name
    with deps.db.write() as tx:
        (row,) = job_caches.ensure_cached_for_job(
            tx, now=deps.clock.now(), job_id=job.id, requested_by=by, commits=[commit.id], volume_id=volume.id
        )
    assert row.cached.state is CachedState.READY
    with deps.db.read() as tx:
        (holder,) = leases.holders_on(tx, volume.id, deps.clock.now())[cached.id]
    assert holder.job == "default/train"
    with pytest.raises(InUse):
        dataset_service.delete(deps, the_admin(deps), a_dataset(deps))
    with deps.db.write() as tx:
        job_caches.release_for_job(tx, job.id, now=deps.clock.now())
    assert isinstance(deps.clock, FakeClock)
    deps.clock.advance(DAY)
    assert eviction.evict_all(deps) == 1
    carry_out(deps, agent)
    listed = cache_requests.list_visible(deps, the_admin(deps), CacheFilter(), limit=9, cursor=None)
    assert listed.items == []
    (gone,) = cache_requests.evictions(deps, the_admin(deps), limit=9, cursor=None).items
    assert (gone.volume, gone.dataset, gone.commit_id) == ("nfs", "default/xray", commit.id)


def test_attempt_numbers_are_never_given_twice(deps: Deps) -> None:
    volume = a_volume(deps, an_agent(deps))
    taken: list[int] = []

    def take() -> None:
        for _ in range(5):
            with deps.db.write() as tx:
                taken.append(volumes.take_attempt(tx, volume.id))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(taken)) == 20
    assert the_volume(deps).id == volume.id
