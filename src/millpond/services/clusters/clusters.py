"""Clusters: create, find, list, scale and delete them. `rounds.py` turns them into jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import clusters, computes, sites
from millpond.decide.clusters.workers import WantedWorkers, at_first, check_workers
from millpond.errors import BadRequest, Conflict, NameTaken
from millpond.model.cluster import Cluster, ClusterAdapt, ClusterRole, ClusterSpec, ClusterState, ClusterView
from millpond.model.ids import new_job_id
from millpond.model.job_spec import JobInput, JobSpec
from millpond.model.names import check_name
from millpond.model.people import Actor, Project, Role
from millpond.model.quantity import format_count
from millpond.model.volume import Site
from millpond.services.clusters import cluster_jobs, credentials
from millpond.services.clusters.cluster_use import find
from millpond.services.clusters.views import views
from millpond.services.deps import Deps
from millpond.services.jobs import submit
from millpond.services.listing import Listing, decode, page_of
from millpond.services.people import access, audit

# Wakes the loop.
TOPIC = "clusters"


def create(deps: Deps, actor: Actor, project: Project, name: str, spec: ClusterSpec, site: str | None) -> ClusterView:
    """NameTaken if the project has one of that name, DoesNotFit if its workers could run nowhere at the site."""
    access.require(actor, project, Role.MEMBER)
    check_name(name, "cluster")
    check_workers(spec.workers, spec.adapt)
    now = deps.clock.now()
    with deps.db.read() as tx:
        place = _site(tx, spec.compute, site)
    spec = replace(spec, inputs=_resolved(deps, actor, project, spec.inputs))
    first = at_first(spec)
    cluster = Cluster(
        id=new_job_id(), project_id=project.id, project=project.name, name=name, created_by=actor.name,
        user_id=actor.user_id or "", created_at=now, changed_at=now, site_id=place.id, site=place.name, spec=spec,
        wanted=first.count, wanted_reason=first.reason, reasons=(f"Created by {actor.name}.",),
    )  # fmt: skip
    for role in (ClusterRole.SCHEDULER, ClusterRole.WORKER):
        submit.check(deps, actor, project, cluster_jobs.cluster_job(deps, project, cluster, role)[1])
    secret = credentials.sealed(deps.seal, cluster.id, credentials.new_credentials(spec.kind, cluster.id, now))
    with deps.db.write() as tx:
        try:
            with tx.begin_nested():
                clusters.insert(tx, cluster, secret=secret)
        except IntegrityError as error:
            raise _taken(tx, project, name) from error
        clusters.note(tx, cluster.id, now, [f"Created by {actor.name}. {first.reason}"])
        _record(tx, deps, actor, cluster, "cluster.create")
    _told(deps, cluster)
    return get(deps, project, cluster.id)


def get(deps: Deps, project: Project, written: str) -> ClusterView:
    with deps.db.read() as tx:
        return views(tx, [find(tx, project, written)], events=True)[0]


def list_clusters(
    deps: Deps, actor: Actor, *, project: str | None, limit: int, cursor: str | None
) -> Listing[ClusterView]:
    """Of one project, or of all that the actor can see, by project and name."""
    with deps.db.read() as tx:
        among = [access.find_project(tx, actor, project, Role.VIEWER).id] if project else access.visible_projects(actor)
        found = clusters.page(tx, projects=among, after=_place(cursor), limit=limit + 1)
        shown = views(tx, found)
    return page_of(shown, limit, key=lambda view: [view.cluster.project, view.cluster.name])


def scale(
    deps: Deps, actor: Actor, project: Project, written: str, *, workers: int | None, adapt: ClusterAdapt | None
) -> ClusterView:
    """A fixed number of workers, or limits within which they follow the demand."""
    if (workers is None) == (adapt is None):
        raise BadRequest("Give either a number of workers or limits.", hint="--workers 4, or --adapt 1:8")
    check_workers(workers or 0, adapt)

    def changed(before: Cluster) -> Cluster:
        spec = replace(before.spec, workers=before.spec.workers if workers is None else workers, adapt=adapt)
        first = at_first(spec) if adapt is None else _within(spec, before)
        # Until the loop has looked: whoever waits for the change must not take the state before for the one after.
        state = ClusterState.SCALING if before.state is ClusterState.READY else before.state
        return replace(before, spec=spec, wanted=first.count, wanted_reason=first.reason, fewer_since=None, state=state)

    asked = format_count(workers or 0, "worker") if adapt is None else f"{adapt.min} to {adapt.max} workers by demand"
    return _change(deps, actor, project, written, "cluster.scale", f"Scaled by {actor.name} to {asked}.", changed)


def delete(deps: Deps, actor: Actor, project: Project, written: str) -> None:
    """Stop its scheduler and workers; the record goes when they have ended. Their jobs stay."""
    with deps.db.read() as tx:
        if find(tx, project, written).deleted_at is not None:
            return
    now = deps.clock.now()
    _change(
        deps, actor, project, written, "cluster.delete", f"Deleted by {actor.name}.",
        lambda one: replace(one, deleted_at=now, state=ClusterState.DELETING, wanted=0, reasons=("Deleting.",)),
    )  # fmt: skip


def announce(deps: Deps, cluster: Cluster) -> None:
    """Tell open pages."""
    data = {"project": cluster.project, "id": cluster.id, "name": cluster.name, "state": cluster.state.value}
    deps.events.publish(TOPIC, project_id=cluster.project_id, data={**data, "what": "changed"})


def _change(
    deps: Deps, actor: Actor, project: Project, written: str, action: str, said: str,
    change: Callable[[Cluster], Cluster],
) -> ClusterView:  # fmt: skip
    access.require(actor, project, Role.MEMBER)
    now = deps.clock.now()
    with deps.db.write() as tx:
        before = clusters.lock(tx, find(tx, project, written).id)
        if before is None or before.deleted_at is not None:
            raise Conflict(f"Cluster {written!r} is being deleted.", hint="Create it again once that is done.")
        after = replace(change(before), changed_at=now, user_id=actor.user_id or before.user_id)
        clusters.save(tx, after)
        clusters.note(tx, after.id, now, [said])
        _record(tx, deps, actor, after, action)
    _told(deps, after)
    return get(deps, project, after.id)


def _within(spec: ClusterSpec, before: Cluster) -> WantedWorkers:
    """From a fixed number to limits: as many as now, within them, until the scheduler has said what it needs."""
    return at_first(replace(spec, workers=before.wanted))


def _resolved(deps: Deps, actor: Actor, project: Project, asked: tuple[JobInput, ...]) -> tuple[JobInput, ...]:
    """The commits of the refs that were named, and the variables that hold their paths."""
    return submit.fixed(deps, actor, project, JobSpec(command=("true",), inputs=asked)).inputs if asked else ()


def _site(tx: Connection, compute: str | None, written: str | None) -> Site:
    """The site named, that of the compute named, or the only one that has a compute that runs services."""
    known = sites.all_of(tx)
    if written is not None:
        found = next((one for one in known if written in (one.name, one.id)), None)
        if found is None:
            raise access.not_found("site", written, [one.name for one in known])
        return found
    machines = computes.all_computes(tx)
    if compute is not None:
        able = {one.site_id for one in machines if one.name == compute}
        if not able:
            raise access.not_found("compute", compute, [one.name for one in machines])
    else:
        able = {one.site_id for one in machines if one.can("services")}
    places = [one for one in known if one.id in able]
    if len(places) == 1:
        return places[0]
    if not places:
        raise Conflict("No compute can run clusters.", hint="Attach one: mill compute attach")
    raise BadRequest(
        "Several sites can run the cluster.", hint=f"Name one: --site {' or --site '.join(one.name for one in places)}"
    )


def _told(deps: Deps, cluster: Cluster) -> None:
    announce(deps, cluster)
    deps.events.wake(TOPIC)


def _taken(tx: Connection, project: Project, name: str) -> NameTaken:
    other = clusters.find(tx, project.id, name)
    if other is not None and other.deleted_at is not None:
        return NameTaken(f"Cluster {name!r} is being deleted.", hint="Create it again once that is done.")
    return NameTaken(
        f"Cluster {name!r} already exists.", hint=f"See: mill cluster show {name}. Or choose another name."
    )


def _record(tx: Connection, deps: Deps, actor: Actor, cluster: Cluster, action: str) -> None:
    audit.record(
        tx, now=deps.clock.now(), actor=actor, action=action, subject=f"{cluster.project}/{cluster.name}",
        project_id=cluster.project_id, details={"cluster": cluster.id},
    )  # fmt: skip


def _place(cursor: str | None) -> tuple[str, str]:
    match decode(cursor) if cursor else ["", ""]:
        case [str(project), str(name)]:
            return project, name
        case _:
            raise BadRequest(f"{cursor!r} is not a cursor of this list.")
