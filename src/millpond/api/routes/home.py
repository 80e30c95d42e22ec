"""The numbers of the first page."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api.access import DepsOf, SignedIn
from millpond.api.shapes import jobs as shapes
from millpond.services import home
from millpond.wire.home import Home

router = APIRouter(tags=["home"])


@router.get("/home")
def get_home(actor: SignedIn, deps: DepsOf) -> Home:
    found = home.home(deps, actor)
    return Home(
        gpus_total=found.gpus_total,
        gpu_used_hundredths=found.gpu_used_hundredths,
        jobs_running=found.jobs_running,
        jobs_waiting=found.jobs_waiting,
        cached_bytes=found.cached_bytes,
        volume_bytes=found.volume_bytes,
        datasets=found.datasets,
        dataset_bytes=found.dataset_bytes,
        volumes_connected=found.volumes_connected,
        hit_rate=found.uses.hit_rate,
        saved_bytes=found.uses.saved_bytes,
        saved_seconds=found.uses.saved_seconds,
        fills_running=found.fills_running,
        computes_connected=found.computes_connected,
        recent_jobs=[shapes.job(job) for job in found.recent_jobs],
        gpu_idle_hundredths=found.gpu_idle_hundredths,
        idle_jobs=[shapes.job(job) for job in found.idle_jobs],
    )
