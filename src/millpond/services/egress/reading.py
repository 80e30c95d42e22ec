"""What fills brought: by day, project, site or link, as far as somebody may see it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from sqlalchemy import Connection

from millpond.db import egress, projects, sites
from millpond.decide.egress import month_of
from millpond.errors import BadRequest
from millpond.model.egress import Egress
from millpond.model.people import Actor, Role
from millpond.model.topology import LAKE
from millpond.services.deps import Deps
from millpond.services.people import access
from millpond.services.places.links import ends
from millpond.services.places.volume_usage import replica_names


class EgressBy(StrEnum):
    DAY = "day"
    PROJECT = "project"
    SITE = "site"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class EgressFilter:
    """Names; a link as `A:B`. Days are those of UTC, both included; None: from the first of this month until today."""

    project: str | None = None
    site: str | None = None
    link: str | None = None
    since: date | None = None
    until: date | None = None


@dataclass(frozen=True, slots=True)
class EgressRow:
    """Bytes and money of one group; None for what it is not grouped by."""

    bytes: int
    money: float
    day: str | None = None
    project: str | None = None
    site: str | None = None
    link: str | None = None


@dataclass(frozen=True, slots=True)
class EgressReport:
    since: str
    until: str
    rows: Sequence[EgressRow]
    total: EgressRow


def report(deps: Deps, actor: Actor, chosen: EgressFilter, by: Collection[EgressBy]) -> EgressReport:
    """What came, grouped. Nothing is told of projects one has no role in."""
    since, until = _period(chosen, deps.clock.now())
    with deps.db.read() as tx:
        among = access.visible_projects(actor)
        if chosen.project is not None:
            among = {access.find_project(tx, actor, chosen.project, Role.VIEWER).id}
        site_id = _site(tx, chosen.site) if chosen.site else None
        way = _way(tx, chosen.link) if chosen.link else None
        found = egress.days(tx, among=among, since=since, until=until, site_id=site_id, ends=way)
        ends = {**sites.by_id(tx), **replica_names(tx)}
        names = Names(ends, projects.names_of(tx, {one.project_id for one in found}))
    groups: defaultdict[tuple[str | None, ...], list[Egress]] = defaultdict(list)
    for one in found:
        groups[names.group(one, by)].append(one)
    rows = [_row(key, groups[key]) for key in sorted(groups, key=lambda key: tuple(part or "" for part in key))]
    return EgressReport(since, until, rows, _row((None,) * 4, found))


@dataclass(frozen=True, slots=True)
class Names:
    """Of sites and projects by their ids; those that are gone are shown as such."""

    sites: Mapping[str, str]
    projects: Mapping[str, str]

    def site(self, site_id: str) -> str:
        return self.sites.get(site_id, site_id if site_id in (LAKE, "outside") else f"removed site {site_id[:8]}")

    def project(self, project_id: str) -> str:
        return self.projects.get(project_id, f"removed project {project_id[:8]}")

    def link(self, one: Egress) -> str:
        """The lake's end first, sites in the order of their names."""
        source, site = self.site(one.source_id), self.site(one.site_id)
        ordered = (source, site) if one.source_id in (LAKE, "outside") else sorted((source, site))
        return " – ".join(ordered)

    def group(self, one: Egress, by: Collection[EgressBy]) -> tuple[str | None, ...]:
        return (
            one.day if EgressBy.DAY in by else None,
            self.project(one.project_id) if EgressBy.PROJECT in by else None,
            self.site(one.site_id) if EgressBy.SITE in by else None,
            self.link(one) if EgressBy.LINK in by else None,
        )


def _site(tx: Connection, name: str) -> str:
    found = sites.find(tx, name)
    if found is None:
        raise access.not_found("site", name, sites.names(tx))
    return found.id


def _way(tx: Connection, written: str) -> tuple[str, str]:
    a, colon, b = written.partition(":")
    if not colon:
        raise BadRequest(f"{written!r} is not a link.", hint="Write it as SITE:SITE or lake:SITE.")
    return ends(tx, a, b)


def _period(chosen: EgressFilter, now: datetime) -> tuple[str, str]:
    since = chosen.since or month_of(now)[0].date()
    until = chosen.until or now.date()
    if until < since:
        raise BadRequest(f"The period ends ({until}) before it begins ({since}).")
    return since.isoformat(), until.isoformat()


def _row(key: tuple[str | None, ...], found: Sequence[Egress]) -> EgressRow:
    return EgressRow(sum(one.bytes for one in found), sum(one.money for one in found), *key)
