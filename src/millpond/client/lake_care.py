"""Looking after the lake, over the API: for site administrators."""

from __future__ import annotations

from millpond.client.http import Api
from millpond.wire.lake import Collect, Collected, LakeStats, Reconcile, Reconciled

# A lake of many millions of files is looked through in minutes.
COLLECT_SECONDS = 3600.0


def collect(api: Api, *, dry_run: bool, now: bool) -> Collected:
    return api.send("POST", "/lake/collect", Collected, Collect(dry_run=dry_run, now=now), timeout=COLLECT_SECONDS)


def reconcile(api: Api, project: str | None) -> Reconciled:
    """Bring one project, or all that differ from the lake, up to date with it."""
    return api.send("POST", "/lake/reconcile", Reconciled, Reconcile(project=project), timeout=COLLECT_SECONDS)


def stats(api: Api) -> LakeStats:
    return api.get("/lake/stats", LakeStats)
