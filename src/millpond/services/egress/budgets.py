"""Monthly budgets of egress: set by administrators, told to whoever may see them, and kept by admission."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import caches, egress, lake_replicas, links, projects
from millpond.db.caches import CommitSize
from millpond.decide.egress import BudgetLevel, BudgetUse, check_budget, month_of, refusal, use_of, used_words
from millpond.errors import OverBudget
from millpond.model.cached_state import CachedState
from millpond.model.egress import ALL_PROJECTS, EgressBudget
from millpond.model.people import Actor
from millpond.model.topology import LAKE
from millpond.model.volume import Volume
from millpond.services.deps import Deps
from millpond.services.people import access, audit


@dataclass(frozen=True, slots=True)
class BudgetView:
    """A budget by the name of its project (None: of all projects), what is used, and that in words."""

    project: str | None
    use: BudgetUse
    text: str


def put(
    deps: Deps, actor: Actor, project: str | None, *, bytes_: int | None, money: float | None, warn_percent: int
) -> BudgetView:
    """Set the budget of a project, or of all; what was set before is replaced."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        project_id = _project_id(tx, actor, project)
        budget = check_budget(EgressBudget(project_id, actor.name, now, bytes_, money, warn_percent))
        before = egress.budgets(tx).get(project_id)
        egress.put_budget(tx, budget)
        said = {"bytes": bytes_, "money": money, "warn_percent": warn_percent}
        was = audit.values_of(before, *said) if before else None
        audit.record(tx, now=now, actor=actor, action="egress.budget", subject=project or "all", before=was, after=said)
        found = _view(tx, budget, project, now)
    deps.events.wake("schedule")
    deps.events.wake("branches")
    return found


def remove(deps: Deps, actor: Actor, project: str | None) -> None:
    now = deps.clock.now()
    with deps.db.write() as tx:
        project_id = _project_id(tx, actor, project)
        gone = egress.budgets(tx).get(project_id)
        if gone is None or not egress.delete_budget(tx, project_id):
            raise access.not_found("egress budget", project or "of all projects")
        was = audit.values_of(gone, "bytes", "money", "warn_percent")
        audit.record(tx, now=now, actor=actor, action="egress.unbudget", subject=project or "all", before=was)
    deps.events.wake("schedule")
    deps.events.wake("branches")


def list_visible(deps: Deps, actor: Actor) -> list[BudgetView]:
    """That of all projects first; of projects one has a role in."""
    with deps.db.read() as tx:
        found = egress.budgets(tx)
        names = projects.names_of(tx, found.keys() - {ALL_PROJECTS})
        now = deps.clock.now()
        return [
            _view(tx, budget, names.get(project_id), now)
            for project_id, budget in found.items()
            if project_id == ALL_PROJECTS or (project_id in names and access.sees(actor, project_id))
        ]


def all_beyond(deps: Deps) -> Sequence[BudgetView]:
    """Budgets that are nearly or wholly used up."""
    with deps.db.read() as tx:
        found = egress.budgets(tx)
        names = projects.names_of(tx, found.keys() - {ALL_PROJECTS})
        views = [_view(tx, one, names.get(key), deps.clock.now()) for key, one in found.items()]
    return [one for one in views if one.use.level is not BudgetLevel.OK]


def check(tx: Connection, volume: Volume, size: CommitSize, now: datetime) -> None:
    """OverBudget if the commit would come over a link with a price, and a budget is used up."""
    if not _has_price(tx, LAKE, volume.site_id) or _is_free_elsewhere(tx, volume, size.commit_id):
        return
    why = used_up(tx, size.project_id, now)
    if why is not None:
        raise OverBudget(
            why,
            hint="Administrators can raise it: mill egress budget set. Data that is cached, and links without a price, "
            "can be used.",
            volume=volume.name,
            commit=size.commit_id,
        )


def used_up(tx: Connection, project_id: str, now: datetime) -> str | None:
    """Why nothing more may come over links with a price for a project; None if it may."""
    found = egress.budgets(tx)
    for key in (project_id, ALL_PROJECTS):
        budget = found.get(key)
        known = use(tx, budget, now) if budget else None
        if known is not None and known.level is BudgetLevel.EXCEEDED:
            names = projects.names_of(tx, {key} - {ALL_PROJECTS})
            return refusal(known, names.get(key))
    return None


def use(tx: Connection, budget: EgressBudget, now: datetime) -> BudgetUse:
    """What is used of it this month."""
    since = month_of(now)[0].date().isoformat()
    project_id = None if budget.project_id == ALL_PROJECTS else budget.project_id
    return use_of(budget, *egress.priced(tx, since, project_id), now)


def _view(tx: Connection, budget: EgressBudget, project: str | None, now: datetime) -> BudgetView:
    known = use(tx, budget, now)
    return BudgetView(project, known, f"{used_words(known)} ({known.percent:.0f} %)")


def _project_id(tx: Connection, actor: Actor, project: str | None) -> str:
    return ALL_PROJECTS if project is None else access.find_project(tx, actor, project).id


def _has_price(tx: Connection, source_id: str, site_id: str) -> bool:
    link = links.find(tx, source_id, site_id)
    return bool(link is not None and link.price_per_gb)


def _is_free_elsewhere(tx: Connection, volume: Volume, commit_id: str) -> bool:
    """True if a replica for the site holds it, or another site to which a link without a price leads."""
    if any(volume.site_id in replica.sites for replica in lake_replicas.holding(tx, commit_id)):
        return True
    sites = {
        view.site_id
        for view in caches.of_commits(tx, [commit_id])
        if view.cached.state is CachedState.READY and view.site_id != volume.site_id
    }
    found = (links.find(tx, site_id, volume.site_id) for site_id in sites)
    return any(link is not None and not link.price_per_gb for link in found)
