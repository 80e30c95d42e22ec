"""A Dask scheduler with TLS on both sides: whoever has no certificate of this cluster is not heard."""

from __future__ import annotations

import asyncio
import signal
import time
from typing import Any

import distributed
from distributed import Scheduler
from distributed.security import Security

from .exposition import scrape
from .folder import ServiceFolder, own_address

STATS_SECONDS = 1.0
METRICS_SECONDS = 15.0


def run(folder: ServiceFolder) -> int:
    return asyncio.run(_serve(folder))


def security(folder: ServiceFolder, role: str) -> Any:
    files = {f"tls_{role}_cert": folder.file("tls.crt"), f"tls_{role}_key": folder.file("tls.key")}
    return Security(tls_ca_file=folder.file("ca.crt"), require_encryption=True, **files)


async def _serve(folder: ServiceFolder) -> int:
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    # The dashboard has no sign-in of its own: it is opened through the server, by members of the project.
    scheduler = Scheduler(
        host=own_address(), port=0, protocol="tls", security=security(folder, "scheduler"),
        dashboard=True, dashboard_address="127.0.0.1:0",
    )  # fmt: skip
    async with scheduler:
        dashboard = scheduler.http_server.port if scheduler.http_server else 0
        folder.ready(scheduler=scheduler.address, dashboard=dashboard, version=distributed.__version__)
        metrics: dict[str, float] = {}
        scraped = -METRICS_SECONDS
        while not ended.is_set():
            if time.monotonic() >= scraped + METRICS_SECONDS:
                scraped, metrics = time.monotonic(), await _metrics(dashboard)
            folder.stats(at=time.time(), **_stats(scheduler), metrics=metrics)
            try:
                await asyncio.wait_for(ended.wait(), STATS_SECONDS)
            except TimeoutError:
                continue
    return 0


def _stats(scheduler: Any) -> dict[str, Any]:
    """How many workers it would like, why, and what each of them holds."""
    desired = int(scheduler.adaptive_target())
    queued = len(scheduler.queued) + len(scheduler.unrunnable)
    processing = sum(len(one.processing) for one in scheduler.workers.values())
    workers = [
        {"name": str(one.name), "tasks": len(one.processing), "bytes": int(one.nbytes), "threads": one.nthreads}
        for one in scheduler.workers.values()
    ]
    return {
        "desired": desired,
        "tasks": queued + processing,
        "waiting": queued,
        "clients": max(0, len(scheduler.clients) - ("fire-and-forget" in scheduler.clients)),
        "workers": workers,
    }


async def _metrics(dashboard: int) -> dict[str, float]:
    """None where prometheus-client is not installed."""
    try:
        return await asyncio.to_thread(scrape, f"http://127.0.0.1:{dashboard}/metrics", "dask_")
    except OSError:
        return {}
