"""Which inputs of steps that wait exist already, and are worth bringing near before their turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millpond.decide.flows.context import FlowContext
from millpond.decide.flows.expressions import exact_ref
from millpond.decide.flows.resolving import Unavailable, lookup_for
from millpond.model.flow import Cached, StepKind
from millpond.model.flow_run import FlowRunState, StepRun


def inputs_ahead(context: FlowContext, state: FlowRunState) -> dict[str, dict[str, Any]]:
    """Inputs that steps which wait will read, and that exist already, by step and name: to be cached before their turn.

    Datasets with `cached: yes` at once; other files once every step before has begun. Whether a condition lets the
    step run, and whether somebody approves it, is not guessed: then nothing is fetched ahead. Never `cached: no`.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, step in context.flow.steps.items():
        if name in state.steps or step.when is not None or not step.inputs:
            continue
        is_next = all(_has_begun(state.steps.get(one)) for one in context.needs[name])
        inputs = {key: _existing(context, state, text, is_next=is_next) for key, text in step.inputs.items()}
        there = {key: files for key, files in inputs.items() if files is not None}
        if there:
            found[name] = there
    return found


def _existing(context: FlowContext, state: FlowRunState, text: str, *, is_next: bool) -> Any:
    """The files that an input stands for; None if they are not there, or are not to be fetched yet."""
    ref = exact_ref(text)
    if ref is None or not _has_ended(state.steps.get(ref.step)):
        return None
    node = context.flow.steps[ref.step]
    if node.kind is StepKind.DATASET and node.cached is Cached.NO:
        return None
    if not is_next and not (node.kind is StepKind.DATASET and node.cached is Cached.YES):
        return None
    try:
        return lookup_for(state, {})(ref)
    except Unavailable:
        return None


def _has_begun(runs: Sequence[StepRun] | None) -> bool:
    return runs is not None and any(run.state.has_begun for run in runs)


def _has_ended(runs: Sequence[StepRun] | None) -> bool:
    return runs is not None and all(run.state.is_finished for run in runs)
