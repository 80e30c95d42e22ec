"""What is said of things that happen: each as a notice, or None where nobody needs to be told."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import quote

from millpond.model.endpoint import Endpoint
from millpond.model.job import Job, JobState
from millpond.model.notification import Channel, Notice, NotificationKind
from millpond.model.quantity import format_bytes
from millpond.model.volume import Volume

_JOB_KINDS = {
    JobState.FAILED: (NotificationKind.JOB_FAILED, "failed"),
    JobState.SUCCEEDED: (NotificationKind.JOB_SUCCEEDED, "succeeded"),
    JobState.PREEMPTED: (NotificationKind.JOB_PREEMPTED, "was preempted"),
}
# A disk is nearly full below the first, in hundredths, and no longer from the second on.
_FULL_PERCENT, _WELL_PERCENT = 5, 8


def of_job(before: Job, after: Job, now: datetime) -> Notice | None:
    """Of a job that ended, or has to leave its place. Replicas of endpoints and workers of clusters come and go."""
    state = after.status.state
    found = _JOB_KINDS.get(state)
    if found is None or state is before.status.state or after.spec.service is not None:
        return None
    kind, verb = found
    reason = after.status.reasons[-1] if after.status.reasons else ""
    return Notice(
        kind=kind, at=now, title=f"Job {after.name} {verb}", text=after.status.problem or reason,
        link=_page(after.project, "jobs", after.id), project_id=after.project_id, subject_id=after.id,
        owner=after.created_by,
    )  # fmt: skip


def of_refusal(
    *, project: str, project_id: str, dataset: str, commit_id: str, volume: str, reason: str, owner: str, now: datetime
) -> Notice:
    return Notice(
        kind=NotificationKind.CACHE_REFUSED, at=now, title=f"{dataset} was not cached on {volume}", text=reason,
        link=_page(project, "datasets", dataset), project_id=project_id, subject_id=commit_id, owner=owner,
    )  # fmt: skip


def of_source(
    *, name: str, source_id: str, project: str, project_id: str, owner_id: str | None, problem: str, now: datetime
) -> Notice:
    return Notice(
        kind=NotificationKind.SOURCE_FAILING, at=now, title=f"Source {name} is failing", text=problem,
        link=f"/sources?project={quote(project, safe='')}", project_id=project_id, subject_id=source_id,
        owner_id=owner_id,
    )  # fmt: skip


def of_mirror(
    *, name: str, mirror_id: str, project: str, project_id: str, owner_id: str | None, problem: str, now: datetime
) -> Notice:
    return Notice(
        kind=NotificationKind.MIRROR_FAILING, at=now, title=f"Mirror {name} is failing", text=problem,
        link=f"/sources?project={quote(project, safe='')}", project_id=project_id, subject_id=mirror_id,
        owner_id=owner_id,
    )  # fmt: skip


def of_drift(endpoint: Endpoint, alerts: Sequence[str], now: datetime) -> Notice:
    return Notice(
        kind=NotificationKind.ENDPOINT_DRIFTING, at=now, title=f"Endpoint {endpoint.name} is drifting",
        text=" ".join(alerts[:3]), link=_page(endpoint.project, "endpoints", endpoint.name),
        project_id=endpoint.project_id, subject_id=endpoint.id, owner_id=endpoint.user_id,
    )  # fmt: skip


def of_volume(volume: Volume, now: datetime) -> Notice:
    return Notice(
        kind=NotificationKind.VOLUME_NEARLY_FULL, at=now, title=f"The disk of volume {volume.name} is nearly full",
        text=f"{_left(volume)} at site {volume.site}. Free some space there, or clear cached commits.",
        link=f"/caches/{quote(volume.name, safe='')}", subject_id=volume.id,
    )  # fmt: skip


def of_backup(problem: str | None, *, run_id: str, is_verification: bool, now: datetime) -> Notice:
    what = "Verifying a backup of the server failed" if is_verification else "The backup of the server failed"
    return Notice(
        kind=NotificationKind.BACKUP_FAILED, at=now, title=what, text=problem or "", link="/backups", subject_id=run_id
    )  # fmt: skip


def of_channel(channel: Channel, problem: str, now: datetime) -> Notice:
    """Of one whose delivery was given up. It tells whoever can do something about it."""
    return Notice(
        kind=NotificationKind.CHANNEL_FAILING, at=now, title=f"Notifications by {channel.name} could not be delivered",
        text=problem, link="/account" if channel.user_id else "/", project_id=channel.project_id,
        subject_id=channel.id, owner_id=channel.user_id, owner=None if channel.user_id else channel.created_by,
    )  # fmt: skip


def is_nearly_full(volume: Volume, *, was: bool) -> bool:
    """As before where nobody has looked; between the two limits, too, so that it is not told again and again."""
    least = _WELL_PERCENT if was else _FULL_PERCENT
    shares = [
        100 * free < least * total
        for free, total in (
            (volume.disk_free_bytes, volume.disk_total_bytes),
            (volume.inodes_free, volume.inodes_total),
        )
        if free is not None and total
    ]
    return any(shares) if shares else was


def _left(volume: Volume) -> str:
    free, total = volume.inodes_free, volume.inodes_total
    if free is not None and total and 100 * free < _FULL_PERCENT * total:
        return f"{free:,} of {total:,} inodes are left"
    return f"{format_bytes(volume.disk_free_bytes or 0)} of {format_bytes(volume.disk_total_bytes or 0)} are left"


def _page(project: str, noun: str, name: str) -> str:
    return f"/projects/{quote(project, safe='')}/{noun}/{quote(name, safe='')}"
