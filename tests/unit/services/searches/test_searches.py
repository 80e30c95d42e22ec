"""Searches: each trial is a job, advanced round by round; pruned, failed, paused, cancelled; bad input."""

from __future__ import annotations

from typing import Any

import pytest

from millpond.db import run_values, searches, trials
from millpond.errors import BadRequest, Conflict, DoesNotFit, Invalid, NotFound
from millpond.model.job import Job, JobState
from millpond.model.job_spec import JobInput, JobSpec
from millpond.model.search import (
    Direction,
    Method,
    Objective,
    Parameter,
    Pruning,
    Search,
    SearchSpec,
    SearchState,
    Trial,
    TrialState,
)
from millpond.services.people import projects as project_service
from millpond.services.searches import results, rounds
from millpond.services.searches import searches as service
from millpond.testing.builders_data import the_admin
from millpond.testing.builders_work import add_commit
from millpond.wire.observed import PlacementSeen
from tests.unit.services.runs.test_runs import batch, point
from tests.unit.services.world import World

LOSS = Objective(metric="loss")
LR = Parameter(name="lr", values=(0.1, 0.01, 0.001, 0.0001))


class Searching:
    """A search in a world whose agent does what the test says."""

    def __init__(self, world: World, **wanted: Any) -> None:
        self.world = world
        job = JobSpec(**{"command": ("train",), "cpu": 1} | wanted.pop("job", {}))
        known: dict[str, Any] = {"parameters": (LR,), "method": Method.GRID, "objectives": (LOSS,)}
        spec = SearchSpec(job=job, **known | wanted)
        self.id = service.create(world.deps, world.maria, world.project, spec, name="sweep").search.id

    def round(self) -> list[Trial]:
        self.world.clock.advance(1)
        rounds.advance_all(self.world.deps, self.world.clock.now())
        return self.trials

    @property
    def trials(self) -> list[Trial]:
        with self.world.deps.db.read() as tx:
            return trials.of_search(tx, self.id)

    @property
    def search(self) -> Search:
        with self.world.deps.db.read() as tx:
            found = searches.get(tx, self.id)
        assert found is not None
        return found

    @property
    def states(self) -> str:
        return " ".join(trial.state.value for trial in self.trials)

    def job(self, number: int) -> Job:
        return self.world.job(self.trials[number].job_id or "")

    def log(self, number: int, *values: float, key: str = "loss", first: int = 0) -> None:
        points = [point(self.world, key, value, step) for step, value in enumerate(values, first)]
        batch(self.world, self.trials[number].run_id or "", first, metrics=points)

    def place(self) -> None:
        self.world.schedule()
        self.world.sync()

    def end(self, number: int, value: float | None = None, exit_code: int = 0) -> None:
        if value is not None:
            self.log(number, value, first=100)
        placement = self.job(number).status.placement_id
        assert placement is not None
        self.world.sync(PlacementSeen(id=placement, state="running", started_at=self.world.clock.now()))
        self.world.sync(PlacementSeen(id=placement, state="finished", exit_code=exit_code))


def test_each_trial_is_a_job_with_its_parameters(world: World) -> None:
    sweep = Searching(world, parallel=2, job={"command": ("train", "--lr={lr}"), "tags": {"team": "vision"}})
    first, second = sweep.round()
    assert (first.state, first.params, second.params) == (TrialState.RUNNING, {"lr": 0.1}, {"lr": 0.01})
    job = sweep.job(0)
    assert (job.name, job.spec.command, job.created_by) == ("sweep-0", ("train", "--lr=0.1"), "maria")
    assert job.spec.tags == {"team": "vision", "search_id": sweep.id, "trial": "0"}
    run = world.run(first.run_id or "")
    assert run.experiment == "sweep"
    with world.deps.db.read() as tx:
        assert run_values.params(tx, [run.id])[run.id] == {"lr": 0.1}
    assert len(sweep.round()) == 2, "no more than two in parallel"


def test_from_the_first_trial_to_the_best(world: World) -> None:
    sweep = Searching(world, parallel=2)
    sweep.round()
    sweep.place()
    sweep.end(0, 0.5)
    assert sweep.round()[0].values == (0.5,) and len(sweep.trials) == 3
    sweep.end(1, 0.2)
    sweep.place()
    sweep.round()
    sweep.end(2, 0.9)
    sweep.place()
    sweep.round()
    sweep.end(3, 0.4)
    sweep.round()
    view = service.get(world.deps, world.project, "sweep")
    assert (view.search.state, view.search.is_open) == (SearchState.COMPLETED, False)
    assert [trial.params for trial in view.best] == [{"lr": 0.01}]
    assert view.search.reasons == ("All 4 trials ended.", "Best: trial 1 with loss 0.2.")
    assert world.told("searches")


def test_data_is_resolved_once(world: World) -> None:
    commit = add_commit(world.deps.db, "xray")
    sweep = Searching(world, parallel=1, job={"inputs": (JobInput("xray"),)})
    assert sweep.search.spec.job.inputs[0].commit_id == commit
    sweep.round()
    assert sweep.job(0).spec.inputs[0].commit_id == commit


def test_a_trial_that_is_behind_is_pruned_and_its_job_stopped(world: World) -> None:
    sweep = Searching(world, parallel=4, pruning=Pruning(min_step=1, factor=2))
    sweep.round()
    sweep.place()
    sweep.log(0, 9, 1)
    sweep.round()
    sweep.log(1, 9, 8)
    sweep.round()
    assert sweep.states == "running pruned running running"
    pruned = sweep.trials[1]
    assert (pruned.values, pruned.problem) == ((8.0,), "Pruned: loss 8 was not among the best at step 1.")
    assert sweep.job(1).status.stop_requested_at is not None
    assert "Stopped by search sweep: Pruned" in sweep.job(1).status.reasons[-1]
    sweep.end(1, exit_code=143)
    assert sweep.round()[1].is_settled
    assert sweep.states == "running pruned running running"


def test_failed_trials_count(world: World) -> None:
    sweep = Searching(world, parallel=4, max_failed=2)
    sweep.round()
    sweep.place()
    sweep.end(0, exit_code=3)
    sweep.end(1)
    sweep.round()
    assert sweep.states == "failed failed cancelled cancelled"
    assert sweep.trials[1].problem == "Its job never logged the metric 'loss', nor any other."
    assert (sweep.search.state, sweep.search.reasons[0]) == (SearchState.FAILED, "2 trials failed.")
    assert sweep.search.is_open, "two jobs are still being stopped"
    sweep.end(2)
    sweep.end(3)
    sweep.round()
    assert not sweep.search.is_open


def test_the_job_retries_by_itself(world: World) -> None:
    sweep = Searching(world, parallel=1, job={"retries": 1, "backoff_seconds": 0})
    sweep.round()
    sweep.place()
    sweep.end(0, exit_code=3)
    assert sweep.round()[0].state is TrialState.RUNNING
    sweep.place()
    sweep.end(0, 0.5)
    assert sweep.round()[0].values == (0.5,)


def test_nothing_starts_while_it_is_paused(world: World) -> None:
    sweep = Searching(world, parallel=1)
    sweep.round()
    service.pause(world.deps, world.maria, world.project, "sweep")
    sweep.place()
    sweep.end(0, 0.5)
    assert len(sweep.round()) == 1 and sweep.states == "succeeded"
    assert sweep.search.reasons == ("Paused by maria.",)
    service.resume(world.deps, world.maria, world.project, "sweep")
    assert len(sweep.round()) == 2


def test_cancel_ends_all_its_jobs(world: World) -> None:
    sweep = Searching(world, parallel=3)
    sweep.round()
    sweep.place()
    queued = sweep.job(2)
    service.cancel(world.deps, world.maria, world.project, sweep.id)
    with pytest.raises(Conflict, match="being stopped"):
        service.delete(world.deps, world.maria, world.project, sweep.id)
    sweep.round()
    assert sweep.states == "cancelled cancelled cancelled"
    for number in range(3):
        job = sweep.job(number)
        assert job.status.stop_requested_at is not None or job.status.state is JobState.CANCELLED
    assert queued.id == sweep.trials[2].job_id
    for number in range(3):
        if not sweep.job(number).status.state.is_finished:
            sweep.end(number)
    sweep.round()
    assert not sweep.search.is_open
    service.delete(world.deps, world.maria, world.project, sweep.id)
    with pytest.raises(NotFound):
        service.get(world.deps, world.project, sweep.id)


def test_a_round_that_dies_between_any_two_steps_is_finished_by_the_next(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = Searching(world, parallel=2)
    monkeypatch.setattr(rounds, "_submit_waiting", lambda *_: 1 / 0)
    sweep.round()
    assert sweep.states == "waiting waiting"
    monkeypatch.undo()
    assert len(sweep.round()) == 2 and sweep.states == "running running"
    assert len({trial.job_id for trial in sweep.trials}) == 2


def test_what_was_decided_on_an_older_state_is_dropped(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another server, or a person, was faster."""
    sweep = Searching(world, parallel=2)
    choose = rounds.next_params

    def slowly(*args: Any) -> Any:
        service.pause(world.deps, world.maria, world.project, "sweep")
        return choose(*args)

    monkeypatch.setattr(rounds, "next_params", slowly)
    assert sweep.round() == []
    assert sweep.search.state is SearchState.PAUSED


def test_a_search_cancelled_while_its_trial_is_submitted_starts_no_job(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = Searching(world, parallel=1)
    fill = rounds.job_of

    def slowly(*args: Any) -> Any:
        service.cancel(world.deps, world.maria, world.project, "sweep")
        return fill(*args)

    monkeypatch.setattr(rounds, "job_of", slowly)
    sweep.round()
    assert (sweep.states, sweep.trials[0].job_id) == ("cancelled", None)


def test_somebody_who_left_the_project_starts_no_jobs(world: World) -> None:
    sweep = Searching(world, parallel=1)
    admin = the_admin(world.deps)
    project_service.remove_member(world.deps, admin, world.project, "maria")
    sweep.round()
    assert sweep.search.state is SearchState.PAUSED
    assert "Cannot submit a trial: This needs the role member" in sweep.search.reasons[0]
    service.resume(world.deps, admin, world.project, "sweep")
    sweep.round()
    assert sweep.job(0).created_by == admin.name


def test_jobs_of_the_same_name_are_in_nobodys_way(world: World) -> None:
    world.submit("sweep-0")
    sweep = Searching(world, parallel=1)
    sweep.round()
    assert sweep.job(0).name == f"sweep-{sweep.id[:6]}-0"


def test_the_target_ends_it(world: World) -> None:
    target = Objective(metric="acc", direction=Direction.MAXIMIZE, target=0.9)
    sweep = Searching(world, parallel=2, objectives=(target,))
    sweep.round()
    sweep.place()
    sweep.log(0, 0.95, key="acc")
    sweep.end(0)
    sweep.round()
    assert (sweep.search.state, sweep.states) == (SearchState.COMPLETED, "succeeded cancelled")


def test_two_objectives(world: World) -> None:
    both = (LOSS, Objective(metric="acc", direction=Direction.MAXIMIZE))
    sweep = Searching(world, parallel=2, max_trials=2, objectives=both, method=Method.TPE)
    sweep.round()
    sweep.place()
    for number, (loss, acc) in enumerate([(1.0, 1.0), (2.0, 2.0)]):
        sweep.log(number, acc, key="acc")
        sweep.end(number, loss)
    sweep.round()
    assert sweep.search.best == (0, 1)


def test_a_deleted_job_is_a_failed_trial(world: World) -> None:
    sweep = Searching(world, parallel=1)
    trial = sweep.round()[0]
    with world.deps.db.write() as tx:
        trials.save(tx, Trial(**{**{f: getattr(trial, f) for f in trial.__slots__}, "job_id": "purged00"}))
    assert sweep.round()[0].problem == "Its job was deleted."


def test_trials_are_sorted_and_paged(world: World) -> None:
    sweep = Searching(world, parallel=4)
    sweep.round()
    sweep.place()
    for number, value in enumerate([3.0, 1.0, 2.0]):
        sweep.end(number, value)
    sweep.log(3, 7.5)
    sweep.round()

    def shown(sort: str, *, descending: bool = False, limit: int = 9, cursor: str | None = None) -> Any:
        return results.list_trials(
            world.deps, world.project, "sweep", states=None, sort=sort, descending=descending, limit=limit,
            cursor=cursor,
        )  # fmt: skip

    def numbers(listing: Any) -> list[int]:
        return [view.trial.number for view in listing.items]

    assert numbers(shown("value")) == [1, 2, 0, 3]
    assert numbers(shown("loss", descending=True)) == [0, 2, 1, 3]
    assert numbers(shown("lr")) == [3, 2, 1, 0]
    first = shown("number", limit=3)
    assert numbers(shown("number", limit=3, cursor=first.next)) == [3]
    assert shown("number").items[3].newest == {"loss": 7.5}
    with pytest.raises(BadRequest, match="Cannot sort trials by 'lrr'"):
        shown("lrr")
    with pytest.raises(NotFound):
        results.get_trial(world.deps, world.project, "sweep", 99)


@pytest.mark.parametrize(
    ("wanted", "error", "said"),
    [
        ({"parameters": tuple(Parameter(name=n, values=tuple(range(100))) for n in "abc")}, Invalid, "1,000,000"),
        ({"job": {"on": "no-such-template"}}, NotFound, "no-such-template"),
        ({"job": {"inputs": (JobInput("no-such-data"),)}}, NotFound, "no-such-data"),
        ({"job": {"gpu_hundredths": 100_00}}, DoesNotFit, ""),
        ({"method": Method.TPE, "objectives": ()}, Invalid, "needs an objective"),
    ],
)
def test_what_cannot_run_is_refused_at_once(world: World, wanted: dict[str, Any], error: Any, said: str) -> None:
    with pytest.raises(error) as caught:
        Searching(world, **wanted)
    assert said in caught.value.message
    with world.deps.db.read() as tx:
        assert searches.open_ids(tx) == []


def test_a_name_that_several_have_is_the_newest_and_must_be_clear_for_a_change(world: World) -> None:
    first, second = Searching(world), Searching(world)
    world.clock.advance(1)
    third = Searching(world)
    assert service.get(world.deps, world.project, "sweep").search.id == third.id
    with pytest.raises(Conflict, match="Several searches"):
        service.cancel(world.deps, world.maria, world.project, "sweep")
    for one in (first, second):
        service.cancel(world.deps, world.maria, world.project, one.id)
    assert service.cancel(world.deps, world.maria, world.project, "sweep").search.id == third.id
    with pytest.raises(NotFound) as caught:
        service.get(world.deps, world.project, "sweeep")
    assert "'sweep'" in (caught.value.hint or "")
    other = world.actor("eve", None)
    assert service.list_searches(world.deps, other, project=None, states=None, limit=9, cursor=None).items == []
