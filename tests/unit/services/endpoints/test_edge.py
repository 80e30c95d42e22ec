"""Versions pushed to sites: the old one serves until the new one is loaded, silent sites go on, one command back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millpond.db import sites
from millpond.errors import Conflict, Forbidden, NotFound
from millpond.model.endpoint import EndpointView
from millpond.model.ids import new_id
from millpond.model.people import Role
from millpond.model.replica import SiteServing, SwapState
from millpond.model.volume import Site
from millpond.services.endpoints import edge, endpoints, rounds
from tests.unit.services.endpoints.test_endpoints import create
from tests.unit.services.endpoints.test_rounds import Serving
from tests.unit.services.world import World


@pytest.fixture
def serving(world: World, model: str) -> Serving:
    create(world, environment="none", sites={"*": {"min": 1}})
    found = Serving(world)
    found.turn(3)
    return found


def push(world: World, model: str, *patterns: str, endpoint: str | None = None) -> EndpointView:
    return edge.push(
        world.deps, world.maria, world.project, model=model, sites=patterns, endpoint=endpoint, unchecked=True
    )


def at(serving: Serving) -> SiteServing:
    world = serving.world
    return endpoints.get(world.deps, world.project, "xray").serving[world.agent.agent.site]


def test_a_site_swaps_when_the_pushed_version_is_ready(serving: Serving) -> None:
    assert at(serving).state is SwapState.CURRENT and at(serving).serving == ("chest@1",)
    serving.broken.add("chest@2")
    made = push(serving.world, "chest@candidate", "*")
    assert made.endpoint.number == 2 and [one.model for one in made.endpoint.spec.sites] == ["chest@2"]
    assert [one.model for one in made.endpoint.spec.versions] == ["chest@1"]
    serving.turn(4)
    found = at(serving)
    assert (found.desired, found.serving, found.state) == (("chest@2",), ("chest@1",), SwapState.LOADING)
    assert found.is_online and found.is_pushed and serving.shares() == {1: 100}
    serving.broken.clear()
    serving.turn(8)
    found = at(serving)
    assert (found.serving, found.state) == (("chest@2",), SwapState.CURRENT) and serving.shares() == {2: 100}

    edge.roll_back(serving.world.deps, serving.world.maria, serving.world.project, "xray", sites=())
    serving.turn(8)
    assert at(serving).serving == ("chest@1",) and not at(serving).is_pushed
    with pytest.raises(Conflict, match="Cannot roll back"):
        edge.roll_back(serving.world.deps, serving.world.maria, serving.world.project, "xray", sites=())


def test_a_silent_site_goes_on_and_swaps_when_it_is_back(serving: Serving) -> None:
    world = serving.world
    world.clock.advance(3600)
    push(world, "chest@2", "*")
    for _ in range(3):
        rounds.advance_all(world.deps, world.clock.now())
        world.schedule()
    found = at(serving)
    assert (found.serving, found.state, found.is_online) == (("chest@1",), SwapState.WAITING, False)
    assert "silent" in found.reason and found.heard_at is not None
    serving.turn(8)
    assert at(serving).serving == ("chest@2",) and at(serving).state is SwapState.CURRENT


def test_sites_that_match_later_get_the_pushed_version(serving: Serving) -> None:
    world = serving.world
    push(world, "chest@2", "*")
    with world.deps.db.write() as tx:
        sites.insert(tx, Site(id=new_id(), name="shop-9", created_at=world.clock.now()))
    rounds.advance_all(world.deps, world.clock.now())
    view = endpoints.get(world.deps, world.project, "xray")
    assert view.endpoint.wanted["shop-9"] == 1 and view.serving["shop-9"].desired == ("chest@2",)


def test_without_an_endpoint_a_push_makes_one(world: World, model: str) -> None:
    made = push(world, "chest@2", "*")
    assert made.endpoint.name == "chest" and [one.model for one in made.endpoint.spec.versions] == ["chest@2"]
    assert push(world, "chest@3", "*").endpoint.id == made.endpoint.id
    other = push(world, "chest@1", "*", endpoint="second")
    assert other.endpoint.name == "second"
    with pytest.raises(Conflict, match="2 endpoints serve chest"):
        push(world, "chest@1", "*")


def test_what_cannot_be_pushed_changes_nothing(serving: Serving) -> None:
    world = serving.world
    viewer = replace(world.maria, roles={world.project.id: Role.VIEWER}, is_admin=False)
    with pytest.raises(NotFound):
        push(world, "chest@99", "*")
    with pytest.raises(NotFound):
        push(world, "chest@2", "no-such-site")
    with pytest.raises(Forbidden):
        edge.push(world.deps, viewer, world.project, model="chest@2", sites=["*"], endpoint=None)
    with pytest.raises(Conflict, match="has not been checked"):
        edge.push(world.deps, world.maria, world.project, model="chest@2", sites=["*"], endpoint=None)
    assert endpoints.get(world.deps, world.project, "xray").endpoint.number == 1
