"""What is tidied up in the background: idle cached commits, sessions that are over, records a crash left behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from logging import getLogger

from millpond.errors import NotReady
from millpond.loops.runner import Loop
from millpond.model.people import SYSTEM
from millpond.services import signing_secret
from millpond.services.audits import forwarding, retention
from millpond.services.audits.forwarding import Forwarding
from millpond.services.audits.receivers import Target
from millpond.services.backups import schedule as backup_schedule
from millpond.services.caches import eviction
from millpond.services.caches import policies as cache_policies
from millpond.services.caches.admission import differences
from millpond.services.commits import records
from millpond.services.commits.packs import verify
from millpond.services.computes import compute_tests, elastic_rounds, joining
from millpond.services.deps import Deps
from millpond.services.jobs import bin, checkpoints, idle, placements, shares
from millpond.services.lake import collect, pending_deletion, purge
from millpond.services.lake.replicas import keeping
from millpond.services.mirrors import lag, mirrors, rounds
from millpond.services.models import bin as model_bin
from millpond.services.models import checks
from millpond.services.people import sessions
from millpond.services.places import tiers, volume_usage
from millpond.services.quotas import calls, quotas
from millpond.services.runs import artifact_commits, part_uploads, runs
from millpond.services.sources import source_runs, sources
from millpond.services.workspaces import access as workspace_access
from millpond.services.workspaces import changes as workspace_changes
from millpond.services.workspaces import run_snapshots
from millpond.services.workspaces import schedules as workspace_schedules

_TOPIC = "housekeeping"
logger = getLogger(__name__)


# In every server: what is looked for there, or has a lease of its own. The rest is done by one of them.
_EVERYWHERE = ("api calls", "lake owner", "verify", "sources 1", "sources 2", "sources 3", "mirrors 1", "mirrors 2")


def loops(deps: Deps) -> Sequence[Loop]:
    """Each on its own, so that one that fails or waits holds no other back."""
    return [replace(loop, once=loop.name not in _EVERYWHERE) for loop in _all(deps)]


def _all(deps: Deps) -> Sequence[Loop]:
    return [
        Loop("evict", _TOPIC, 10.0, lambda now: eviction.evict_all(deps)),
        Loop("kept branches", cache_policies.TOPIC, 3.0, partial(cache_policies.carry_out, deps)),
        Loop("new heads", cache_policies.TOPIC, 60.0, partial(differences.prepare_new, deps)),
        Loop("compared trees", "differences", 86_400.0, lambda now: differences.forget_old(deps)),
        Loop("tiers", tiers.TIERS_TOPIC, 15.0, partial(tiers.set_all, deps)),
        Loop("volume usage", "usage", 60.0, partial(volume_usage.sample_all, deps)),
        Loop("gpu shares", "gpu shares", 60.0, partial(shares.sample, deps)),
        Loop("backups", backup_schedule.TOPIC, backup_schedule.SECONDS, partial(backup_schedule.run_due, deps)),
        Loop("api calls", quotas.TOPIC, calls.SECONDS, lambda now: deps.calls.sync(deps.db, now)),
        Loop("audit retention", "audit", 3600.0, partial(retention.remove_due, deps)),
        *_forwarding(deps),
        Loop("sessions", "sessions", 3600.0, lambda now: sessions.expire(deps)),
        Loop("signing secret", "sessions", 3600.0, partial(signing_secret.hide, deps)),
        Loop("idle jobs", "idle", 15.0, partial(idle.stop_idle, deps)),
        Loop("lost runs", "runs", 30.0, partial(runs.mark_lost, deps)),
        Loop("metric chunks", "metrics", 60.0, partial(runs.fold_ended, deps)),
        Loop("artifacts", artifact_commits.TOPIC, artifact_commits.SECONDS, partial(artifact_commits.gather_all, deps)),
        Loop("artifact parts", "artifact parts", 3600.0, partial(part_uploads.forget_old, deps)),
        Loop("bin", "bin", 600.0, partial(bin.purge, deps)),
        Loop("checkpoints", "bin", 600.0, partial(checkpoints.remove_old, deps)),
        Loop("dataset bin", "bin", 600.0, partial(purge.purge_datasets, deps)),
        Loop("version bin", "bin", 600.0, partial(model_bin.purge_versions, deps)),
        Loop("workspace bin", "bin", 600.0, partial(workspace_changes.purge_old, deps)),
        Loop("workspaces", workspace_access.TOPIC, 2.0, partial(_look_after_workspaces, deps)),
        Loop("model checks", checks.TOPIC, checks.SECONDS, partial(checks.settle_all, deps)),
        Loop("doomed", "doomed", 60.0, lambda now: pending_deletion.finish(deps)),
        *_collecting(deps),
        Loop("lake replicas", cache_policies.TOPIC, 10.0, partial(keeping.keep_all, deps), spacing=1.0),
        # Several, so that one large copy does not hold the small ones back.
        *(Loop(f"sources {n}", sources.TOPIC, 5.0, partial(source_runs.run_due, deps)) for n in (1, 2, 3)),
        *(Loop(f"mirrors {n}", mirrors.TOPIC, 2.0, partial(rounds.run_due, deps)) for n in (1, 2)),
        Loop("mirror lag", lag.TOPIC, 15.0, partial(lag.count_all, deps), spacing=1.0),
        Loop("elastic machines", "tokens", 3600.0, partial(elastic_rounds.forget_gone, deps)),
        Loop("join tokens", "tokens", 3600.0, partial(joining.forget_expired, deps)),
        Loop("compute tests", "tests", 600.0, partial(compute_tests.forget_old, deps)),
        Loop("placement tokens", "tokens", 3600.0, partial(placements.forget_tokens, deps)),
        Loop("lake owner", "lake owner", 5.0, lambda now: deps.fence.check(now=True)),
        Loop("records", "records", 30.0, lambda now: records.finish_pending(deps, older_than=records.LEFT_BEHIND)),
        Loop("verify", "verify", 10.0, lambda now: verify.verify_some(deps, at_rest=verify.AT_REST)),
    ]


def _look_after_workspaces(deps: Deps, now: datetime) -> None:
    workspace_schedules.run_due(deps, now)
    run_snapshots.take_due(deps, now)
    workspace_schedules.apply_rules(deps, now)
    workspace_changes.settle(deps, now)


def _forwarding(deps: Deps) -> list[Loop]:
    """Named by the receiver: servers with the same one take turns."""
    if deps.settings.audit_syslog is None:
        return []
    target = Target.parse(deps.settings.audit_syslog)
    return [Loop(f"audit to {target}", "audit", forwarding.SECONDS, Forwarding(deps, target).run_once)]


def _collecting(deps: Deps) -> list[Loop]:
    seconds = deps.settings.collect_seconds
    return [Loop("collect", "collect", seconds, partial(_collect, deps))] if seconds else []


def _collect(deps: Deps, now: datetime) -> None:
    try:
        collect.collect(deps, SYSTEM)
    except NotReady as error:  # another server, or a person, is at it
        logger.info("collect_skipped reason=%s", error.message)
