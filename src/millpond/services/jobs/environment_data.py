"""Bringing built environments near the compute before a job takes GPUs there, like its other data."""

from __future__ import annotations

from datetime import datetime

from millpond.db import caches, jobs
from millpond.decide.score import LOCALITY, fill_of
from millpond.model.cached_state import CachedState
from millpond.services.deps import Deps
from millpond.services.jobs import job_data
from millpond.services.jobs.environments import Environments
from millpond.services.jobs.loaded import Block, Loaded


def fetch_environments(
    deps: Deps, loaded: Loaded, packages: Environments, now: datetime
) -> dict[tuple[str, str], Block]:  # fmt: skip
    """By job and zone: why a job cannot begin there yet. Fills of environments that take longer than the data lead are
    begun, and waited for without GPUs."""
    wanted = {build.status.output_commit or "" for build in packages.builds.values()}
    if not wanted:
        return {}
    with deps.db.read() as tx:
        sizes = jobs.commit_sizes(tx, wanted)
        states = {
            (one.cached.volume_id, one.cached.commit_id): one.cached.state for one in caches.of_commits(tx, wanted)
        }
        found = jobs.by_ids(tx, {job_id for job_id, _ in packages.builds})
    blocked: dict[tuple[str, str], Block] = {}
    for (job_id, compute_id), build in sorted(packages.builds.items(), key=lambda one: one[0]):
        zone, commit = loaded.world.zones.get(compute_id), build.status.output_commit or ""
        near = loaded.world.volumes.get(compute_id, ())
        here = {states.get((volume.id, commit)) for volume in near}
        if zone is None or job_id not in found or (job_id, zone.name) in blocked or CachedState.READY in here:
            continue
        if fill_of(sizes.get(commit, 0), zone.near.bytes_per_second).seconds <= loaded.policy.ready_seconds:
            continue
        words = f"its environment is fetched to {zone.name} before it takes GPUs there."
        problem = None
        if CachedState.FILLING not in here:
            problem = job_data.begin_fills(deps, found[job_id], near, now, also=[commit])
        blocked[job_id, zone.name] = Block(problem.rule, problem.words) if problem else Block(LOCALITY, words)
    return blocked
