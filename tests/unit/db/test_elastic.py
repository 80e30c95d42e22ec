"""Rounds over elastic computes on both databases, with machines in memory and a clock that is set by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from millpond.db import elastic
from millpond.db.computes import find
from millpond.errors import MillError
from millpond.model.elastic import ElasticCompute, ElasticNode, ElasticSpec, ElasticState
from millpond.model.people import SYSTEM
from millpond.services.computes import elastic as service
from millpond.services.computes.elastic_rounds import ElasticRounds
from millpond.services.computes.joining import join
from millpond.services.computes.provisioners import NewMachine, ProvisionerFailed
from millpond.services.deps import Deps
from millpond.testing.builders_work import add_job, add_site
from millpond.testing.clock import FakeClock
from millpond.testing.waiting import wait_until
from millpond.wire.agent import PROTOCOL
from millpond.wire.computes import Join

SPEC = ElasticSpec(
    provisioner="memory", site="cloud", cpus=4, memory_bytes=16 << 30, maximum=2, wait_seconds=0, start_seconds=60
)


class Cloud:
    """Machines in memory. `broken` is what `create` fails with, `blind` what `observe` fails with."""

    def __init__(self) -> None:
        self.machines: dict[str, NewMachine | None] = {}
        self.deleted: list[str] = []
        self.broken: MillError | None = None
        self.blind: MillError | None = None

    def create(self, machine: NewMachine) -> None:
        self.machines[machine.name] = machine
        if self.broken:
            raise self.broken

    def observe(self) -> Sequence[str]:
        if self.blind:
            raise self.blind
        return sorted(self.machines)

    def delete(self, name: str) -> None:
        self.deleted.append(name)
        self.machines.pop(name, None)


class World:
    def __init__(self, deps: Deps) -> None:
        self.deps, self.cloud = deps, Cloud()
        self.rounds = self.restarted()
        with deps.db.write() as tx:
            add_site(tx, "cloud")

    def restarted(self) -> ElasticRounds:
        """As a server that knows nothing but the database."""
        self.rounds = ElasticRounds(self.deps, lambda deps, value: self.cloud)
        return self.rounds

    def put(self, name: str = "burst", spec: ElasticSpec = SPEC) -> None:
        now = self.deps.clock.now()
        with self.deps.db.write() as tx:
            elastic.insert(tx, ElasticCompute(f"e-{name}", name, spec, now, "admin", now, "admin"))

    def round(self, *, after: float = 0.0) -> None:
        """One round, and whatever commands it began."""
        clock = self.deps.clock
        assert isinstance(clock, FakeClock)
        clock.advance(after)
        self.rounds.run_once(clock.now())
        wait_until(lambda: not self.rounds._busy)

    def nodes(self) -> list[ElasticNode]:
        with self.deps.db.read() as tx:
            return [node for one in elastic.all_of(tx) for node in elastic.nodes_of(tx, one.id, limit=10)]

    def states(self) -> list[str]:
        return [node.state.value for node in self.nodes()]

    def join(self, name: str) -> None:
        machine = self.cloud.machines[name]
        assert machine is not None
        join(self.deps, Join(token=machine.join_token, credential_sha256="ab" * 32, name=name, protocol=PROTOCOL,
                             version="0.1.0", driver="process"))  # fmt: skip


@pytest.fixture
def world(deps: Deps) -> World:
    return World(deps)


def test_a_machine_is_recorded_before_it_is_created_and_joined_by_its_token(world: World) -> None:
    world.put()
    add_job(world.deps.db)
    world.round()
    assert world.states() == ["starting"] and list(world.cloud.machines) == [world.nodes()[0].name]
    name = world.nodes()[0].name
    world.join(name)
    with world.deps.db.read() as tx:
        compute = find(tx, name)
        assert compute is not None and elastic.by_compute(tx) == {compute.id: "burst"}
    world.round()
    assert len(world.cloud.machines) == 1, "one is enough for one job"


def test_one_that_never_joins_is_deleted_and_its_elastic_compute_rests(world: World) -> None:
    world.put()
    add_job(world.deps.db)
    for seconds in (0, 1, 61, 1):
        world.round(after=seconds)
    assert world.states() == ["gone"] and world.cloud.machines == {}
    with world.deps.db.read() as tx:
        found = service.find(tx, "burst")
    assert (found.failures, found.problem) == (1, "Its agent did not join within 1 m.")
    world.round(after=5)
    assert world.cloud.machines == {}, "it rests"
    world.round(after=60)
    assert len(world.cloud.machines) == 1


def test_what_create_failed_for_is_deleted_all_the_same(world: World) -> None:
    world.put()
    add_job(world.deps.db)
    world.cloud.broken = ProvisionerFailed("Quota exceeded.")
    world.round()
    world.round(after=1)
    world.round(after=1)
    assert world.states() == ["gone"] and world.cloud.machines == {} and len(world.cloud.deleted) == 1
    assert service.get(world.deps, "burst").elastic.problem == "Quota exceeded."


def test_after_a_crash_between_create_and_its_record_the_machine_is_known(world: World) -> None:
    world.put()
    add_job(world.deps.db)
    world.round()
    with world.deps.db.write() as tx:
        elastic.change_node(tx, replace(world.nodes()[0], state=ElasticState.CREATING))
    world.restarted()
    world.round()
    assert world.states() == ["starting"] and len(world.cloud.machines) == 1


def test_after_a_crash_between_the_record_and_create_the_record_is_given_up(world: World) -> None:
    world.put()
    add_job(world.deps.db)
    world.round()
    with world.deps.db.write() as tx:
        elastic.change_node(tx, replace(world.nodes()[0], state=ElasticState.CREATING))
    world.cloud.machines.clear()
    world.restarted()
    for seconds in (0, 61, 1, 1):
        world.round(after=seconds)
    assert world.states() == ["gone"]


def test_machines_that_no_record_is_about_are_deleted(world: World) -> None:
    world.put()
    world.cloud.machines["burst-of-a-lost-database"] = None
    world.round()
    assert world.cloud.deleted == ["burst-of-a-lost-database"]


def test_nothing_is_concluded_while_observe_fails(world: World) -> None:
    world.put()
    add_job(world.deps.db)
    world.round()
    name = world.nodes()[0].name
    world.cloud.blind = ProvisionerFailed("No credentials.")
    world.round(after=1)
    assert world.states() == ["starting"] and name in world.cloud.machines
    assert service.get(world.deps, "burst").elastic.problem == "No credentials."


def test_an_elastic_compute_with_machines_cannot_be_removed(world: World) -> None:
    world.put()
    add_job(world.deps.db)
    world.round()
    with pytest.raises(MillError, match="has 1 machine"):
        service.remove(world.deps, SYSTEM, "burst")
