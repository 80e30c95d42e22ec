"""What schedulers and workers told of themselves, cut down to what is used: it comes from processes of users."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from millpond.model.cluster import MAX_WORKERS, ClusterDemand, WorkerLoad

_ADDRESS = re.compile(r"(?:(?:tls|tcp|ray)://)?[A-Za-z0-9.:_\[\]-]{1,255}:[0-9]{1,5}")
_HOST = re.compile(r"(?:tls://)?[A-Za-z0-9.:_\[\]-]{1,255}")
_SAMPLE = re.compile(r"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]{0,100})(?P<labels>\{[^\n\r]{0,800}\})?")
_MOST_NUMBER = 10**15
_MOST_SAMPLES = 300
_MOST_WORDS = 500


def checked_ready(told: Mapping[str, Any]) -> dict[str, Any] | None:
    """Addresses and the port of the dashboard. None for what is neither a scheduler nor a worker."""
    found: dict[str, Any] = {
        key: told[key] for key in ("scheduler", "client") if _is_written(told.get(key), _ADDRESS)
    }  # fmt: skip
    if _is_written(told.get("worker"), _HOST):
        found["worker"] = told["worker"]
    port = told.get("dashboard")
    if isinstance(port, int) and 0 < port < 1 << 16:
        found["dashboard"] = port
    if isinstance(told.get("version"), str):
        found["version"] = told["version"][:40]
    return found if {"scheduler", "worker"} & found.keys() else None


def problem_of(stats: Mapping[str, Any] | None) -> str | None:
    """Why the process cannot go on."""
    said = (stats or {}).get("problem")
    return said[:_MOST_WORDS] if isinstance(said, str) and said else None


def demand_of(stats: Mapping[str, Any] | None) -> ClusterDemand | None:
    """None until a scheduler has told how many workers it would like."""
    if stats is None or (desired := _number(stats.get("desired"))) is None:
        return None
    workers = stats.get("workers")
    listed = [one for one in workers if isinstance(one, Mapping)] if isinstance(workers, list) else []
    return ClusterDemand(
        desired,
        tasks=_number(stats.get("tasks")) or 0,
        waiting=_number(stats.get("waiting")) or 0,
        workers={
            str(one.get("name"))[:63]: WorkerLoad(_number(one.get("tasks")) or 0, _number(one.get("bytes")) or 0)
            for one in listed[: 2 * MAX_WORKERS]
        },
    )


def samples_of(stats: Mapping[str, Any] | None) -> dict[str, float]:
    """Numbers of Prometheus by name and labels, as many as may be passed on."""
    told = (stats or {}).get("metrics")
    if not isinstance(told, Mapping):
        return {}
    usable = {
        key: float(value)
        for key, value in told.items()
        if isinstance(key, str) and _SAMPLE.fullmatch(key) and isinstance(value, int | float)
    }
    return dict(list(usable.items())[:_MOST_SAMPLES])


def _is_written(value: object, pattern: re.Pattern[str]) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _number(value: object) -> int | None:
    if not isinstance(value, int | float) or not 0 <= value <= _MOST_NUMBER:
        return None
    return int(value)
