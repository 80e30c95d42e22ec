"""What a flow names beside its file: code and requirements must be there."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from millpond.decide.flows.context import FlowContext
from millpond.model.flow import FlowProblem, StepKind


def file_problems(context: FlowContext, files: Collection[str]) -> Iterator[FlowProblem]:
    """`files` are the paths beside `flow.yaml`."""
    for name, step in context.flow.steps.items():
        if step.kind is not StepKind.COMMAND:
            continue
        code = step.code if step.code and "@" not in step.code else None
        # One that leaves the folder is a problem of its own already.
        if code and ".." not in code.split("/") and not any(path.startswith(folder_prefix(code)) for path in files):
            hint = "Put the code into a folder next to flow.yaml, and save both: mill flow save FILE"
            yield context.problem(("steps", name, "code"), "code", f"There are no files in {code!r}.", hint)
        if step.environment and environment_path(files, step.code, step.environment) is None:
            hint = "Put it beside flow.yaml, or into the folder of the step's code."
            message = f"There is no file {step.environment!r}."
            yield context.problem(("steps", name, "environment"), "environment", message, hint)


def folder_prefix(path: str) -> str:
    """What the paths of files below a folder begin with."""
    return "" if path in ("", ".", "./") else path.removeprefix("./").rstrip("/") + "/"


def environment_path(files: Collection[str], code: str | None, path: str) -> str | None:
    """Where the requirements of a step lie: in the folder of its code, or beside `flow.yaml`."""
    folder = (code or "").removeprefix("./").rstrip("/")
    tried = [f"{folder}/{path}" if folder and "@" not in folder else path, path.removeprefix("./")]
    return next((one for one in tried if one in files), None)
