"""Runs of flows as stories: after each event, what starts, what is skipped and how it ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millpond.decide.flows.check import check_flow
from millpond.decide.flows.context import FlowContext
from millpond.decide.flows.next_steps import FlowDecision, next_steps
from millpond.decide.flows.reader import read_flow
from millpond.model.flow_run import Files, FlowRunState, StepRun, StepState

HEAD = "schema: millpond.flow/1\nname: f\n"
CHAIN = HEAD + (
    "params: {n: {type: int, default: 2}}\n"
    "steps:\n"
    "  make: {command: [make], params: {n: '${params.n}'}, outputs: {out: {}, rows: {type: int}}}\n"
    "  use: {command: [use], inputs: {x: '${steps.make.outputs.out}'}, outputs: {out: {}}}\n"
    "  log: {command: [log], after: [use], params: {text: 'rows=${steps.make.outputs.rows}'}}\n"
)
FAN = HEAD + (
    "steps:\n"
    "  list: {command: [list], outputs: {items: {type: list}}}\n"
    "  train: {command: [train], each: {lr: [0.1, 0.2], item: '${steps.list.outputs.items}'}, "
    "params: {lr: '${each.lr}', item: '${each.item}'}, outputs: {model: {}}}\n"
    "  pick: {command: [pick], inputs: {models: '${steps.train[*].outputs.model}'}}\n"
)


class Story:
    """A run that is told how its steps end; `start` notes what a decision changed, as a service would."""

    def __init__(self, text: str, params: Mapping[str, Any] | None = None) -> None:
        checked = check_flow(text, lambda ref: None)
        assert checked.problems == ()
        flow, document, _ = read_flow(text)
        assert flow is not None
        self.context = FlowContext(flow, document, {})
        self.steps: dict[str, tuple[StepRun, ...]] = {}
        self.params = params or {name: one.default for name, one in flow.params.items()}
        self.is_cancelled = False

    def decide(self) -> FlowDecision:
        state = FlowRunState("r1", self.params, dict(self.steps), is_cancelled=self.is_cancelled)
        decision = next_steps(self.context, state)
        assert next_steps(self.context, state) == decision
        self.steps |= decision.changed
        for start in decision.starts:
            self._change(start.run.step, start.run.index, state=StepState.RUNNING)
        return decision

    def end(self, step: str, *, index: int | None = None, failed: str = "", skip: bool = False, **outputs: Any) -> None:
        state = StepState.FAILED if failed else StepState.SKIPPED if skip else StepState.SUCCEEDED
        self._change(step, index, state=state, reason=failed, outputs=outputs)

    def _change(self, step: str, index: int | None, **changes: Any) -> None:
        self.steps[step] = tuple(
            StepRun(run.step, run.index, run.each, **changes) if run.index == index else run for run in self.steps[step]
        )


def started(decision: FlowDecision) -> list[str]:
    return [start.run.label for start in decision.starts]


def test_steps_start_one_after_the_other_with_what_the_earlier_ones_made() -> None:
    story = Story(CHAIN)
    first = story.decide()
    assert started(first) == ["make"] and first.starts[0].params == {"n": 2}
    assert first.waits == {"use": "Waits for make.", "log": "Waits for make, use."}
    assert story.decide().is_empty
    story.end("make", out=Files("c1"), rows=3)
    second = story.decide()
    assert started(second) == ["use"] and second.starts[0].inputs == {"x": Files("c1")}
    story.end("use", out=Files("c2"))
    assert story.decide().starts[0].params == {"text": "rows=3"}
    story.end("log")
    assert story.decide().ended == (StepState.SUCCEEDED, "")


def test_after_a_failure_nothing_more_starts() -> None:
    story = Story(CHAIN)
    story.decide()
    story.end("make", failed="exit code 1")
    last = story.decide()
    assert last.ended == (StepState.FAILED, "Step make failed: exit code 1")
    assert [run.state for run in story.steps["use"]] == [StepState.SKIPPED]


def test_independent_steps_go_on_after_a_failure_if_the_flow_says_so() -> None:
    text = (
        HEAD
        + "on_failure: continue\nsteps:\n  a: {command: [a]}\n  b: {command: [b]}\n  c: {command: [c], after: [b]}\n"
    )
    story = Story(text)
    assert started(story.decide()) == ["a", "b"]
    story.end("a", failed="exit code 1")
    story.end("b")
    assert started(story.decide()) == ["c"]
    story.end("c")
    assert story.decide().ended == (StepState.FAILED, "Step a failed: exit code 1")


def test_a_step_runs_over_the_product_of_its_lists_and_is_gathered_in_order() -> None:
    story = Story(FAN)
    story.decide()
    story.end("list", items=["x", "y"])
    decision = story.decide()
    assert [start.params for start in decision.starts] == [
        {"lr": 0.1, "item": "x"}, {"lr": 0.1, "item": "y"}, {"lr": 0.2, "item": "x"}, {"lr": 0.2, "item": "y"},
    ]  # fmt: skip
    for index in (3, 1, 2, 0):
        story.end("train", index=index, model=Files(f"m{index}"))
    assert story.decide().starts[0].inputs == {"models": [Files("m0"), Files("m1"), Files("m2"), Files("m3")]}


def test_fan_out_over_nothing_succeeds_and_says_so() -> None:
    story = Story(FAN)
    story.decide()
    story.end("list", items=[])
    decision = story.decide()
    assert story.steps["train"][0].reason == "The list to run over is empty."
    assert started(decision) == ["pick"] and decision.starts[0].inputs == {"models": []}


def test_a_list_that_is_too_long_fails_the_step() -> None:
    story = Story(FAN)
    story.decide()
    story.end("list", items=list(range(1001)))
    assert story.decide().ended is not None
    assert "2,002 times" in story.steps["train"][0].reason


def test_max_parallel_holds_executions_back() -> None:
    story = Story(FAN.replace("steps:", "max_parallel: 2\nsteps:", 1))
    story.decide()
    story.end("list", items=["x", "y"])
    assert started(story.decide()) == ["train[0]", "train[1]"]
    assert story.decide().is_empty
    story.end("train", index=1, model=Files("m"))
    assert started(story.decide()) == ["train[2]"]


def test_a_false_condition_skips_a_step_and_those_that_need_it() -> None:
    text = CHAIN.replace("use: {command: [use]", "use: {when: '${params.n > 2}', command: [use]")
    story = Story(text)
    story.decide()
    story.end("make", out=Files("c1"), rows=3)
    decision = story.decide()
    assert decision.ended == (StepState.SUCCEEDED, "")
    assert story.steps["use"][0].reason == "Its condition is false: ${params.n > 2}"
    assert story.steps["log"][0].reason == "Step use was skipped."


def test_an_optional_input_of_a_skipped_step_is_left_out() -> None:
    text = HEAD + (
        "steps:\n"
        "  a: {command: [a], when: '${false}', outputs: {o: {}}}\n"
        "  b: {command: [b], inputs: {x: {from: '${steps.a.outputs.o}', optional: true}}}\n"
    )
    decision = Story(text).decide()
    assert started(decision) == ["b"] and decision.starts[0].inputs == {}


def test_an_optional_output_that_was_not_made_skips_only_those_that_need_it() -> None:
    text = HEAD + (
        "steps:\n"
        "  a: {command: [a], outputs: {o: {optional: true}, v: {type: int, optional: true}}}\n"
        "  b: {command: [b], inputs: {x: {from: '${steps.a.outputs.o}', optional: true}}}\n"
        "  c: {command: [c], inputs: {x: '${steps.a.outputs.o}'}}\n"
        "  d: {command: [d], params: {v: '${steps.a.outputs.v}'}}\n"
        "  e: {command: [e, '${steps.a.outputs.v}']}\n"
    )
    story = Story(text)
    story.decide()
    story.end("a")
    decision = story.decide()
    assert started(decision) == ["b"] and decision.starts[0].inputs == {}
    reasons = [story.steps[name][0].reason for name in ("c", "d", "e")]
    assert reasons == ["Step a made no output o.", *["Step a made no output v."] * 2]
    assert {story.steps[name][0].state for name in ("c", "d", "e")} == {StepState.SKIPPED}


def test_a_gate_waits_until_it_is_approved() -> None:
    text = HEAD + (
        "params: {n: {type: int, default: 7}}\nsteps:\n"
        "  gate: {approval: {message: 'Ship ${params.n}?'}}\n"
        "  ship: {command: [ship], after: [gate]}\n"
    )
    story = Story(text)
    assert story.decide().starts == ()
    assert story.steps["gate"][0].reason == "Waits for approval: Ship 7?"
    story.end("gate")
    assert started(story.decide()) == ["ship"]


def test_a_cancelled_run_starts_nothing_and_ends_with_its_last_step() -> None:
    story = Story(FAN)
    story.decide()
    story.is_cancelled = True
    assert story.decide().ended is None
    story.end("list", items=[])
    assert story.decide().ended == (StepState.CANCELLED, "The run was cancelled.")


def test_values_that_cannot_be_compared_fail_the_step() -> None:
    story = Story(CHAIN.replace("use: {command", "use: {when: \"${steps.make.outputs.rows > 'x'}\", command"))
    story.decide()
    story.end("make", out=Files("c1"), rows=3)
    story.decide()
    assert "cannot be compared" in story.steps["use"][0].reason
