"""Running mirrors: one server at a time works at one. A run that waits for an agent is left and looked at again."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from functools import partial
from logging import getLogger
from typing import Any

from sqlalchemy import Connection

from millpond.db import connections, mirrors, notices, projects
from millpond.decide.notifications.notices import of_mirror
from millpond.decide.source_times import next_run
from millpond.errors import Forbidden, MillError, NotFound
from millpond.model.ids import new_id
from millpond.model.mirror import Mirror
from millpond.model.people import Actor, Project, Role
from millpond.services.claims import HELD, actor_of, held
from millpond.services.deps import Deps
from millpond.services.mirrors import to_bucket, to_volume
from millpond.services.mirrors.lag import none_behind
from millpond.services.mirrors.mirrors import announce
from millpond.services.mirrors.origin import Awaited, Origin, bring, check_uses
from millpond.services.mirrors.tally import Tally
from millpond.services.people import access

logger = getLogger(__name__)

# How soon a run that waits for an agent is looked at again.
LOOK_AGAIN = timedelta(seconds=2)


class _Stopped(Exception):
    """The mirror was removed or paused, or another server works at it. Whoever goes on does so where this one was."""


def run_due(deps: Deps, now: datetime) -> int:
    """Work at the mirrors whose time has come, one after the other; how many this server took up."""
    count = 0
    while (mirror := _claim_next(deps)) is not None:
        run(deps, mirror)
        count += 1
    return count


def run(deps: Deps, mirror: Mirror) -> None:
    """Begin or go on with the run of a mirror that this server has claimed. Never raises: what went wrong is noted."""
    announce(deps, mirror)
    try:
        with held(deps, f"mirror {mirror.name}", partial(_renew, mirror)) as lost:
            _advance(deps, mirror, lost)
    except _Stopped:
        _postpone(deps, mirror)
    except MillError as error:
        hint = f" {error.hint}" if error.hint else ""
        logger.warning("mirror_failed mirror=%s code=%s reason=%s", mirror.id, error.code, error.message)
        _end(deps, mirror, problem=f"{error.message}{hint}")
    except Exception:  # the edge of a run: the others go on
        logger.exception("mirror_failed mirror=%s", mirror.id)
        _end(deps, mirror, problem="Unexpected error; see the server's log.")
    announce(deps, mirror)


def _claim_next(deps: Deps) -> Mirror | None:
    """A run that is under way goes on; otherwise a new one begins."""
    while True:
        now = deps.clock.now()
        with deps.db.read() as tx:
            found = mirrors.due(tx, now)
        if found is None:
            return None
        runner = new_id()
        with deps.db.write() as tx:
            if not mirrors.claim(tx, found, runner, now=now, until=now + HELD):
                continue
            mirror = mirrors.get(tx, found)
            if mirror is not None and not mirror.is_under_way:
                mirrors.change_claimed(
                    tx, found, runner, started_at=now, snapshot=None, bringing=None, progress=None
                )  # fmt: skip
                mirror = mirrors.get(tx, found)
            return mirror


def _renew(mirror: Mirror, tx: Connection, until: datetime) -> bool:
    return mirrors.renew(tx, mirror.id, mirror.runner or "", until)


def _advance(deps: Deps, mirror: Mirror, lost: threading.Event) -> None:
    with deps.db.read() as tx:
        project = projects.get(tx, mirror.project_id)
    if project is None:
        raise NotFound("The project is gone.")
    actor = _actor(deps, mirror, project)
    origin = bring(deps, actor, project, mirror)
    if isinstance(origin, Awaited):
        _postpone(deps, mirror, snapshot=origin.snapshot, progress=origin.what)
        return
    if mirror.is_to_bucket:
        done: Tally | to_volume.Filling = _to_bucket(deps, project, mirror, origin, lost)
    else:
        done = to_volume.step(deps, mirror, origin)
    if isinstance(done, to_volume.Filling):
        _postpone(deps, mirror, progress=done.what)
        return
    logger.info(
        "mirror_ran mirror=%s commit=%s copied=%s bytes=%s removed=%s conflicts=%s failed=%s",
        mirror.id, origin.commit.id[:8], done.copied, done.copied_bytes, done.removed, done.conflict_count,
        done.failed_count,
    )  # fmt: skip
    _end(deps, mirror, problem=done.problem, done=done, origin=origin)


def _to_bucket(deps: Deps, project: Project, mirror: Mirror, origin: Origin, lost: threading.Event) -> Tally:
    with deps.db.read() as tx:
        connection = connections.get(tx, mirror.connection_id or "")
    if connection is None:
        raise NotFound("The connection is gone.", hint="Remove the mirror, and add it again.")

    def still_wanted(progress: str) -> None:
        with deps.db.write() as tx:
            is_ours = mirrors.change_claimed(tx, mirror.id, mirror.runner or "", progress=progress)
            now = mirrors.get(tx, mirror.id)
        if lost.is_set() or not is_ours or now is None or now.paused_at is not None:
            raise _Stopped
        _actor(deps, mirror, project)

    order = to_bucket.BucketOrder(origin, connection, mirror.uri, mirror.id, still_wanted=still_wanted)
    return to_bucket.carry_out(deps, order)


def _actor(deps: Deps, mirror: Mirror, project: Project) -> Actor:
    """Whoever made or resumed the mirror, with the rights they have now."""
    actor = actor_of(deps, mirror.user_id)
    if actor is None:
        raise Forbidden(
            "The user that this mirror runs as no longer exists or cannot sign in.",
            hint=f"Somebody else can take it over: mill mirror pause {mirror.name}; mill mirror resume {mirror.name}",
        )
    access.require(actor, project, Role.MEMBER)
    with deps.db.read() as tx:
        check_uses(tx, actor, project, mirror)
    return actor


def _postpone(deps: Deps, mirror: Mirror, **values: Any) -> None:
    """The run stays under way, and any server goes on with it."""
    at = deps.clock.now() + LOOK_AGAIN
    with deps.db.write() as tx:
        mirrors.give_up(tx, mirror.id, mirror.runner or "", next_at=at, **values
        )  # fmt: skip


def _end(
    deps: Deps, mirror: Mirror, *, problem: str | None, done: Tally | None = None, origin: Origin | None = None
) -> None:
    now = deps.clock.now()
    failures = mirror.failures + 1 if problem is not None else 0
    values: dict[str, Any] = {"problem": problem[:2000] if problem else None, "failures": failures}
    if done is not None:
        values["result"] = done.told()
    if origin is not None and problem is None:
        values |= {"commit_id": origin.commit.id, "content_at": origin.at, "mirrored_at": now, "bringing": None}
        values |= none_behind(origin)
    with deps.db.write() as tx:
        current = mirrors.get(tx, mirror.id) or mirror
        started = mirror.started_at or now
        is_asked = current.asked_at is not None and current.asked_at > started
        every = timedelta(seconds=current.every_seconds)
        next_at = now if is_asked else next_run(started, now, every, failures)
        is_ours = mirrors.give_up(tx, mirror.id, mirror.runner or "", ended_at=now, next_at=next_at,
            progress=None, **values,
        )  # fmt: skip
        if is_ours and failures == 1 and problem is not None:
            _note_failing(tx, mirror, problem, now)


def _note_failing(tx: Connection, mirror: Mirror, problem: str, now: datetime) -> None:
    """Told once, until it has succeeded again."""
    project = projects.get(tx, mirror.project_id)
    if project is not None:
        notice = of_mirror(
            name=mirror.name, mirror_id=mirror.id, project=project.name, project_id=project.id,
            owner_id=mirror.user_id, problem=problem, now=now,
        )  # fmt: skip
        notices.insert(tx, notice)
