"""Each step says completely what it runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from millpond.decide.flows.context import FlowContext
from millpond.decide.flows.document import Path
from millpond.decide.flows.fields import nearest
from millpond.decide.retry import checked_kinds
from millpond.errors import BadName, Invalid
from millpond.model.component import ComponentRef
from millpond.model.flow import FlowProblem, FlowRetries, StepKind
from millpond.model.names import DatasetRef

# An ending that is always repeated, and does not count as a retry (decide/retry.py).
LOST = "lost"


def components_exist(flow: FlowContext) -> Iterator[FlowProblem]:
    for name, step in flow.flow.steps.items():
        if step.kind is not StepKind.COMPONENT or flow.component(step) is not None:
            continue
        path = ("steps", name, "component")
        try:
            ref = ComponentRef.parse(step.component or "")
        except BadName as error:
            yield flow.problem(path, "component", error.message, error.hint or "")
            continue
        known = {ComponentRef.parse(one).name for one in flow.components}
        hint = "List them: mill library list" if ref.name in known or not known else nearest(ref.name, known)
        yield flow.problem(path, "unknown-component", f"There is no component {str(ref)!r} in the library.", hint)


def commands_are_complete(flow: FlowContext) -> Iterator[FlowProblem]:
    for name, step in flow.flow.steps.items():
        if step.kind is not StepKind.COMMAND:
            continue
        if not step.command:
            yield flow.problem(
                ("steps", name, "command"), "command", "The command is empty.", "Write [python, run.py]."
            )
        if step.image and step.environment:
            message = "image and environment cannot be combined."
            hint = "Install the packages in the image, or leave it out."
            yield flow.problem(("steps", name, "environment"), "where", message, hint, at_key=True)
        if step.code and "@" not in step.code and _leaves(step.code):
            hint = "Put the code beside flow.yaml, like ./steps."
            yield flow.problem(("steps", name, "code"), "code", f"{step.code!r} is outside of the flow's folder.", hint)


def datasets_are_datasets(flow: FlowContext) -> Iterator[FlowProblem]:
    for name, step in flow.flow.steps.items():
        if step.kind is not StepKind.DATASET or "${" in (step.dataset or ""):
            continue
        try:
            DatasetRef.parse(step.dataset or "")
        except BadName as error:
            yield flow.problem(("steps", name, "dataset"), "dataset", error.message, error.hint or "")


def retries_are_for_known_endings(flow: FlowContext) -> Iterator[FlowProblem]:
    written: dict[Path, FlowRetries | None] = {
        ("steps", name, "retries"): step.retries for name, step in flow.flow.steps.items()
    }
    written["defaults", "retries"] = flow.flow.defaults.retries
    for path, retries in written.items():
        for number, ending in enumerate(retries.endings if retries else ()):
            try:
                checked_kinds([] if ending == LOST else [ending])
            except Invalid as error:
                yield flow.problem((*path, "for", number), "value", error.message, error.hint or "")


def _leaves(folder: str) -> bool:
    path = PurePosixPath(folder)
    return path.is_absolute() or ".." in path.parts
