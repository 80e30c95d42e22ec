"""What keeps cached commits where they are: holds, reading, pins, kept branches, limits; and what ends all that."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from millpond.db import computes, counts
from millpond.db import shares as share_rows
from millpond.errors import BadRequest, DoesNotFit, Forbidden, InUse, NotFound, NotReady
from millpond.model.cached_state import CachedState
from millpond.model.dataset import Commit
from millpond.model.people import Actor, Role
from millpond.model.quantity import DAY
from millpond.model.volume import Cause, LeaseKind, Share
from millpond.services.caches import (
    eviction,
    verification,
)
from millpond.services.caches import (
    holds as cache_holds,
)
from millpond.services.caches import (
    policies as cache_policies,
)
from millpond.services.caches import (
    requests as cache_requests,
)
from millpond.services.caches.explain import offers as cache_offers
from millpond.services.caches.explain import why as cache_why
from millpond.services.caches.explain.details import CachedDetails
from millpond.services.caches.explain.offers import CacheOffer
from millpond.services.caches.fills import desired as desired_fills
from millpond.services.caches.fills import reports as cache_reports
from millpond.services.caches.requests import CacheFilter
from millpond.services.commits import refs
from millpond.services.datasets import dataset_bin, dataset_caches
from millpond.services.datasets import datasets as dataset_service
from millpond.services.deps import Deps
from millpond.services.lake import collect
from millpond.services.people import projects, users
from millpond.services.places import volume_limits
from millpond.services.places import volumes as volume_service
from millpond.testing.builders_data import (
    GB,
    a_commit,
    a_dataset,
    a_sized_commit,
    a_volume,
    an_actor,
    an_agent,
    carry_out,
    sees,
    the_admin,
    the_project,
    the_volume,
    told,
)
from millpond.testing.clock import FakeClock


def ready(deps: Deps, size: int = GB, *, branch: str | None = None, project: str = "default") -> CachedDetails:
    """A cached commit of xray on nfs."""
    commit = a_sized_commit(deps, a_dataset(deps, project=project), size=size, branch=branch)
    return cached(deps, commit, project=project)


def cached(deps: Deps, commit: Commit, *, project: str = "default") -> CachedDetails:
    added = cache_requests.request(deps, the_admin(deps), f"{project}/xray@{commit.id}", volume="nfs")
    settle(deps)
    return cache_requests.get(deps, the_admin(deps), added.cached.id)


@pytest.fixture(autouse=True)
def volume(deps: Deps) -> None:
    """Everything here happens on one volume of 10 GB with one agent."""
    a_volume(deps, an_agent(deps), capacity=10 * GB, reserve_bytes=0)


def settle(deps: Deps) -> None:
    """The agent does all it is told."""
    with deps.db.read() as tx:
        (agent,) = [one.agent for one in computes.all_computes(tx) if one.agent]
    carry_out(deps, agent)


def observe_room(deps: Deps, free: int) -> None:
    """The agent tells how much room the disk has."""
    with deps.db.read() as tx:
        (agent,) = [one.agent for one in computes.all_computes(tx) if one.agent]
    cache_reports.observe_volumes(deps, agent, [sees(the_volume(deps), free=free)])


def there(deps: Deps) -> dict[str, CachedState]:
    found = cache_requests.list_visible(deps, the_admin(deps), CacheFilter(), limit=100, cursor=None)
    return {item.commit_id: item.state for item in found.items}


def housekeeping(deps: Deps) -> None:
    eviction.evict_all(deps)
    settle(deps)


def test_a_hold_keeps_it_until_its_time_and_idle_counts_from_then(deps: Deps, clock: FakeClock) -> None:
    found = ready(deps)
    maria = an_actor(deps, "maria", default=Role.MEMBER)
    held = cache_holds.hold(deps, maria, found.id, seconds=2 * DAY, reason="outliers")
    (holder,) = held.leased_by
    assert (holder.user, holder.reason, holder.until) == ("maria", "outliers", clock.now() + timedelta(days=2))
    assert held.expires_at is None
    with pytest.raises(InUse, match=r"in use by maria \(holds it until "):
        cache_requests.clear(deps, the_admin(deps), found.id)
    clock.advance(1.9 * DAY)
    housekeeping(deps)
    clock.advance(0.2 * DAY)
    housekeeping(deps)
    assert there(deps), "the idle time begins when the hold has ended"
    clock.advance(DAY)
    housekeeping(deps)
    assert not there(deps)


def test_holding_again_sets_a_new_time_and_release_ends_it(deps: Deps, clock: FakeClock) -> None:
    found, maria = ready(deps), an_actor(deps, "maria", default=Role.MEMBER)
    cache_holds.hold(deps, maria, found.id, seconds=DAY)
    (holder,) = cache_holds.hold(deps, maria, found.id, seconds=60).leased_by
    assert holder.until == clock.now() + timedelta(seconds=60)
    assert cache_holds.release(deps, maria, found.id).leased_by == []


def test_an_administrator_ends_what_others_hold_by_wish_and_not_what_they_read(deps: Deps) -> None:
    found, maria = ready(deps), an_actor(deps, "maria", default=Role.MEMBER)
    ada, dan = an_actor(deps, "ada", default=Role.ADMIN), an_actor(deps, "dan", default=Role.MEMBER)
    cache_holds.hold(deps, maria, found.id, seconds=30 * DAY)
    cache_holds.hold(deps, maria, found.id, kind=LeaseKind.READ, reader="a notebook")
    with pytest.raises(Forbidden, match="admin"):
        cache_holds.release(deps, dan, found.id, user="maria")
    with pytest.raises(NotFound, match="nobody"):
        cache_holds.release(deps, ada, found.id, user="nobody")
    assert len(cache_holds.release(deps, ada, found.id, user="dan").leased_by) == 2
    (left,) = cache_holds.release(deps, ada, found.id, user="maria").leased_by
    assert left.kind is LeaseKind.READ


def test_viewers_hold_by_reading_and_not_by_wish(deps: Deps) -> None:
    found, viewer = ready(deps), an_actor(deps, "vera", default=Role.VIEWER)
    with pytest.raises(Forbidden):
        cache_holds.hold(deps, viewer, found.id, seconds=60)
    (holder,) = cache_holds.hold(deps, viewer, found.id, kind=LeaseKind.READ).leased_by
    assert holder.user == "vera"
    stranger = an_actor(deps, "eve")
    with pytest.raises(NotFound):
        cache_holds.hold(deps, stranger, found.id, kind=LeaseKind.READ)


def test_what_somebody_reads_is_deleted_at_once_and_goes_when_they_are_done(deps: Deps, clock: FakeClock) -> None:
    found, viewer = ready(deps), an_actor(deps, "vera", default=Role.VIEWER)
    cache_holds.hold(deps, viewer, found.id, kind=LeaseKind.READ)
    dataset_service.delete(deps, the_admin(deps), a_dataset(deps))
    with pytest.raises(NotReady):
        cache_holds.hold(deps, viewer, found.id, kind=LeaseKind.READ)
    housekeeping(deps)
    assert cache_requests.get(deps, viewer, found.id).leaving
    clock.advance(cache_holds.READ_SECONDS + 1)
    housekeeping(deps)
    with pytest.raises(NotFound):
        cache_requests.get(deps, viewer, found.id)


def test_who_reads_what_was_deleted_may_read_on(deps: Deps, clock: FakeClock) -> None:
    found, viewer = ready(deps), an_actor(deps, "vera", default=Role.VIEWER)
    cache_holds.hold(deps, viewer, found.id, kind=LeaseKind.READ, reader="a notebook")
    dataset_service.delete(deps, the_admin(deps), a_dataset(deps))
    for _ in range(3):
        clock.advance(cache_holds.READ_SECONDS - 60)
        cache_holds.hold(deps, viewer, found.id, kind=LeaseKind.READ, reader="a notebook")
        housekeeping(deps)
    with pytest.raises(NotReady):
        cache_holds.hold(deps, viewer, found.id, kind=LeaseKind.READ, reader="another")
    cache_holds.release(deps, viewer, found.id, reader="a notebook")
    housekeeping(deps)
    with pytest.raises(NotFound):
        cache_requests.get(deps, viewer, found.id)


def test_losing_the_role_ends_holds(deps: Deps) -> None:
    found, maria = ready(deps), an_actor(deps, "maria", default=Role.MEMBER)
    cache_holds.hold(deps, maria, found.id, seconds=DAY)
    projects.remove_member(deps, the_admin(deps), the_project(deps), "maria")
    assert cache_requests.get(deps, the_admin(deps), found.id).leased_by == []


def test_an_administrator_no_more_holds_only_what_a_role_lets_them(deps: Deps) -> None:
    projects.create(deps, the_admin(deps), name="beta")
    mine, other = ready(deps), ready(deps, project="beta")
    maria = an_actor(deps, "maria", default=Role.MEMBER)
    users.change(deps, the_admin(deps), "maria", users.UserChange(is_admin=True))
    maria = replace(maria, is_admin=True)
    for found in (mine, other):
        cache_holds.hold(deps, maria, found.id, seconds=DAY)
    users.change(deps, the_admin(deps), "maria", users.UserChange(is_admin=False))
    held = [cache_requests.get(deps, the_admin(deps), found.id).leased_by for found in (mine, other)]
    assert [len(one) for one in held] == [1, 0]


def test_idle_times_of_commit_dataset_and_volume(deps: Deps) -> None:
    found, admin = ready(deps), the_admin(deps)
    assert (found.idle_seconds, found.idle_by) == (DAY, "volume")
    dataset_caches.set_idle(deps, admin, a_dataset(deps), 7200)
    shown = cache_requests.get(deps, admin, found.id)
    assert (shown.idle_seconds, shown.idle_by) == (7200, "dataset")
    shown = cache_requests.change(deps, admin, found.id, idle_seconds=60)
    assert (shown.idle_seconds, shown.idle_by) == (60, "commit")
    shown = cache_requests.change(deps, admin, found.id, idle_seconds=None)
    assert shown.idle_by == "dataset"
    assert dataset_service.card(deps, a_dataset(deps)).card.cache_idle_seconds == 7200


def test_a_pin_says_who_and_when(deps: Deps, clock: FakeClock) -> None:
    found, maria = ready(deps), an_actor(deps, "maria", default=Role.MEMBER)
    pinned = cache_requests.pin(deps, maria, found.id, pinned=True)
    assert (pinned.pinned_by, pinned.pinned_at) == ("maria", clock.now())
    clock.advance(5)
    again = cache_requests.pin(deps, the_admin(deps), found.id, pinned=True)
    assert again.pinned_by == "maria"
    with pytest.raises(InUse, match="pinned by maria"):
        cache_requests.clear(deps, maria, found.id)


def test_a_kept_branch_is_cached_whenever_it_moves(deps: Deps, clock: FakeClock) -> None:
    admin = the_admin(deps)
    first = a_sized_commit(deps, a_dataset(deps), size=4 * GB, branch="main")
    policy = cache_policies.keep(deps, admin, dataset="xray@main", volume="nfs")
    assert (policy.head, policy.state) == (first.id, "filling")
    settle(deps)
    clock.advance(3 * DAY)
    housekeeping(deps)
    assert there(deps) == {first.id: CachedState.READY}, "the newest does not age out"
    with pytest.raises(InUse, match="newest commit of main"):
        (row,) = cache_requests.list_visible(deps, admin, CacheFilter(), limit=9, cursor=None).items
        cache_requests.clear(deps, admin, row.id)
    second = a_sized_commit(deps, a_dataset(deps), size=4 * GB, branch="main")
    assert cache_policies.carry_out(deps, clock.now()) == 1
    settle(deps)
    housekeeping(deps)
    assert there(deps) == {first.id: CachedState.READY, second.id: CachedState.READY}, "the one before ages from now"
    clock.advance(DAY)
    housekeeping(deps)
    assert there(deps) == {second.id: CachedState.READY}
    cache_policies.unkeep(deps, admin, policy.policy.id)
    clock.advance(DAY)
    housekeeping(deps)
    assert not there(deps)


def test_a_kept_branch_that_does_not_fit_says_why_and_tries_again(deps: Deps, clock: FakeClock) -> None:
    other = ready(deps, 8 * GB)
    cache_requests.pin(deps, the_admin(deps), other.id, pinned=True)
    a_sized_commit(deps, a_dataset(deps), size=4 * GB, branch="main")
    policy = cache_policies.keep(deps, the_admin(deps), "xray", "nfs")
    assert policy.state is None
    assert "nfs can free 2.0 GB" in (cache_policies.problem_of(policy) or "")
    cache_requests.pin(deps, the_admin(deps), other.id, pinned=False)
    clock.advance(61)
    assert cache_policies.carry_out(deps, clock.now()) == 1


def test_the_commit_before_ages_from_when_a_new_one_was_asked_for(deps: Deps, clock: FakeClock) -> None:
    admin = the_admin(deps)
    first = a_sized_commit(deps, a_dataset(deps), size=4 * GB, branch="main")
    cache_policies.keep(deps, admin, dataset="xray", volume="nfs")
    settle(deps)
    clock.advance(3 * DAY)
    second = a_sized_commit(deps, a_dataset(deps), size=40 * GB, branch="main")
    housekeeping(deps)
    assert there(deps) == {first.id: CachedState.READY}, "nobody has asked for the new one yet"
    assert cache_policies.carry_out(deps, clock.now()) == 0
    housekeeping(deps)
    assert there(deps) == {first.id: CachedState.READY}, "what was refused is no reason to lose what is there"
    clock.advance(DAY)
    housekeeping(deps)
    assert there(deps) == {}
    volume_service.change(deps, admin, "nfs", capacity_bytes=50 * GB)
    observe_room(deps, 50 * GB)
    assert cache_policies.carry_out(deps, clock.now()) == 1
    settle(deps)
    assert there(deps) == {second.id: CachedState.READY}


def test_a_kept_branch_that_is_gone_says_so(deps: Deps) -> None:
    admin = the_admin(deps)
    a_sized_commit(deps, a_dataset(deps), size=GB, branch="side")
    cache_policies.keep(deps, admin, dataset="xray@side", volume="nfs")
    refs.delete(deps, admin, a_dataset(deps), name="side", expected=None)
    (policy,) = cache_policies.list_visible(
        deps, admin, volume=None, dataset=None, project=None, limit=9, cursor=None
    ).items
    assert cache_policies.problem_of(
        policy
    ) is not None and "Branch side no longer exists" in cache_policies.problem_of(policy)


def test_a_kept_branch_has_no_problem_once_somebody_brought_its_commit(deps: Deps) -> None:
    admin = the_admin(deps)
    other = ready(deps, 8 * GB)
    cache_requests.pin(deps, admin, other.id, pinned=True)
    commit = a_sized_commit(deps, a_dataset(deps), size=4 * GB, branch="main")
    assert cache_policies.problem_of(cache_policies.keep(deps, admin, dataset="xray", volume="nfs"))
    cache_requests.pin(deps, admin, other.id, pinned=False)
    cached(deps, commit)
    settle(deps)  # what made room for it has gone
    found = cache_policies.list_visible(deps, admin, volume=None, dataset=None, project=None, limit=9, cursor=None)
    assert [(policy.state, cache_policies.problem_of(policy)) for policy in found.items] == [("ready", None)]


def test_a_limit_bounds_a_project_and_is_shown_to_its_members(deps: Deps) -> None:
    admin = the_admin(deps)
    volume_limits.put(deps, admin, "nfs", "default", 3 * GB)
    first = ready(deps, 2 * GB)
    ready(deps, 2 * GB)
    assert [e.cause for e in cache_requests.evictions(deps, admin, limit=9, cursor=None).items] == [Cause.LIMIT]
    with pytest.raises(NotFound):
        cache_requests.get(deps, admin, first.id)
    with pytest.raises(DoesNotFit, match=r"its project may use 3\.0 GB of nfs"):
        ready(deps, 4 * GB)
    (limit,) = volume_service.get(deps, "nfs", an_actor(deps, "vera", default=Role.VIEWER)).limits
    assert (limit.project, limit.bytes, limit.used_bytes) == ("default", 3 * GB, 2 * GB)
    assert volume_service.get(deps, "nfs", an_actor(deps, "eve")).limits == []
    assert volume_limits.remove(deps, admin, "nfs", "default").limits == []


def test_evicting_gives_back_only_what_nobody_else_has(deps: Deps) -> None:
    admin = the_admin(deps)
    one, two = ready(deps, 4 * GB), ready(deps, 4 * GB)
    shares = [
        Share(frozenset({one.id, two.id}), 3 * GB),
        Share(frozenset({one.id}), GB),
        Share(frozenset({two.id}), GB),
    ]
    with deps.db.write() as tx:
        volume = volume_service.get(deps, "nfs").volume.id
        share_rows.replace(tx, volume, the_project(deps).id, shares)
    shown = cache_requests.get(deps, admin, one.id)
    assert (shown.allocated_bytes, shown.freed_bytes, shown.measured) == (4 * GB, GB, True)
    assert volume_service.get(deps, "nfs").used_bytes == 5 * GB
    with deps.db.read() as tx:
        assert counts.totals(tx, agents_since=deps.clock.now()).cached_bytes == 5 * GB
    cache_requests.clear(deps, admin, one.id)
    assert volume_service.get(deps, "nfs").evicting_bytes == GB
    settle(deps)
    assert volume_service.get(deps, "nfs").used_bytes == 4 * GB


def test_why_tells_what_a_commit_takes_beside_another(deps: Deps) -> None:
    files = {name: name.encode() * 9000 for name in "abc"}
    cached(deps, a_commit(deps, files))
    a_commit(deps, files | {"d": b"d" * 5000})
    (place,) = cache_why.why(deps, the_admin(deps), "default/xray").volumes
    assert "takes 12.3 kB" in place.reasons[-1], "the new file and its directory"


def test_a_commit_beside_another_reserves_what_differs(deps: Deps) -> None:
    files = {f"train/{n:03}.png": b"%d" % n * 5000 for n in range(200)}
    first = a_commit(deps, files)
    cached(deps, first)
    moved = {f"test/{name}" if name == "train/000.png" else name: data for name, data in files.items()}
    second = a_commit(deps, moved | {"train/001.png": b"new" * 5000})
    shown = cached(deps, second)
    assert shown.base == first.id
    assert (shown.fetch_files, shown.fetch_bytes) == (1, 15000)
    assert shown.allocated_bytes < 100_000, "one file and the directories"
    whole = cache_requests.list_visible(deps, the_admin(deps), CacheFilter(), limit=9, cursor=None).items
    assert max(item.allocated_bytes for item in whole) > 200 * 8192


def test_nothing_goes_because_a_fill_of_small_files_is_half_way(deps: Deps) -> None:
    other = ready(deps, 4 * GB)
    small = a_sized_commit(deps, a_dataset(deps), size=10**6, allocated=45 * GB // 10, files=10**6)
    cache_requests.request(deps, the_admin(deps), dataset=f"xray@{small.id}", volume="nfs")
    with deps.db.read() as tx:
        (agent,) = [one.agent for one in computes.all_computes(tx) if one.agent]
    (fill,) = desired_fills.desired_for(deps, agent)[1]
    cache_reports.observe_fills(deps, agent, [told(fill, "filling", done_bytes=10**6, done_files=10**6)])
    observe_room(deps, 10 * GB - 4 * GB - 45 * GB // 10)
    assert eviction.evict_all(deps) == 0
    assert there(deps)[other.commit_id] is CachedState.READY


def test_what_is_filled_beside_a_base_that_goes_counts_as_a_whole(deps: Deps) -> None:
    admin = the_admin(deps)
    files = {f"{n:03}": b"%d" % n * 5000 for n in range(200)}
    first = cached(deps, a_commit(deps, files))
    second = a_commit(deps, files | {"new": b"new"})
    added = cache_requests.request(deps, admin, dataset=f"xray@{second.id}", volume="nfs").cached
    assert (added.base, added.fetch_files) == (first.commit_id, 1)
    cache_requests.clear(deps, admin, first.id)
    with deps.db.read() as tx:
        (agent,) = [one.agent for one in computes.all_computes(tx) if one.agent]
    (leaving,) = (one for one in desired_fills.desired_for(deps, agent)[1] if one.want == "absent")
    cache_reports.observe_fills(deps, agent, [told(leaving, "evicted")])
    shown = cache_requests.get(deps, admin, added.id)
    assert (shown.base, shown.fetch_files) == (None, 201)
    assert volume_service.get(deps, "nfs").used_bytes == shown.allocated_bytes > 200 * 8192


def test_what_was_linked_from_a_base_that_went_counts_as_a_whole_until_it_is_measured(deps: Deps) -> None:
    admin = the_admin(deps)
    files = {f"{n:03}": b"%d" % n * 5000 for n in range(200)}
    first = cached(deps, a_commit(deps, files))
    second = cached(deps, a_commit(deps, files | {"new": b"new"}))
    cache_requests.clear(deps, admin, first.id)
    settle(deps)
    shown = cache_requests.get(deps, admin, second.id)
    assert (shown.state, shown.fetch_files) == (CachedState.READY, 1)
    assert volume_service.get(deps, "nfs").used_bytes == shown.allocated_bytes > 200 * 8192


def test_equal_files_beside_one_that_went_are_each_promised_room(deps: Deps) -> None:
    content = b"the same" * 600
    first = cached(deps, a_commit(deps, {"kept": b"kept" * 2000, "one": content}))
    second = cached(deps, a_commit(deps, {"kept": b"kept" * 2000} | {f"copies/{n:03}": content for n in range(300)}))
    assert second.base == first.commit_id
    assert second.fetch_files == 299, "one of them is the file that has moved"
    assert second.allocated_bytes >= 299 * 8192


def test_why_tells_what_is_and_what_was(deps: Deps, clock: FakeClock) -> None:
    admin = the_admin(deps)
    found = ready(deps, 4 * GB)
    name = f"xray@{found.commit_id}"

    def reasons(actor: Actor = admin) -> list[str]:
        (place,) = cache_why.why(deps, actor, name).volumes
        return place.reasons

    assert cache_why.why(deps, admin, name).reasons == ["it is cached on nfs"]
    assert any("it is evicted in 1 d unless used" in reason for reason in reasons())
    cache_requests.clear(deps, admin, found.id)
    settle(deps)
    clock.advance(60)
    assert reasons()[0].startswith("it was evicted 1 m")
    assert "cleared by" in reasons()[0]
    assert reasons()[-1].startswith("it would be accepted now")
    blocker = ready(deps, 8 * GB)
    cache_requests.pin(deps, admin, blocker.id, pinned=True)
    with pytest.raises(DoesNotFit):
        cache_requests.request(deps, admin, dataset=name, volume="nfs")
    assert any(reason.startswith("it was refused") for reason in reasons())
    assert "is pinned by" in reasons()[-1]


def test_others_commits_have_no_names_in_plans_and_refusals(deps: Deps) -> None:
    projects.create(deps, the_admin(deps), name="secret")
    hidden = ready(deps, 8 * GB, project="secret")
    cache_requests.pin(deps, the_admin(deps), hidden.id, pinned=True)
    maria = an_actor(deps, "maria", default=Role.MEMBER)
    (plan,) = cache_why.plan(deps, maria)
    assert (plan.goes, plan.stays) == ([], []), "neither names nor sizes"
    mine = a_sized_commit(deps, a_dataset(deps), size=4 * GB)
    with pytest.raises(DoesNotFit) as refused:
        cache_requests.request(deps, maria, dataset=f"default/xray@{mine.id}", volume="nfs")
    assert "secret" not in refused.value.message
    assert hidden.commit_id[:8] not in refused.value.message
    assert refused.value.details["blockers"] == ["a commit of another project is pinned"]
    (place,) = cache_why.why(deps, maria, f"default/xray@{mine.id}").volumes
    assert "secret" not in " ".join(place.reasons)
    with pytest.raises(NotFound):
        cache_why.why(deps, maria, f"secret/xray@{hidden.commit_id}")


def test_verifying_is_asked_for_once(deps: Deps) -> None:
    found = ready(deps)
    asked = verification.verify(deps, the_admin(deps), found.id)
    assert asked.verification is not None
    assert asked.verification.state == "asked"
    again = verification.verify(deps, the_admin(deps), found.id)
    assert again.verification == asked.verification


def let_go(deps: Deps, commit: Commit) -> CachedDetails:
    """A cached commit behind the newest, which alone the dataset keeps."""
    found = cached(deps, commit)
    a_commit(deps, {"a": b"newer"})
    dataset_bin.set_retention(deps, the_admin(deps), a_dataset(deps), {"keep_last": 1})
    return found


def test_a_commit_that_retention_lets_go_leaves_when_its_last_lease_ends(deps: Deps, clock: FakeClock) -> None:
    old = a_commit(deps, {"a": b"1"})
    found = let_go(deps, old)
    cache_holds.hold(deps, the_admin(deps), found.id, kind=LeaseKind.HOLD, seconds=60)
    collect.collect(deps, the_admin(deps))
    assert cache_requests.get(deps, the_admin(deps), found.id).leaving, "at once"
    assert eviction.evict_all(deps) == 0, "somebody holds it"
    with pytest.raises(NotReady, match="no ref contains the commit any longer"):
        cache_holds.hold(deps, the_admin(deps), found.id, kind=LeaseKind.READ)
    with pytest.raises(InUse):
        cache_requests.pin(deps, the_admin(deps), found.id, pinned=True)
    cache_holds.release(deps, the_admin(deps), found.id)
    assert eviction.evict_all(deps) == 1
    clock.advance(30 * DAY)
    collect.collect(deps, the_admin(deps))
    assert there(deps) == {old.id: CachedState.EVICTING}, "its row stays until its files are gone"
    settle(deps)
    assert there(deps) == {}
    (record,) = cache_requests.evictions(deps, the_admin(deps), limit=9, cursor=None).items
    assert (record.reason, record.cause) == ("no ref contains the commit any longer", Cause.DELETED)
    collect.collect(deps, the_admin(deps))
    with pytest.raises(NotFound):
        cached(deps, old)


def test_what_is_asked_for_anew_is_named_anew(deps: Deps) -> None:
    old = a_commit(deps, {"a": b"1"})
    let_go(deps, old)
    collect.collect(deps, the_admin(deps))
    cached(deps, old)
    assert eviction.evict_all(deps) == 0


def test_what_asking_would_bring_is_told_before_anybody_asks(deps: Deps) -> None:
    admin = the_admin(deps)
    old = ready(deps, 8 * GB)
    projects.create(deps, admin, name="secret")
    ready(deps, GB, project="secret")
    new = a_sized_commit(deps, a_dataset(deps), size=5 * GB)
    maria = an_actor(deps, "maria", default=Role.MEMBER)
    name = f"default/xray@{new.id}"

    def offer(written: str = name) -> CacheOffer:
        (found,) = cache_offers.offers(deps, maria, written, project=None, volume=None, near=None)
        return found

    found = offer()
    assert (found.answer, found.evicts, [one.commit_id for one in found.evicted]) == ("evicts", 2, [old.commit_id])
    assert offer(f"default/xray@{old.commit_id}").answer == "there"
    cache_requests.pin(deps, admin, old.id, pinned=True)
    found = offer()
    assert found.answer == "refused"
    assert found.blockers[0].endswith("is pinned by admin")
    assert there(deps)[old.commit_id] is CachedState.READY, "nothing was done"
    with pytest.raises(DoesNotFit):
        cache_requests.request(deps, maria, dataset=name, volume="nfs")
    (refused,) = cache_requests.refusals(deps, maria, volume="nfs", limit=9)
    assert (refused.dataset, refused.commit_id, refused.by) == ("default/xray", new.id, "maria")
    assert cache_requests.refusals(deps, an_actor(deps, "eve"), volume=None, limit=9) == []
    cache_requests.pin(deps, admin, old.id, pinned=False)
    cache_requests.clear(deps, admin, old.id)
    settle(deps)
    assert offer().answer == "fits"
    assert len(cache_requests.evictions(deps, maria, limit=9, cursor=None, volume="nfs").items) == 1


def test_what_one_volume_would_answer_is_not_told_as_a_choice(deps: Deps) -> None:
    with deps.db.read() as tx:
        (agent,) = [one.agent for one in computes.all_computes(tx) if one.agent]
    a_volume(deps, agent, "other", capacity=20 * GB)
    name = f"default/xray@{a_sized_commit(deps, a_dataset(deps), size=GB).id}"

    def offers(volume: str | None = None, near: str | None = None) -> list[CacheOffer]:
        return cache_offers.offers(deps, the_admin(deps), name, project=None, volume=volume, near=near)

    assert "other was chosen from 2 volumes" in offers()[0].reasons
    (named,) = offers("other")
    assert named.answer == "fits" and not any("chosen" in reason for reason in named.reasons)
    with pytest.raises(NotFound):
        offers("nope")
    with pytest.raises(BadRequest):
        offers("other", near=agent.compute)
