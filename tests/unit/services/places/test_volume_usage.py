"""Hits and misses, bandwidth, samples of how full volumes are, and what is told of it to whom."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from millpond.errors import BadRequest
from millpond.model.fill_source import SourceKind
from millpond.model.people import Actor
from millpond.services.caches import requests as cache_requests
from millpond.services.caches.fills import desired as desired_fills
from millpond.services.caches.fills import reports as cache_reports
from millpond.services.deps import Deps
from millpond.services.home import home
from millpond.services.places import volume_usage
from millpond.testing.builders_data import GB, a_dataset, a_sized_commit, a_volume, an_actor, an_agent, the_admin, told
from millpond.testing.clock import FakeClock
from millpond.wire.observed import SourceSeen


def ask(deps: Deps, dataset: str = "xray", actor: Actor | None = None) -> None:
    cache_requests.request(deps, actor or the_admin(deps), dataset=dataset, volume="nfs")


def make(deps: Deps, *, size: int = GB, project: str = "default") -> None:
    a_sized_commit(deps, a_dataset(deps, project=project), size=size, branch="main")


def test_asking_again_is_a_hit_that_saves_its_bytes_and_their_time(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    make(deps)
    ask(deps), ask(deps)  # the second while it is filling: it waits like the first, and has saved nothing
    before = volume_usage.summary(deps, the_admin(deps)).total
    assert (before.hits, before.misses, before.saved_bytes, before.saved_seconds) == (0, 1, 0, 0)
    (fill,) = desired_fills.desired_for(deps, agent)[1]
    cache_reports.observe_fills(deps, agent, [told(fill, "ready", **from_lake(GB), seconds=4.0)])
    ask(deps)
    after = volume_usage.summary(deps, the_admin(deps)).total
    assert (after.hits, after.misses, after.saved_bytes, after.saved_seconds) == (1, 1, GB, 4)
    assert (after.fills, after.filled_bytes, after.fill_seconds) == (1, GB, 4)
    assert after.hit_rate == pytest.approx(1 / 2)
    shown = home(deps, the_admin(deps))
    assert (shown.uses.saved_bytes, shown.fills_running, shown.volumes_connected) == (GB, 0, 1)


def test_who_joins_a_fill_of_somebody_else_saves_its_bytes_but_no_time(deps: Deps) -> None:
    a_volume(deps, an_agent(deps))
    make(deps)
    ask(deps)
    ask(deps, actor=replace(the_admin(deps), name="maria"))
    found = volume_usage.summary(deps, the_admin(deps)).total
    assert (found.hits, found.misses, found.saved_bytes, found.saved_seconds) == (0, 1, GB, 0)


def test_bandwidth_is_measured_by_fills_and_tells_the_time_left(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    make(deps)
    ask(deps)
    (fill,) = desired_fills.desired_for(deps, agent)[1]
    (running,) = volume_usage.summary(deps, the_admin(deps)).fills
    assert (running.seconds_left, running.bytes_per_second, running.cached.cached.attempt == 0) == (None, None, False)
    lately = {"recent_bytes": GB // 4, "recent_seconds": 1.0}
    progress = told(fill, "filling", done_bytes=GB // 4, **from_lake(GB // 4), seconds=600.0, **lately)
    cache_reports.observe_fills(deps, agent, [progress])
    (running,) = volume_usage.summary(deps, the_admin(deps)).fills
    assert (running.bytes_per_second, running.seconds_left, running.source) == (GB / 4, 3, "lake"), (
        "by its last seconds, whatever outage was before"
    )
    deps.clock.advance(16)  # type: ignore[attr-defined]
    (running,) = volume_usage.summary(deps, the_admin(deps)).fills
    assert (running.bytes_per_second, running.seconds_left) == (None, None), "nothing has come for a while"
    cache_reports.observe_fills(deps, agent, [told(fill, "ready", **from_lake(GB), seconds=5.0)])
    (measured,) = volume_usage.usage(deps, the_admin(deps), "nfs", None, None).bandwidth
    assert (measured.source, measured.bytes_per_second, measured.fills) == ("lake", GB / 5, 1)
    assert volume_usage.summary(deps, the_admin(deps)).fills == []
    a_sized_commit(deps, a_dataset(deps, "next"), size=2 * GB, branch="main")
    added = cache_requests.request(deps, the_admin(deps), dataset="next", volume="nfs")
    assert "it takes about 10.0 s, judging by earlier fills" in added.reasons
    (running,) = volume_usage.summary(deps, the_admin(deps)).fills
    assert running.seconds_left == 10, "by what the fill before brought"
    (fill,) = desired_fills.desired_for(deps, agent)[1]
    held_up = told(fill, "failed", problem="The disk is too full.", transient=True)
    cache_reports.observe_fills(deps, agent, [held_up])
    (running,) = volume_usage.summary(deps, the_admin(deps)).fills
    assert (running.seconds_left, running.cached.cached.problem) == (None, "The disk is too full."), (
        "nobody knows for how long"
    )


def test_tiny_fills_measure_nothing(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    make(deps, size=1000)
    ask(deps)
    (fill,) = desired_fills.desired_for(deps, agent)[1]
    cache_reports.observe_fills(deps, agent, [told(fill, "ready", **from_lake(1000), seconds=0.001)])
    assert volume_usage.usage(deps, the_admin(deps), "nfs", None, None).bandwidth == []


def test_samples_are_kept_by_the_minute_for_a_day_and_by_the_hour_for_90(deps: Deps, clock: FakeClock) -> None:
    a_volume(deps, an_agent(deps), capacity=100 * GB, reserve_bytes=0)
    make(deps)
    start = clock.now()
    for _ in range(30):
        volume_usage.sample_all(deps, clock.now())
        volume_usage.sample_all(deps, clock.now())  # two servers
        clock.advance(3600)
    ask(deps)
    volume_usage.sample_all(deps, clock.now())
    day = volume_usage.usage(deps, the_admin(deps), "nfs", None, None)
    assert day.step_seconds == 60
    assert day.samples[-1].reserved_bytes == GB
    assert min(sample.at for sample in day.samples) >= clock.now() - timedelta(days=1)
    longer = volume_usage.usage(deps, the_admin(deps), "nfs", start - timedelta(days=1), None)
    assert (longer.step_seconds, len(longer.samples)) == (3600, 31)
    clock.advance(91 * 86_400)
    volume_usage.sample_all(deps, clock.now())
    assert len(volume_usage.usage(deps, the_admin(deps), "nfs", start, None).samples) == 1


def test_a_time_that_ends_before_it_begins_is_refused(deps: Deps, clock: FakeClock) -> None:
    a_volume(deps, an_agent(deps))
    with pytest.raises(BadRequest):
        volume_usage.usage(deps, the_admin(deps), "nfs", clock.now(), clock.now() - timedelta(days=1))


def test_how_full_volumes_are_is_for_everybody_and_how_they_are_used_for_those_who_may_see_it(deps: Deps) -> None:
    a_volume(deps, an_agent(deps))
    stranger = an_actor(deps, "eve")
    make(deps)
    ask(deps), ask(deps)
    seen = volume_usage.summary(deps, stranger)
    assert (seen.volumes, seen.reserved_bytes) == (1, GB)
    assert (seen.total.hits, seen.total.misses, seen.total.hit_rate, seen.fills) == (0, 0, None, [])
    assert volume_usage.usage(deps, stranger, "nfs", None, None).hours == []
    assert [uses.misses for _, uses in volume_usage.usage(deps, the_admin(deps), "nfs", None, None).hours] == [1]


def from_lake(size: int) -> dict[str, Any]:
    return {"sources": [SourceSeen(kind=SourceKind.LAKE, bytes=size)]}
