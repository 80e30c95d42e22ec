"""Flows and runs as text: what they are, and a table of their steps."""

from __future__ import annotations

import json
import re
from typing import Any

from millpond.cli.flow_watch import by_step, counted, where
from millpond.cli.session import Session
from millpond.cli.values import Seconds
from millpond.client.flows.flow_file import FlowFile
from millpond.client.flows.flow_steps import label, seconds
from millpond.decide.flows.document import read_document
from millpond.wire.flows import Flow, FlowRun, FlowStep

_MANY = 50
_ID = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")


def show_run(mill: Session, run: FlowRun) -> None:
    if mill.out.as_json:
        mill.out.shape(run, [])
        return
    took = seconds(run.started_at, run.ended_at)
    mill.out.shape(
        run,
        [
            ("run", run.written),
            ("id", run.id),
            ("version", run.version),
            ("state", run.state),
            ("reason", run.reason),
            ("started by", f"{run.trigger.by} ({run.trigger.type})"),
            ("parameters", _pairs(run.params)),
            ("created", run.created_at),
            ("took", Seconds(took) if took is not None else None),
            *(("published", f"{to} = {commit}") for to, commit in run.published.items()),
        ],
    )
    shown: list[FlowStep] = []
    for name, steps in by_step(run).items():
        if len(steps) > _MANY and mill.out.for_people:
            mill.out.line(f"\n{name}: {counted(steps)}")
        else:
            shown += steps
    if mill.out.for_people:
        mill.out.line("")
    mill.out.items(shown, _step_columns(mill.out.for_people), empty="", drop=("JOB", "OUTPUTS", "REASON"))


def short_commits(text: str) -> str:
    """With the first digits of commits and digests only, for people to look at."""
    return _ID.sub(r"\1", text)


def _step_columns(for_people: bool) -> list[tuple[str, Any]]:
    shown = short_commits if for_people else str
    return [
        ("STEP", label),
        ("STATE", lambda one: one.state),
        ("TIME", lambda one: None if one.kind == "dataset" else _took(one)),
        ("WHERE", where),
        ("JOB", lambda one: one.job),
        ("OUTPUTS", lambda one: shown(_pairs(one.outputs))),
        ("REASON", lambda one: "" if one.remembered_from else one.reason),
    ]


def show_flow(mill: Session, flow: Flow) -> None:
    if mill.out.as_json:
        mill.out.shape(flow, [])
        return
    newest = "" if flow.version == flow.newest else f" (newest: {flow.newest})"
    run = flow.newest_run
    mill.out.shape(
        flow,
        [
            ("flow", flow.name),
            ("description", flow.description),
            ("version", f"{flow.version}{newest}"),
            ("saved", flow.saved_at),
            ("by", flow.saved_by),
            ("newest run", f"{run.written} {run.state}" if run else None),
            ("files", flow.files),
        ],
    )
    _show_document(mill, flow.document or {})


def show_file(mill: Session, file: FlowFile) -> None:
    document, _ = read_document(file.text)
    value = document.value if isinstance(document.value, dict) else {}
    if mill.out.as_json:
        mill.out.json({"name": value.get("name"), "text": file.text, "document": value})
        return
    mill.out.shape(_Nothing(), [("flow", value.get("name")), ("description", value.get("description"))])
    _show_document(mill, value)


class _Nothing:
    def model_dump(self, *, mode: str) -> Any:
        return {}


def _show_document(mill: Session, document: dict[str, Any]) -> None:
    params, steps = _mapping(document.get("params")), _mapping(document.get("steps"))
    if mill.out.for_people and params:
        mill.out.line("\nParameters (--set NAME=VALUE)")
    if params:
        mill.out.items(list(params.items()), _PARAM_COLUMNS, empty="", drop=("HELP",))
    if mill.out.for_people:
        mill.out.line("\nSteps")
    mill.out.items(list(steps.items()), _NODE_COLUMNS, empty="", drop=("INPUTS",))


_PARAM_COLUMNS: list[tuple[str, Any]] = [
    ("NAME", lambda one: one[0]),
    ("TYPE", lambda one: _mapping(one[1]).get("type", "str")),
    ("DEFAULT", lambda one: _word(_mapping(one[1]).get("default"))),
    ("HELP", lambda one: _mapping(one[1]).get("help", "")),
]
_NODE_COLUMNS: list[tuple[str, Any]] = [
    ("STEP", lambda one: one[0]),
    ("RUNS", lambda one: _what(_mapping(one[1]))),
    ("INPUTS", lambda one: _pairs(_mapping(_mapping(one[1]).get("inputs")))),
]


def _what(step: dict[str, Any]) -> str:
    for key in ("component", "dataset"):
        if key in step:
            return f"{step[key]}" if key == "component" else f"dataset {step[key]}"
    if "approval" in step:
        return "approval"
    command = step.get("command")
    return " ".join(map(str, command)) if isinstance(command, list) else str(command or "")


def _took(step: FlowStep) -> Seconds | None:
    found = seconds(step.started_at, step.ended_at)
    return Seconds(round(found, 3)) if found is not None else None


def _pairs(values: Any) -> str:
    return ", ".join(f"{name}={_word(value)}" for name, value in values.items())


def _word(value: Any) -> str:
    return "-" if value is None else value if isinstance(value, str) else json.dumps(value)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
