"""`millpond.cache("xray@v3", near="gpu-cluster").wait()`: a commit brought beside the compute, from a script."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from millpond.client.caches import (
    add_cached,
    clear_cached,
    get_cached,
    hold_cached,
    pin_cached,
    release_cached,
    verify_cached,
    wait_cached,
    wait_cleared,
)
from millpond.client.caching import PROGRESS_SECONDS
from millpond.client.credentials import resolve_target
from millpond.client.http import Api
from millpond.errors import NotReady, VolumeProblem
from millpond.model.cached_state import CachedState
from millpond.model.names import DatasetRef
from millpond.model.quantity import LONGEST_HOLD, LONGEST_IDLE, parse_seconds
from millpond.wire.cache import CacheAdd, CachedCommit, CacheHold

# Told how far a fill is: bytes that are there, and all.
Progress = Callable[[int, int], None]


def cache(
    name: str,
    *,
    near: str | None = None,
    on: str | None = None,
    idle: str | None = None,
    server: str | None = None,
    project: str | None = None,
) -> Cached:
    """Ask for a commit (`dataset@ref`, `project/dataset@ref`) on a volume: `on` that one, or `near` this compute.

    Without either the best volume is chosen; `reasons` say why. Asking for what is there, or on its way, starts
    nothing. DoesNotFit says at once what stands in the way.
    """
    target = resolve_target(server, DatasetRef.parse(name).project or project)
    api = Api(target.server, target.token)
    asked = CacheAdd(
        dataset=name,
        project=target.project,
        volume=on,
        near=near,
        idle_seconds=None if idle is None else parse_seconds(idle, least=1, most=LONGEST_IDLE),
    )
    added = add_cached(api, asked)
    return Cached(api, added.cached, started=added.started, reasons=added.reasons)


class Cached:
    """One commit on one volume. `started` is False if it was there or on its way before."""

    def __init__(self, api: Api, found: CachedCommit, *, started: bool, reasons: Sequence[str]) -> None:
        self._api = api
        self._found = found
        self.started = started
        self.reasons = list(reasons)

    @property
    def info(self) -> CachedCommit:
        """All that the server last said; `refresh` asks again."""
        return self._found

    @property
    def state(self) -> str:
        """`filling`, `ready`, `evicting` or `failed`, as it was last seen."""
        return self._found.state.value

    @property
    def volume(self) -> str:
        return self._found.volume

    @property
    def progress(self) -> float:
        """How much of it is there, from 0 to 1."""
        if self._found.state is CachedState.READY:
            return 1.0
        return self._found.done_bytes / self._found.bytes if self._found.bytes else 0.0

    @property
    def path(self) -> Path:
        """Where the files lie on machines that have the volume. NotReady before all of them are there: `wait` first."""
        if self._found.state is not CachedState.READY:
            raise NotReady(f"{self._name} is {self.state} on {self.volume}.", hint="Call wait() first.")
        return Path(self._found.path)

    def refresh(self) -> Cached:
        self._found = get_cached(self._api, self._found.id)
        return self

    def wait(self, timeout: float | None = None, *, progress: Progress | None = None) -> Cached:
        """Until it is whole. NotReady once `timeout` seconds are over, VolumeProblem if it cannot be filled."""
        deadline = None if timeout is None else time.monotonic() + timeout
        self.refresh()
        while self._found.state is CachedState.FILLING:
            if progress is not None:
                progress(self._found.done_bytes, self._found.bytes)
            left = PROGRESS_SECONDS if deadline is None else min(PROGRESS_SECONDS, deadline - time.monotonic())
            if left <= 0:
                held_up = f" Delayed: {self._found.problem}" if self._found.problem else ""
                raise NotReady(f"{self._name} is not fully cached on {self.volume} after {timeout:g} s.{held_up}")
            self._found = wait_cached(self._api, self._found.id, left)
        if self._found.state is not CachedState.READY:
            why = self._found.problem or self._found.reason
            raise VolumeProblem(f"Cannot cache {self._name} on {self.volume}: {why}", volume=self.volume)
        if progress is not None:
            progress(self._found.bytes, self._found.bytes)
        return self

    def hold(self, length: str = "8h", *, why: str = "") -> Cached:
        """Keep it from being evicted for a time, like `8h` or `3d`."""
        seconds = parse_seconds(length, least=1, most=LONGEST_HOLD)
        self._found = hold_cached(self._api, self._found.id, CacheHold(seconds=seconds, reason=why))
        return self

    def release(self, *, of: str | None = None) -> Cached:
        """End one's own holds; or those of another user, as an administrator of the project."""
        self._found = release_cached(self._api, self._found.id, user=of)
        return self

    def pin(self, pinned: bool = True) -> Cached:
        self._found = pin_cached(self._api, self._found.id, pinned=pinned)
        return self

    def verify(self) -> Cached:
        """Have every file held against its digest, and healed; `info.verification` says how it goes."""
        self._found = verify_cached(self._api, self._found.id)
        return self

    def clear(self) -> None:
        """Remove it from the volume, and wait until it is gone; InUse while somebody uses it.

        What keeps it from going for half a minute is in `info.problem`; it goes as soon as it can.
        """
        clear_cached(self._api, self._found.id)
        left = wait_cleared(self._api, self._found.id)
        self._found = left or self._found.model_copy(update={"state": CachedState.EVICTING})

    def close(self) -> None:
        self._api.close()

    def __enter__(self) -> Cached:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Cached('{self._found.project}/{self._name}' on {self.volume}: {self.state})"

    @property
    def _name(self) -> str:
        return f"{self._found.dataset}@{self._found.commit_id[:8]}"
