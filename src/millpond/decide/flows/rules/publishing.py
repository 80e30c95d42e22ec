"""What a flow publishes."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.decide.flows.context import FlowContext
from millpond.decide.flows.expressions import RefKind, exact_ref
from millpond.errors import BadName
from millpond.model.flow import COMMIT_TYPES, FlowProblem
from millpond.model.names import DEFAULT_BRANCH, DatasetRef


def names_outputs_and_branches(flow: FlowContext) -> Iterator[FlowProblem]:
    for index, publication in enumerate(flow.flow.publish):
        ref = exact_ref(publication.output)
        if ref is None or ref.kind is not RefKind.OUTPUT:
            hint = "Write one output, like ${steps.split.outputs.train}."
            yield flow.problem(("publish", index, "output"), "publish", "Only an output can be published.", hint)
        elif (kind := flow.type_of(ref)) is not None and kind not in COMMIT_TYPES:
            yield flow.problem(("publish", index, "output"), "publish", f"{ref} is a value, not files.")
        if branch_of(publication.to) is None:
            hint = "Write dataset@branch, like xray-train@main."
            message = f"{publication.to!r} is not a branch of a dataset."
            yield flow.problem(("publish", index, "to"), "publish", message, hint)


def branch_of(text: str) -> tuple[str | None, str, str] | None:
    """Project, dataset and branch of a written form; None if it is no branch."""
    try:
        ref = DatasetRef.parse(text)
    except BadName:
        return None
    return None if ref.path else (ref.project, ref.dataset, ref.ref or DEFAULT_BRANCH)
