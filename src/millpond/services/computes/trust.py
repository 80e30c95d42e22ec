"""Shared trust: where jobs of all projects share one account, only those run and lie there that were let in."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from millpond.db import computes as rows
from millpond.db import projects, trust
from millpond.errors import BadRequest, NotTrusted
from millpond.model.compute import Trust
from millpond.model.people import Actor
from millpond.model.volume import Volume
from millpond.services.computes import computes
from millpond.services.computes.computes import ComputeView
from millpond.services.deps import Deps
from millpond.services.people import access, audit


def let_in(deps: Deps, actor: Actor, name: str, project_names: Sequence[str], *, everyone: bool) -> ComputeView:
    """Let these projects, or everyone, onto the compute. Again, it changes nothing."""
    return _change(deps, actor, name, project_names, everyone=everyone, may_enter=True)


def keep_out(deps: Deps, actor: Actor, name: str, project_names: Sequence[str], *, everyone: bool) -> ComputeView:
    """Take that back: of these projects, or with `everyone` of all. What runs there goes on, nothing new begins."""
    return _change(deps, actor, name, project_names, everyone=everyone, may_enter=False)


def of_volume(tx: Connection, volume: Volume) -> Trust:
    """What is cached there can be read by all jobs of the site's shared computes: it takes whom all of them take."""
    shared = [one for one in trust.of_computes(tx, site_id=volume.site_id).values() if one.shared]
    named = [one.projects for one in shared if not one.all]
    everyone = bool(shared) and not named
    return Trust(bool(shared), everyone, frozenset.intersection(*named) if named else frozenset())


def check_volume(tx: Connection, volume: Volume, project_id: str, project: str) -> None:
    """NotTrusted unless something of this project may lie there."""
    if not of_volume(tx, volume).accepts(project_id):
        raise NotTrusted(
            f"All jobs of site {volume.site} can read volume {volume.name}, and project {project} is "
            "not allowed there.",
            hint=f"An administrator can allow it: mill compute trust COMPUTE --project {project}",
            volume=volume.name,
        )


def shown(tx: Connection, found: Trust, actor: Actor) -> Sequence[str]:
    """The names of the projects that were let in, as far as the actor may know of them."""
    visible = access.visible_projects(actor)
    among = found.projects if visible is None else found.projects & frozenset(visible)
    return projects.names(tx, among=among)


def _told(tx: Connection, compute_id: str) -> dict[str, object]:
    """Who is let onto a compute, for the audit log."""
    found = trust.of_computes(tx).get(compute_id)
    return {"all": found.all, "projects": projects.names(tx, among=found.projects)} if found else {}


def _change(
    deps: Deps, actor: Actor, name: str, project_names: Sequence[str], *, everyone: bool, may_enter: bool
) -> ComputeView:
    if not project_names and not everyone:
        raise BadRequest("Give at least one project, or all.", hint="For example: --project team-a, or --all.")
    now = deps.clock.now()
    with deps.db.write() as tx:
        compute = computes.lock(tx, name)
        found = [access.find_project(tx, actor, project) for project in project_names]
        before = _told(tx, compute.id)
        ids = {project.id for project in found}
        if may_enter:
            trust.add(tx, compute.id, ids)
        else:
            trust.remove(tx, compute.id, None if everyone else ids)
        if everyone:
            rows.change(tx, compute.id, trusts_all=may_enter)
        audit.record(
            tx, now=now, actor=actor, action="compute.trust" if may_enter else "compute.distrust", subject=name,
            details={"projects": sorted(project_names), "all": everyone},
            before=before, after=_told(tx, compute.id),
        )  # fmt: skip
    view = computes.get(deps, name)
    deps.events.publish("computes", project_id=None, data={"id": compute.id, "what": "changed"})
    deps.events.wake("schedule")
    return view
