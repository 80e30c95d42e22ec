"""What only the server can say about triggers: whether what they watch exists, and whether flows go in circles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from millpond.db import datasets, flow_triggers, flows
from millpond.decide.flows.context import FlowContext
from millpond.decide.flows.fields import nearest
from millpond.decide.flows.reader import read_flow
from millpond.decide.flows.rules.publishing import branch_of as is_branch
from millpond.decide.flows.triggers.loops import find_loop
from millpond.errors import MillError
from millpond.model.flow import Flow, FlowProblem, Trigger
from millpond.model.flow_trigger import Branch
from millpond.model.names import DatasetRef
from millpond.model.people import Actor, Project
from millpond.services.flows.triggers.keeping import branch_of
from millpond.services.people import access

# A flow, by its project and name.
_Node = tuple[str, str]


def trigger_problems(tx: Connection, context: FlowContext, actor: Actor, project: Project) -> Iterator[FlowProblem]:
    """Only of triggers that are complete; the others have problems already."""
    for index, trigger in enumerate(context.flow.triggers):
        yield from _of_dataset(tx, context, actor, project, index, trigger)
        yield from _of_flow(tx, context, project, index, trigger)
    if context.flow.triggers:
        yield from _of_loops(tx, context, actor, project)


def _of_dataset(
    tx: Connection, context: FlowContext, actor: Actor, project: Project, index: int, trigger: Trigger
) -> Iterator[FlowProblem]:
    written = trigger.settings.get("ref")
    if trigger.type != "commit" or not isinstance(written, str) or is_branch(written) is None:
        return
    ref = DatasetRef.parse(written)
    place = ("triggers", index, "ref")
    try:
        where = access.find_project(tx, actor, ref.project) if ref.project else project
    except MillError as error:
        yield context.problem(place, "trigger", error.message, error.hint or "")
        return
    if datasets.find(tx, where.id, ref.dataset) is None:
        known = [name for name in datasets.names(tx, where.id) if not name.startswith(".")]
        hint = f"{nearest(ref.dataset, known)} Or create it first: mill data create {ref.dataset}"
        yield context.problem(place, "trigger", f"Project {where.name} has no dataset {ref.dataset!r}.", hint)


def _of_flow(
    tx: Connection, context: FlowContext, project: Project, index: int, trigger: Trigger
) -> Iterator[FlowProblem]:
    name = trigger.settings.get("flow")
    if trigger.type != "flow" or not isinstance(name, str) or not name or name == context.flow.name:
        return
    if flows.find(tx, project.id, name) is None:
        hint = nearest(name, flows.names(tx, project.id))
        message = f"Project {project.name} has no flow {name!r}."
        yield context.problem(("triggers", index, "flow"), "trigger", message, hint)


def _of_loops(tx: Connection, context: FlowContext, actor: Actor, project: Project) -> Iterator[FlowProblem]:
    """Over other flows; a flow that starts itself is found by the rules. Only over projects that the author sees."""
    graph = _Graph(tx, context.flow, actor, project)
    loop = find_loop((project.id, context.flow.name), graph.sets_off)
    if loop is not None and len(loop) > 2:
        names = " → ".join(name for _, name in loop)
        message = f"These flows would start each other for ever: {names}."
        yield context.problem(("triggers",), "loop", message, "Remove one of their triggers.", at_key=True)


@dataclass(frozen=True, slots=True)
class _Graph:
    """Which flow starts which, with the one that is being saved as it will be."""

    tx: Connection
    flow: Flow
    actor: Actor
    project: Project

    def sets_off(self, node: _Node) -> Sequence[_Node]:
        project_id, name = node
        branches = self._publishes(node)
        others = [
            *flow_triggers.after_flow(self.tx, project_id, name, also_disabled=True),
            *flow_triggers.watching(self.tx, branches),
        ]
        own = (self.project.id, self.flow.name)
        found = [(one.project_id, one.flow) for one in others if access.sees(self.actor, one.project_id)]
        found = [one for one in found if one != own]
        return [*found, own] if self._starts_this(node, branches) else found

    def _starts_this(self, node: _Node, branches: Sequence[Branch]) -> bool:
        for trigger in self.flow.triggers:
            if trigger.type == "flow" and (self.project.id, trigger.settings.get("flow")) == node:
                return True
            written = trigger.settings.get("ref") if trigger.type == "commit" else None
            if not isinstance(written, str) or is_branch(written) is None:
                continue
            if branch_of(self.tx, written, self.project.id) in branches:
                return True
        return False

    def _publishes(self, node: _Node) -> list[Branch]:
        project_id, name = node
        flow: Flow | None = self.flow
        if node != (self.project.id, self.flow.name):
            flow = self._read(project_id, name)
        written = [one.to for one in flow.publish if is_branch(one.to) is not None] if flow else []
        return [found for one in written if (found := branch_of(self.tx, one, project_id)) is not None]

    def _read(self, project_id: str, name: str) -> Flow | None:
        saved = flows.find(self.tx, project_id, name)
        version = flows.version(self.tx, saved.id, saved.newest) if saved else None
        return read_flow(version.text)[0] if version else None
