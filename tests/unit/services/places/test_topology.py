"""Sites and links, which volume serves whom, which volume is chosen, and where fills take their bytes from."""

from __future__ import annotations

import pytest

from millpond.db import caches, shares
from millpond.errors import BadName, BadRequest, DoesNotFit, InUse, NotFound, VolumeProblem
from millpond.model.agent import Agent
from millpond.model.fill_source import SourceKind
from millpond.services.caches import requests as cache_requests
from millpond.services.caches.explain import why as cache_why
from millpond.services.caches.fills import desired as desired_fills
from millpond.services.caches.fills import reports as cache_reports
from millpond.services.caches.requests import Added
from millpond.services.deps import Deps
from millpond.services.places import links, sites, topology
from millpond.testing.builders_data import (
    GB,
    a_dataset,
    a_sized_commit,
    a_volume,
    an_actor,
    an_agent,
    carry_out,
    the_admin,
    the_project,
    told,
)
from millpond.testing.clock import FakeClock
from millpond.wire.observed import SourceSeen, VolumeSeen

GBIT = 10**9


def link(deps: Deps, a: str, b: str, gbit: float | None = None, **more: float) -> None:
    links.put(deps, the_admin(deps), a, b, bits_per_second=gbit and int(gbit * GBIT), **more)


def ask(deps: Deps, **asked: str) -> Added:
    return cache_requests.request(deps, the_admin(deps), dataset="xray", **asked)


def look(deps: Deps, agent: Agent, name: str, problem: str | None = None) -> None:
    """A visitor's look at a volume of another site."""
    wanted = {volume.path: volume.id for volume in desired_fills.desired_for(deps, agent)[0]}
    cache_reports.observe_volumes(deps, agent, [VolumeSeen(id=wanted[f"/mnt/{name}"], problem=problem)])


def serving(deps: Deps, agent: Agent) -> dict[str, bool]:
    drawn = topology.topology(deps, the_admin(deps)).computes
    volumes = next(one.volumes for one in drawn if one.compute.compute.name == agent.compute)
    return {name: served.serves for name, served in volumes}


# Sites and links -------------------------------------------------------------------------------------


def test_a_site_shows_what_stands_there_and_its_links(deps: Deps) -> None:
    agent = an_agent(deps, "berlin")
    a_volume(deps, agent, "fast")
    sites.create(deps, the_admin(deps), "paris")
    link(deps, "paris", "berlin", 25, latency_ms=0.8)
    link(deps, "lake", "berlin", 1, price_per_gb=0.09)
    found = topology.site(deps, "berlin")
    assert (found.volumes, found.computes) == (["fast"], [agent.compute])
    assert [(one.a, one.b, one.near) for one in found.links] == [("lake", "berlin", False), ("berlin", "paris", True)]
    with pytest.raises(NotFound, match="'berlim'"):
        topology.site(deps, "berlim")


def test_saying_something_of_a_link_replaces_all_that_was_said(deps: Deps) -> None:
    an_agent(deps, "berlin"), an_agent(deps, "paris")
    link(deps, "berlin", "paris", 25, latency_ms=0.8)
    link(deps, "paris", "berlin", 1)
    (found,) = links.list_all(deps)
    assert (found.bits_per_second, found.latency_ms, found.near) == (GBIT, None, False)
    links.remove(deps, the_admin(deps), "berlin", "paris")
    assert links.list_all(deps) == []
    with pytest.raises(NotFound):
        links.remove(deps, the_admin(deps), "berlin", "paris")


def test_a_link_has_two_ends_that_are_known(deps: Deps) -> None:
    an_agent(deps, "berlin")
    with pytest.raises(BadRequest):
        link(deps, "berlin", "berlin", 10)
    with pytest.raises(NotFound):
        link(deps, "berlin", "rome", 10)
    with pytest.raises(BadName):
        sites.create(deps, the_admin(deps), "lake")


def test_a_site_goes_when_nothing_stands_there(deps: Deps) -> None:
    agent = an_agent(deps, "berlin")
    a_volume(deps, agent, "fast")
    with pytest.raises(InUse, match="volume fast, compute"):
        sites.remove(deps, the_admin(deps), "berlin")
    sites.create(deps, the_admin(deps), "paris")
    link(deps, "berlin", "paris", 10)
    sites.remove(deps, the_admin(deps), "paris")
    assert links.list_all(deps) == []


# Who serves whom -------------------------------------------------------------------------------------


def test_a_volume_of_another_site_serves_whoever_is_near_and_sees_it(deps: Deps, clock: FakeClock) -> None:
    near, far = an_agent(deps, "near"), an_agent(deps, "far")
    a_volume(deps, an_agent(deps, "berlin"), "fast")
    link(deps, "berlin", "near", 10)
    link(deps, "berlin", "far", 1)
    assert (serving(deps, near)["fast"], serving(deps, far)["fast"]) == (False, False)
    look(deps, near, "fast"), look(deps, far, "fast")
    assert (serving(deps, near)["fast"], serving(deps, far)["fast"]) == (True, False)
    look(deps, near, "fast", "The directory /mnt/fast does not exist.")
    assert not serving(deps, near)["fast"]
    look(deps, near, "fast")
    clock.advance(120)  # a look that is old says nothing
    assert not serving(deps, near)["fast"]


def test_agents_look_at_volumes_of_linked_sites_and_write_nothing_there(deps: Deps) -> None:
    agent = an_agent(deps, "gpu")
    fast = a_volume(deps, an_agent(deps, "berlin"), "fast")
    assert desired_fills.desired_for(deps, agent)[0] == []
    link(deps, "berlin", "gpu", 1)
    (wanted,) = desired_fills.desired_for(deps, agent)[0]
    assert (wanted.id, wanted.visited, wanted.tended, wanted.new) == (fast.id, True, False, False)


def test_a_visitor_says_nothing_of_the_volume_itself(deps: Deps) -> None:
    visitor, agent = an_agent(deps, "gpu"), an_agent(deps, "berlin")
    a_volume(deps, agent, "fast")
    link(deps, "berlin", "gpu", 10)
    look(deps, visitor, "fast", "It does not answer.")
    (shown,) = topology.topology(deps, the_admin(deps)).volumes
    assert (shown.volume.volume.problem, shown.volume.connected) == (None, True)


def test_limits_of_projects_one_may_not_see_are_not_drawn(deps: Deps) -> None:
    volume = a_volume(deps, an_agent(deps), "fast")
    with deps.db.write() as tx:
        shares.set_limit(tx, volume.id, the_project(deps).id, 10 * GB)
    limits = [topology.topology(deps, who).volumes[0].volume.limits for who in (the_admin(deps), an_actor(deps, "eve"))]
    assert [len(found) for found in limits] == [1, 0]


# Which volume ----------------------------------------------------------------------------------------


def test_near_a_compute_or_a_site(deps: Deps) -> None:
    berlin, paris = an_agent(deps, "berlin"), an_agent(deps, "paris")
    a_volume(deps, berlin, "b", capacity=1000 * GB)
    a_volume(deps, paris, "p", capacity=10 * GB)
    a_sized_commit(deps, a_dataset(deps), size=GB, branch="main")
    added = ask(deps, near=paris.compute)
    assert added.cached.volume == "p"
    assert "near: both are at site paris" in added.reasons
    assert ask(deps, near="berlin").cached.volume == "b"
    with pytest.raises(NotFound, match="compute or site 'rome'"):
        ask(deps, near="rome")
    with pytest.raises(BadRequest):
        ask(deps, near="paris", volume="p")


def test_what_links_are_said_to_carry_counts_before_anything_was_measured(deps: Deps) -> None:
    a_volume(deps, an_agent(deps, "berlin"), "b", capacity=1000 * GB)
    a_volume(deps, an_agent(deps, "paris"), "p", capacity=500 * GB)
    link(deps, "lake", "berlin", 0.1)
    link(deps, "lake", "paris", 10)
    a_sized_commit(deps, a_dataset(deps), size=100 * GB, branch="main")
    added = ask(deps)
    assert added.cached.volume == "p"
    assert "about 1 m 20 s from the lake at the 1.2 GB/s its link is set to" in added.reasons


def test_what_is_there_is_not_fetched_elsewhere(deps: Deps) -> None:
    agent = an_agent(deps)
    a_volume(deps, agent, "small", capacity=10 * GB)
    a_sized_commit(deps, a_dataset(deps), size=GB, branch="main")
    assert ask(deps).started
    a_volume(deps, agent, "large", capacity=1000 * GB)
    again = ask(deps)
    assert (again.cached.volume, again.started) == ("small", False)
    assert "it is already being cached there" in again.reasons


def test_nobody_can_take_it_says_why_for_each(deps: Deps) -> None:
    berlin = an_agent(deps, "berlin")
    a_sized_commit(deps, a_dataset(deps), size=20 * GB, branch="main")
    with pytest.raises(VolumeProblem, match="No volume"):
        ask(deps)
    a_volume(deps, berlin, "b", capacity=10 * GB)
    with pytest.raises(DoesNotFit, match=r"takes 20\.0 GB"):
        ask(deps)
    a_volume(deps, berlin, "c", capacity=10 * GB)
    with pytest.raises(DoesNotFit, match=r"No volume can hold .* b: .* c: "):
        ask(deps)
    an_agent(deps, "paris")
    with pytest.raises(VolumeProblem, match=r"near paris .* no link between paris and berlin"):
        ask(deps, near="paris")


# Where from ------------------------------------------------------------------------------------------


def test_a_fill_takes_its_bytes_from_a_volume_that_is_nearer_than_the_lake(deps: Deps) -> None:
    berlin, paris = an_agent(deps, "berlin"), an_agent(deps, "paris")
    source = a_volume(deps, berlin, "b")
    a_volume(deps, paris, "p")
    a_sized_commit(deps, a_dataset(deps), size=GB, branch="main")
    ask(deps, volume="b")
    carry_out(deps, berlin)
    ask(deps, volume="p")
    link(deps, "berlin", "paris", 10)
    link(deps, "lake", "paris", 1)
    assert fill_source(deps, paris) is None, "it is not seen as a mount"
    look(deps, paris, "b")
    assert fill_source(deps, paris) == source.id
    why = next(one for one in cache_why.why(deps, the_admin(deps), "xray").volumes if one.volume == "p").reasons
    assert "fetched from volume b at berlin: 1.0 GB in about 0.8 s at 1.2 GB/s" in why
    assert "not from the lake: 1.0 GB in about 8.0 s at 125.0 MB/s" in why
    assert "fetched from volume b at berlin: 1.0 GB in about 0.8 s at 1.2 GB/s" in ask(deps, volume="p").reasons
    link(deps, "lake", "paris", 100)
    assert fill_source(deps, paris) is None, "the lake is nearer"


def test_only_what_is_fetched_is_told_of_the_way_it_comes(deps: Deps) -> None:
    berlin, paris = an_agent(deps, "berlin"), an_agent(deps, "paris")
    a_volume(deps, berlin, "b"), a_volume(deps, paris, "p")
    link(deps, "berlin", "paris", 10)
    a_sized_commit(deps, a_dataset(deps), size=GB, branch="main")
    ask(deps, volume="b")
    carry_out(deps, berlin)
    look(deps, paris, "b")
    added = ask(deps, volume="p")
    with deps.db.write() as tx:
        caches.change(tx, added.cached.id, fetch_bytes=GB // 10)  # the rest is linked from a commit beside it
    assert "fetched from volume b at berlin: 100.0 MB in about 0.1 s at 1.2 GB/s" in ask(deps, volume="p").reasons


def test_what_was_copied_measures_the_link(deps: Deps) -> None:
    berlin, paris = an_agent(deps, "berlin"), an_agent(deps, "paris")
    source = a_volume(deps, berlin, "b")
    a_volume(deps, paris, "p")
    link(deps, "berlin", "paris", 10)
    a_sized_commit(deps, a_dataset(deps), size=GB, branch="main")
    ask(deps, volume="p")
    (fill,) = desired_fills.desired_for(deps, paris)[1]
    sources = [SourceSeen(kind=SourceKind.LAKE, bytes=1000), SourceSeen(kind=SourceKind.PEER, id=source.id, bytes=GB)]
    seen = told(fill, "ready", sources=sources, seconds=2.0)
    cache_reports.observe_fills(deps, paris, [seen])
    (found,) = links.list_all(deps)
    assert (found.a, found.b, found.measured_bytes_per_second) == ("berlin", "paris", GB / 2)
    (told_of,) = [one for one in cache_why.why(deps, the_admin(deps), "xray").volumes if one.cached]
    assert told_of.cached is not None and [one.bytes for one in told_of.cached.sources] == [GB, 1000]
    assert "its bytes came as 1.0 GB from volume b at berlin, 1.0 kB from the lake" in told_of.reasons


def test_a_source_of_which_nothing_was_taken_is_not_named(deps: Deps) -> None:
    berlin, paris = an_agent(deps, "berlin"), an_agent(deps, "paris")
    a_volume(deps, berlin, "b"), a_volume(deps, paris, "p")
    link(deps, "berlin", "paris", 10)
    a_sized_commit(deps, a_dataset(deps), size=GB, branch="main")
    ask(deps, volume="b")
    carry_out(deps, berlin)
    look(deps, paris, "b")
    ask(deps, volume="p")
    (fill,) = desired_fills.desired_for(deps, paris)[1]
    assert fill.source is not None, "it is planned to come from there"
    sources = [SourceSeen(kind=SourceKind.LAKE, bytes=GB)]
    cache_reports.observe_fills(deps, paris, [told(fill, "ready", sources=sources, seconds=8.0)])
    measured = {one.a: one.measured_bytes_per_second for one in links.list_all(deps)}
    assert measured == {"lake": GB / 8, "berlin": None}, "the link brought nothing"
    (found,) = [one for one in cache_why.why(deps, the_admin(deps), "xray").volumes if one.volume == "p"]
    assert "its bytes came as 1.0 GB from the lake" in found.reasons


def fill_source(deps: Deps, agent: Agent) -> str | None:
    (fill,) = desired_fills.desired_for(deps, agent)[1]
    return fill.source
