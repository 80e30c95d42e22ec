"""Egress and its budgets as the wire shows them."""

from __future__ import annotations

import csv
import io

from millpond.services.egress.budgets import BudgetView
from millpond.services.egress.reading import EgressReport
from millpond.wire import egress as wire

_COLUMNS = ("day", "project", "site", "link", "bytes", "money")


def report(found: EgressReport) -> wire.EgressReport:
    return wire.EgressReport(
        since=found.since,
        until=found.until,
        rows=[wire.EgressRow.model_validate(row) for row in found.rows],
        total=wire.EgressRow.model_validate(found.total),
    )


def table(found: EgressReport) -> str:
    """As CSV, with the columns that it is grouped by."""
    used = [name for name in _COLUMNS if any(getattr(row, name) is not None for row in found.rows)]
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(used or _COLUMNS)
    writer.writerows([[_cell(getattr(row, name)) for name in used] for row in found.rows])
    return out.getvalue()


def _cell(value: object) -> object:
    """No cell of a spreadsheet begins a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value


def budget(view: BudgetView) -> wire.EgressBudget:
    use = view.use
    return wire.EgressBudget(
        project=view.project,
        bytes=use.budget.bytes,
        money=use.budget.money,
        warn_percent=use.budget.warn_percent,
        used_bytes=use.bytes,
        used_money=use.money,
        percent=use.percent,
        level=use.level.value,
        text=view.text,
        ends_at=use.ends_at,
        set_by=use.budget.set_by,
        set_at=use.budget.set_at,
    )
