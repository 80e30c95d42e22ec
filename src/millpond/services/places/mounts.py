"""Mounts: administrators say which directories jobs of which projects may mount; jobs name them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import mounts, projects, sites
from millpond.errors import BadRequest, Forbidden, InUse, NameTaken
from millpond.model.ids import new_id
from millpond.model.job import Job
from millpond.model.job_spec import JobMount
from millpond.model.mount import SharedMount, checked_path, checked_target
from millpond.model.names import check_name
from millpond.model.people import Actor, Project
from millpond.services.deps import Deps
from millpond.services.people import access, audit

_NAMED = 5


def add(
    deps: Deps,
    actor: Actor,
    name: str,
    path: str,
    *,
    site: str | None = None,
    read_only: bool = False,
    all_projects: bool = False,
    project_names: Sequence[str] = (),
) -> SharedMount:
    """Let jobs mount a directory: of all projects, of those named, or of none yet."""
    check_name(name, "mount")
    plain = checked_path(path, "path")
    now = deps.clock.now()
    try:
        with deps.db.write() as tx:
            found_site = sites.find(tx, site) if site is not None else None
            if site is not None and found_site is None:
                raise access.not_found("site", site, sites.names(tx))
            value = SharedMount(
                id=new_id(),
                name=name,
                path=plain,
                site_id=found_site.id if found_site else None,
                site=site,
                read_only=read_only,
                all_projects=all_projects,
                project_ids=_ids(tx, project_names),
                created_at=now,
                created_by=actor.name,
                changed_at=now,
                changed_by=actor.name,
            )
            mounts.insert(tx, value)
            _audit(tx, deps, actor, "mount.create", name, {"projects": list(project_names)}, after=_told(tx, value))
    except IntegrityError as error:
        raise NameTaken(
            f"Mount {name!r} already exists.", hint="Choose another name, or see: mill mount list"
        ) from error
    return value


def allow(deps: Deps, actor: Actor, name: str, project_names: Sequence[str], *, everyone: bool) -> SharedMount:
    """Let jobs of these projects, or of all, mount it. Idempotent."""
    return _change(deps, actor, name, project_names, everyone=everyone, allowed=True)


def deny(deps: Deps, actor: Actor, name: str, project_names: Sequence[str], *, everyone: bool) -> SharedMount:
    """Take that back: running jobs keep it, jobs that have not started yet fail with the reason."""
    return _change(deps, actor, name, project_names, everyone=everyone, allowed=False)


def remove(deps: Deps, actor: Actor, name: str) -> None:
    """InUse, naming them, while unfinished jobs mount it. The directory itself stays."""
    with deps.db.write() as tx:
        found = _find(tx, name)
        if using := mounts.jobs_that_use(tx, name):
            shown = ", ".join(using[:_NAMED]) + (" …" if len(using) > _NAMED else "")
            raise InUse(
                f"Unfinished jobs use the mount {name!r}: {shown}.",
                hint="Wait for them, or stop them: mill stop JOB",
                depends=[f"job {one}" for one in using],
            )
        mounts.delete(tx, found.id)
        _audit(tx, deps, actor, "mount.delete", name, {}, before=_told(tx, found))


def list_all(deps: Deps, actor: Actor) -> Sequence[tuple[SharedMount, Sequence[str]]]:
    """Mounts that the actor's projects may use, with the names of the projects; all of them for administrators."""
    visible = access.visible_projects(actor)
    with deps.db.read() as tx:
        return [
            (one, _projects(tx, one, visible))
            for one in mounts.by_name(tx).values()
            if visible is None or any(one.allows(project_id) for project_id in visible)
        ]


def with_projects(deps: Deps, actor: Actor, mount: SharedMount) -> tuple[SharedMount, Sequence[str]]:
    with deps.db.read() as tx:
        return mount, _projects(tx, mount, access.visible_projects(actor))


def resolved(tx: Connection, project: Project, wanted: Sequence[JobMount]) -> tuple[JobMount, ...]:
    """What a new job asks for, by name and with its site. Raises if the project may not mount it."""
    known = mounts.by_name(tx) if wanted else {}
    found = [_resolved(known, project, one) for one in wanted]
    targets = [one.target for one in found]
    if twice := sorted({target for target in targets if targets.count(target) > 1}):
        raise BadRequest(f"Two mounts have the same path: {twice[0]}.", hint="Give each a path of its own.")
    return tuple(found)


def allowed_now(tx: Connection, jobs: Sequence[Job]) -> dict[str, dict[str, SharedMount]]:
    """The mounts of these jobs that their projects may still use, by job and name."""
    needing = [job for job in jobs if job.spec.mounts]
    known = mounts.by_name(tx) if needing else {}
    return {
        job.id: {
            one.mount: known[one.mount]
            for one in job.spec.mounts
            if one.mount in known and known[one.mount].allows(job.project_id)
        }
        for job in needing
    }


def _resolved(known: Mapping[str, SharedMount], project: Project, asked: JobMount) -> JobMount:
    allowed = {name: one for name, one in known.items() if one.allows(project.id)}
    target = checked_target(asked.target)
    if asked.mount.startswith("/"):
        path = checked_path(asked.mount, "mounts")
        found = next((one for one in allowed.values() if one.path == path), None)
        if found is None:
            paths = ", ".join(sorted(one.path for one in allowed.values()))
            raise Forbidden(
                f"Jobs of project {project.name!r} cannot mount {path}.",
                hint=(f"They can mount: {paths}. " if paths else "")
                + f"An administrator can allow it: mill mount add NAME {path} --allow {project.name}",
            )
    else:
        found = allowed.get(asked.mount)
        if found is None:
            error = access.not_found("mount", asked.mount, allowed)
            ask = f"An administrator can allow it: mill mount allow {asked.mount} {project.name}"
            error.hint = f"{error.hint} {ask}" if error.details.get("near") else ask
            raise error
    return JobMount(found.name, target, read_only=asked.read_only or found.read_only, site_id=found.site_id or "")


def _change(
    deps: Deps, actor: Actor, name: str, project_names: Sequence[str], *, everyone: bool, allowed: bool
) -> SharedMount:
    if not project_names and not everyone:
        raise BadRequest("No project given.", hint="Name projects, or use --all.")
    now = deps.clock.now()
    with deps.db.write() as tx:
        before = _find(tx, name)
        ids = _ids(tx, project_names)
        if allowed:
            after = replace(before, all_projects=before.all_projects or everyone, project_ids=before.project_ids | ids)
        else:
            left = frozenset() if everyone else before.project_ids - ids
            after = replace(before, all_projects=before.all_projects and not everyone, project_ids=left)
        if not allowed and after.all_projects:
            raise BadRequest(
                f"All projects may use the mount {name!r}.", hint=f"Deny all first: mill mount deny {name} --all"
            )
        after = replace(after, changed_at=now, changed_by=actor.name)
        mounts.change(tx, after)
        action = "mount.allow" if allowed else "mount.deny"
        details = {"projects": list(project_names), "all": everyone}
        _audit(tx, deps, actor, action, name, details, before=_told(tx, before), after=_told(tx, after))
    return after


def _find(tx: Connection, name: str) -> SharedMount:
    found = mounts.find(tx, name)
    if found is None:
        raise access.not_found("mount", name, mounts.by_name(tx))
    return found


def _ids(tx: Connection, names: Sequence[str]) -> frozenset[str]:
    found = {name: projects.find(tx, name) for name in names}
    for name, project in found.items():
        if project is None:
            raise access.not_found("project", name, projects.names(tx, among=None))
    return frozenset(project.id for project in found.values() if project is not None)


def _projects(tx: Connection, mount: SharedMount, visible: Collection[str] | None) -> Sequence[str]:
    among = mount.project_ids if visible is None else mount.project_ids & frozenset(visible)
    return projects.names(tx, among=among)


def _told(tx: Connection, mount: SharedMount) -> dict[str, object]:
    """Of a mount, for the audit log."""
    may_use = projects.names(tx, among=mount.project_ids)
    return {**audit.values_of(mount, "path", "site", "read_only", "all_projects"), "projects": may_use}


def _audit(
    tx: Connection, deps: Deps, actor: Actor, action: str, name: str, details: dict[str, object], *,
    before: dict[str, object] | None = None, after: dict[str, object] | None = None,
) -> None:  # fmt: skip
    audit.record(
        tx, now=deps.clock.now(), actor=actor, action=action, subject=name, details=details, before=before, after=after
    )
