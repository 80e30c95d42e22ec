"""Bringing the database to what the lake holds, project by project, after an older copy of it was restored.

The lake is the truth: what only it knows comes in. A record that only the database has reserved is given up; its commit
stays, without a branch. Cut off at any moment, it is run again: until then the datasets are read-only.
"""

from __future__ import annotations

from collections.abc import Iterator

from millpond.db import datasets, projects, promised_pages
from millpond.lake.keys import ProjectKeys
from millpond.model.people import Actor
from millpond.services.deps import Deps
from millpond.services.lake import drift, pending_deletion
from millpond.services.lake.reindex import ProjectIndexer, Reindexed, project_ids
from millpond.services.people import access, audit

_UNDER_WAY = "it is being reconciled with the lake."


def reconcile(deps: Deps, actor: Actor, project: str | None) -> Reindexed:
    """One project, or all that differ. NotReady while a collection runs."""
    done = Reindexed()
    deps.fence.check(now=True)
    for project_id in _named(deps, actor, project) if project else _differing(deps, done):
        with pending_deletion.permission(deps):
            _run(deps, project_id, done)
        done.projects += 1
    with deps.db.write() as tx:
        details = {"projects": done.projects, "datasets": done.datasets, "problems": len(done.problems)}
        audit.record(tx, now=deps.clock.now(), actor=actor, action="lake.reconcile", subject="lake", details=details)
    deps.events.publish("datasets", project_id=None, data={"what": "reconciled"})
    return done


def _named(deps: Deps, actor: Actor, name: str) -> Iterator[str]:
    with deps.db.read() as tx:
        yield access.find_project(tx, actor, name).id


def _differing(deps: Deps, done: Reindexed) -> Iterator[str]:
    for project_id in list(project_ids(deps.store, done.problems.append)):
        with deps.db.read() as tx:
            is_known = projects.get(tx, project_id) is not None
            is_going = promised_pages.doomed_below(tx, ProjectKeys(project_id).prefix)
        if drift.why_not_collect(deps, project_id) if is_known else not is_going:
            yield project_id


def _run(deps: Deps, project_id: str, done: Reindexed) -> None:
    with deps.db.write() as tx:
        if projects.get(tx, project_id) is not None:
            # Pages and packs may have gone, moved or come back since: all of them are read anew.
            projects.raise_sequence(tx, project_id)
            datasets.set_conflicts(tx, project_id, _UNDER_WAY)
            promised_pages.forget_all(tx, project_id)
    ProjectIndexer(deps, project_id, done).run(update=True)
    with deps.db.write() as tx:
        datasets.set_conflicts(tx, project_id, None)
