"""Which commits this process has read through the SDK, for the inputs of its runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from millpond.model.rerun import INPUT_TYPE

Take = Callable[[Mapping[str, Any]], None]

_lock = threading.Lock()
# By dataset, commit and where they were read from: reading the next file of a commit is no news.
_used: dict[tuple[str, str, str], Mapping[str, Any]] = {}
_takers: list[Take] = []


def note_use(dataset: str, ref: str | None, commit: str, *, read_from: str) -> None:
    """`read_from`: `job input` or `volume` for a commit that lies cached near, `copy`, or `lake`."""
    key = (dataset, commit, read_from)
    if key in _used:
        return
    found = {
        "name": dataset,
        "digest": commit,
        "source_type": INPUT_TYPE,
        "source": f"{dataset}@{commit}",
        "ref": ref or "",
        "read_from": read_from,
        "cached": read_from in ("job input", "volume"),
    }
    with _lock:
        _used[key] = found
        takers = list(_takers)
    for take in takers[-1:]:
        take(found)


def add_taker(take: Take) -> None:
    """Tell it what was read so far and what will be; the newest taker is told, until it is removed."""
    with _lock:
        earlier = [] if _takers else list(_used.values())
        _takers.append(take)
    for found in earlier:
        take(found)


def remove_taker(take: Take) -> None:
    with _lock:
        if take in _takers:
            _takers.remove(take)
