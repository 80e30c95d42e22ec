"""Every rule of a flow: one small flow that breaks it, and the problem with its place."""

from __future__ import annotations

import pytest

from millpond.decide.flows.check import check_flow
from millpond.model.component import Component, ComponentRef
from millpond.model.flow import Param, Port

SPLIT = Component(
    name="split",
    version=(1, 0, 0),
    params={"seed": Param("seed", "int", 0, has_default=True, min=0), "by": Param("by", "str")},
    inputs={"data": Port("data"), "extra": Port("extra", required=False)},
    outputs={"train": Port("train", "image-folder"), "rows": Port("rows", "int")},
)
TRAIN = Component(
    name="train",
    version=(2, 1, 0),
    params={"lr": Param("lr", "float", 0.1, has_default=True)},
    inputs={"images": Port("images", "image-folder")},
    outputs={"model": Port("model", "model"), "accuracy": Port("accuracy", "float")},
)
HEAD = "schema: millpond.flow/1\nname: f\n"
DATA = "  data: {dataset: xray@main}\n"
SPLIT_STEP = "  split: {component: split@1, inputs: {data: '${steps.data}'}, params: {by: x}}\n"
TRAIN_STEP = "  train: {component: train@2, inputs: {images: '${steps.split.outputs.train}'}}\n"
WHOLE = HEAD + "steps:\n" + DATA + SPLIT_STEP + TRAIN_STEP


def find(ref: ComponentRef) -> Component | None:
    known = [one for one in (SPLIT, TRAIN) if one.name == ref.name and ref.accepts(one.version)]
    return known[0] if known else None


def problems(text: str) -> list[tuple[int, str, str]]:
    return [(one.line, one.code, one.message) for one in check_flow(text, find).problems]


def test_a_flow_without_mistakes_has_no_problems() -> None:
    assert problems(WHOLE) == []


def test_a_step_with_a_slip_in_its_key_is_the_only_one_to_blame() -> None:
    text = HEAD + "steps:\n  a: {comand: [x]}\n  b: {command: [y], after: [a], params: {p: '${steps.a.outputs.o}'}}\n"
    found = check_flow(text, find).problems
    assert [(one.line, one.column, one.code, one.hint) for one in found] == [
        (4, 3, "step", "A step has exactly one of: dataset, component, command, approval."),
        (4, 7, "unknown-key", "Did you mean 'command'?"),
    ]


@pytest.mark.parametrize(
    ("text", "line", "code", "words"),
    [
        ("name: f\nsteps:\n" + DATA, 1, "schema", "missing"),
        ("schema: other/9\nname: f\nsteps:\n" + DATA, 1, "schema", "Unknown schema"),
        (HEAD + "stepps:\n" + DATA, 3, "unknown-key", "stepps"),
        (HEAD + "steps: {}\n", 3, "steps", "no steps"),
        ("schema: millpond.flow/1\nname: My Flow\nsteps:\n" + DATA, 2, "name", "My Flow"),
        (HEAD + "steps:\n" + DATA + "  Bad Name: {dataset: y}\n", 5, "name", "Bad Name"),
        (HEAD + "steps:\n  a: {inputs: {}}\n", 4, "step", "has no work"),
        (HEAD + "steps:\n  a:\n    comand: [x]\n", 5, "unknown-key", "comand"),
        (HEAD + "steps:\n  a:\n    command: [x]\n    params: {p: -.inf}\n", 6, "yaml", "-.inf"),
        (HEAD + "steps:\n  a:\n    command: [x]\n    params: {p: 1e999}\n", 6, "yaml", "1e999"),
        (HEAD + "steps:\n  a: {dataset: x, component: split@1}\n", 4, "step", "dataset and component"),
        (HEAD + "steps:\n  a: {dataset: x, cached: maybe}\n", 4, "value", "maybe"),
        (HEAD + "steps:\n  a: {dataset: 'x@@y'}\n", 4, "dataset", "'@y'"),
        (HEAD + "steps:\n  a: {component: nosuch@1}\n", 4, "unknown-component", "nosuch@1"),
        (HEAD + "steps:\n  a: {component: train@3}\n", 4, "unknown-component", "train@3"),
        (HEAD + "steps:\n  a: {component: 'No Such'}\n", 4, "component", "No Such"),
        (HEAD + "steps:\n  a: {command: []}\n", 4, "command", "empty"),
        (HEAD + "steps:\n  a: {command: [x], code: ../up}\n", 4, "code", "outside"),
        (HEAD + "steps:\n  a: {command: [x], template: t, queue: q}\n", 4, "where", "template and queue"),
        (HEAD + "steps:\n  a: {command: [x], image: i, environment: r.txt}\n", 4, "where", "image and environment"),
        (HEAD + "steps:\n  a: {command: [x], timeout: 10}\n", 4, "value", "has no unit"),
        (HEAD + "steps:\n  a: {command: [x], retries: -1}\n", 4, "value", "retries"),
        (HEAD + "steps:\n  a: {command: [x], after: [b]}\n", 4, "unknown-step", "'b'"),
        (HEAD + "steps:\n  a: {command: [x], when: 'params.y'}\n", 4, "expression", "one expression"),
        (HEAD + "steps:\n  a: {command: [x], params: {p: '${params.nope}'}}\n", 4, "unknown-reference", "nope"),
        (HEAD + "steps:\n  a: {command: ['${os.system}']}\n", 4, "expression", "not a reference"),
        (HEAD + "steps:\n  a: {command: [x], params: {p: '${each.lr}'}}\n", 4, "unknown-reference", "outside"),
        (HEAD + "steps:\n" + DATA + "  a: {command: ['in=${steps.data}']}\n", 5, "not-scalar", "part of a text"),
        (HEAD + "steps:\n  a: {command: [x], inputs: {d: ./here}}\n", 4, "input", "not a reference"),
        (HEAD + "steps:\n  a: {command: [x], after: [b]}\n  b: {command: [y], after: [a]}\n", 4, "cycle", "→"),
        (HEAD + "steps:\n  a: {command: [x], each: {n: 3}}\n", 4, "type", "each must be lists"),
        (HEAD + f"steps:\n  a: {{command: [x], each: {{n: {list(range(2001))}}}}}\n", 4, "fan-out", "2,001"),
        (WHOLE.replace("by: x", "by: x, sed: 1"), 5, "unknown-param", "sed"),
        (WHOLE.replace("by: x", "by: 3"), 5, "value", "by must be text"),
        (WHOLE.replace("params: {by: x}", "params: {}"), 5, "missing-param", "'by'"),
        (WHOLE.replace("by: x", "by: x, seed: -1"), 5, "value", "at least 0"),
        (WHOLE.replace("inputs: {data: '${steps.data}'}, ", ""), 5, "missing-input", "'data'"),
        (WHOLE.replace("{data: '$", "{dta: '$"), 5, "unknown-input", "dta"),
        (WHOLE.replace("outputs.train}", "outputs.tain}"), 6, "unknown-reference", "tain"),
        (WHOLE.replace("outputs.train}", "outputs.rows}"), 6, "type", "a value, not files"),
        (
            WHOLE + "  again: {component: train@2, inputs: {images: '${steps.train.outputs.model}'}}\n",
            7,
            "type",
            "model",
        ),
        (WHOLE + "  all: {command: [x], inputs: {m: '${steps.train[*].outputs.model}'}}\n", 7, "fan-in", "runs once"),
        (WHOLE + "publish: [{output: '${steps.data}', to: y@main}]\n", 7, "publish", "Only an output"),
        (WHOLE + "publish: [{output: '${steps.train.outputs.accuracy}', to: y@main}]\n", 7, "publish", "a value"),
        (WHOLE + "publish: [{output: '${steps.train.outputs.model}', to: 'y:path'}]\n", 7, "publish", "not a branch"),
        (WHOLE + "  all: {command: [x], params: {m: '${steps.train.outputs.model}'}}\n", 7, "type", "files"),
        (WHOLE + "  all: {command: [x], params: {m: ['${steps.data}']}}\n", 7, "type", "files"),
        (WHOLE + "  all: {command: ['${steps.train.outputs.model}']}\n", 7, "not-scalar", "part of a text"),
        (WHOLE + "  all: {dataset: '${steps.train.outputs.model}'}\n", 7, "dataset", "not known when the run starts"),
        (WHOLE + "  all: {component: 'split@${run.id}'}\n", 7, "value", "versions are fixed"),
        (HEAD + "steps:\n  a: {command: [x], retries: {count: 1, for: [moon]}}\n", 4, "value", "moon"),
        (HEAD + "defaults: {retries: {count: 1, for: [moon]}}\nsteps:\n" + DATA, 3, "value", "moon"),
        (WHOLE + "triggers: [{type: moon}]\n", 7, "value", "moon"),
        (WHOLE + "triggers: [{type: cron}]\n", 7, "trigger", "needs 'cron'"),
        (WHOLE + "triggers: [{type: flow, flow: f}]\n", 7, "loop", "start itself"),
        (WHOLE + "run_as: root\n", 7, "value", "root"),
        (HEAD + "params: {n: {type: int, default: x}}\nsteps:\n" + DATA, 3, "value", "whole number"),
        (HEAD + "params: {n: {type: int, min: 3, max: 1}}\nsteps:\n" + DATA, 3, "value", "larger than max"),
        (HEAD + "params: {n: {type: number}}\nsteps:\n" + DATA, 3, "value", "number"),
    ],
)
def test_each_mistake_is_found_where_it_stands(text: str, line: int, code: str, words: str) -> None:
    found = problems(text)
    assert any(one[:2] == (line, code) and words in one[2] for one in found), found


def test_publishing_to_the_branch_that_triggers_is_a_loop() -> None:
    text = (
        WHOLE + "publish: [{output: '${steps.train.outputs.model}', to: m}]\ntriggers: [{type: commit, ref: m@main}]\n"
    )
    assert [(line, code) for line, code, _ in problems(text)] == [(8, "loop")]


def test_what_runs_over_a_list_is_gathered() -> None:
    fanned = WHOLE.replace(
        "component: train@2", "each: {lr: [0.1, 0.2]}, params: {lr: '${each.lr}'}, component: train@2"
    )
    one = "  last: {command: [x], inputs: {m: '${steps.train.outputs.model}'}}\n"
    every = "  last: {command: [x], inputs: {m: '${steps.train[*].outputs.model}'}}\n"
    assert [(line, code) for line, code, _ in problems(fanned + one)] == [(7, "fan-in")]
    assert problems(fanned + every) == []


def test_a_parameter_of_the_flow_must_fit_where_it_is_used() -> None:
    text = WHOLE.replace("steps:\n", "params: {r: {type: str, default: a}}\nsteps:\n").replace(
        "train@2, inputs", "train@2, params: {lr: '${params.r}'}, inputs"
    )
    assert [(line, code) for line, code, _ in problems(text)] == [(7, "value")]


def test_all_mistakes_are_told_at_once_in_the_order_of_the_text() -> None:
    text = HEAD + "steps:\n  a: {component: nope@1}\n  b: {command: [], timeout: 3}\nrun_as: x\n"
    assert [line for line, *_ in problems(text)] == [4, 5, 5, 6]


@pytest.mark.parametrize(
    "text", ["", "[]", "x", "- a\n- b", "steps: []", "steps: {a: 3}", "params: []\nsteps: {a: null}"]
)
def test_whatever_is_written_no_check_raises(text: str) -> None:
    assert problems(text)
