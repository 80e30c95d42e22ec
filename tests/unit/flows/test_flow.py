"""Flows written in Python compile to the flow that the same YAML would be."""

from __future__ import annotations

from pathlib import Path

import pytest

from millpond.decide.flows.check import check_flow
from millpond.decide.flows.reader import read_flow
from millpond.flows import Dataset, Flow, Out, each, step
from millpond.model.flow import Cached, StepKind


@step(environment="requirements.txt", outputs={"clean": Out.directory, "rows": Out.int})
def clean(data: Path, out: Path, *, limit: int = 1000) -> dict[str, int]:
    return {"rows": limit}


@step(outputs={"score": Out.float})
def train(data: Path, *, lr: float, depth: int = 2) -> dict[str, float]:
    return {"score": lr * depth}


def _flow() -> Flow:
    flow = Flow("ingest", description="Clean clicks", max_parallel=4)
    limit = flow.param("limit", "int", default=10, min=1)
    raw = flow.dataset("raw", "clicks@main", cached="yes")
    cleaned = flow.add(clean, data=raw, limit=limit)
    trained = flow.add(train, data=cleaned["clean"], lr=each("lr")).options(each={"lr": [0.1, 0.01]}, retries=2)
    flow.command("pick", ["python", "pick.py"], params={"scores": trained.all["score"]}, outputs={"best": "float"})
    gate = flow.approval("gate", message="Publish?").options(when=(cleaned["rows"] > 5) & ~(limit == 1), after="pick")
    flow.publish(cleaned["clean"], "clean@main")
    flow.trigger("cron", cron="0 3 * * 1", timezone="Europe/Berlin")
    assert gate.name == "gate"
    return flow


def test_a_flow_compiles_to_yaml_without_problems() -> None:
    checked = check_flow(_flow().to_yaml(), lambda ref: None)
    assert not checked.problems
    flow = checked.flow
    assert flow is not None and (flow.name, flow.description, flow.max_parallel) == ("ingest", "Clean clicks", 4)
    assert flow.steps["raw"].cached is Cached.YES
    assert flow.steps["clean"].command == ("python", "-m", "millpond.flows.call", "test_flow.py", "clean")
    assert flow.steps["clean"].environment == "requirements.txt"
    assert flow.steps["clean"].inputs == {"data": "${steps.raw}"}
    assert flow.steps["clean"].params == {"limit": "${params.limit}"}
    assert flow.steps["train"].params == {"lr": "${each.lr}", "depth": 2}, "defaults are written, so they are recorded"
    assert flow.steps["train"].each == {"lr": [0.1, 0.01]}
    assert flow.steps["pick"].params == {"scores": "${steps.train[*].outputs.score}"}
    assert flow.steps["gate"].kind is StepKind.APPROVAL
    assert flow.steps["gate"].when == "${(steps.clean.outputs.rows > 5) and (not (params.limit == 1))}"
    assert flow.steps["gate"].after == ("pick",)
    assert flow.publish[0].to == "clean@main"
    assert flow.triggers[0].settings["timezone"] == "Europe/Berlin"


def test_equal_flows_give_equal_texts() -> None:
    assert _flow().to_yaml() == _flow().to_yaml()


def test_a_dataset_given_as_an_input_becomes_a_step() -> None:
    flow = Flow("small")
    flow.add(clean, data=Dataset("clicks@v1", cached="no"))
    read, _, problems = read_flow(flow.to_yaml())
    assert not problems and read is not None
    assert read.steps["data"].dataset == "clicks@v1" and read.steps["data"].cached is Cached.NO
    assert read.steps["clean"].inputs == {"data": "${steps.data}"}


def test_a_component_is_added_with_inputs_and_parameters_apart(tmp_path: Path) -> None:
    folder = tmp_path / "greet"
    folder.mkdir()
    (folder / "component.yaml").write_text(
        "schema: millpond.component/1\nname: greet\nversion: 1.0.0\ncommand: [python, greet.py]\n"
        "params: {who: {type: str, default: you}}\ninputs: {words: {type: directory}}\noutputs: {text: {type: str}}\n"
    )
    flow = Flow("hello", components=[tmp_path])
    hello = flow.add("greet@1", words=Dataset("words@main"), who="Ada")
    assert str(hello["text"]) == "${steps.greet.outputs.text}"
    with pytest.raises(KeyError, match="Its outputs: text"):
        hello["txt"]
    read, _, _ = read_flow(flow.to_yaml())
    assert read is not None and read.steps["greet"].params == {"who": "Ada"}
    assert read.steps["greet"].inputs == {"words": "${steps.words}"}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda flow: flow.add(clean), "needs data"),
        (lambda flow: flow.add(clean, data=Dataset("a@b"), limt=3), "Unknown argument 'limt'"),
        (lambda flow: flow.add(clean, data=3), "must be an output of a step or a dataset"),
        (lambda flow: flow.add(train, data=flow.add(clean, data=Dataset("a@b")), lr=1), "Choose one of its outputs"),
        (lambda flow: flow.add(clean, data=Dataset("a@b")).options(gpu=1), "Unknown argument 'gpu'"),
        (lambda flow: step(outputs={"x": "folder"}), "cannot be of type 'folder'"),
        (lambda flow: step()(lambda data: None), "neither an input nor a parameter"),
    ],
)
def test_mistakes_are_named_where_they_are_made(make: object, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        make(Flow("wrong"))  # type: ignore[operator]


def test_a_name_can_be_used_once() -> None:
    flow = Flow("twice")
    flow.add(clean, data=Dataset("a@b"))
    with pytest.raises(ValueError, match="already has a step 'clean'"):
        flow.add(clean, data=Dataset("a@b"))


def test_a_reference_has_no_value_before_the_run() -> None:
    flow = Flow("early")
    rows = flow.add(clean, data=Dataset("a@b"))["rows"]
    with pytest.raises(TypeError, match="Use it in `when`"):
        bool(rows)
    with pytest.raises(TypeError, match=r"&, \| and ~"):
        bool(rows > 3)


def test_a_step_function_can_be_called_and_tested() -> None:
    assert clean(Path(), Path(), limit=3) == {"rows": 3}
