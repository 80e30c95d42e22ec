"""A Dask worker. On SIGTERM the scheduler retires it first: what it holds moves to others, and it takes nothing new."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

from distributed import Worker

from .dask_scheduler import security
from .folder import ServiceFolder, cpus, memory_bytes, own_address, spill_directory

# How long a worker that cannot find its scheduler tries; its job is then started again, with the newest address.
DEATH_SECONDS = 60
LOOK_SECONDS = 1.0


def run(folder: ServiceFolder) -> int:
    return asyncio.run(_serve(folder))


async def _serve(folder: ServiceFolder) -> int:
    retired = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, retired.set)
    worker = Worker(
        folder.scheduler, name=os.environ["MILL_JOB_NAME"], nthreads=cpus(), memory_limit=memory_bytes() or "auto",
        local_directory=spill_directory(), host=own_address(), security=security(folder, "worker"),
        death_timeout=DEATH_SECONDS, dashboard=False,
    )  # fmt: skip
    async with worker:
        folder.ready(worker=worker.address)
        finished = asyncio.ensure_future(worker.finished())
        status = await _until_over(folder, worker, retired, finished)
        finished.cancel()
    return status


async def _until_over(folder: ServiceFolder, worker: Any, retired: asyncio.Event, finished: Any) -> int:
    while True:
        if retired.is_set():
            await worker.close_gracefully(reason="stopped by Millpond")
            return 0
        if finished.done():
            folder.fail("The scheduler closed this worker, or was gone for too long.")
            return 1
        if folder.has_moved():
            folder.fail("The cluster has a new scheduler: joining that one.")
            return 1
        waiting = asyncio.ensure_future(retired.wait())
        await asyncio.wait({waiting, finished}, timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
