"""What a flow publishes, and what starts it."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.decide.flows.context import FlowContext
from millpond.decide.flows.expressions import RefKind, exact_ref
from millpond.errors import BadName
from millpond.model.flow import COMMIT_TYPES, FlowProblem
from millpond.model.names import DEFAULT_BRANCH, DatasetRef

# What each type of trigger cannot do without.
_NEEDS = {"commit": "ref", "cron": "cron", "webhook": "name", "flow": "flow"}


def names_outputs_and_branches(flow: FlowContext) -> Iterator[FlowProblem]:
    for index, publication in enumerate(flow.flow.publish):
        ref = exact_ref(publication.output)
        if ref is None or ref.kind is not RefKind.OUTPUT:
            hint = "Write one output, like ${steps.split.outputs.train}."
            yield flow.problem(("publish", index, "output"), "publish", "Only an output can be published.", hint)
        elif (kind := flow.type_of(ref)) is not None and kind not in COMMIT_TYPES:
            yield flow.problem(("publish", index, "output"), "publish", f"{ref} is a value, not files.")
        if _branch(publication.to) is None:
            hint = "Write dataset@branch, like xray-train@main."
            message = f"{publication.to!r} is not a branch of a dataset."
            yield flow.problem(("publish", index, "to"), "publish", message, hint)


def triggers_no_loop(flow: FlowContext) -> Iterator[FlowProblem]:
    published = {_branch(one.to) for one in flow.flow.publish} - {None}
    for index, trigger in enumerate(flow.flow.triggers):
        if trigger.type == "commit" and _branch(str(trigger.settings.get("ref", ""))) in published:
            message = f"The flow publishes to {trigger.settings['ref']}, which would start it again."
            yield flow.problem(("triggers", index, "ref"), "loop", message, "Publish to another branch.")
        if trigger.type == "flow" and trigger.settings.get("flow") == flow.flow.name:
            yield flow.problem(("triggers", index, "flow"), "loop", "A flow cannot start itself when it ends.")


def triggers_are_complete(flow: FlowContext) -> Iterator[FlowProblem]:
    for index, trigger in enumerate(flow.flow.triggers):
        key = _NEEDS[trigger.type]
        if not trigger.settings.get(key):
            yield flow.problem(("triggers", index), "trigger", f"A {trigger.type} trigger needs {key!r}.")
        elif key == "ref" and _branch(str(trigger.settings[key])) is None:
            hint = "Write dataset@branch, like xray@main."
            message = f"{trigger.settings[key]!r} is not a branch of a dataset."
            yield flow.problem(("triggers", index, key), "trigger", message, hint)


def _branch(text: str) -> tuple[str | None, str, str] | None:
    try:
        ref = DatasetRef.parse(text)
    except BadName:
        return None
    return None if ref.path else (ref.project, ref.dataset, ref.ref or DEFAULT_BRANCH)
