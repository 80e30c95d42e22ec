"""Current GPU use, from NVIDIA's library if installed."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from types import ModuleType

log = logging.getLogger(__name__)


def gpu_use(indices: Sequence[int], library: ModuleType | None = None) -> dict[str, float]:
    """Mean utilisation in per cent and total memory in use of these GPUs; nothing if unavailable.

    Jobs that share a GPU get the numbers of the whole GPU.
    """
    nvml = library or (_library() if indices else None)
    if nvml is None or not indices:
        return {}
    try:
        handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in indices]
        loads = [nvml.nvmlDeviceGetUtilizationRates(handle).gpu for handle in handles]
        memory = sum(int(nvml.nvmlDeviceGetMemoryInfo(handle).used) for handle in handles)
    except nvml.NVMLError as error:
        log.warning("cannot read GPU use: %s", error)
        return {}
    return {"gpu_percent": sum(loads) / len(loads), "gpu_memory_bytes": memory}


@lru_cache(maxsize=1)
def _library() -> ModuleType | None:
    """Loaded once, and only if there is a GPU: the bindings take megabytes."""
    if not Path("/proc/driver/nvidia").exists():
        return None
    import pynvml  # noqa: PLC0415

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        log.warning("cannot read GPU use: %s", error)
        return None
    return pynvml  # type: ignore[no-any-return]
