from __future__ import annotations

from datetime import timedelta

import pytest

from millpond.api.shapes import runs as run_shapes
from millpond.db import actors
from millpond.errors import Conflict, Invalid, NameTaken, NotFound
from millpond.model.people import SYSTEM, Actor
from millpond.model.run import NewRun, RunState, RunView
from millpond.services.people import projects, tokens
from millpond.services.runs import reports, run_lists, runs, series
from millpond.services.runs.run_lists import RunListAsked
from millpond.wire.runs import MetricPoint, RunBatch
from tests.unit.services.world import World


def create(world: World, **fields: object) -> RunView:
    return runs.create(world.deps, world.maria, world.project, NewRun(**fields))  # type: ignore[arg-type]


def batch(world: World, run_id: str, sequence: int, *, actor: Actor | None = None, **fields: object) -> None:
    sent = RunBatch(sequence=sequence, **{"writer": "one", **fields})  # type: ignore[arg-type]
    reports.take_report(world.deps, actor or world.maria, world.project, run_id, run_shapes.run_report(sent))


def point(world: World, key: str, value: float | None, step: int = 0) -> MetricPoint:
    return MetricPoint(key=key, value=value, step=step, at=world.clock.now())


def last(view: RunView) -> dict[str, float]:
    return {key: summary.last for key, summary in view.metrics.items()}


def test_a_script_makes_a_run(world: World) -> None:
    view = create(world, name="first try", experiment="sweep", params={"lr": 0.1}, tags={"a": "b"})
    assert (view.run.name, view.run.experiment, view.run.state) == ("first try", "sweep", RunState.RUNNING)
    assert runs.get(world.deps, world.maria, world.project, view.run.id).view == view
    assert "-" in create(world).run.name


def test_a_run_inside_another_belongs_to_its_experiment_unless_told_otherwise(world: World) -> None:
    outer = create(world, experiment="folds").run
    assert create(world, parent_id=outer.id).run.experiment == "folds"
    assert create(world, parent_id=outer.id, experiment="other").run.experiment == "other"
    assert create(world, parent_id="notyethere").run.experiment == "default"
    other = projects.create(world.deps, SYSTEM, name="other")
    elsewhere = runs.create(world.deps, SYSTEM, other, NewRun(experiment="secret"))
    assert create(world, parent_id=elsewhere.run.id).run.experiment == "default"


def test_creating_it_twice_is_one_run(world: World) -> None:
    first = create(world, id="offline00001", name="a")
    batch(world, "offline00001", 0, params={"lr": 1})
    again = create(world, id="offline00001", name="b")
    assert (again.run.name, again.params) == ("a", {"lr": 1})
    assert again.run.id == first.run.id


def test_an_id_of_another_project_gives_nothing_away(world: World) -> None:
    other = projects.create(world.deps, SYSTEM, name="other")
    runs.create(world.deps, SYSTEM, other, NewRun(id="offline00001", name="secret name"))
    with pytest.raises(NameTaken) as caught:
        create(world, id="offline00001")
    assert "secret" not in caught.value.message
    with pytest.raises(NotFound):
        batch(world, "offline00001", 0)


def test_a_batch_counts_once(world: World) -> None:
    run_id = create(world).run.id
    for _ in range(2):
        batch(world, run_id, 0, metrics=[point(world, "loss", 0.5, 1)], params={"lr": 1}, tags={"t": "x"})
    batch(world, run_id, 1, metrics=[point(world, "loss", 0.25, 2)], params={"lr": 2})
    view = runs.get(world.deps, world.maria, world.project, run_id).view
    assert (last(view), view.params, view.tags) == ({"loss": 0.25}, {"lr": 2}, {"t": "x"})
    (found,) = series.metric_series(world.deps, world.maria, world.project, [run_id], keys=None, limit=100)
    assert list(zip(found.points.steps, found.points.values, strict=True)) == [(1, 0.5), (2, 0.25)]


def test_values_that_json_cannot_say(world: World) -> None:
    run_id = create(world, params={"lr": float("nan"), "deep": {"x": [float("inf")]}}).run.id
    batch(world, run_id, 0, metrics=[point(world, "loss", None, 1), point(world, "loss", float("inf"), 2)])
    view = runs.get(world.deps, world.maria, world.project, run_id).view
    assert view.params == {"lr": "nan", "deep": {"x": ["inf"]}}
    (found,) = series.metric_series(world.deps, world.maria, world.project, [run_id], keys=["loss"], limit=100)
    assert [str(value) for value in found.points.values] == ["nan", "inf"]


@pytest.mark.parametrize(("key", "step"), [("a\0b", 0), ("loss", 2**70)])
def test_points_that_cannot_be_stored_are_refused(world: World, key: str, step: int) -> None:
    run_id = create(world).run.id
    with pytest.raises(Invalid):
        batch(world, run_id, 0, metrics=[point(world, key, 1.0, step)])


def test_a_long_series_is_thinned(world: World) -> None:
    run_id = create(world).run.id
    batch(world, run_id, 0, metrics=[point(world, "loss", float(n % 17), n) for n in range(5000)])
    (found,) = series.metric_series(world.deps, world.maria, world.project, [run_id], keys=["loss"], limit=100)
    assert len(found.points) <= 100
    assert found.total == 5000


def test_a_script_says_how_it_ended(world: World) -> None:
    run_id = create(world).run.id
    batch(world, run_id, 0, ended="failed", ended_at=world.clock.now() + timedelta(hours=1))
    run = world.run(run_id)
    assert (run.state, run.ended_at) == (RunState.FAILED, world.clock.now())


def test_a_silent_script_is_lost_and_revived_by_a_late_batch(world: World) -> None:
    run_id = create(world).run.id
    world.clock.advance(301)
    assert runs.mark_lost(world.deps, world.clock.now()) == 1
    assert world.run(run_id).state is RunState.LOST
    batch(world, run_id, 0)
    assert (world.run(run_id).state, world.run(run_id).ended_at) == (RunState.RUNNING, None)
    assert runs.mark_lost(world.deps, world.clock.now()) == 0


def test_a_jobs_run_is_never_lost_and_ends_with_its_job(world: World) -> None:
    job = world.submit("train")
    world.clock.advance(10_000)
    assert runs.mark_lost(world.deps, world.clock.now()) == 0
    batch(world, job.run_id, 0, ended="succeeded")
    assert world.run(job.run_id).state is RunState.RUNNING


def test_a_job_says_how_far_it_is(world: World) -> None:
    job, _ = world.placed()
    told = len(world.told("jobs"))
    batch(world, job.run_id, 0, progress=0.4)
    batch(world, job.run_id, 1, progress=0.4)
    assert world.job(job.id).status.progress == 0.4
    assert len(world.told("jobs")) == told + 1
    batch(world, create(world).run.id, 0, progress=0.5)  # a script has no job to show it


def test_a_jobs_token_reaches_its_own_run_and_no_other(world: World) -> None:
    job, desired = world.placed()
    actor = tokens.actor_of(world.deps, desired.token)
    batch(world, job.run_id, 0, actor=actor, metrics=[point(world, "loss", 1.0)])
    other = create(world).run.id
    with pytest.raises(NotFound) as caught:
        batch(world, other, 0, actor=actor)
    assert caught.value.details["near"] == []
    with world.deps.db.read() as tx:
        assert actors.of_placement(tx, desired.id) is not None


def test_a_jobs_run_goes_to_the_bin_only_with_its_job(world: World) -> None:
    job = world.submit("train")
    with pytest.raises(Conflict, match="deleted and restored with it"):
        runs.move_to_bin(world.deps, world.maria, world.project, job.run_id)
    run_id = create(world).run.id
    binned = runs.move_to_bin(world.deps, world.maria, world.project, run_id)
    assert binned.run.deleted_at == world.clock.now()
    assert runs.take_from_bin(world.deps, world.maria, world.project, run_id).run.deleted_at is None


def test_lists_show_the_newest_metrics(world: World) -> None:
    first = create(world, experiment="a").run.id
    world.clock.advance(1)
    second = create(world, experiment="b").run.id
    batch(world, first, 0, metrics=[point(world, "acc", 0.9)])

    def listed(**chosen: object) -> list[tuple[str, dict[str, float]]]:
        found = run_lists.list_runs(world.deps, world.maria, RunListAsked(**chosen), limit=10)  # type: ignore[arg-type]
        return [(view.run.id, last(view)) for view in found.items]

    assert listed() == [(second, {}), (first, {"acc": 0.9})]
    assert listed(experiments=["a"], project="default") == [(first, {"acc": 0.9})]
