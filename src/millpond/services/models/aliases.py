"""Aliases: names like `champion` that point to one version of a model, and move. Each is a branch of its dataset."""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlalchemy import Connection

from millpond.db import commits, models
from millpond.db.datasets import PendingRecord
from millpond.decide.models import check_alias
from millpond.lake.records import Move
from millpond.model.dataset import RefType
from millpond.model.model import Model, ModelVersionView
from millpond.model.people import Actor, Project, Role
from millpond.services.commits import records, refs
from millpond.services.deps import Deps
from millpond.services.models import versions
from millpond.services.models.models import find, publish, record
from millpond.services.people import access


def point(deps: Deps, actor: Actor, project: Project, name: str, alias: str, version: str) -> ModelVersionView:
    """Let the alias point to a version (by number or another alias), wherever it pointed before."""
    access.require(actor, project, Role.MEMBER)
    check_alias(alias)
    with deps.db.read() as tx:
        model = find(tx, project, name)
        number = versions.resolve(tx, model, version).number
    records.write(deps, partial(_prepare, deps=deps, actor=actor, model=model, alias=alias, number=number))
    publish(deps, model.dataset, "alias", version=number, alias=alias)
    deps.events.wake("branches")
    return versions.get(deps, project, name, str(number))


def remove(deps: Deps, actor: Actor, project: Project, name: str, alias: str) -> None:
    """NotFound, with the nearest, unless the model has it."""
    access.require(actor, project, Role.MEMBER)
    with deps.db.read() as tx:
        model = find(tx, project, name)
    records.write(deps, partial(_prepare, deps=deps, actor=actor, model=model, alias=alias, number=None))
    publish(deps, model.dataset, "alias", alias=alias)


def _prepare(
    tx: Connection, *, deps: Deps, actor: Actor, model: Model, alias: str, number: int | None
) -> PendingRecord:  # fmt: skip
    """The first transaction of moving an alias, or (without a number) of removing it."""
    dataset = model.dataset
    refs.lock(tx, dataset, alias)
    current = commits.find_ref(tx, dataset.id, alias)
    if number is None and (current is None or current.type is not RefType.BRANCH):
        known = models.aliases(tx, [dataset.id]).get(dataset.id, {})
        raise access.not_found("alias", alias, known)
    target = versions.resolve(tx, model, str(number)) if number is not None else None
    now = deps.clock.now()
    models.change(tx, dataset.id, changed_at=now)
    at: dict[str, Any] = {"version": target.number} if target else {}
    had = models.aliases(tx, [dataset.id]).get(dataset.id, {}).get(alias)
    record(
        tx, deps, actor, "model.alias" if target else "model.unalias", dataset, alias=alias, **at,
        before={"version": had}, after={"version": target.number if target else None},
    )  # fmt: skip
    move = Move(
        ref=alias, type=RefType.BRANCH, commit=target.commit_id if target else None,
        previous=current.commit_id if current else None,
    )  # fmt: skip
    return records.reserve(tx, dataset, move, lock=alias, by=actor.name, now=now)
