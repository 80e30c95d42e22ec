"""Running sources: one server at a time runs one source, commits what differs, and notes how it went."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import connections, datasets, notices, projects, sources
from millpond.decide.notifications.notices import of_source
from millpond.decide.source_times import next_run
from millpond.errors import Forbidden, MillError, NotFound, NotReady
from millpond.model.ids import new_id
from millpond.model.people import Actor, Project, Role
from millpond.model.source import Source, SourceObject
from millpond.services.claims import HELD, actor_of, held
from millpond.services.deps import Deps
from millpond.services.people import access
from millpond.services.sources.imports import Done, Order, carry_out
from millpond.services.sources.place_listing import Wanted
from millpond.services.sources.sources import announce

logger = getLogger(__name__)


def run_due(deps: Deps, now: datetime) -> int:
    """Run the sources whose time has come, one after the other; how many this server ran."""
    count = 0
    while (source := _claim_next(deps)) is not None:
        run(deps, source)
        count += 1
    return count


def run(deps: Deps, source: Source) -> None:
    """One run of a source that this server has claimed. Never raises: what went wrong is noted at the source."""
    announce(deps, source)
    try:
        with held(deps, f"source {source.name}", partial(_renew, source)) as lost:
            done = _bring(deps, source, lost)
    except MillError as error:
        hint = f" {error.hint}" if error.hint else ""
        logger.warning("source_failed source=%s code=%s reason=%s", source.id, error.code, error.message)
        _note_failure(deps, source, f"{error.message}{hint}")
    except Exception:  # the edge of a run: the others go on
        logger.exception("source_failed source=%s", source.id)
        _note_failure(deps, source, "Unexpected error; see the server's log.")
    else:
        logger.info("source_ran source=%s commit=%s", source.id, done.commit.id if done.commit else None)
        _note_success(deps, source, done)
    announce(deps, source)


def _claim_next(deps: Deps) -> Source | None:
    while True:
        now = deps.clock.now()
        with deps.db.read() as tx:
            found = sources.due(tx, now)
        if found is None:
            return None
        with deps.db.write() as tx:
            if sources.claim(tx, found, new_id(), now=now, until=now + HELD):
                return sources.get(tx, found)


def _renew(source: Source, tx: Connection, until: datetime) -> bool:
    return sources.renew(tx, source.id, source.runner or "", until)


def _bring(deps: Deps, source: Source, lost: threading.Event) -> Done:
    with deps.db.read() as tx:
        project = projects.get(tx, source.project_id)
        dataset = datasets.get(tx, source.dataset_id)
        connection = connections.get(tx, source.connection_id)
        before = sources.objects(tx, source.id)
    if project is None or dataset is None or connection is None:
        raise NotFound("The dataset is in the bin.", hint="Restore it, or remove the source.")
    actor = _actor(deps, source, project)

    def still_wanted() -> None:
        with deps.db.read() as tx:
            now = sources.get(tx, source.id)
        if lost.is_set() or now is None or now.runner != source.runner:
            raise NotReady("The source was removed, or another server runs it.")
        _actor(deps, source, project)

    def note(copied: Sequence[SourceObject]) -> None:
        with deps.db.write() as tx:
            sources.put_objects(tx, source.id, copied)

    order = Order(
        connection=connection,
        wanted=Wanted(source.uri, source.listing, source.path),
        branch=source.branch,
        copies=source.copies,
        source=source.name,
        before=before,
    )
    return carry_out(deps, actor, project, dataset, order, still_wanted=still_wanted, note=note)


def _actor(deps: Deps, source: Source, project: Project) -> Actor:
    """Whoever made or resumed the source, with the role they have now."""
    actor = actor_of(deps, source.user_id)
    if actor is None:
        raise Forbidden(
            "The user that this source runs as no longer exists or cannot sign in.",
            hint=f"Somebody else can take it over: mill source pause {source.name}; mill source resume {source.name}",
        )
    access.require(actor, project, Role.MEMBER)
    return actor


def _note_success(deps: Deps, source: Source, done: Done) -> None:
    now = deps.clock.now()
    result = {"commit_id": done.commit.id if done.commit and done.is_new else None, **done.counts}
    with deps.db.write() as tx:
        is_ours = sources.finish(
            tx,
            source.id,
            source.runner or "",
            ended_at=now,
            next_at=_next_at(tx, source, now, failures=0),
            result=result,
            problem=None,
            failures=0,
        )
        if is_ours:
            sources.put_objects(tx, source.id, done.standing)
            sources.forget_objects(tx, source.id, [*done.plan.removes, *done.plan.forgets])


def _note_failure(deps: Deps, source: Source, problem: str) -> None:
    now = deps.clock.now()
    failures = source.failures + 1
    with deps.db.write() as tx:
        at = _next_at(tx, source, now, failures=failures)
        is_ours = sources.finish(
            tx, source.id, source.runner or "", ended_at=now, next_at=at, problem=problem[:2000], failures=failures
        )
        project = projects.get(tx, source.project_id)
        if is_ours and failures == 1 and project is not None:  # told once, until it has succeeded again
            notice = of_source(
                name=source.name, source_id=source.id, project=project.name, project_id=project.id,
                owner_id=source.user_id, problem=problem, now=now,
            )  # fmt: skip
            notices.insert(tx, notice)


def _next_at(tx: Connection, source: Source, now: datetime, *, failures: int) -> datetime:
    """By the schedule as it is now. A run that somebody asked for while this one was under way comes at once: this one
    may have listed its place before what they want to see was there."""
    current = sources.get(tx, source.id) or source
    started = source.started_at or now
    if current.next_at > started:
        return min(current.next_at, now)
    return next_run(started, now, timedelta(seconds=current.every_seconds), failures)
