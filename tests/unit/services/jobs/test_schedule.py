from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from millpond.db import datasets, leases, placements, scheduling
from millpond.decide.scheduling.bursts import Burst
from millpond.errors import BadRequest
from millpond.model.cached_state import CachedState
from millpond.model.dataset import DatasetKind
from millpond.model.job import JobState
from millpond.model.people import SYSTEM, Role
from millpond.services.caches.fills import reports as cache_reports
from millpond.services.computes import agents
from millpond.services.jobs import idle, jobs, schedule
from millpond.services.jobs.apply_plan import apply_plan
from millpond.services.jobs.environments import NO_ENVIRONMENTS
from millpond.services.jobs.loaded import Loaded, load
from millpond.services.jobs.placements import runs_out_after, secret_of
from millpond.services.jobs.plan_input import PlanInput, plan_input
from millpond.services.people import projects, tokens
from millpond.services.places import sites
from millpond.services.unchanged_since import Unchanged
from millpond.testing.builders_work import GB, add_agent, add_commit, observed
from millpond.wire.observed import Capabilities, FillSeen, NodeFacts, PlacementSeen
from tests.unit.services.world import World

RUNS_OUT = runs_out_after(600, 30)


def test_a_job_that_fits_is_placed_with_a_token_of_its_own(world: World) -> None:
    job = world.submit("train")
    world.schedule()
    job = world.job(job.id)
    assert (job.status.state, job.status.compute, job.status.node) == (JobState.PLACED, "local", "local")
    assert job.status.reasons[-1] == "Placed on local."
    assert job.status.placement_id is not None
    actor = tokens.actor_of(world.deps, secret_of(world.deps.secret, job.status.placement_id))
    assert (actor.job_id, actor.name) == (job.id, "maria")
    assert "agents:local" in world.events.woken and "agents" not in world.events.woken


def test_scheduling_again_changes_nothing(world: World) -> None:
    job = world.submit("train")
    world.schedule()
    placed = world.job(job.id)
    world.schedule()
    assert world.job(job.id) == placed


def test_what_does_not_fit_waits_with_its_reason_until_it_does(world: World) -> None:
    first, second = world.submit("first", cpu=3), world.submit("second", cpu=3)
    world.schedule()
    waiting = world.job(second.id)
    assert waiting.status.state is JobState.QUEUED
    assert world.why(second.id)[-1] == "Waiting: local has 1 of 4 CPUs free; 3 requested."
    placed = world.job(first.id)
    world.sync(
        PlacementSeen(id=placed.status.placement_id or "", state="finished", exit_code=0, started_at=world.clock.now())
    )
    world.schedule()
    assert world.job(second.id).status.state is JobState.PLACED
    assert not any(reason.startswith("Waiting") for reason in world.why(second.id))


def test_reasons_are_written_only_when_they_change(world: World) -> None:
    world.submit("first", cpu=4)
    world.submit("second", cpu=4)
    world.schedule()
    told = len(world.told("jobs"))
    world.schedule()
    assert len(world.told("jobs")) == told


def test_an_agent_that_is_away_is_given_nothing(world: World) -> None:
    job = world.submit("train")
    world.clock.advance(46)
    world.schedule()
    assert world.why(job.id)[-1] == "Waiting: local is not connected."
    world.sync()
    world.schedule()
    assert world.job(job.id).status.state is JobState.PLACED


def test_a_job_is_filled_when_all_its_data_is_there(world: World) -> None:
    data = add_commit(world.deps.db, "xray", size=GB // 4)
    code = add_commit(world.deps.db, ".code", kind=DatasetKind.CODE, size=GB // 4)
    job, desired = world.placed(inputs=["xray"], code_commit=code)
    assert [one.ready for one in desired.inputs] == [False]
    assert desired.code is not None and not desired.code.ready
    assert world.leased() == {data: CachedState.FILLING, code: CachedState.FILLING}
    world.clock.advance(3)
    world.fill_all()
    world.schedule()
    assert world.job(job.id).status.filled_at == world.clock.now()
    (desired,) = world.sync().placements
    assert desired.inputs[0].ready and desired.code is not None and desired.code.ready
    assert (desired.inputs[0].env, desired.inputs[0].volume_id) == ("MILL_DATA_XRAY", world.volume.id)


def test_data_that_is_there_takes_no_time(world: World) -> None:
    add_commit(world.deps.db, "xray")
    world.placed("first", inputs=["xray"])
    world.fill_all()
    job, desired = world.placed("second", inputs=["xray"])
    assert job.status.filled_at == job.status.placed_at
    assert desired.inputs[0].ready


def test_no_room_for_data_is_a_reason_that_names_nothing_of_others(world: World) -> None:
    add_commit(world.deps.db, "mine", size=80 * GB)
    add_commit(world.deps.db, "large", size=90 * GB)
    world.submit("first", inputs=["mine"])
    world.schedule()
    world.fill_all()
    world.schedule()
    second, third = world.submit("second", inputs=["large"]), world.submit("third")
    world.schedule()
    reason = world.why(second.id)[-1]
    assert reason == "Waiting: Volume fast has no space for its data: 90.0 GB more needed."
    assert world.job(third.id).status.state is JobState.PLACED


def test_a_fill_that_failed_is_begun_anew_and_shown(world: World) -> None:
    add_commit(world.deps.db, "xray")
    job, _ = world.placed(inputs=["xray"])
    (fill,) = world.sync().fills
    failed = FillSeen(cached_id=fill.cached_id, attempt=fill.attempt, state="failed", problem="the disk broke")
    cache_reports.observe_fills(world.deps, world.agent.agent, [failed])
    world.schedule()
    assert "failed (the disk broke); retrying." in world.job(job.id).status.reasons[-1]
    world.clock.advance(61)
    world.schedule()
    (again,) = world.sync().fills
    assert again.attempt > fill.attempt
    assert world.job(job.id).status.reasons[-1].startswith("Placed on local")


def test_a_job_whose_dataset_was_deleted_fails(world: World) -> None:
    add_commit(world.deps.db, "xray")
    job = world.submit("train", inputs=["xray"])
    with world.deps.db.write() as tx:
        datasets.change(tx, job.spec.inputs[0].dataset_id, deleted_at=world.clock.now())
        leases.release_job(tx, job.id)
        tx.exec_driver_sql("DELETE FROM cached_commit")
    world.schedule()
    job = world.job(job.id)
    assert job.status.state is JobState.FAILED
    assert "Its data is gone" in (job.status.problem or "")


def test_a_job_of_somebody_who_lost_the_role_begins_no_more(world: World) -> None:
    add_commit(world.deps.db, "xray")
    running, _ = world.placed("runs", inputs=["xray"])
    world.fill_all()
    world.schedule()
    waiting = world.submit("waits", inputs=["xray"], cpu=4)
    world.actor("olga", Role.ADMIN)
    projects.remove_member(world.deps, SYSTEM, world.project, "maria")
    world.schedule()
    assert len(world.leased()) == 1, "what it uses stays until it has ended"
    placed = world.job(running.id)
    world.sync(
        PlacementSeen(id=placed.status.placement_id or "", state="finished", exit_code=0, started_at=world.clock.now())
    )
    world.schedule()
    assert world.job(running.id).status.state is JobState.SUCCEEDED
    after = world.job(waiting.id)
    assert after.status.state is JobState.FAILED
    assert "maria no longer has access to default/xray" in (after.status.problem or "")
    assert world.leased() == {}


def test_a_silent_agent_keeps_its_jobs_until_they_have_certainly_ended(world: World) -> None:
    job, desired = world.placed()
    world.sync(PlacementSeen(id=desired.id, state="running", started_at=world.clock.now()))
    world.clock.advance(RUNS_OUT)
    world.schedule()
    assert world.job(job.id).status.state is JobState.RUNNING
    world.clock.advance(1)
    world.schedule()
    after = world.job(job.id)
    assert after.status.state is JobState.QUEUED
    assert any("Compute local has been silent since 12:00:00 UTC" in reason for reason in after.status.reasons)


def test_placements_last_as_long_as_their_site_says(world: World) -> None:
    sites.let_placements_last(world.deps, SYSTEM, "local", 86_400)
    job, desired = world.placed()
    assert desired.valid_seconds == 86_400
    world.sync(PlacementSeen(id=desired.id, state="running", started_at=world.clock.now()))
    sites.let_placements_last(world.deps, SYSTEM, "local", None)  # for those that come
    for seconds, state in ((86_000, JobState.RUNNING), (4000, JobState.QUEUED)):
        world.clock.advance(seconds)
        world.schedule()
        assert world.job(job.id).status.state is state
    for wrong in (0, 59, -5, 31 * 86_400):
        with pytest.raises(BadRequest, match="between 1 m and 30 d"):
            sites.let_placements_last(world.deps, SYSTEM, "local", wrong)


@pytest.mark.parametrize("hour", [3600, -3600])
def test_the_time_of_day_ends_nothing(world: World, hour: int) -> None:
    """Set an hour ahead or back, before or after a restart: only time that passes counts."""
    reached = Capabilities(exec=True, ports=True, shared_trust=False)
    world.sync(capabilities=reached)
    job, desired = world.placed(timeout_seconds=1800, interactive=True, idle_seconds=1800)
    world.sync(PlacementSeen(id=desired.id, state="running", started_at=world.clock.now()), capabilities=reached)
    for deps in (world.deps, replace(world.deps, unchanged=Unchanged())):
        world.clock.set_ahead(hour)
        schedule.run_once(deps, world.clock.now())
        idle.stop_idle(deps, world.clock.now())
        after = world.job(job.id)
        assert (after.status.state, after.status.placement_id) == (JobState.RUNNING, desired.id)
        assert after.status.stop_requested_at is None
    world.look()
    world.clock.advance(RUNS_OUT + 1)
    world.look()
    assert world.job(job.id).status.state is JobState.QUEUED, "its agent was silent for so long"


def test_every_exchange_renews_what_the_agent_runs(world: World) -> None:
    job, desired = world.placed()
    for _ in range(5):
        world.clock.advance(RUNS_OUT - 1)
        world.sync(PlacementSeen(id=desired.id, state="running", started_at=world.clock.now()))
        world.schedule()
    assert world.job(job.id).status.state is JobState.RUNNING


def test_a_job_placed_again_has_another_token_and_the_old_one_opens_nothing(world: World) -> None:
    add_commit(world.deps.db, "xray")
    job, first = world.placed(inputs=["xray"])
    world.clock.advance(RUNS_OUT + 1)
    world.schedule()
    assert world.leased() == {}
    world.sync()
    world.schedule()
    (second,) = world.sync().placements
    assert second.job_id == job.id
    assert (second.id, second.token) != (first.id, first.token)
    world.sync(PlacementSeen(id=first.id, state="finished", exit_code=0, started_at=world.clock.now()))
    assert world.job(job.id).status.state is JobState.PLACED


def test_a_job_to_be_stopped_on_a_silent_agent_is_cancelled(world: World) -> None:
    job, _ = world.placed()
    jobs.stop(world.deps, world.maria, world.project, job.id)
    world.clock.advance(RUNS_OUT + 1)
    world.schedule()
    assert world.job(job.id).status.state is JobState.CANCELLED


def test_gpus_are_promised_by_number_and_come_back(world: World) -> None:
    gpus = NodeFacts(name="gpu", cpus=8, memory_bytes=16 * GB, gpus=2, declared=True)
    agents.observe(world.deps, add_agent(world.deps.db, "gpu", site="lab").actor, observed(gpus))
    half, whole, other = (world.submit(gpu_hundredths=n) for n in (50, 100, 100))
    world.schedule()
    held = {job.id: indices(world, job.id) for job in (half, whole, other)}
    assert held == {half.id: (0,), whole.id: (1,), other.id: ()}
    assert world.why(other.id)[-2:] == [
        "Waiting: gpu has 0.5 of 2 GPUs free; 1 requested.",
        "Waiting: local has 0 GPUs; 1 requested.",
    ]


def test_two_plans_from_one_snapshot_start_a_job_once(world: World) -> None:
    job = world.submit("train", cpu=4)
    world.submit("other", cpu=4)
    stale, found, first = planned(world)
    assert [start.job for start in first.plan.starts] == [job.id]
    world.schedule()
    assert apply_plan(world.deps, stale, found, first, NO_ENVIRONMENTS, world.clock.now()).is_stale
    with world.deps.db.read() as tx:
        assert len(placements.living(tx)) == 1


def test_a_plan_made_on_an_old_snapshot_takes_no_room_twice(world: World) -> None:
    other = world.submit("other", cpu=4)
    stale, found, second = planned(world)
    job = world.submit("train", cpu=4, priority=10)
    world.schedule()
    with world.deps.db.read() as tx:
        stale = replace(stale, number=scheduling.plan_number(tx))  # as if nobody had planned since
    apply_plan(world.deps, stale, found, second, NO_ENVIRONMENTS, world.clock.now())
    assert (world.job(job.id).status.state, world.job(other.id).status.state) == (JobState.PLACED, JobState.QUEUED)


def test_times_are_the_servers(world: World) -> None:
    job, desired = world.placed()
    world.clock.advance(5)
    skewed = world.clock.now() + timedelta(hours=1)
    world.sync(PlacementSeen(id=desired.id, state="running", started_at=skewed))
    assert world.job(job.id).status.started_at == world.clock.now()


def planned(world: World) -> tuple[Loaded, PlanInput, Burst]:
    """What a server has read, and the plan that it made of that."""
    with world.deps.db.read() as tx:
        loaded = load(tx, world.clock.now(), world.deps.settings)
    made = plan_input(loaded)
    return loaded, made, made.plan()


def indices(world: World, job_id: str) -> tuple[int, ...]:
    with world.deps.db.read() as tx:
        placement = placements.newest_of_job(tx, job_id)
    return placement.gpu_indices if placement else ()
