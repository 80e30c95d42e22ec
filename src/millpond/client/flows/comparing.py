"""How two versions of a flow, or two runs, differ."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from millpond.client.flows.flow_file import FILE
from millpond.client.flows.flow_steps import label, seconds
from millpond.model.program import mode_of
from millpond.wire.flows import FlowRun, FlowStep

# The value on either side; None where there is none.
Pair = tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class VersionDiff:
    """`text`: the YAML as a unified diff, empty if it is the same. `files`: added, removed or changed, by path."""

    text: str
    files: Mapping[str, str]

    @property
    def is_empty(self) -> bool:
        return not self.text and not self.files


@dataclass(frozen=True, slots=True)
class StepDiff:
    """A step that differs. `fields`: state, component, digest (code), template, site and time in seconds."""

    name: str
    index: int | None
    fields: Mapping[str, Pair]
    params: Mapping[str, Pair]
    inputs: Mapping[str, Pair]
    outputs: Mapping[str, Pair]


@dataclass(frozen=True, slots=True)
class RunDiff:
    """`fields`: version, state, trigger and time in seconds."""

    fields: Mapping[str, Pair]
    params: Mapping[str, Pair]
    steps: tuple[StepDiff, ...]


def compare_versions(
    before: Mapping[str, bytes], after: Mapping[str, bytes], names: tuple[str, str]
) -> VersionDiff:  # fmt: skip
    """`before` and `after` are the files of two bundles."""
    one, other = (files[FILE].decode("utf-8", "replace").splitlines() for files in (before, after))
    lines = difflib.unified_diff(one, other, names[0], names[1], lineterm="")
    changed: dict[str, str] = {}
    for path in sorted((before.keys() | after.keys()) - {FILE}):
        if path not in before:
            changed[path] = "added"
        elif path not in after:
            changed[path] = "removed"
        elif before[path] != after[path] or mode_of(before[path]) != mode_of(after[path]):
            changed[path] = "changed"
    return VersionDiff("\n".join(lines), changed)


def compare_runs(before: FlowRun, after: FlowRun) -> RunDiff:
    """Steps that did the same are left out, unless their time differs by more than a tenth."""
    steps = {label(one): one for one in before.steps}
    others = {label(one): one for one in after.steps}
    both = [(steps.get(name), others.get(name)) for name in dict.fromkeys((*others, *steps))]
    found = [_step(*pair) for pair in both]
    return RunDiff(
        _differing(_run_fields(before), _run_fields(after)),
        _differing(before.params, after.params),
        tuple(one for one in found if one.fields or one.params or one.inputs or one.outputs),
    )


def _step(before: FlowStep | None, after: FlowStep | None) -> StepDiff:
    present = before or after
    assert present is not None

    def parts(key: str) -> dict[str, Pair]:
        return _differing(getattr(before, key, {}), getattr(after, key, {}))

    fields = _differing(_step_fields(before), _step_fields(after))
    return StepDiff(present.name, present.index, fields, parts("params"), parts("inputs"), parts("outputs"))


def _run_fields(run: FlowRun) -> dict[str, Any]:
    took = seconds(run.started_at, run.ended_at) if run.ended_at else None
    return {"version": run.version, "state": run.state, "trigger": run.trigger.type, "seconds": _rounded(took)}


def _step_fields(step: FlowStep | None) -> dict[str, Any]:
    if step is None:
        return {}
    took = seconds(step.started_at, step.ended_at) if step.ended_at and step.kind != "dataset" else None
    return {
        "state": step.state,
        "component": step.component,
        "digest": step.digest,
        "template": step.template,
        "site": step.site,
        "seconds": _rounded(took),
    }


def _differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Pair]:
    names = dict.fromkeys((*before, *after))
    pairs = {name: (before.get(name), after.get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if not _is_same(name, *pair)}


def _is_same(name: str, one: Any, other: Any) -> bool:
    if name == "seconds" and one is not None and other is not None:
        return bool(abs(one - other) <= 0.1 * max(one, other))
    return bool(one == other)


def _rounded(took: float | None) -> float | None:
    return None if took is None else round(took, 3)
