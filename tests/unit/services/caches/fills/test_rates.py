"""Limits as agents are told them, in estimates and reasons; and fills that let others go first."""

from __future__ import annotations

import pytest

from millpond.model.agent import Agent
from millpond.model.rate_limit import LimitWindow, RateLimit
from millpond.services.caches import policies
from millpond.services.caches import requests as cache_requests
from millpond.services.caches.explain import why as cache_why
from millpond.services.caches.fills import desired as desired_fills
from millpond.services.caches.fills import reports as cache_reports
from millpond.services.deps import Deps
from millpond.services.places import links, rate_limits
from millpond.testing.builders_data import GB, a_dataset, a_sized_commit, a_volume, an_agent, the_admin, told
from millpond.testing.clock import FakeClock
from millpond.wire.desired import DesiredFill
from millpond.wire.observed import SourceSeen, VolumeSeen

MBIT = 10**6
ALWAYS = RateLimit((LimitWindow(80 * MBIT),))
# The clock of tests begins at noon, UTC.
WINDOW = RateLimit((LimitWindow(80 * MBIT, 8 * 60, 18 * 60, "Europe/Berlin"),))


def limits(deps: Deps, agent: Agent) -> dict[str, int]:
    return {one.id: one.bytes_per_second for one in desired_fills.limits_for(deps, agent)}


def ask(deps: Deps, name: str = "xray", volume: str = "nfs") -> str:
    a_sized_commit(deps, a_dataset(deps, name), size=GB, branch="main")
    return cache_requests.request(deps, the_admin(deps), name, volume=volume).cached.id


def fills(deps: Deps, agent: Agent) -> dict[str, DesiredFill]:
    return {one.dataset: one for one in desired_fills.desired_for(deps, agent)[1]}


def reasons(deps: Deps, name: str = "xray") -> list[str]:
    return [reason for one in cache_why.why(deps, the_admin(deps), name).volumes for reason in one.reasons]


def test_agents_of_a_site_share_its_limit(deps: Deps) -> None:
    first, second = an_agent(deps), an_agent(deps)
    a_volume(deps, first)
    a_volume(deps, second, "other")
    rate_limits.limit_site(deps, the_admin(deps), "lab", ALWAYS)
    assert limits(deps, first) == limits(deps, second) == {"site": 10_000_000}, "the first to begin has it"
    ask(deps)
    assert limits(deps, first)["site"] == 10_000_000
    ask(deps, "ct", "other")
    assert limits(deps, first) == limits(deps, second) == {"site": 5_000_000}
    rate_limits.limit_site(deps, the_admin(deps), "lab", None)
    assert limits(deps, first) == {}


def test_a_window_ends_by_itself(deps: Deps, clock: FakeClock) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    rate_limits.limit_link(deps, the_admin(deps), "lab", "lake", WINDOW)
    assert limits(deps, agent) == {"lake": 10_000_000}
    clock.advance(6 * 3600)
    assert limits(deps, agent) == {}
    clock.advance(14 * 3600)
    assert limits(deps, agent) == {"lake": 10_000_000}


def test_the_limit_counts_in_the_time_left_and_is_said(deps: Deps) -> None:
    a_volume(deps, an_agent(deps))
    rate_limits.limit_link(deps, the_admin(deps), "lab", "lake", WINDOW)
    cached_id = ask(deps)
    shown = cache_requests.get(deps, the_admin(deps), cached_id)
    assert shown.seconds_left == pytest.approx(GB / 10_000_000)
    said = [one for one in reasons(deps) if one.startswith("limited to 80 Mbit/s until ")]
    assert said and said[0].endswith("Europe/Berlin")


def test_a_limited_fill_says_nothing_of_the_line(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    rate_limits.limit_link(deps, the_admin(deps), "lab", "lake", ALWAYS)
    ask(deps)
    done = told(fills(deps, agent)["xray"], "ready", sources=[SourceSeen(kind="lake", bytes=GB)], seconds=100.0)
    cache_reports.observe_fills(deps, agent, [done])
    (link,) = links.list_all(deps)
    assert link.measured_bytes_per_second is None


def test_a_limited_lake_is_left_for_a_site_that_is_faster(deps: Deps) -> None:
    berlin, paris = an_agent(deps, "berlin"), an_agent(deps, "paris")
    a_volume(deps, berlin, "b")
    a_volume(deps, paris, "p")
    admin = the_admin(deps)
    links.put(deps, admin, "lake", "paris", bits_per_second=10**9)
    links.put(deps, admin, "berlin", "paris", bits_per_second=10**8)
    ask(deps, volume="b")
    cache_reports.observe_fills(deps, berlin, [told(fills(deps, berlin)["xray"], "ready")])
    there = next(one for one in desired_fills.desired_for(deps, paris)[0] if one.path == "/mnt/b")
    cache_reports.observe_volumes(deps, paris, [VolumeSeen(id=there.id)])
    cache_requests.request(deps, admin, "xray", volume="p")
    assert fills(deps, paris)["xray"].source is None
    rate_limits.limit_link(deps, admin, "lake", "paris", RateLimit((LimitWindow(10 * MBIT),)))
    moved = fills(deps, paris)["xray"]
    assert (moved.source, moved.source_site) == (there.id, berlin.site_id)
    assert any("not from the lake" in one and "limited to 10 Mbit/s" in one for one in reasons(deps))


def test_what_nobody_waits_for_lets_others_go_first(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    links.put(deps, the_admin(deps), "lab", "lake", bits_per_second=80 * MBIT)
    a_sized_commit(deps, a_dataset(deps, "kept"), size=GB, branch="main")
    policies.keep(deps, the_admin(deps), "kept", "nfs")
    kept = fills(deps, agent)["kept"]
    assert (kept.prefetch, kept.low_bytes_per_second) == (True, None), "alone it has everything"
    cached_id = ask(deps)
    told_now = fills(deps, agent)
    assert (told_now["xray"].prefetch, told_now["xray"].low_bytes_per_second) == (False, None)
    assert told_now["kept"].low_bytes_per_second == 1_000_000, "a tenth of what the line brings"
    assert any(one.startswith("slowed to 1.0 MB/s: nobody waits for it") for one in reasons(deps, "kept"))
    # A problem of the one that goes first holds nobody up.
    away = told(told_now["xray"], "failed", problem="The lake is away.", transient=True)
    cache_reports.observe_fills(deps, agent, [away])
    assert fills(deps, agent)["kept"].low_bytes_per_second is None
    assert cached_id


def test_asking_for_what_is_prefetched_makes_it_urgent(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent)
    a_sized_commit(deps, a_dataset(deps, "kept"), size=GB, branch="main")
    policies.keep(deps, the_admin(deps), "kept", "nfs")
    assert fills(deps, agent)["kept"].prefetch
    cache_requests.request(deps, the_admin(deps), "kept", volume="nfs")
    assert not fills(deps, agent)["kept"].prefetch
