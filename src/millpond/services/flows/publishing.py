"""Publishes outputs of a run that succeeded: as the server, with the rights that `run_as` has at that moment."""

from __future__ import annotations

from collections.abc import Mapping

from millpond.db import actors, datasets, users
from millpond.decide.flows.context import FlowContext
from millpond.decide.flows.resolving import lookup_for, resolve
from millpond.errors import Forbidden, NameTaken
from millpond.lake.branch_retry import on_newest
from millpond.model.dataset import Commit, Dataset
from millpond.model.flow_run import Files, FlowRun, FlowRunState
from millpond.model.names import DEFAULT_BRANCH, STEP_DATASET, DatasetRef
from millpond.model.people import Actor, Project, Role
from millpond.services.commits import refs
from millpond.services.commits.accept import Proposal, accept
from millpond.services.datasets import datasets as dataset_service
from millpond.services.deps import Deps
from millpond.services.flows import lake_files
from millpond.services.flows.lake_files import Part
from millpond.services.flows.step_jobs import lineage_of


def publish(deps: Deps, project: Project, run: FlowRun, context: FlowContext, state: FlowRunState) -> Mapping[str, str]:
    """The commit of each branch that the flow publishes to. Called again, it finds what it did before.

    Forbidden if `run_as` has lost its role.
    """
    actor = actor_of(deps, project, run)
    lookup = lookup_for(state, {})
    done: dict[str, str] = {}
    for publication in context.flow.publish:
        files = resolve(publication.output, lookup)
        assert isinstance(files, Files)  # checked when the flow was saved
        done[publication.to] = _publish(deps, actor, project, run, files, publication.to).id
    return done


def actor_of(deps: Deps, project: Project, run: FlowRun) -> Actor:
    """`run_as` with the roles it has now. Forbidden without the role member."""
    with deps.db.read() as tx:
        user = users.find(tx, run.run_as)
        actor = actors.of_user(tx, user) if user is not None and user.disabled_at is None else None
    if actor is None:
        raise Forbidden(
            f"{run.run_as}, who the flow runs as, no longer exists or is disabled.",
            hint="Save the flow again: it then runs as you.",
        )
    role = actor.role_in(project.id)
    if role is None or not role.includes(Role.MEMBER):
        raise Forbidden(
            f"{run.run_as}, who the flow runs as, no longer has the role member in project {project.name}.",
            hint="Give it the role again, or save the flow again: it then runs as you.",
        )
    return actor


def _publish(deps: Deps, actor: Actor, project: Project, run: FlowRun, files: Files, to: str) -> Commit:
    written = DatasetRef.parse(to)
    dataset = _dataset(deps, actor, project, written.dataset)
    branch = written.ref or DEFAULT_BRANCH
    source = DatasetRef.parse(files.place)
    part = Part(lake_files.find_commit(deps, source.ref or ""), (source.path or "").encode())
    made = lake_files.combine(
        deps, project, STEP_DATASET, [part], author=run.created_by, message=f"Output of {run.written}",
        lineage=lineage_of(run),
    )  # fmt: skip
    return on_newest(lambda: _move(deps, actor, dataset, branch, made, run))


def _move(deps: Deps, actor: Actor, dataset: Dataset, branch: str, made: Commit, run: FlowRun) -> Commit:
    """The branch with exactly this tree; its newest commit if it has it already."""
    with deps.db.read() as tx:
        head = refs.head_commit(tx, dataset, branch)
    if head is not None and head.tree == made.tree:
        return head
    proposal = Proposal(
        tree=made.tree,
        branch=branch,
        expected=head.id if head else None,
        parents=[head] if head else [],
        message=f"Published by flow {run.written}",
        owner=f"user:{actor.user_id}",
        lineage={**lineage_of(run), "inputs": [made.id]},
        origins=[made.tree],
    )
    return accept(deps, actor, dataset, proposal)


def _dataset(deps: Deps, actor: Actor, project: Project, name: str) -> Dataset:
    with deps.db.read() as tx:
        found = datasets.find(tx, project.id, name)
    if found is not None:
        return found
    try:
        return dataset_service.create(deps, actor, project, name=name, description="Published by a flow.")
    except NameTaken:  # another run was faster
        with deps.db.read() as tx:
            return dataset_service.find(tx, project, name)
