"""The example `continuous-learning`, with jobs that end as the test says; a long test runs it for real."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import millpond.library
from millpond.errors import NotFound
from millpond.services.models import versions
from millpond.testing.builders_data import a_commit
from tests.unit.services.flows.running import HEAD, Flows, Run
from tests.unit.services.flows.test_triggers import look, runs_of

ROOT = Path(__file__).parents[4]
LIBRARY = Path(millpond.library.__file__).parent
FLOW = (ROOT / "examples" / "continuous-learning" / "flow.yaml").read_text().removeprefix(HEAD.format(name="readings"))


def components() -> dict[str, bytes]:
    """Those of the library without packages: nobody builds an environment here."""
    found = {}
    for name in ("tabular-train", "evaluate"):
        lines = (LIBRARY / name / "component.yaml").read_text().splitlines()
        kept = [line for line in lines if not line.startswith(("environment:", "docs:", "example:"))]
        found[f"components/{name}/component.yaml"] = "\n".join(kept).encode()
        found[f"components/{name}/main.py"] = b""
    return found


def retrain(flows: Flows, data: str, *, score: float, better: bool) -> Run:
    """New readings come, and the steps that follow from it end."""
    a_commit(flows.deps, {"rows.csv": data.encode()}, dataset="readings")
    look(flows)
    flows.world.clock.advance(10)  # the window of the trigger
    look(flows)
    flows.round()
    run = Run(flows, runs_of(flows, "readings")[-1].id)
    model = {"1/model.onnx": f"of {data}".encode()}
    numbers = {"metrics.json": json.dumps({"score": score}).encode()}
    run.end("train", values={"score": score}, files={"model": model, "metrics": numbers})
    values = {"score": score, "better": better, "difference": 0.0}
    return run.end("compare", values=values, files={"report": {"report.md": b""}, "metrics": numbers})


def candidate(flows: Flows) -> tuple[int, float]:
    view = versions.get(flows.deps, flows.project, "readings", "candidate")
    return view.version.number, (view.facts.metrics or {})["score"]


def test_new_data_retrains_and_only_a_better_model_becomes_the_candidate(flows: Flows) -> None:
    a_commit(flows.deps, {"note": b"none yet"}, dataset="readings")
    a_commit(flows.deps, {"gold.csv": b"truth"}, dataset="readings-gold")
    flows.save(FLOW, "readings", files=components())
    with pytest.raises(NotFound):
        candidate(flows)

    first = retrain(flows, "first", score=0.7, better=True)
    assert (first.state, candidate(flows)) == ("succeeded", (1, 0.7))
    assert "did not exist" in first.why("present")
    assert "MILL_INPUT_BASELINE" not in first.inputs("compare")
    assert first.inputs("train") == {"MILL_INPUT_DATA": {"rows.csv": b"first"}}

    second = retrain(flows, "more", score=0.9, better=True)
    assert candidate(flows) == (2, 0.9)
    assert second.inputs("compare") == {
        "MILL_INPUT_MODEL": {"1/model.onnx": b"of more"},
        "MILL_INPUT_DATA": {"gold.csv": b"truth"},
        "MILL_INPUT_BASELINE": {"1/model.onnx": b"of first"},
    }

    worse = retrain(flows, "broken", score=0.5, better=False)
    assert (worse.state, worse.states["register"], candidate(flows)) == ("succeeded", "skipped", (2, 0.9))
    assert worse.inputs("compare")["MILL_INPUT_BASELINE"] == {"1/model.onnx": b"of more"}
    assert [run.trigger.type for run in runs_of(flows, "readings")] == ["commit"] * 3


def test_a_dataset_that_somebody_needs_must_be_there(flows: Flows) -> None:
    needed = "steps:\n  a: {dataset: nothing@main}\n  b: {command: [x], inputs: {a: '${steps.a}'}}\n"
    with pytest.raises(NotFound, match="No dataset 'nothing'"):
        flows.start(needed)
    both = """steps:
  a: {dataset: nothing@main}
  b: {command: [x], inputs: {a: {from: "${steps.a}", optional: true}}}
  c: {command: [x], inputs: {a: "${steps.a}"}}
"""
    with pytest.raises(NotFound, match="No dataset 'nothing'"):
        flows.start(both)


def test_a_run_without_an_optional_dataset_is_retried_without_it(flows: Flows) -> None:
    text = """steps:
  a: {dataset: nothing@main}
  b: {command: [x], inputs: {a: {from: "${steps.a}", optional: true}}}
"""
    run = flows.start(text).end("b", exit_code=1)
    assert run.state == "failed"
    a_commit(flows.deps, {"x": b"1"}, dataset="nothing")
    assert run.retry().end("b").states == {"a": "skipped", "b": "succeeded"}
    assert flows.start(from_step="b").states["a"] == "skipped"
