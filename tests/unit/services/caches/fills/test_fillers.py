"""One agent works on a volume; another takes over when it is away or cannot; what was under way gets new numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millpond.db import shares, tables
from millpond.model.agent import Agent
from millpond.model.dataset import Commit
from millpond.model.volume import CacheVerification, Share
from millpond.services.caches import requests as cache_requests
from millpond.services.caches.fills import desired as desired_fills
from millpond.services.caches.fills import reports as cache_reports
from millpond.services.caches.verification import verify
from millpond.services.deps import Deps
from millpond.services.places import volumes as volume_service
from millpond.services.unchanged_since import Unchanged
from millpond.testing.builders_data import (
    GB,
    a_dataset,
    a_sized_commit,
    a_volume,
    an_agent,
    carry_out,
    sees,
    the_admin,
    the_volume,
    told,
)
from millpond.testing.clock import FakeClock
from millpond.wire.desired import DesiredFill, DesiredVolume
from millpond.wire.observed import ProjectShares, ShareSeen, Verified


def ask(deps: Deps, commit: Commit) -> str:
    return cache_requests.request(deps, the_admin(deps), dataset=f"xray@{commit.id}", volume="nfs").cached.id


def a_new_commit(deps: Deps, **options: str) -> Commit:
    return a_sized_commit(deps, a_dataset(deps, "xray"), size=GB, **options)  # type: ignore[arg-type]


def fills_of(deps: Deps, agent: Agent) -> list[DesiredFill]:
    return desired_fills.desired_for(deps, agent)[1]


def volume_of(deps: Deps, agent: Agent) -> DesiredVolume:
    return desired_fills.desired_for(deps, agent)[0][0]


def look(deps: Deps, agent: Agent, problem: str | None = None) -> None:
    cache_reports.observe_volumes(deps, agent, [sees(the_volume(deps), free=50 * GB, problem=problem)])


def hear_of(deps: Deps, agent: Agent) -> None:
    with deps.db.write() as tx:
        tx.execute(tables.agent.update().where(tables.agent.c.id == agent.id).values(seen_at=deps.clock.now()))


def test_another_takes_over_when_the_one_that_fills_is_away(deps: Deps, clock: FakeClock) -> None:
    first, second = an_agent(deps), an_agent(deps)
    a_volume(deps, first)
    ask(deps, a_new_commit(deps))
    (before,) = fills_of(deps, first)
    clock.advance(30)
    look(deps, second)
    assert fills_of(deps, second) == []
    assert (volume_of(deps, first).tended, volume_of(deps, second).tended) == (True, False)
    clock.advance(30)
    look(deps, second)
    (after,) = fills_of(deps, second)
    assert after.attempt > before.attempt
    assert fills_of(deps, first) == []
    cache_reports.observe_fills(deps, first, [told(before, "ready")])
    assert fills_of(deps, second) == [after], "what the first one still says no longer counts"
    look(deps, first)
    assert fills_of(deps, second) == [after], "whoever comes back waits"
    cache_reports.observe_fills(deps, second, [told(after, "ready")])
    assert fills_of(deps, second) == []


@pytest.mark.parametrize("hour", [3600, -3600])
def test_who_fills_does_not_go_by_the_time_of_day(deps: Deps, clock: FakeClock, hour: int) -> None:
    """Somebody sets the clock: the one that fills is asked no less, and is replaced no later, for that."""
    first, second = an_agent(deps), an_agent(deps)
    a_volume(deps, first)
    look(deps, second)
    clock.set_ahead(hour)
    look(deps, second)
    assert the_volume(deps).filler_id == first.id, "no time has passed since it was heard of"
    clock.advance(60)
    look(deps, second)
    assert the_volume(deps).filler_id == second.id


def test_an_agent_long_gone_is_not_appointed_by_a_server_that_just_started(deps: Deps, clock: FakeClock) -> None:
    gone, first, second = an_agent(deps), an_agent(deps), an_agent(deps)
    a_volume(deps, gone)
    clock.advance(60)
    look(deps, first)
    clock.advance(60)
    started = replace(deps, unchanged=Unchanged())
    look(started, second)
    assert the_volume(deps).filler_id == first.id, "this server has not counted its silence yet"
    clock.advance(60)
    look(started, second)
    assert the_volume(deps).filler_id == second.id


def test_another_takes_over_when_it_finds_the_volume_well_and_the_first_does_not(deps: Deps) -> None:
    first, second = an_agent(deps), an_agent(deps)
    a_volume(deps, first)
    look(deps, second, problem="It is not mounted here.")
    assert the_volume(deps).problem is None, "what another one cannot see is no problem of the volume"
    look(deps, first, problem="The mount is gone.")
    assert the_volume(deps).problem == "The mount is gone."
    look(deps, second)
    assert (the_volume(deps).problem, the_volume(deps).filler_id) == (None, second.id)
    look(deps, first)
    assert the_volume(deps).filler_id == second.id


def test_only_one_agent_may_make_a_directory_into_a_volume(deps: Deps, clock: FakeClock) -> None:
    first = an_agent(deps)
    clock.advance(1)
    second = an_agent(deps)
    volume_service.create(deps, the_admin(deps), name="nfs", path="/mnt/nfs", site=first.site)
    hear_of(deps, first)
    hear_of(deps, second)
    assert (volume_of(deps, first).new, volume_of(deps, second).new) == (True, False)
    clock.advance(60)
    hear_of(deps, second)
    assert (volume_of(deps, first).new, volume_of(deps, second).new) == (False, True)
    look(deps, second)
    assert (volume_of(deps, first).new, volume_of(deps, second).new) == (False, False)


def test_files_may_be_taken_from_what_is_ready(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    old = a_new_commit(deps)
    ask(deps, old)
    assert fills_of(deps, agent)[0].bases == []
    carry_out(deps, agent)
    ask(deps, a_new_commit(deps))
    assert [base.commit_id for base in fills_of(deps, agent)[0].bases] == [old.id]


def test_what_was_not_measured_is_asked_for(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    one, two = a_new_commit(deps), a_new_commit(deps)
    ids = {commit.id: ask(deps, commit) for commit in (one, two)}
    assert volume_of(deps, agent).measure == []
    carry_out(deps, agent)
    (wanted,) = volume_of(deps, agent).measure
    assert sorted(commit for _, commit in wanted.commits) == sorted(ids)
    measured = ProjectShares(
        project_id=wanted.project_id,
        commits=[one.id, two.id],
        shares=[
            ShareSeen(commits=[one.id], bytes=10, inodes=1),
            ShareSeen(commits=[one.id, two.id], bytes=90, inodes=9),
            ShareSeen(commits=[two.id], bytes=5, inodes=1),
        ],
    )
    stale = measured.model_copy(update={"commits": [one.id]})
    for told_shares, known in ((stale, 0), (measured, 3)):
        seen = sees(the_volume(deps), free=50 * GB).model_copy(update={"shares": [told_shares]})
        cache_reports.observe_volumes(deps, agent, [seen])
        with deps.db.read() as tx:
            found = shares.of_volume(tx, the_volume(deps).id)
        assert len(found) == known
    assert Share(frozenset(ids.values()), 90, 9) in found
    assert volume_of(deps, agent).measure == []


def test_branches_lead_to_what_is_ready(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    commit = a_new_commit(deps, branch="main")
    ask(deps, commit)
    assert volume_of(deps, agent).pointers == []
    carry_out(deps, agent)
    (pointer,) = volume_of(deps, agent).pointers
    assert (pointer.project, pointer.dataset, pointer.branch, pointer.commit_id) == (
        "default", "xray", "main", commit.id,
    )  # fmt: skip


def verification(deps: Deps, cached_id: str) -> CacheVerification | None:
    return cache_requests.get(deps, the_admin(deps), cached_id).verification


def test_a_verification_is_told_carried_out_and_shown(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    cached = ask(deps, a_new_commit(deps))
    carry_out(deps, agent)
    verify(deps, the_admin(deps), cached)
    (wanted,) = fills_of(deps, agent)
    assert wanted.want == "verified"
    cache_reports.observe_fills(deps, agent, [told(wanted, "verifying", done_files=3, done_bytes=30)])
    running = verification(deps, cached)
    assert running and (running.state, running.checked_files) == ("running", 3)
    found = Verified(checked_files=9, checked_bytes=90, damaged_files=1, missing_files=1, healed_files=2)
    cache_reports.observe_fills(deps, agent, [told(wanted, "verified", verified=found.model_dump())])
    done = verification(deps, cached)
    assert done and (done.state, done.checked_files, done.damaged_files, done.healed_files) == ("done", 9, 2, 2)
    assert fills_of(deps, agent) == []


def test_what_was_healed_is_measured_anew(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    commit = a_new_commit(deps)
    cached = ask(deps, commit)
    carry_out(deps, agent)
    (asked,) = volume_of(deps, agent).measure
    share = ShareSeen(commits=[commit.id], bytes=10, inodes=1)
    measured = ProjectShares(project_id=asked.project_id, commits=[commit.id], shares=[share])
    seen = sees(the_volume(deps), free=50 * GB, commits=[commit]).model_copy(update={"shares": [measured]})
    cache_reports.observe_volumes(deps, agent, [seen])
    for healed, again in ((0, []), (1, [asked])):
        verify(deps, the_admin(deps), cached)
        (wanted,) = fills_of(deps, agent)
        found = Verified(checked_files=9, missing_files=healed, healed_files=healed)
        cache_reports.observe_fills(deps, agent, [told(wanted, "verified", verified=found.model_dump())])
        assert volume_of(deps, agent).measure == again


def test_a_verification_that_cannot_be_done_says_why(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    cached = ask(deps, a_new_commit(deps))
    carry_out(deps, agent)
    verify(deps, the_admin(deps), cached)
    (wanted,) = fills_of(deps, agent)
    away = told(wanted, "failed", problem="The lake is away.", transient=True)
    cache_reports.observe_fills(deps, agent, [away])
    waiting = verification(deps, cached)
    assert waiting and (waiting.state, waiting.problem) == ("running", "The lake is away.")
    cache_reports.observe_fills(deps, agent, [told(wanted, "failed", problem="The lake is damaged.")])
    failed = verification(deps, cached)
    assert failed and (failed.state, failed.problem) == ("failed", "The lake is damaged.")


def test_a_verification_goes_on_with_another_agent_under_another_number(deps: Deps, clock: FakeClock) -> None:
    first, second = an_agent(deps), an_agent(deps)
    a_volume(deps, first)
    cached = ask(deps, a_new_commit(deps))
    carry_out(deps, first)
    verify(deps, the_admin(deps), cached)
    (before,) = fills_of(deps, first)
    clock.advance(60)
    look(deps, second)
    (after,) = fills_of(deps, second)
    assert (after.want, after.attempt > before.attempt) == ("verified", True)
    cache_reports.observe_fills(deps, first, [told(before, "verified")])
    assert fills_of(deps, second) == [after]
