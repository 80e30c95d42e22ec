"""What fills brought over links by day, what of their reports was counted, and budgets."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, func, or_, select

from millpond.db.insert import insert_missing
from millpond.db.tables import egress, egress_budget, egress_counted
from millpond.model.egress import CountedFill, Egress, EgressBudget
from millpond.model.fill_source import SourceKey, SourceKind

_KEYS = ("day", "project_id", "site_id", "source_id")


def add(tx: Connection, value: Egress) -> None:
    """Add to what came that day."""
    key = {name: getattr(value, name) for name in _KEYS}
    insert_missing(tx, egress, [{**key, "bytes": 0, "money": 0.0}])
    more = {"bytes": egress.c.bytes + value.bytes, "money": egress.c.money + value.money}
    tx.execute(egress.update().where(*(egress.c[name] == wanted for name, wanted in key.items())).values(**more))


def counted(tx: Connection, cached_id: str) -> CountedFill | None:
    row = tx.execute(select(egress_counted).where(egress_counted.c.cached_id == cached_id)).first()
    if row is None:
        return None
    given = {SourceKey(SourceKind(kind), id_): size for kind, id_, size in row.given}
    return CountedFill(row.cached_id, row.attempt, row.session, given)


def put_counted(tx: Connection, value: CountedFill) -> None:
    given = [[*key, size] for key, size in sorted(value.given.items())]
    row = {"cached_id": value.cached_id, "attempt": value.attempt, "session": value.session, "given": given}
    insert_missing(tx, egress_counted, [row])
    tx.execute(egress_counted.update().where(egress_counted.c.cached_id == value.cached_id).values(**row))


def days(
    tx: Connection,
    *,
    among: Collection[str] | None,
    since: str,
    until: str,
    site_id: str | None = None,
    ends: tuple[str, str] | None = None,
) -> Sequence[Egress]:
    """Of these projects (None: all), from one day to another, both included; of a site, or over a link."""
    query = select(egress).where(egress.c.day >= since, egress.c.day <= until)
    if among is not None:
        query = query.where(egress.c.project_id.in_(sorted(among)))
    if site_id is not None:
        query = query.where(egress.c.site_id == site_id)
    if ends is not None:
        query = query.where(_over(*ends))
    return [_egress(row) for row in tx.execute(query.order_by(*(egress.c[name] for name in _KEYS)))]


def totals(tx: Connection) -> Sequence[Egress]:
    """Since the beginning: without days."""
    keys = [egress.c[name] for name in _KEYS[1:]]
    query = select(*keys, func.sum(egress.c.bytes).label("bytes"), func.sum(egress.c.money).label("money"))
    rows = tx.execute(query.group_by(*keys).order_by(*keys))
    return [Egress("", row.project_id, row.site_id, row.source_id, int(row.bytes), row.money) for row in rows]


def priced(tx: Connection, since: str, project_id: str | None = None) -> tuple[int, float]:
    """Bytes that had a price, and that price, since a day; of one project or all."""
    sums = (func.coalesce(func.sum(egress.c.bytes), 0), func.coalesce(func.sum(egress.c.money), 0.0))
    query = select(*sums).where(egress.c.day >= since, egress.c.money > 0)
    if project_id is not None:
        query = query.where(egress.c.project_id == project_id)
    used_bytes, money = tx.execute(query).one()
    return int(used_bytes), float(money)


def budgets(tx: Connection) -> Mapping[str, EgressBudget]:
    """By project; the one of all projects first."""
    rows = tx.execute(select(egress_budget).order_by(egress_budget.c.project_id))
    return {row.project_id: _budget(row) for row in rows}


def put_budget(tx: Connection, value: EgressBudget) -> None:
    row = {column.name: getattr(value, column.name) for column in egress_budget.columns}
    insert_missing(tx, egress_budget, [row])
    tx.execute(egress_budget.update().where(egress_budget.c.project_id == value.project_id).values(**row))


def delete_budget(tx: Connection, project_id: str) -> bool:
    """Whether there was one."""
    return tx.execute(egress_budget.delete().where(egress_budget.c.project_id == project_id)).rowcount > 0


def _over(a_id: str, b_id: str) -> ColumnElement[bool]:
    ways = ((a_id, b_id), (b_id, a_id))
    return or_(*(and_(egress.c.source_id == source, egress.c.site_id == site) for source, site in ways))


def _egress(row: Row[Any]) -> Egress:
    return Egress(row.day, row.project_id, row.site_id, row.source_id, row.bytes, row.money)


def _budget(row: Row[Any]) -> EgressBudget:
    return EgressBudget(row.project_id, row.set_by, row.set_at, row.bytes, row.money, row.warn_percent)
