"""Saves, lists and removes flows. A version is a commit of `.flows`; rows are an index of those (docs/design/019)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from millpond.db import datasets, flow_runs, flows
from millpond.errors import BadRequest, Conflict, InUse, RefMoved
from millpond.model.dataset import Commit
from millpond.model.flow import Flow
from millpond.model.flow_run import FlowRun
from millpond.model.ids import new_id
from millpond.model.names import FLOW_DATASET
from millpond.model.people import Actor, Project
from millpond.model.saved_flow import FlowVersion, SavedFlow
from millpond.services.commits import refs, system_branches
from millpond.services.commits.accept import Proposal, accept
from millpond.services.datasets.datasets import ensure_system_dataset
from millpond.services.deps import Deps
from millpond.services.flows import checking
from millpond.services.flows.bundle import FILE, Bundle, read_commit
from millpond.services.flows.lake_files import find_commit, write_files
from millpond.services.flows.triggers.keeping import remove_all, replace_triggers
from millpond.services.listing import Listing, page_of, text_of
from millpond.services.people import access, audit


@dataclass(frozen=True, slots=True)
class FlowView:
    """A flow with one of its versions, and its newest run."""

    flow: SavedFlow
    version: FlowVersion
    newest_run: FlowRun | None = None


def save(
    deps: Deps, actor: Actor, project: Project, name: str, bundle: Bundle, *, expected: int | None = None
) -> tuple[FlowView, bool]:  # fmt: skip
    """Save a version, unless the newest one is the same; True if it is new.

    `expected` is the version that the author has seen, 0 for none: Conflict if there is a newer one. Invalid with all
    problems of a flow that cannot run.
    """
    flow = checking.require_valid(checking.check(deps, actor, project, bundle))
    if flow.name != name:
        raise BadRequest(f"The file is of flow {flow.name!r}, not {name!r}.", hint="Change its key `name`.")
    with deps.db.read() as tx:
        before = flows.find(tx, project.id, name)
        newest = flows.version(tx, before.id, before.newest) if before else None
    _check_expected(name, newest, expected)
    if before is not None and newest is not None and _is_same(flow, newest, bundle, actor):
        return FlowView(before, newest), False
    saved = _commit(deps, actor, project, flow, bundle, before, newest)
    data = {"project": project.name, "id": saved.flow.id, "what": "saved", "name": name}
    deps.events.publish("flows", project_id=project.id, data=data)
    return saved, newest is None or newest.digest != bundle.digest


def get(deps: Deps, project: Project, name: str, number: int | None = None) -> FlowView:
    with deps.db.read() as tx:
        found = find(tx, project, name)
        return FlowView(found, find_version(tx, found, number), flow_runs.find_numbered(tx, found.id, None))


def versions(deps: Deps, project: Project, name: str) -> Sequence[FlowVersion]:
    """Newest first."""
    with deps.db.read() as tx:
        return flows.versions(tx, find(tx, project, name).id)


def list_all(deps: Deps, project: Project, *, limit: int, cursor: str | None) -> Listing[FlowView]:
    with deps.db.read() as tx:
        found = flows.page(tx, project.id, limit=limit + 1, after=text_of(cursor))
        runs = flow_runs.newest_of_flows(tx, [one.id for one in found])
        views = [FlowView(one, find_version(tx, one, None), runs.get(one.id)) for one in found]
    return page_of(views, limit, key=lambda view: view.flow.name)


def bundle_of(deps: Deps, project: Project, version: FlowVersion) -> Bundle:
    """Everything that was saved as this version."""
    with deps.db.read() as tx:
        dataset = datasets.find(tx, project.id, FLOW_DATASET)
    if dataset is None:
        raise access.not_found("flow", version.flow_id)
    return read_commit(deps, dataset, find_commit(deps, version.commit_id))


def with_saved_files(deps: Deps, project: Project, name: str, bundle: Bundle) -> Bundle:
    """The text with the files that the newest version has beside it; as it is if there is no such flow."""
    with deps.db.read() as tx:
        flow = flows.find(tx, project.id, name)
        newest = flows.version(tx, flow.id, flow.newest) if flow else None
    if newest is None:
        return bundle
    return Bundle({**bundle_of(deps, project, newest).files, FILE: bundle.files[FILE]})


def remove(deps: Deps, actor: Actor, project: Project, name: str) -> None:
    """Remove the flow and its versions; its runs stay. InUse while one of them goes on."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        found = flows.lock(tx, find(tx, project, name).id)
        if found is None:
            raise access.not_found("flow", name)
        if living := flow_runs.living(tx, found.id):
            raise InUse(
                f"Flow {name!r} has runs that have not ended: {', '.join(run.written for run in living[:5])}.",
                hint=f"Cancel them first: mill flow cancel {living[0].written}",
                depends=[run.written for run in living],
            )
        flows.save(tx, replace(found, deleted_at=now))
        remove_all(tx, found.id, now)
        audit.record(tx, now=now, actor=actor, action="flow.delete", subject=f"{project.name}/{name}",
                     project_id=project.id)  # fmt: skip
    system_branches.remove(deps, project.id, FLOW_DATASET, name, now)
    data = {"project": project.name, "id": found.id, "what": "deleted", "name": name}
    deps.events.publish("flows", project_id=project.id, data=data)


def find(tx: Connection, project: Project, name: str) -> SavedFlow:
    found = flows.find(tx, project.id, name)
    if found is None:
        raise access.not_found("flow", name, flows.names(tx, project.id))
    return found


def find_version(tx: Connection, flow: SavedFlow, number: int | None) -> FlowVersion:
    """The version of that number, or the newest."""
    found = flows.version(tx, flow.id, flow.newest if number is None else number)
    if found is None:
        raise access.not_found("flow version", f"{flow.name}@{number}")
    return found


def _check_expected(name: str, newest: FlowVersion | None, expected: int | None) -> None:
    current = newest.number if newest else 0
    if expected is not None and expected != current:
        by = f", saved by {newest.saved_by}" if newest else ""
        raise Conflict(
            f"Flow {name!r} is at version {current}{by}; yours was made from version {expected}.",
            hint=f"Look at what changed: mill flow diff {name}@{expected} {name}@{current}",
            version=current,
        )


def _is_same(flow: Flow, newest: FlowVersion, bundle: Bundle, actor: Actor) -> bool:
    """True if saving would change nothing: also not whom its triggers run as."""
    if flow.triggers and flow.run_as == "me" and newest.saved_by != actor.name:
        return False
    return newest.digest == bundle.digest and newest.text == bundle.text


def _commit(
    deps: Deps, actor: Actor, project: Project, flow: Flow, bundle: Bundle, before: SavedFlow | None,
    newest: FlowVersion | None,
) -> FlowView:  # fmt: skip
    """Make the commit, and the rows in the transaction that makes it certain."""
    dataset = ensure_system_dataset(deps, project, FLOW_DATASET)
    with deps.db.read() as tx:
        head = refs.head_commit(tx, dataset, flow.name)
    same = newest is not None and newest.digest == bundle.digest
    number = (newest.number if newest else 0) + (not same)
    tree, upload = write_files(deps, project, bundle.files, author=actor.name)
    made: list[FlowView] = []

    def note(tx: Connection, commit: Commit) -> None:
        now = deps.clock.now()
        saved = _save_row(tx, project, flow, before, number, actor, deps)
        version = FlowVersion(saved.id, number, bundle.digest, commit.id, bundle.text, len(flow.steps), actor.name, now)
        flows.put_version(tx, version)
        replace_triggers(tx, saved, flow, now)
        audit.record(tx, now=now, actor=actor, action="flow.save", subject=f"{project.name}/{flow.name}",
                     project_id=project.id, details={"version": number})  # fmt: skip
        made.append(FlowView(saved, version))

    proposal = Proposal(
        tree=tree, branch=flow.name, expected=head.id if head else None, parents=[head] if head else [],
        message=f"Version {number} of flow {flow.name}", owner=upload.owner, upload_id=upload.id,
        lineage={"flow": flow.name, "version": number, "digest": bundle.digest}, noted_by=note,
    )  # fmt: skip
    try:
        accept(deps, actor, dataset, proposal)
    except RefMoved as error:
        raise _being_saved(flow.name) from error
    return made[-1]


def _save_row(
    tx: Connection, project: Project, flow: Flow, before: SavedFlow | None, number: int, actor: Actor, deps: Deps
) -> SavedFlow:  # fmt: skip
    now = deps.clock.now()
    if before is None:
        value = SavedFlow(new_id(), project.id, project.name, flow.name, flow.description, number, actor.name, now, now)
        flows.insert(tx, value)
        return value
    current = flows.lock(tx, before.id)
    if current != before:
        raise _being_saved(flow.name)
    value = replace(before, description=flow.description, newest=number, changed_at=now)
    flows.save(tx, value)
    return value


def _being_saved(name: str) -> Conflict:
    return Conflict(f"Somebody else is saving flow {name!r}.", hint="Look at it, and save again.")
