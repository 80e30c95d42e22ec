"""Checks a flow as the server sees it: its library, the files beside it, who it runs as, what it publishes to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlalchemy import Connection

from millpond.db import actors, users
from millpond.decide.flows.beside import file_problems
from millpond.decide.flows.check import CheckedFlow, check_flow
from millpond.decide.flows.context import FlowContext
from millpond.errors import BadName, Invalid
from millpond.model.flow import Flow, FlowProblem
from millpond.model.names import DatasetRef
from millpond.model.people import Actor, Project, Role
from millpond.model.quantity import format_count
from millpond.services.deps import Deps
from millpond.services.flows.bundle import Bundle
from millpond.services.flows.library import FlowLibrary
from millpond.services.flows.project_library import ProjectLibrary
from millpond.services.flows.triggers.checking import trigger_problems

SERVICE = "service:"


def library_of(deps: Deps, project: Project, bundle: Bundle) -> FlowLibrary:
    catalog = deps.library.catalog(deps.settings.components)
    return FlowLibrary(catalog, bundle.files, ProjectLibrary(deps, project))


def check(deps: Deps, actor: Actor, project: Project, bundle: Bundle, *, with_files: bool = True) -> CheckedFlow:
    """Every problem of a flow. `with_files`: the code beside it must be there, too."""
    library = library_of(deps, project, bundle)
    checked = check_flow(bundle.text, library.component, max_fan_out=deps.settings.max_fan_out)
    context = checked.context
    if context is None:
        return checked
    found = [*checked.problems, *_of_publishing(context, project)]
    if with_files:
        found += file_problems(context, bundle.files)
    with deps.db.read() as tx:
        found += _of_run_as(tx, context, actor, project)
        found += trigger_problems(tx, context, actor, project)
    ordered = sorted(found, key=lambda one: (one.line, one.column, one.code, one.message))
    return replace(checked, problems=tuple(ordered))


def require_valid(checked: CheckedFlow) -> Flow:
    """The flow, if it has no problems. Invalid names all of them in `details["problems"]`."""
    if checked.flow is not None and not checked.problems:
        return checked.flow
    first = checked.problems[0]
    more = len(checked.problems) - 1
    raise Invalid(
        f"The flow has {format_count(len(checked.problems), 'problem')}. Line {first.line}: {first.message}",
        hint=first.hint if first.hint and not more else "List all of them: mill flow validate FILE",
        problems=[problem_document(one) for one in checked.problems],
    )


def problem_document(problem: FlowProblem) -> dict[str, object]:
    return {key: getattr(problem, key) for key in ("line", "column", "path", "code", "message", "hint")}


def _of_publishing(context: FlowContext, project: Project) -> Iterator[FlowProblem]:
    """Content is shared within one project only, so what a flow publishes stays in its own."""
    for index, publication in enumerate(context.flow.publish):
        try:
            ref = DatasetRef.parse(publication.to)
        except BadName:
            continue
        if ref.project not in (None, project.name):
            hint = "Publish to a dataset of the flow's own project."
            message = f"{publication.to} belongs to another project than the flow."
            yield context.problem(("publish", index, "to"), "publish", message, hint)


def _of_run_as(tx: Connection, context: FlowContext, actor: Actor, project: Project) -> Iterator[FlowProblem]:
    """Whoever names a service account must be able to act for it."""
    run_as = context.flow.run_as
    if not run_as.startswith(SERVICE):
        return
    name = run_as.removeprefix(SERVICE)
    user = users.find(tx, name)
    role = actors.of_user(tx, user).role_in(project.id) if user and user.disabled_at is None else None
    if role is None:
        hint = f"Add it: mill project add-member {project.name} {name}"
        message = f"There is no account {name!r} with a role in project {project.name}."
        yield context.problem(("run_as",), "run-as", message, hint)
        return
    own = actor.role_in(project.id)
    if actor.name != name and not (own and own.includes(Role.ADMIN)):
        hint = "Ask a project administrator to save it, or write: run_as: me"
        yield context.problem(("run_as",), "run-as", f"Only an administrator may let a flow run as {name!r}.", hint)
