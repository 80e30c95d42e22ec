"""The processes that work for this one at the moment, as copies of a nursery's."""

from __future__ import annotations

import psutil


def nurseries() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if _is_nursery(child)]


def workers() -> list[psutil.Process]:
    """Those that have not ended."""
    found = [worker for nursery in nurseries() for worker in nursery.children()]
    return [worker for worker in found if _is_living(worker)]


def _is_nursery(process: psutil.Process) -> bool:
    try:
        return "millpond.lake.nursery_process" in process.cmdline()
    except (psutil.ZombieProcess, psutil.NoSuchProcess):
        return False


def _is_living(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
