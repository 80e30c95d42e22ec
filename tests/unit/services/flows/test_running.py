"""Runs from their start to their end: what each step is given, what is skipped, and how a run ends."""

from __future__ import annotations

import pytest

from millpond.db import scheduling
from millpond.errors import BadRequest, Conflict, Forbidden, InUse, NotFound
from millpond.model.flow_run import RunTrigger
from millpond.model.job import JobState
from millpond.services.flows import control, saving
from millpond.testing.builders_data import a_commit, the_admin
from tests.unit.services.flows.running import Flows

CHAIN = """
params: {n: {type: int, default: 2}, word: {type: str, default: hi}}
steps:
  raw: {dataset: xray@main}
  make:
    command: [make, "${params.word}", "$${HOME}", "run-${run.id}"]
    inputs: {data: "${steps.raw}"}
    params: {n: "${params.n}", text: "n=${params.n}", flag: true, deep: {list: ["${params.n}"]}}
    outputs: {out: {type: directory}, table: {type: file}, rows: {type: int}}
  use:
    command: [use]
    inputs: {made: "${steps.make.outputs.out}", table: "${steps.make.outputs.table}"}
    params: {rows: "${steps.make.outputs.rows}"}
"""
FAN = """
steps:
  list: {command: [list], outputs: {items: {type: list}}}
  train:
    command: [train]
    each: {lr: [0.1, 0.2], item: "${steps.list.outputs.items}"}
    params: {lr: "${each.lr}", item: "${each.item}"}
    outputs: {model: {}, score: {type: float}}
  pick:
    command: [pick]
    inputs: {models: "${steps.train[*].outputs.model}"}
    params: {scores: "${steps.train[*].outputs.score}"}
"""


def test_a_step_says_what_its_job_waits_for(flows: Flows) -> None:
    a_commit(flows.deps, {"a.txt": b"1"})
    run = flows.start(CHAIN)
    with flows.deps.db.write() as tx:
        scheduling.note_rules(tx, [(run.job("make").id, "locality", "Its environment is being built.")])
    shown = {view.step.label: view.reason for view in run.shown}
    assert shown["make"] == "Waiting: Its environment is being built."


def test_a_chain_passes_files_and_typed_values(flows: Flows) -> None:
    commit = a_commit(flows.deps, {"a.txt": b"1", "b/c.txt": b"2"})
    run = flows.start(CHAIN)
    assert run.states == {"raw": "succeeded", "make": "queued", "use": "waiting"}
    assert run.why("use") == "Waits for make."
    assert run.params("make") == {"n": 2, "text": "n=2", "flag": True, "deep": {"list": [2]}}
    assert run.job("make").spec.command == ("make", "hi", "${HOME}", f"run-{run.id}")
    assert [(one.env, one.commit_id) for one in run.job("make").spec.inputs] == [("MILL_INPUT_DATA", commit.id)]
    assert run.job("make").name == "f-1-make" and run.job("make").created_by == "maria"

    files = {"out": {"x/1": b"one", "2": b"two"}, "table": {"": b"rows"}}
    run.end("make", values={"rows": 3}, files=files)
    assert run.states["use"] == "queued" and run.params("use") == {"rows": 3}
    assert run.inputs("use") == {
        "MILL_INPUT_MADE": {"x/1": b"one", "2": b"two"},
        "MILL_INPUT_TABLE": {"table": b"rows"},
    }
    assert [one.path for one in run.job("use").spec.inputs] == ["", "table"], "the variable holds the path of the file"
    run.end("use")
    assert (run.state, run.reason) == ("succeeded", "")
    assert run.jobs == ["f-1-make", "f-1-use"]


def test_parameters_are_typed_and_checked_before_anything_runs(flows: Flows) -> None:
    a_commit(flows.deps, {"a": b"1"})
    run = flows.start(CHAIN, params={"n": "7", "make.text": "other"})
    assert run.row.params == {"n": 7, "word": "hi"}
    assert run.params("make")["n"] == 7 and run.params("make")["text"] == "other"
    for params, words in (
        ({"n": "seven"}, "n must be a whole number"),
        ({"m": 1}, "no parameter 'm'"),
        ({"mke.text": 1}, "no step 'mke'"),
        ({"n": 1.5}, "n must be a whole number"),
    ):
        with pytest.raises(BadRequest, match=words):
            flows.start(params=params)
    assert [name for name in flows.job_names() if not name.startswith("f-1-")] == []


def test_what_a_dataset_holds_is_fixed_when_the_run_starts(flows: Flows) -> None:
    first = a_commit(flows.deps, {"a": b"1"})
    run = flows.start("steps:\n  a: {command: [a]}\n  raw: {dataset: xray}\n  b: {command: [b], after: [a], "
                      "inputs: {data: '${steps.raw}'}}\n")  # fmt: skip
    a_commit(flows.deps, {"a": b"2"})
    run.end("a")
    assert run.job("b").spec.inputs[0].commit_id == first.id
    with pytest.raises(NotFound, match="nosuch"):
        flows.start("steps:\n  raw: {dataset: nosuch@main}\n  b: {command: [b], inputs: {data: '${steps.raw}'}}\n")


def test_a_fan_out_is_gathered_in_the_order_of_its_list(flows: Flows) -> None:
    run = flows.start(FAN)
    run.end("list", values={"items": ["x", "y"]})
    assert [label for label, state in run.states.items() if state == "queued"] == [f"train[{n}]" for n in range(4)]
    assert [run.params(f"train[{n}]") for n in (0, 3)] == [{"lr": 0.1, "item": "x"}, {"lr": 0.2, "item": "y"}]
    for index in (3, 1, 0, 2):
        assert run.states["pick"] == "waiting"
        run.end(f"train[{index}]", values={"score": index / 10}, files={"model": {"m": str(index).encode()}})
    assert run.params("pick") == {"scores": [0.0, 0.1, 0.2, 0.3]}
    assert run.inputs("pick") == {"MILL_INPUT_MODELS": {f"{index}/m": str(index).encode() for index in range(4)}}
    assert run.job("train[3]").name == "f-1-train-3"
    assert run.end("pick").state == "succeeded"


def test_more_than_ten_parts_lie_in_order(flows: Flows) -> None:
    text = "steps:\n  a: {command: [a], each: {n: [0,1,2,3,4,5,6,7,8,9,10,11]}, outputs: {o: {}}}\n"
    run = flows.start(text + "  b: {command: [b], inputs: {all: '${steps.a[*].outputs.o}'}}\n")
    for index in range(12):
        run.end(f"a[{index}]", files={"o": {"n": str(index).encode()}})
    assert run.inputs("b")["MILL_INPUT_ALL"] == {f"{index}/n": str(index).encode() for index in range(12)}


def test_a_list_of_objects_gives_each_execution_its_keys(flows: Flows) -> None:
    run = flows.start(FAN.replace('each: {lr: [0.1, 0.2], item: "${steps.list.outputs.items}"}',
                                  'each: "${steps.list.outputs.items}"'))  # fmt: skip
    run.end("list", values={"items": [{"lr": 1, "item": "a"}, {"lr": 2, "item": "b"}]})
    assert run.params("train[1]") == {"lr": 2, "item": "b"}


def test_a_fan_out_over_nothing_goes_on_with_an_empty_folder(flows: Flows) -> None:
    run = flows.start(FAN)
    run.end("list", values={"items": []})
    assert (run.states["train"], run.why("train")) == ("succeeded", "The list to run over is empty.")
    assert run.inputs("pick") == {"MILL_INPUT_MODELS": {}} and run.params("pick") == {"scores": []}
    assert run.end("pick").state == "succeeded"


def test_a_fan_out_above_the_setting_fails_the_step(flows: Flows) -> None:
    run = flows.start(FAN)
    run.end("list", values={"items": list(range(10_000))})
    assert run.state == "failed" and "20,000 times; at most 2,000" in run.why("train")
    assert run.jobs == ["f-1-list"]


def test_conditions_skip_and_optional_inputs_are_left_out(flows: Flows) -> None:
    text = """
params: {least: {type: float, default: 0.8}}
steps:
  try: {command: [try], outputs: {o: {}, accuracy: {type: float}}}
  good: {command: [good], when: "${steps.try.outputs.accuracy >= params.least}", outputs: {o: {}}}
  needs: {command: [needs], inputs: {x: "${steps.good.outputs.o}"}}
  may: {command: [may], inputs: {x: {from: "${steps.good.outputs.o}", optional: true}, y: "${steps.try.outputs.o}"}}
"""
    run = flows.start(text)
    run.end("try", values={"accuracy": 0.5}, files={"o": {"f": b"1"}})
    assert run.states == {"try": "succeeded", "good": "skipped", "needs": "skipped", "may": "queued"}
    assert run.why("good") == "Its condition is false: ${steps.try.outputs.accuracy >= params.least}"
    assert run.why("needs") == "Step good was skipped."
    assert list(run.inputs("may")) == ["MILL_INPUT_Y"]
    assert run.end("may").state == "succeeded"

    other = flows.start(params={"least": 0.1}, remember=False)
    other.end("try", values={"accuracy": 0.5}, files={"o": {"f": b"1"}}).end("good", files={"o": {"f": b"2"}})
    assert list(other.inputs("may")) == ["MILL_INPUT_X", "MILL_INPUT_Y"]


GATE = """
steps:
  try: {command: [try], outputs: {accuracy: {type: float}}}
  gate: {approval: {role: admin, message: "Ship ${steps.try.outputs.accuracy}?", timeout: 7d}, after: [try]}
  ship: {command: [ship], after: [gate]}
"""


def test_an_approval_lets_the_run_go_on(flows: Flows) -> None:
    run = flows.start(GATE)
    admin = the_admin(flows.deps)
    with pytest.raises(Conflict, match="has not been reached"):
        control.approve(flows.deps, admin, flows.project, run.id, "gate")
    run.end("try", values={"accuracy": 0.9})
    assert (run.states["gate"], run.why("gate")) == ("waiting", "Waits for approval: Ship 0.9?")
    with pytest.raises(Forbidden):
        control.approve(flows.deps, flows.world.maria, flows.project, run.id, "gate")
    control.approve(flows.deps, admin, flows.project, run.id, "gate", "looks right")
    flows.round()
    assert (run.why("gate"), run.states["ship"]) == ("Approved by admin: looks right", "queued")
    assert run.end("ship").state == "succeeded"
    with pytest.raises(Conflict, match="is succeeded"):
        control.approve(flows.deps, admin, flows.project, run.id, "gate")


def test_a_rejected_approval_fails_the_run(flows: Flows) -> None:
    run = flows.start(GATE).end("try", values={"accuracy": 0.1})
    control.reject(flows.deps, the_admin(flows.deps), flows.project, run.id, "gate")
    flows.round()
    assert (run.state, run.reason) == ("failed", "Step gate failed: Rejected by admin.")
    assert run.states["ship"] == "skipped" and run.jobs == ["f-1-try"]


def test_an_approval_that_nobody_gives_expires(flows: Flows) -> None:
    run = flows.start(GATE).end("try", values={"accuracy": 0.1})
    flows.world.clock.advance(7 * 86_400 - 60)
    flows.round()
    assert run.states["gate"] == "waiting"
    flows.world.clock.advance(120)
    flows.round()
    assert (run.state, run.why("gate")) == ("failed", "Nobody approved it in time.")


TWO = """
on_failure: {on_failure}
steps:
  a: {{command: [a]}}
  b: {{command: [b]}}
  c: {{command: [c], after: [b]}}
  d: {{command: [d], after: [a]}}
"""


def test_after_a_failure_nothing_more_starts(flows: Flows) -> None:
    run = flows.start(TWO.format(on_failure="stop"))
    run.end("a", exit_code=3)
    assert run.state == "running", "what runs goes on to its end"
    run.end("b")
    assert run.states == {"a": "failed", "b": "succeeded", "c": "skipped", "d": "skipped"}
    assert run.state == "failed" and "Step a failed" in run.reason and "3" in run.reason


def test_independent_branches_go_on_if_the_flow_says_so(flows: Flows) -> None:
    run = flows.start(TWO.format(on_failure="continue"))
    run.end("a", exit_code=3)
    run.end("b")
    assert run.states == {"a": "failed", "b": "succeeded", "c": "queued", "d": "skipped"}
    run.end("c")
    assert (run.state, run.why("d")) == ("failed", "Step a failed.")


def test_a_missing_output_fails_the_step(flows: Flows) -> None:
    """Whether it is missing is found by the agent (tests/unit/agent); the step says it as it was told."""
    run = flows.start("steps:\n  a: {command: [a], outputs: {model: {type: model}}}\n")
    run.end("a", problem="missing output model")
    assert (run.state, run.why("a")) == ("failed", "missing output model")


def test_retries_wait_and_count_only_for_the_endings_they_are_for(flows: Flows) -> None:
    text = "steps:\n  a: {command: [a], retries: {count: 2, for: [lost, oom], backoff: 30s}}\n"
    run = flows.start(text)
    run.end("a", exit_code=None, reason="out_of_memory")
    job = run.job("a")
    assert (job.status.state, job.status.attempt, job.status.retried) == (JobState.QUEUED, 1, 1)
    flows.world.schedule()
    assert run.job("a").status.state is JobState.QUEUED, "not before its time"
    flows.world.clock.advance(31)
    run.end("a", exit_code=None, reason="lost")
    assert run.job("a").status.losses == 1
    flows.world.clock.advance(31)
    run.end("a", exit_code=1)
    assert run.state == "failed", "an exit status is not what it is retried for"
    assert run.jobs == ["f-1-a"], "one job, three attempts"


def test_a_step_that_takes_too_long_fails(flows: Flows) -> None:
    text = "defaults: {timeout: 2h}\nsteps:\n  a: {command: [a], timeout: 30m}\n  b: {command: [b]}\n"
    run = flows.start(text)
    assert [run.job(step).spec.timeout_seconds for step in "ab"] == [1800, 7200]
    run.end("a", exit_code=None, signal=15, reason="timeout")
    assert run.states["a"] == "failed" and "time" in run.why("a")


def test_cancel_ends_everything(flows: Flows) -> None:
    run = flows.start(FAN.replace("steps:", "max_parallel: 3\nsteps:", 1))
    run.end("list", values={"items": ["x", "y"]})
    flows.world.schedule()
    begun = run.job("train[0]")
    run.cancel()
    assert run.job("train[0]").status.stop_requested_at is not None
    assert begun.status.placement_id is not None
    run.end(*(label for label, state in run.states.items() if state == "queued"), exit_code=143, reason="stopped")
    assert (run.state, run.reason) == ("cancelled", "The run was cancelled.")
    assert set(run.states.values()) <= {"succeeded", "cancelled", "skipped"}
    assert run.row.cancelled_by == "maria" and run.cancel().state == "cancelled"


def test_what_started_a_run_is_kept_and_can_be_used(flows: Flows) -> None:
    commit = a_commit(flows.deps, {"a": b"1"})
    text = "steps:\n  raw: {dataset: 'xray@${trigger.commit}'}\n  a: {command: [a, '${trigger.commit}'], " \
           "inputs: {data: '${steps.raw}'}}\n"  # fmt: skip
    run = flows.start(text, trigger=RunTrigger("commit", "xray@main", commit.id))
    assert run.row.trigger.type == "commit" and run.job("a").spec.command == ("a", commit.id)
    assert run.job("a").spec.inputs[0].commit_id == commit.id


def test_what_the_flow_says_for_every_step_holds_unless_the_step_says_otherwise(flows: Flows) -> None:
    text = """
defaults: {retries: 2, timeout: 1h, priority: 5}
steps:
  a: {command: [a]}
  b: {command: [b], retries: 0, timeout: 1m, priority: -1}
"""
    run = flows.start(text)
    asked = [run.job(step).spec for step in "ab"]
    assert [(one.retries, one.timeout_seconds, one.priority) for one in asked] == [(2, 3600, 5), (0, 60, -1)]


def test_jobs_with_long_names_are_told_apart(flows: Flows) -> None:
    flow, step = "f" * 63, "s" * 60
    text = f"steps:\n  {step}-a: {{command: [a], each: {{n: [1, 2]}}}}\n  {step}-b: {{command: [b]}}\n"
    run = flows.start(text, name=flow)
    names = flows.job_names()
    assert len(set(names)) == 3 and all(len(name) <= 63 and "-1-" in name for name in names)
    assert run.end(f"{step}-a[0]", f"{step}-a[1]", f"{step}-b").state == "succeeded"


def test_runs_of_a_flow_that_was_removed_can_still_be_looked_at(flows: Flows) -> None:
    run = flows.start("steps:\n  a: {command: [a]}\n")
    with pytest.raises(InUse, match="f#1"):
        saving.remove(flows.deps, flows.world.maria, flows.project, "f")
    run.end("a")
    saving.remove(flows.deps, flows.world.maria, flows.project, "f")
    assert run.states == {"a": "succeeded"} and run.state == "succeeded"
    again = flows.start("steps:\n  b: {command: [b]}\n")
    assert again.row.number == 1 and again.row.flow_id != run.row.flow_id
    assert again.job("b").name == "f-1-b"
