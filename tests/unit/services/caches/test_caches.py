"""Cached commits: asked for once, admitted before the first byte, leased, seen, lost and found."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest

from millpond.errors import DoesNotFit, Forbidden, InUse, NotFound, NotReady, VolumeProblem
from millpond.model.cached_state import CachedState
from millpond.model.dataset import Commit, DatasetKind
from millpond.model.people import Actor, ActorKind, Role
from millpond.model.quantity import DAY
from millpond.services.caches import eviction, job_caches, verification
from millpond.services.caches import requests as cache_requests
from millpond.services.caches.explain.details import CachedDetails
from millpond.services.caches.fills import desired as desired_fills
from millpond.services.caches.fills import reports as cache_reports
from millpond.services.caches.requests import Added, CacheFilter
from millpond.services.datasets import urls
from millpond.services.datasets.urls import UrlsWanted
from millpond.services.deps import Deps
from millpond.services.people import projects
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
    the_volume,
    told,
)
from millpond.testing.builders_work import add_commit, add_job
from millpond.testing.clock import FakeClock
from millpond.testing.events import FakeEvents


def sized(deps: Deps, size: int, name: str = "xray") -> Commit:
    return a_sized_commit(deps, a_dataset(deps, name), size=size)


def ask(deps: Deps, commit: Commit, *, volume: str | None = "nfs", actor: Actor | None = None) -> Added:
    name = f"xray@{commit.id}"
    return cache_requests.request(deps, actor or the_admin(deps), dataset=name, volume=volume)


def listed(deps: Deps, **chosen: Any) -> list[CachedDetails]:
    found = cache_requests.list_visible(deps, the_admin(deps), CacheFilter(**chosen), limit=100, cursor=None)
    return list(found.items)


def reasons(deps: Deps) -> list[str]:
    found = cache_requests.evictions(deps, the_admin(deps), limit=100, cursor=None)
    return [item.reason for item in found.items]


def lease(deps: Deps, cached_id: str) -> str:
    job = add_job(deps.db)
    with deps.db.write() as tx:
        job_caches.lease_for_job(tx, job.id, [cached_id], now=deps.clock.now())
    return job.id


def release(deps: Deps, job_id: str) -> None:
    with deps.db.write() as tx:
        job_caches.release_for_job(tx, job_id, now=deps.clock.now())


def test_code_is_listed_apart_from_data(deps: Deps) -> None:
    a_volume(deps, an_agent(deps))
    data = ask(deps, sized(deps, GB)).cached
    code = add_commit(deps.db, ".code", kind=DatasetKind.CODE)
    cached_code = cache_requests.request(deps, the_admin(deps), dataset=f".code@{code}", volume="nfs").cached
    assert [one.id for one in listed(deps, kinds=[DatasetKind.DATA])] == [data.id]
    assert [one.id for one in listed(deps, kinds=[DatasetKind.CODE, DatasetKind.OUTPUT])] == [cached_code.id]
    assert {one.id for one in listed(deps)} == {data.id, cached_code.id}


def test_from_asked_for_to_ready(deps: Deps, events: FakeEvents) -> None:
    agent = an_agent(deps)
    volume = a_volume(deps, agent)
    commit = a_commit(deps, {"a": b"1", "d/b": b"22"})
    added = ask(deps, commit)
    assert (added.started, added.cached.state, added.cached.files) == (True, CachedState.FILLING, 2)
    assert added.cached.path == f"/mnt/nfs/commits/{a_dataset(deps).project_id}/{commit.dataset_id}/{commit.id}"
    _, (fill,) = desired_fills.desired_for(deps, agent)
    assert (fill.want, fill.tree, fill.volume_id) == ("present", commit.tree, volume.id)
    cache_reports.observe_fills(deps, agent, [told(fill, "filling", done_bytes=1, done_files=1)])
    assert listed(deps)[0].done_bytes == 1
    cache_reports.observe_fills(deps, agent, [told(fill, "ready")])
    (row,) = listed(deps)
    assert (row.state, row.done_bytes, row.done_files) == (CachedState.READY, 3, 2)
    assert desired_fills.desired_for(deps, agent)[1] == []
    published = [data["what"] for topic, _, data in events.published if topic == "caches" and "state" in data]
    assert published == ["changed", "progress", "ready"]
    assert volume_service.get(deps, "nfs").used_bytes == 4 * 4096


def test_asking_again_starts_nothing(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    commit = sized(deps, GB)
    first, second = ask(deps, commit), ask(deps, commit)
    assert (first.started, second.started) == (True, False)
    assert first.cached.id == second.cached.id
    carry_out(deps, agent)
    assert not ask(deps, commit).started


def test_many_who_ask_at_once_start_one_fill(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    commit = sized(deps, GB)
    started: list[bool] = []
    threads = [threading.Thread(target=lambda: started.append(ask(deps, commit).started)) for _ in range(25)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(started) == {True: 1, False: 24}
    assert len(desired_fills.desired_for(deps, agent)[1]) == 1


def test_a_report_under_an_older_attempt_changes_nothing(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    commit = sized(deps, GB)
    ask(deps, commit)
    _, (stale,) = desired_fills.desired_for(deps, agent)
    cache_reports.observe_fills(deps, agent, [told(stale, "failed", problem="no route to the lake")])
    assert listed(deps)[0].problem == "no route to the lake"
    assert ask(deps, commit).started
    cache_reports.observe_fills(deps, agent, [told(stale, "ready")])
    assert listed(deps)[0].state is CachedState.FILLING
    _, (fresh,) = desired_fills.desired_for(deps, agent)
    assert fresh.attempt > stale.attempt


def test_a_passing_problem_is_shown_and_the_fill_goes_on(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    ask(deps, sized(deps, GB))
    _, (fill,) = desired_fills.desired_for(deps, agent)
    cache_reports.observe_fills(deps, agent, [told(fill, "failed", problem="the store is away", transient=True)])
    (row,) = listed(deps)
    assert (row.state, row.problem) == (CachedState.FILLING, "the store is away")
    cache_reports.observe_fills(deps, agent, [told(fill, "filling", done_bytes=5)])
    assert listed(deps)[0].problem is None


def test_agents_of_other_sites_change_nothing(deps: Deps) -> None:
    agent, other = an_agent(deps), an_agent(deps, "elsewhere")
    a_volume(deps, agent)
    ask(deps, sized(deps, GB))
    _, (fill,) = desired_fills.desired_for(deps, agent)
    assert desired_fills.desired_for(deps, other) == ([], [])
    cache_reports.observe_fills(deps, other, [told(fill, "ready")])
    cache_reports.observe_volumes(deps, other, [sees(the_volume(deps), problem="mine now")])
    assert listed(deps)[0].state is CachedState.FILLING
    assert the_volume(deps).problem is None


def test_one_agent_of_a_site_fills(deps: Deps, clock: FakeClock) -> None:
    first = an_agent(deps)
    clock.advance(1)
    second = an_agent(deps)
    a_volume(deps, first)
    ask(deps, sized(deps, GB))
    assert len(desired_fills.desired_for(deps, first)[1]) == 1
    volumes, fills = desired_fills.desired_for(deps, second)
    assert (len(volumes), fills) == (1, [])


def test_what_does_not_fit_is_refused_before_the_first_byte(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent, capacity=10 * GB, reserve_bytes=GB)
    with pytest.raises(DoesNotFit) as caught:
        ask(deps, sized(deps, 10 * GB))
    assert caught.value.details["blockers"] == []
    held = sized(deps, 6 * GB)
    cached = ask(deps, held).cached
    carry_out(deps, agent)
    job = lease(deps, cached.id)
    with pytest.raises(DoesNotFit, match="is in use by job default/train"):
        ask(deps, sized(deps, 4 * GB))
    release(deps, job)
    assert ask(deps, sized(deps, 4 * GB)).started


def test_a_fill_begins_only_when_what_makes_room_for_it_is_gone(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent, capacity=10 * GB, reserve_bytes=0)
    old, new = sized(deps, 6 * GB), sized(deps, 7 * GB)
    ask(deps, old)
    carry_out(deps, agent)
    ask(deps, new)
    assert [(fill.want, fill.commit_id) for fill in desired_fills.desired_for(deps, agent)[1]] == [("absent", old.id)]
    assert volume_service.get(deps, "nfs").used_bytes == 6 * GB
    carry_out(deps, agent)
    assert [(fill.want, fill.commit_id) for fill in desired_fills.desired_for(deps, agent)[1]] == [("present", new.id)]
    assert reasons(deps) == ["evicted to make space for another commit"]


def test_who_may_not_see_what_stands_in_the_way_is_not_told(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent, capacity=10 * GB)
    projects.create(deps, the_admin(deps), name="secret")
    hidden = a_sized_commit(deps, a_dataset(deps, "formula", project="secret"), size=6 * GB, branch="main")
    cached = cache_requests.request(deps, the_admin(deps), dataset="secret/formula", volume="nfs").cached
    carry_out(deps, agent)
    lease(deps, cached.id)
    maria = an_actor(deps, "maria", default=Role.MEMBER)
    with pytest.raises(DoesNotFit) as caught:
        ask(deps, sized(deps, 6 * GB), actor=maria)
    text = f"{caught.value.message} {caught.value.details}"
    assert "formula" not in text and "secret" not in text and hidden.id[:8] not in text
    assert caught.value.details["blockers"] == ["a commit of another project is in use by job default/train"]
    with pytest.raises(NotFound):
        cache_requests.clear(deps, maria, cached.id)


def test_clearing_goes_through_the_agent_and_is_refused_while_in_use(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    cached = ask(deps, sized(deps, GB)).cached
    carry_out(deps, agent)
    job = lease(deps, cached.id)
    with pytest.raises(InUse) as caught:
        cache_requests.clear(deps, the_admin(deps), cached.id)
    assert caught.value.details["depends"] == ["job default/train"]
    release(deps, job)
    cache_requests.pin(deps, the_admin(deps), cached.id, pinned=True)
    with pytest.raises(InUse, match="pinned"):
        cache_requests.clear(deps, the_admin(deps), cached.id)
    cache_requests.pin(deps, the_admin(deps), cached.id, pinned=False)
    cache_requests.clear(deps, the_admin(deps), cached.id)
    cache_requests.clear(deps, the_admin(deps), cached.id)
    assert listed(deps)[0].state is CachedState.EVICTING
    carry_out(deps, agent)
    assert listed(deps) == []
    assert reasons(deps) == ["cleared by admin"]


def test_a_fill_that_failed_takes_no_room_on_its_way_out(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent, capacity=100 * GB)
    failed = ask(deps, sized(deps, 60 * GB)).cached
    _, (fill,) = desired_fills.desired_for(deps, agent)
    cache_reports.observe_fills(deps, agent, [told(fill, "failed", problem="a name too long for this disk")])
    carry_out(deps, agent)
    ask(deps, sized(deps, 70 * GB))
    carry_out(deps, agent)
    cache_requests.clear(deps, the_admin(deps), failed.id)
    assert volume_service.get(deps, "nfs").used_bytes == 70 * GB
    waiting = ask(deps, sized(deps, 20 * GB)).cached
    assert not waiting.waiting
    carry_out(deps, agent)
    assert [one.bytes for one in listed(deps)] in ([70 * GB, 20 * GB], [20 * GB, 70 * GB])


def test_who_waits_for_an_agent_that_is_away_is_told_so(deps: Deps, clock: FakeClock) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    cached = ask(deps, sized(deps, GB)).cached
    assert cached.problem is None
    clock.advance(120)
    (shown,) = listed(deps)
    assert (shown.problem or "").startswith("The agent that fills nfs has been silent since 12:00:00 UTC.")
    assert shown.seconds_left is None
    clock.advance(1)
    assert listed(deps)[0].problem == shown.problem, "whoever waits is told it once"
    carry_out(deps, agent)
    (shown,) = listed(deps)
    assert (shown.state, shown.problem) == (CachedState.READY, None)
    verification.verify(deps, the_admin(deps), shown.id)
    clock.advance(120)
    assert "has been silent" in (listed(deps)[0].problem or "")


def test_viewers_look_and_members_act(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    commit = sized(deps, GB)
    viewer = an_actor(deps, "victor", default=Role.VIEWER)
    with pytest.raises(Forbidden):
        ask(deps, commit, actor=viewer)
    cached = ask(deps, commit, actor=an_actor(deps, "maria", default=Role.MEMBER)).cached
    assert cache_requests.get(deps, viewer, cached.id).requested_by == "maria"
    with pytest.raises(Forbidden):
        cache_requests.clear(deps, viewer, cached.id)


def test_what_is_leaving_is_asked_for_again_when_it_has_left(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    commit = sized(deps, GB)
    cached = ask(deps, commit).cached
    carry_out(deps, agent)
    cache_requests.clear(deps, the_admin(deps), cached.id)
    with pytest.raises(NotReady):
        ask(deps, commit)
    carry_out(deps, agent)
    assert ask(deps, commit).started


def test_idle_commits_go_after_their_time_and_leases_count_as_use(deps: Deps, clock: FakeClock) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    cached = ask(deps, sized(deps, GB)).cached
    carry_out(deps, agent)
    job = lease(deps, cached.id)
    clock.advance(3 * DAY)
    assert eviction.evict_all(deps) == 0
    release(deps, job)
    clock.advance(DAY - 1)
    assert eviction.evict_all(deps) == 0
    clock.advance(1)
    assert eviction.evict_all(deps) == 1
    assert eviction.evict_all(deps) == 0
    carry_out(deps, agent)
    assert reasons(deps) == ["unused for 1 d; the idle time is 1 d"]


def test_a_volume_that_vanished_keeps_what_is_known_and_is_used_again(deps: Deps, clock: FakeClock) -> None:
    agent = an_agent(deps)
    volume = a_volume(deps, agent)
    commit = sized(deps, GB)
    ask(deps, commit)
    carry_out(deps, agent)
    clock.advance(2 * DAY)
    cache_reports.observe_volumes(deps, agent, [sees(volume, problem="The directory is gone.")])
    assert eviction.evict_all(deps) == 0
    with pytest.raises(VolumeProblem, match="directory is gone"):
        ask(deps, sized(deps, GB))
    shown = volume_service.get(deps, "nfs")
    assert (shown.volume.problem, shown.connected) == ("The directory is gone.", False)
    assert [row.state for row in listed(deps)] == [CachedState.READY]
    cache_reports.observe_volumes(deps, agent, [sees(volume, free=90 * GB, commits=[commit])])
    assert volume_service.get(deps, "nfs").volume.problem is None
    assert ask(deps, sized(deps, GB)).started


def test_a_commit_gone_from_a_healthy_volume_is_forgotten_or_filled_again(deps: Deps, clock: FakeClock) -> None:
    agent = an_agent(deps)
    volume = a_volume(deps, agent)
    lost, needed = sized(deps, GB), sized(deps, GB)
    ask(deps, lost)
    lease(deps, ask(deps, needed).cached.id)
    carry_out(deps, agent)
    nothing = sees(volume, free=90 * GB, commits=[])
    cache_reports.observe_volumes(deps, agent, [nothing])  # the report may be older than the rows
    assert [row.state for row in listed(deps)] == [CachedState.READY, CachedState.READY]
    clock.advance(60)
    cache_reports.observe_volumes(deps, agent, [nothing])
    assert [(row.commit_id, row.state) for row in listed(deps)] == [(needed.id, CachedState.FILLING)]
    assert reasons(deps) == ["it was missing from the volume"]


def test_without_a_capacity_the_agents_measure_is_taken_once(deps: Deps) -> None:
    agent = an_agent(deps)
    volume = a_volume(deps, agent, capacity=None)
    assert (volume.capacity_bytes, volume.reserve_bytes) == (100 * GB, 5 * GB)
    cache_reports.observe_volumes(deps, agent, [sees(volume, free=50 * GB)])
    assert the_volume(deps).capacity_bytes == 100 * GB


def test_the_emptiest_volume_is_chosen_or_the_one_that_has_it(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent, "small", capacity=10 * GB)
    a_volume(deps, agent, "large", capacity=50 * GB)
    commit, other = sized(deps, GB), sized(deps, GB)
    assert ask(deps, commit, volume=None).cached.volume == "large"
    ask(deps, other, volume="small")
    assert ask(deps, other, volume=None).cached.volume == "small"


def test_without_any_volume_the_answer_says_what_to_do(deps: Deps) -> None:
    with pytest.raises(VolumeProblem) as caught:
        ask(deps, sized(deps, GB), volume=None)
    assert "mill volume add" in str(caught.value.hint)


# For jobs ------------------------------------------------------------------------------------------


def ensure(deps: Deps, job_id: str, *wanted: Commit) -> list[CachedState]:
    with deps.db.write() as tx:
        found = job_caches.ensure_cached_for_job(
            tx,
            now=deps.clock.now(),
            job_id=job_id,
            requested_by=the_admin(deps).name,
            commits=[commit.id for commit in wanted],
            volume_id=the_volume(deps).id,
        )
    return [view.cached.state for view in found]


def test_a_job_holds_all_of_its_data_and_lets_go_at_the_end(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent, capacity=10 * GB, reserve_bytes=0)
    one, two, other = sized(deps, 4 * GB), sized(deps, 4 * GB), sized(deps, 4 * GB)
    ask(deps, one)
    ask(deps, other)
    carry_out(deps, agent)
    job = add_job(deps.db)
    # Making room for the second input evicts what nobody holds, never the first input.
    assert ensure(deps, job.id, one, two) == [CachedState.READY, CachedState.FILLING]
    assert {row.commit_id for row in listed(deps) if row.state is CachedState.EVICTING} == {other.id}
    carry_out(deps, agent)
    carry_out(deps, agent)
    assert ensure(deps, job.id, one, two) == [CachedState.READY, CachedState.READY]
    assert all(len(row.leased_by) == 1 for row in listed(deps))
    release(deps, job.id)
    assert not any(row.leased_by for row in listed(deps))


def test_a_job_whose_data_does_not_fit_changes_nothing(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent, capacity=10 * GB, reserve_bytes=0)
    small, large = sized(deps, 4 * GB), sized(deps, 8 * GB)
    ask(deps, small)
    carry_out(deps, agent)
    job = add_job(deps.db)
    with pytest.raises(DoesNotFit):
        ensure(deps, job.id, small, large)
    (row,) = listed(deps)
    assert (row.commit_id, row.leased_by, row.state) == (small.id, [], CachedState.READY)


def test_a_failed_fill_is_tried_anew_for_a_job_after_a_while(deps: Deps, clock: FakeClock) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    commit = sized(deps, GB)
    job = add_job(deps.db)
    ensure(deps, job.id, commit)
    _, (fill,) = desired_fills.desired_for(deps, agent)
    cache_reports.observe_fills(deps, agent, [told(fill, "failed", problem="a name too long for this disk")])
    assert ensure(deps, job.id, commit) == [CachedState.FAILED]
    clock.advance(61)
    assert ensure(deps, job.id, commit) == [CachedState.FILLING]


def test_an_agent_reads_only_what_it_is_told_to_bring_or_check_and_only_of_that_commit(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    commit = a_commit(deps, {"a": b"1"})
    other = a_commit(deps, {"b": b"2"})
    dataset = a_dataset(deps)
    actor = Actor(kind=ActorKind.AGENT, name="agent", agent_id=agent.id, site_id=agent.site_id)
    own = UrlsWanted(pages=[commit.tree], locators=[commit.tree])
    with pytest.raises(Forbidden):
        urls.sign(deps, actor, dataset, commit, own)
    ask(deps, commit)
    assert set(urls.sign(deps, actor, dataset, commit, own).pages) == {commit.tree}
    with pytest.raises(NotFound):
        urls.sign(deps, actor, dataset, commit, UrlsWanted(pages=[other.tree]))
    with pytest.raises(Forbidden):
        urls.sign(deps, actor, dataset, other, UrlsWanted(pages=[other.tree]))
    carry_out(deps, agent)
    with pytest.raises(Forbidden):
        urls.sign(deps, actor, dataset, commit, own)
    ask(deps, other)
    assert set(urls.sign(deps, actor, dataset, commit, own).pages) == {commit.tree}, "the other links from it"
    carry_out(deps, agent)
    verification.verify(deps, the_admin(deps), listed(deps)[0].id)
    verified = [item.commit_id for item in listed(deps) if item.verification]
    for one in (commit, other):
        asked = UrlsWanted(pages=[one.tree])
        if one.id in verified:
            assert urls.sign(deps, actor, dataset, one, asked).pages
        else:
            with pytest.raises(Forbidden):
                urls.sign(deps, actor, dataset, one, asked)
    elsewhere = Actor(kind=ActorKind.AGENT, name="other", agent_id="other", site_id="other")
    with pytest.raises(Forbidden):
        urls.sign(deps, elsewhere, dataset, commit, own)
