"""Keeping quotas where something is taken: inside the transaction that takes it, one after the other."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from millpond.db import quotas
from millpond.decide.quotas import refusal
from millpond.errors import OverQuota
from millpond.model.quota import QuotaKind
from millpond.services.quotas.quotas import use_of


def check_lake(tx: Connection, now: datetime, project_id: str, project: str, asked: int) -> None:
    """OverQuota if so many bytes more would pass what the project may keep in the lake."""
    _check(tx, now, project_id, project, QuotaKind.LAKE, asked)


def check_cached(tx: Connection, now: datetime, project_id: str, project: str, asked: int) -> None:
    """OverQuota if so many bytes more would pass what the project may cache on all volumes together."""
    _check(tx, now, project_id, project, QuotaKind.CACHED, asked)


def _check(tx: Connection, now: datetime, project_id: str, project: str, kind: QuotaKind, asked: int) -> None:
    if (quota := quotas.locked(tx, project_id)).of(kind) is None:
        return
    use = use_of(tx, now, project_id, kind, quota)
    refused = refusal(project, use, asked)
    if refused is not None:
        raise OverQuota(
            refused.message, hint=refused.hint, quota=kind.value, limit=use.limit, used=use.used, asked=asked,
            holders=[{"name": one.name, "amount": one.amount} for one in use.holders],
        )  # fmt: skip
