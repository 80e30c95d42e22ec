"""Secrets of a project: kept sealed, given to the jobs that ask for them, shown to nobody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from logging import getLogger

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import secrets
from millpond.errors import Conflict, InUse, Invalid, Unavailable
from millpond.model.ids import new_id
from millpond.model.job import Job
from millpond.model.people import Actor, Project
from millpond.model.secret import MAX_BYTES, ProjectSecret, check_secret_name
from millpond.sealing import Seal
from millpond.services.deps import Deps
from millpond.services.listing import Listing, page_of, text_of
from millpond.services.people import access, audit

logger = getLogger(__name__)


def put(deps: Deps, actor: Actor, project: Project, name: str, value: str) -> ProjectSecret:
    """Set it, new or anew; jobs that start from now on get this value."""
    check_secret_name(name)
    _check_value(value)
    now = deps.clock.now()
    with deps.db.read() as tx:
        known = secrets.find(tx, project.id, name)
    secret_id = known.id if known else new_id()
    sealed = deps.seal.seal(value, _purpose(secret_id))
    made = ProjectSecret(secret_id, project.id, name, sealed, now, actor.name, now, actor.name)
    put_now = replace(known, sealed=sealed, changed_at=now, changed_by=actor.name) if known else made
    try:
        with deps.db.write() as tx:
            (secrets.change if known else secrets.insert)(tx, put_now)
            _audit(tx, deps, actor, project, "secret.change" if known else "secret.create", name)
    except IntegrityError as error:
        raise Conflict(f"Another request is creating the secret {name!r}.", hint="Try again.") from error
    return put_now


def list_all(deps: Deps, project: Project, *, limit: int, cursor: str | None) -> Listing[ProjectSecret]:
    with deps.db.read() as tx:
        found = secrets.page(tx, project.id, limit=limit + 1, after=text_of(cursor))
    return page_of(found, limit, key=lambda item: item.name)


def delete(deps: Deps, actor: Actor, project: Project, name: str) -> None:
    """InUse while jobs that have not ended are given it."""
    with deps.db.write() as tx:
        found = find(tx, project, name)
        if needed := secrets.jobs_that_need(tx, project.id, name):
            raise InUse(
                f"Unfinished jobs need the secret {name!r}: {', '.join(needed[:5])}.",
                hint="Wait for them, or stop them.",
                depends=[f"job {one}" for one in needed],
            )
        secrets.delete(tx, found.id)
        _audit(tx, deps, actor, project, "secret.delete", name)


def find(tx: Connection, project: Project, name: str) -> ProjectSecret:
    found = secrets.find(tx, project.id, name)
    if found is None:
        raise access.not_found("secret", name, secrets.names(tx, project.id))
    return found


def check_of_job(tx: Connection, project: Project, wanted: Mapping[str, str]) -> None:
    """Whether there is what a new job asks for."""
    for name in dict.fromkeys(wanted.values()):
        find(tx, project, name)


def values_of(tx: Connection, seal: Seal, jobs: Sequence[Job]) -> dict[str, dict[str, str | None]]:
    """What each of these jobs is given, by job and variable; None for what is gone or cannot be opened."""
    needing = [job for job in jobs if job.spec.secrets]
    known = secrets.of_projects(tx, {job.project_id for job in needing})
    return {
        job.id: {
            variable: _open(seal, known.get((job.project_id, name)))
            for variable, name in sorted(job.spec.secrets.items())
        }
        for job in needing
    }


def _open(seal: Seal, secret: ProjectSecret | None) -> str | None:
    if secret is None:
        return None
    try:
        return seal.open(secret.sealed, _purpose(secret.id))
    except Unavailable as error:
        logger.warning("secret_not_opened secret=%s name=%s %s", secret.id, secret.name, error)
        return None


def _check_value(value: str) -> None:
    if not value:
        raise Invalid("The secret is empty.", fields=["value"])
    if "\0" in value:
        raise Invalid("A secret cannot hold a zero byte.", fields=["value"])
    if len(value.encode()) > MAX_BYTES:
        raise Invalid(f"A secret can have at most {MAX_BYTES} bytes.", fields=["value"])


def _purpose(secret_id: str) -> str:
    return f"secret {secret_id}"


def _audit(tx: Connection, deps: Deps, actor: Actor, project: Project, action: str, name: str) -> None:
    audit.record(
        tx, now=deps.clock.now(), actor=actor, action=action, subject=f"{project.name}/{name}", project_id=project.id,
        details={},
    )  # fmt: skip
