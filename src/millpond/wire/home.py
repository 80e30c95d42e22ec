"""The numbers of the first page."""

from __future__ import annotations

from millpond.wire.base import Response
from millpond.wire.jobs import Job


class Home(Response):
    """The numbers of the first page."""

    gpus_total: int
    gpu_used_hundredths: int
    jobs_running: int
    jobs_waiting: int
    cached_bytes: int
    volume_bytes: int
    datasets: int
    dataset_bytes: int = 0
    volumes_connected: int = 0
    # What the cache has saved since the beginning, of projects one may see; null while nothing was asked for.
    hit_rate: float | None = None
    saved_bytes: int = 0
    saved_seconds: float = 0.0
    fills_running: int = 0
    computes_connected: int
    recent_jobs: list[Job]
    # GPUs held by jobs that have computed nothing on them for more than five minutes, and those jobs one may see.
    gpu_idle_hundredths: int = 0
    idle_jobs: list[Job] = []
