"""Rows of the cache on both databases: people's leases, kept branches, limits, refusals, compared trees, shares."""

from __future__ import annotations

from datetime import timedelta

from millpond.db import caches, differences, evictions, leases, shares, volumes
from millpond.db.differences import Difference
from millpond.model.people import Role
from millpond.model.volume import LeaseKind, Share
from millpond.services.caches import holds as cache_holds
from millpond.services.caches import policies as cache_policies
from millpond.services.caches import requests as cache_requests
from millpond.services.caches.admission import differences as compared
from millpond.services.caches.explain import why as cache_why
from millpond.services.deps import Deps
from millpond.testing.builders_data import (
    GB,
    a_commit,
    a_volume,
    an_actor,
    an_agent,
    carry_out,
    the_admin,
    the_project,
)
from millpond.testing.events import FakeEvents


def test_holds_kept_branches_and_reasons(deps: Deps) -> None:
    admin, agent = the_admin(deps), an_agent(deps)
    volume = a_volume(deps, agent, capacity=10 * GB)
    first = a_commit(deps, {"a": b"1" * 9000, "b": b"2" * 9000})
    cached = cache_requests.request(deps, admin, dataset="xray", volume="nfs").cached
    carry_out(deps, agent)
    maria = an_actor(deps, "maria", default=Role.MEMBER)
    cache_holds.hold(deps, maria, cached.id, seconds=60)
    second = a_commit(deps, {"a": b"1" * 9000, "b": b"3" * 9000})
    policy = cache_policies.keep(deps, admin, dataset="xray", volume="nfs")
    assert (policy.head, policy.state) == (second.id, "filling")
    with deps.db.read() as tx:
        found = differences.find(tx, the_project(deps).id, first.tree, second.tree)
    assert found is not None
    assert (found.bytes, found.files) == (9000, 1)
    assert cache_why.why(deps, maria, "xray").reasons == ["it is being cached on nfs"]
    now = deps.clock.now()
    with deps.db.write() as tx:
        leases.drop_expired(tx, now + timedelta(seconds=61))
        assert not leases.holders(tx, [cached.id], now)
        row = caches.get(tx, cached.id)
        assert row is not None
        assert row.cached.used_at == now + timedelta(seconds=60)
        leases.hold_for_user(tx, cached.id, maria.user_id or "", kind=LeaseKind.READ, until=now, reason="", now=now)
        leases.release_lost(tx, maria.user_id or "", project_id=the_project(deps).id)
        assert not leases.holders(tx, [cached.id], now - timedelta(days=1))
    cache_policies.unkeep(deps, admin, policy.policy.id)
    assert cache_policies.carry_out(deps, now) == 0
    assert volume.name == "nfs"


def test_new_heads_are_compared_before_anybody_asks(deps: Deps) -> None:
    admin, agent = the_admin(deps), an_agent(deps)
    a_volume(deps, agent, capacity=10 * GB)
    first = a_commit(deps, {"a": b"1" * 9000, "b": b"2" * 9000})
    now = deps.clock.now()
    compared.prepare_new(deps, now)  # nothing is cached: nothing to compare with
    cache_requests.request(deps, admin, dataset="xray", volume="nfs")
    carry_out(deps, agent)
    second = a_commit(deps, {"a": b"1" * 9000, "b": b"3" * 9000})
    assert isinstance(deps.events, FakeEvents)
    assert cache_policies.TOPIC in deps.events.woken, "those that follow branches are told"
    with deps.db.read() as tx:
        assert differences.new_heads(tx, since=now - timedelta(seconds=1)) == [second.id]
        assert differences.new_heads(tx, since=now + timedelta(days=1)) == []
    compared.prepare_new(deps, now)
    with deps.db.read() as tx:
        found = differences.find(tx, the_project(deps).id, first.tree, second.tree)
    assert found is not None
    cache_requests.request(deps, admin, dataset="xray", volume="nfs")
    with deps.db.read() as tx:
        assert differences.new_heads(tx, since=now - timedelta(seconds=1)) == []


def test_limits_refusals_shares_and_differences_are_replaced(deps: Deps) -> None:
    volume, project = a_volume(deps, an_agent(deps)), the_project(deps)
    commit, now = a_commit(deps, {"a": b"1"}), deps.clock.now()
    with deps.db.write() as tx:
        for limit in (5, 7):
            shares.set_limit(tx, volume.id, project.id, limit)
        assert shares.limits_by_project(tx, volume.id) == {project.id: 7}
        shares.remove_limit(tx, volume.id, project.id)
        assert not shares.limits_of(tx, volume.id)
        for size in (1, 2):
            shares.replace(tx, volume.id, project.id, [Share(frozenset({"a", "b"}), size, size)])
        assert shares.of_volume(tx, volume.id) == [Share(frozenset({"a", "b"}), 2, 2)]
        for reason in ("full", "fuller"):
            evictions.note_refusal(
                tx, volume_id=volume.id, commit_id=commit.id, project_id=project.id, by="m", reason=reason, now=now
            )
        (refusal,) = evictions.refusals(tx, commit.id)
        assert (refusal.reason, refusal.dataset) == ("fuller", "default/xray")
        assert evictions.newest_refusals(tx, among=set(), limit=9) == []
        assert evictions.newest_refusals(tx, among=None, limit=9, volume_id=volume.id) == [refusal]
        compared = Difference(project.id, "a" * 64, "b" * 64, 1, 2, 3, 4)
        differences.insert(tx, compared, now)
        differences.insert(tx, compared, now)
        assert differences.find(tx, project.id, "a" * 64, "b" * 64) == compared
        differences.forget(tx, before=now + timedelta(seconds=1))
        assert differences.find(tx, project.id, "a" * 64, "b" * 64) is None


def test_files_that_commits_share_are_counted_once(deps: Deps) -> None:
    admin, agent = the_admin(deps), an_agent(deps)
    volume = a_volume(deps, agent, capacity=10 * GB)
    ids = []
    for content in (b"1", b"2"):
        a_commit(deps, {"a": content * 9000})
        ids.append(cache_requests.request(deps, admin, dataset="xray", volume="nfs").cached.id)
        carry_out(deps, agent)
    project = the_project(deps).id
    with deps.db.write() as tx:
        shares.replace(tx, volume.id, project, [Share(frozenset(ids), 9_000, 1), Share(frozenset(ids[:1]), 100, 1)])
        assert [volumes.cached_bytes(tx, among=among) for among in (None, {project}, set())] == [9_100, 9_100, 0]
        shares.replace(tx, volume.id, project, [Share(frozenset(ids[:1]), 9_100, 2)])
        assert volumes.cached_bytes(tx, among=None) > 9_100 + 9_000, "what was not measured yet counts as reserved"
