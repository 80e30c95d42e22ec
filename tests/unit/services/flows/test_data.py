"""Where the data of steps lies: brought near before their turn, or read from the lake."""

from __future__ import annotations

from millpond.db import caches, commits, datasets, volumes
from millpond.services.jobs import bin, jobs
from millpond.testing.builders_data import a_commit
from tests.unit.services.flows.running import Flows

TWO = """
steps:
  raw: {dataset: xray@main, cached: %s}
  first: {command: [first], outputs: {out: {}}}
  second: {command: [second], after: [first], inputs: {data: "${steps.raw}"}}
  third: {command: [third], after: [second], inputs: {data: "${steps.raw}"}}
"""


def cached(flows: Flows) -> set[str]:
    """The commits that are on the volume, or on their way."""
    with flows.deps.db.read() as tx:
        return {view.cached.commit_id for view in caches.of_volume(tx, flows.world.volume.id)}


def test_data_of_the_next_step_comes_while_the_one_before_runs(flows: Flows) -> None:
    commit = a_commit(flows.deps, {"a": b"1"})
    run = flows.start(TWO % "near")
    assert run.states["second"] == "waiting" and commit.id in cached(flows)


def test_data_that_is_needed_later_stays_where_it_is(flows: Flows) -> None:
    commit = a_commit(flows.deps, {"a": b"1"})
    text = TWO.replace('after: [first], inputs: {data: "${steps.raw}"}', "after: [first]")
    run = flows.start(text % "near")
    assert commit.id not in cached(flows), "the step that reads it is not the next one"
    run.end("first", files={"out": {"f": b"1"}})
    assert commit.id in cached(flows)


def test_data_that_must_be_cached_comes_when_the_run_starts(flows: Flows) -> None:
    commit = a_commit(flows.deps, {"a": b"1"})
    text = TWO.replace('after: [first], inputs: {data: "${steps.raw}"}', "after: [first]")
    flows.start(text % "yes")
    assert commit.id in cached(flows)


def test_data_that_is_not_to_be_cached_is_read_from_the_lake(flows: Flows) -> None:
    commit = a_commit(flows.deps, {"a": b"1"})
    run = flows.start(TWO % "no")
    run.end("first", files={"out": {"f": b"1"}}).end("second")
    (given,) = run.job("third").spec.inputs
    assert given.streamed and given.commit_id == commit.id and commit.id not in cached(flows)
    assert run.end("third").state == "succeeded"


def test_outputs_that_exist_come_too_but_not_behind_a_condition(flows: Flows) -> None:
    text = """
steps:
  make: {command: [make], outputs: {out: {}}}
  slow: {command: [slow], after: [make]}
  use: {command: [use], after: [slow], inputs: {x: "${steps.make.outputs.out}"}}
  may: {command: [may], after: [slow], when: "${run.id != ''}", inputs: {x: "${steps.make.outputs.out}"}}
"""
    run = flows.start(text).end("make", files={"out": {"f": b"1"}})
    assert run.states["use"] == "waiting"
    (brought,) = cached(flows)
    assert flows.files_of(brought) == {"f": b"1"}
    run.end("slow")
    assert run.job("use").spec.inputs[0].commit_id == brought
    guarded = text.replace("  use: {command: [use], ", "  use: {command: [use], when: '${run.id != 1}', ")
    guarded = guarded.replace("command: [make]", "command: [other]").replace("command: [slow]", "command: [slower]")
    other = flows.start(guarded, name="g").end("make", files={"out": {"f": b"2"}})
    assert cached(flows) == {brought} and other.states["use"] == "waiting"


def test_a_full_volume_keeps_no_run_from_going_on(flows: Flows) -> None:
    a_commit(flows.deps, {"a": b"1"})
    with flows.deps.db.write() as tx:
        volumes.change(tx, flows.world.volume.id, capacity_bytes=1)
    run = flows.start(TWO % "yes")
    assert cached(flows) == set() and run.states["first"] == "queued"


def test_what_steps_passed_on_goes_with_their_jobs(flows: Flows) -> None:
    run = flows.start("""
steps:
  first: {command: [first], outputs: {out: {}}}
  second: {command: [second], inputs: {data: "${steps.first.outputs.out}"}}
""")
    run.end("first", files={"out": {"f": b"1"}})
    run.end("second")
    assert branches(flows, ".outputs") and branches(flows, ".steps")
    world = flows.world
    for step in ("first", "second"):
        jobs.delete(flows.deps, world.maria, world.project, run.job(step).id)
    world.clock.advance(31 * 86_400)
    assert bin.purge(flows.deps, world.clock.now()) == 2
    assert (branches(flows, ".outputs"), branches(flows, ".steps")) == ([], [])


def branches(flows: Flows, dataset: str) -> list[str]:
    with flows.deps.db.read() as tx:
        found = datasets.find(tx, flows.world.project.id, dataset)
        assert found is not None
        return [ref.name for ref in commits.refs(tx, found.id, limit=100)]
