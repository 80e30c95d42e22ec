"""What plans are made from and leave behind, on both databases."""

from __future__ import annotations

from datetime import timedelta
from typing import cast

from millpond.db import gpu_shares, projects, scheduling, server
from millpond.db.scheduling import Nomination
from millpond.db.server import ServerRow
from millpond.decide.scheduling.snapshot import Reservation
from millpond.model.job import RankPlace
from millpond.model.people import SYSTEM
from millpond.services.deps import Deps
from millpond.services.jobs import shares, why
from millpond.testing.builders_work import add_agent, add_volume
from millpond.testing.clock import FakeClock
from millpond.testing.events import FakeEvents
from tests.unit.services.jobs.test_preemption import Teams
from tests.unit.services.world import World


def world_of(deps: Deps) -> World:
    with deps.db.write() as tx:
        server.insert(tx, ServerRow("db", None, b"secret", deps.clock.now()))
        project = projects.find(tx, "default")
    assert project is not None
    clock, events = cast(FakeClock, deps.clock), cast(FakeEvents, deps.events)
    return World(deps, clock, events, project, SYSTEM, add_agent(deps.db), add_volume(deps.db))


def test_a_claim_preempts_and_starts(deps: Deps) -> None:
    teams = Teams(world_of(deps))
    first, over = teams.submit(teams.b, "first"), teams.submit(teams.b, "over")
    teams.run(first, over)
    claim = teams.submit(teams.a, "claim")
    teams.world.schedule()
    assert teams.states(over, claim) == ["preempted", "queued"]
    answer = why.why(deps, SYSTEM, teams.a, claim.id)
    assert (answer.rule, answer.nominated_on) == ("nominated", "gpu")
    teams.report(over, "finished", exit_code=143, reason="stopped")
    teams.world.schedule()
    assert teams.states(first, over, claim) == ["running", "queued", "placed"]
    with deps.db.read() as tx:
        assert gpu_shares.allocated(tx) == {(teams.a.id, ""): 200, (teams.b.id, ""): 200}


def test_shares_are_sampled_once_a_minute(deps: Deps) -> None:
    teams = Teams(world_of(deps))
    teams.submit(teams.a, "waits")
    now = deps.clock.now()
    shares.sample(deps, now)
    shares.sample(deps, now)
    _, found = shares.history(deps, SYSTEM, since=now - timedelta(hours=1), until=now + timedelta(hours=1))
    assert {(one.project, one.quota, one.pending_gpus) for one in found} >= {("team-a", 200, 200), ("team-b", 200, 0)}
    assert len(found) == len({(one.project, one.pool) for one in found})


def test_nominations_and_reservations_come_back_as_they_were_put_in(deps: Deps) -> None:
    teams = Teams(world_of(deps))
    job, other = teams.submit(teams.a, "a"), teams.submit(teams.a, "b")
    compute_id = teams.agent.agent.compute_id
    nomination = Nomination(job.id, compute_id, (RankPlace("gpu", (0, 1)),), "claim", ("x",), deps.clock.now())
    reservation = Reservation(other.id, ("gpu",), True, 5.5)
    with deps.db.write() as tx:
        scheduling.nominate(tx, nomination)
        scheduling.keep_reservations(tx, (), (reservation,))
    with deps.db.write() as tx:
        assert scheduling.nominations(tx) == [nomination]
        assert scheduling.reservations(tx) == (reservation,)
        scheduling.end_nominations(tx, [job.id])
        scheduling.keep_reservations(tx, (reservation,), ())
        assert (scheduling.nominations(tx), scheduling.reservations(tx)) == ([], ())


def test_a_plan_number_counts_once(deps: Deps) -> None:
    world_of(deps)
    with deps.db.write() as tx:
        seen = scheduling.plan_number(tx)
        assert scheduling.next_plan_number(tx, seen)
        assert not scheduling.next_plan_number(tx, seen)
        assert scheduling.plan_number(tx) == seen + 1
