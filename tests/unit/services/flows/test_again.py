"""What is done again and what is not: retries, parts of a flow, remembered steps, several runs at once."""

from __future__ import annotations

import pytest

from millpond.db import flow_memos
from millpond.db.tables import commit as commit_table
from millpond.db.tables import job as job_table
from millpond.db.tables import ref as ref_table
from millpond.errors import BadRequest, Conflict
from millpond.services.people import secrets
from millpond.testing.builders_data import the_admin
from tests.unit.services.flows.running import Flows, Run

CHAIN = """
steps:
  make: {command: [make], outputs: {out: {}, n: {type: int}}}
  use: {command: [use], inputs: {x: "${steps.make.outputs.out}"}, params: {n: "${steps.make.outputs.n}"}, outputs: {out: {}}}
  last: {command: [last], inputs: {x: "${steps.use.outputs.out}"}}
"""  # noqa: E501
MADE = {"values": {"n": 1}, "files": {"out": {"f": b"made"}}}
USED = {"files": {"out": {"f": b"used"}}}


def whole(flows: Flows, text: str | None = CHAIN) -> Run:
    """A run that succeeded."""
    run = flows.start(text).end("make", **MADE).end("use", **USED).end("last")
    assert run.state == "succeeded"
    return run


def test_a_retry_runs_what_did_not_succeed(flows: Flows) -> None:
    run = flows.start(CHAIN).end("make", **MADE).end("use", exit_code=1)
    assert run.states == {"make": "succeeded", "use": "failed", "last": "skipped"}
    run.retry()
    assert run.states == {"make": "succeeded", "use": "queued", "last": "waiting"} and run.state == "running"
    run.end("use", **USED).end("last")
    assert (run.state, run.reason) == ("succeeded", "")
    assert run.jobs == ["f-1-last", "f-1-make", "f-1-use", "f-1-use"]
    with pytest.raises(Conflict, match="Every step of f#1 has succeeded"):
        run.retry()


def test_a_retry_of_a_fan_out_keeps_what_succeeded(flows: Flows) -> None:
    run = flows.start("steps:\n  a: {command: [a], each: {n: [1, 2, 3]}, params: {n: '${each.n}'}}\n")
    run.end("a[0]", "a[2]").end("a[1]", exit_code=1)
    assert run.state == "failed"
    run.retry()
    assert run.states == {"a[0]": "succeeded", "a[1]": "queued", "a[2]": "succeeded"}
    assert run.params("a[1]") == {"n": 2} and run.end("a[1]").state == "succeeded"


def test_a_retry_from_a_step_does_it_and_all_behind_it_again(flows: Flows) -> None:
    run = whole(flows)
    run.retry("use")
    assert run.states == {"make": "succeeded", "use": "queued", "last": "waiting"}, "though it is remembered"
    run.end("use", files={"out": {"f": b"other"}})
    assert run.inputs("last") == {"MILL_INPUT_X": {"f": b"other"}}
    assert run.end("last").state == "succeeded"
    with pytest.raises(BadRequest, match="no step 'us'"):
        run.retry("us")
    going = flows.start(remember=False)
    with pytest.raises(Conflict, match="has not ended"):
        going.retry()


def test_a_cancelled_run_goes_on_where_it_was(flows: Flows) -> None:
    run = flows.start(CHAIN).end("make", **MADE)
    flows.world.schedule()
    run.cancel().end("use", exit_code=143, reason="stopped")
    assert run.state == "cancelled"
    run.retry()
    assert run.states == {"make": "succeeded", "use": "queued", "last": "waiting"}
    assert run.end("use", **USED).end("last").state == "succeeded"


def test_from_a_step_on_takes_the_rest_from_an_earlier_run(flows: Flows) -> None:
    with pytest.raises(Conflict, match="No earlier run of 'f' has outputs of make"):
        flows.start(CHAIN, from_step="use")
    whole(flows, None)
    run = flows.start(from_step="use")
    assert run.states == {"make": "remembered", "use": "queued", "last": "waiting"}
    assert run.why("make") == "Taken from f#1." and run.step("make").remembered_from == "f#1/make"
    assert run.inputs("use") == {"MILL_INPUT_X": {"f": b"made"}} and run.params("use") == {"n": 1}
    assert run.end("use", **USED).states["last"] == "remembered", "its inputs are the same as before"
    assert run.state == "succeeded"


def test_only_one_step_runs(flows: Flows) -> None:
    whole(flows)
    run = flows.start(only_step="use")
    assert run.states == {"make": "remembered", "use": "queued", "last": "remembered"}
    assert run.end("use", **USED).state == "succeeded" and run.jobs == ["f-2-use"]
    first = flows.start("steps:\n  a: {command: [a]}\n  b: {command: [b], after: [a]}\n", name="g", only_step="a")
    assert first.states == {"a": "queued", "b": "skipped"} and first.end("a").state == "succeeded"
    for wrong, words in (({"from_step": "x"}, "no step 'x'"), ({"from_step": "a", "only_step": "a"}, "be combined")):
        with pytest.raises(BadRequest, match=words):
            flows.start(name="g", **wrong)


def test_the_same_work_is_remembered(flows: Flows) -> None:
    whole(flows)
    again = flows.start()
    assert set(again.states.values()) == {"remembered"} and (again.state, again.jobs) == ("succeeded", [])
    assert again.why("use") == "Remembered from f#1/use." and again.step("use").outputs == {
        "out": {"files": again.step("use").outputs["out"]["files"], "type": "directory"}
    }
    other = flows.start(CHAIN.replace("[use]", "[use, more]"))
    assert other.states == {"make": "remembered", "use": "queued", "last": "waiting"}
    assert other.end("use", **USED).states["last"] == "remembered", "what it reads has the same content"


def test_what_is_remembered_in_another_flow_of_the_project_is_used(flows: Flows) -> None:
    whole(flows)
    assert flows.start("steps:\n  it: {command: [make], outputs: {out: {}, n: {type: int}}}\n", name="g").states == {
        "it": "remembered"
    }


@pytest.mark.parametrize("where", ["run", "step", "flow"])
def test_remembering_can_be_switched_off(flows: Flows, where: str) -> None:
    text = "steps:\n  a: {command: [a], outputs: {n: {type: int}}}\n"
    flows.start(text).end("a", values={"n": 1})
    if where == "run":
        run = flows.start(remember=False)
    else:
        text = (
            text.replace("[a],", "[a], remember: false,")
            if where == "step"
            else f"defaults: {{remember: false}}\n{text}"
        )
        run = flows.start(text)
    assert run.states == {"a": "queued"}
    assert run.job("a").id and run.step("a").memo_key is None


def test_of_two_runs_at_once_one_executes_and_the_other_waits(flows: Flows) -> None:
    first = flows.start(CHAIN)
    second = flows.start()
    assert second.states["make"] == "ready" and second.why("make") == "Waits for f#1/make, which does the same."
    assert second.jobs == []
    first.end("make", **MADE)
    assert second.states["make"] == "remembered" and second.step("make").attempts == 0
    assert {first.states["use"], second.states["use"]} == {"queued", "ready"}
    first.end("use", exit_code=1)
    assert first.state == "failed" and second.states["use"] == "queued", "it does what the other failed to do"
    assert second.end("use", **USED).end("last").state == "succeeded"


def test_the_one_that_waits_goes_on_if_the_other_is_cancelled(flows: Flows) -> None:
    first, second = flows.start(CHAIN), flows.start()
    first.cancel()
    assert first.state == "cancelled" and second.states["make"] == "queued"


def test_an_output_that_is_gone_is_no_hit(flows: Flows) -> None:
    run = whole(flows)
    place = run.step("make").outputs["out"]["files"]
    commit = place.partition("@")[2].partition(":")[0]
    with flows.deps.db.write() as tx:
        tx.execute(job_table.update().values(output_commit=None))
        tx.execute(ref_table.delete().where(ref_table.c.commit_id == commit))
        tx.execute(commit_table.delete().where(commit_table.c.id == commit))
    again = flows.start()
    assert again.states["make"] == "queued"
    again.end("make", **MADE)
    assert again.states["use"] == "remembered", "the tree is the same"


def test_secrets_are_given_to_the_step_and_never_remembered(flows: Flows) -> None:
    secrets.put(flows.deps, the_admin(flows.deps), flows.project, "S3_KEY", "hush")
    text = """
params: {key: {type: secret, default: S3_KEY}}
steps:
  a: {command: [a], params: {key: "${params.key}", n: 1}, outputs: {n: {type: int}}}
"""
    run = flows.start(text)
    assert run.job("a").spec.secrets == {"S3_KEY": "S3_KEY"} and run.params("a") == {"key": "S3_KEY", "n": 1}
    run.end("a", values={"n": 1})
    assert flows.start().states == {"a": "queued"}
    with flows.deps.db.read() as tx:
        assert flow_memos.find(tx, flows.project.id, [run.step("a").memo_key or ""]) == {}


BUSY = "concurrency: {limit: 1, then: %s}\nsteps:\n  a: {command: [a], remember: false}\n"


def test_a_run_waits_for_the_one_before_it(flows: Flows) -> None:
    first = flows.start(BUSY % "queue")
    second, third = flows.start(), flows.start()
    assert (second.state, second.reason, second.jobs) == ("queued", "Waits for f#1.", [])
    first.end("a")
    assert (first.state, second.state, third.state) == ("succeeded", "running", "queued")
    second.end("a", exit_code=1)
    assert third.state == "running" and third.end("a").state == "succeeded"
    second.retry()
    assert second.state == "running"


def test_a_retried_run_waits_its_turn(flows: Flows) -> None:
    first = flows.start(BUSY % "queue").end("a", exit_code=1)
    second = flows.start()
    first.retry()
    assert (first.state, second.state) == ("queued", "running")
    second.end("a")
    assert first.state == "running"


def test_a_run_that_waits_can_be_cancelled(flows: Flows) -> None:
    first = flows.start(BUSY % "queue")
    second = flows.start().cancel()
    assert (first.state, second.state, second.jobs) == ("running", "cancelled", [])


def test_a_run_of_a_busy_flow_is_skipped(flows: Flows) -> None:
    flows.start(BUSY % "skip")
    second = flows.start()
    assert (second.state, second.reason, second.jobs) == ("skipped", "Skipped: f#1 had not ended.", [])


def test_a_newer_run_cancels_the_one_that_goes_on(flows: Flows) -> None:
    first = flows.start(BUSY % "cancel-running")
    flows.world.schedule()
    second = flows.start()
    assert second.state == "queued" and first.job("a").status.stop_requested_at is not None
    first.end("a", exit_code=143, reason="stopped")
    assert (first.state, first.row.cancelled_by, second.state) == ("cancelled", "a newer run", "running")


def test_max_parallel_holds_executions_back(flows: Flows) -> None:
    run = flows.start(
        "max_parallel: 2\nsteps:\n  a: {command: [a], each: {n: [0, 1, 2, 3]}, params: {n: '${each.n}'}}\n"
    )
    assert list(run.states.values()) == ["queued", "queued", "ready", "ready"]
    run.end("a[1]")
    assert list(run.states.values()) == ["queued", "succeeded", "queued", "ready"]
    run.end("a[0]", "a[2]").end("a[3]")
    assert run.state == "succeeded"
