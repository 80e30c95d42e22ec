"""Two sites that ask for one commit at once: one fetches it from the lake, the other from the first."""

from __future__ import annotations

import pytest

from millpond.db import agents
from millpond.model.agent import Agent
from millpond.model.fill_source import SourceKind
from millpond.model.topology import GBIT
from millpond.services.caches import requests as cache_requests
from millpond.services.caches.explain import why as cache_why
from millpond.services.caches.fills import desired as desired_fills
from millpond.services.caches.fills import reports as cache_reports
from millpond.services.deps import Deps
from millpond.services.places import links, sites
from millpond.testing.builders_data import GB, a_dataset, a_sized_commit, a_volume, an_agent, the_admin, told
from millpond.testing.clock import FakeClock
from millpond.wire.desired import DesiredFill
from millpond.wire.observed import SourceSeen


class Pair:
    """Sites berlin and paris that serve each other, joined by a fast link."""

    def __init__(self, deps: Deps, clock: FakeClock) -> None:
        self.deps, self._clock = deps, clock
        self.agents = {name: self._serving(name) for name in ("berlin", "paris")}
        self.volumes = {name: a_volume(deps, agent, name) for name, agent in self.agents.items()}
        a_sized_commit(deps, a_dataset(deps), size=GB, branch="main")
        self.link("berlin", "paris", 10)

    def _serving(self, name: str) -> Agent:
        agent = an_agent(self.deps, name)
        with self.deps.db.write() as tx:
            agents.seen(tx, agent.id, version="1", instance="1", peer="a" * 64, now=self.deps.clock.now())
        sites.change(self.deps, the_admin(self.deps), name, {"address": f"{name}:7000"})
        return agent

    def link(self, a: str, b: str, gbit: float, **more: float) -> None:
        links.put(self.deps, the_admin(self.deps), a, b, bits_per_second=int(gbit * GBIT), **more)

    def ask(self, volume: str) -> DesiredFill:
        self._clock.advance(0.1)
        cache_requests.request(self.deps, the_admin(self.deps), dataset="xray", volume=volume)
        return self.fill(volume)

    def fill(self, name: str) -> DesiredFill:
        (fill,) = desired_fills.desired_for(self.deps, self.agents[name])[1]
        return fill

    def tell(self, name: str, state: str, done: int = 0, **more: object) -> None:
        seen = told(self.fill(name), state, done_bytes=done, **more)
        cache_reports.observe_fills(self.deps, self.agents[name], [seen])

    def reasons(self, name: str) -> list[str]:
        found = cache_why.why(self.deps, the_admin(self.deps), "xray").volumes
        return list(next(one.reasons for one in found if one.volume == name))


@pytest.fixture
def pair(deps: Deps, clock: FakeClock) -> Pair:
    return Pair(deps, clock)


def test_the_second_follows_the_first(pair: Pair) -> None:
    pair.link("lake", "berlin", 1), pair.link("lake", "paris", 1)
    assert pair.ask("berlin").source is None
    second = pair.ask("paris")
    assert (second.source, second.peer and second.peer.address) == (pair.volumes["berlin"].id, "berlin:7000")
    (grant,) = desired_fills.grants_for(pair.deps, pair.agents["berlin"])
    assert (grant.volume_id, grant.commit_id) == (pair.volumes["berlin"].id, second.commit_id)
    why = "fetched from volume berlin at berlin: 1.0 GB in about 8.0 s at 1.2 GB/s, as it is filled there"
    assert why in pair.reasons("paris")
    assert pair.fill("berlin").source is None, "and the first does not wait for the second"


def test_the_grant_stays_when_the_first_is_whole(pair: Pair) -> None:
    pair.ask("berlin")
    token = pair.ask("paris").peer
    pair.tell("berlin", "ready", GB)
    assert pair.fill("paris").peer == token is not None


@pytest.mark.parametrize("state", ["failed for now", "failed", "silent"])
def test_a_first_that_stands_still_is_not_waited_for(pair: Pair, clock: FakeClock, state: str) -> None:
    pair.link("lake", "paris", 1)
    pair.ask("berlin")
    pair.tell("berlin", "filling", GB // 10, recent_bytes=GB // 10, recent_seconds=1.0)
    if state == "silent":
        clock.advance(16)
    else:
        pair.tell("berlin", "failed", problem="The lake does not respond.", transient=state == "failed for now")
    assert pair.ask("paris").source is None


def test_a_first_that_is_much_slower_is_not_waited_for(pair: Pair) -> None:
    pair.link("lake", "berlin", 0.05), pair.link("lake", "paris", 1)
    pair.ask("berlin")
    assert pair.ask("paris").source is None
    why = "not from volume berlin at berlin: 1.0 GB in about 2 m 40 s at 1.2 GB/s, as it is filled there"
    assert why in pair.reasons("paris")


def test_what_the_lake_costs_is_worth_waiting(pair: Pair) -> None:
    pair.link("lake", "berlin", 0.1), pair.link("lake", "paris", 1, price_per_gb=0.09)
    pair.ask("berlin")
    assert pair.ask("paris").source == pair.volumes["berlin"].id


def test_waiting_tells_nothing_of_the_link(pair: Pair) -> None:
    pair.ask("berlin")
    pair.ask("paris")
    sources = [SourceSeen(kind=SourceKind.PEER, id=pair.volumes["berlin"].id, bytes=GB)]
    pair.tell("paris", "ready", GB, sources=sources, seconds=80.0, followed=True)
    assert [one.measured_bytes_per_second for one in links.list_all(pair.deps)] == [None]


def test_a_fill_that_was_left_half_way_tells_nothing_of_either_line(pair: Pair) -> None:
    pair.link("lake", "paris", 1)
    pair.ask("paris")
    peer = SourceSeen(kind=SourceKind.PEER, id=pair.volumes["berlin"].id, bytes=GB // 5)
    pair.tell("paris", "ready", GB, sources=[SourceSeen(kind=SourceKind.LAKE, bytes=GB - GB // 5), peer], seconds=80.0)
    assert {one.measured_bytes_per_second for one in links.list_all(pair.deps)} == {None}
