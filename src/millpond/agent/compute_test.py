"""Tests this compute on request: connection, speed of lake and volumes, GPUs."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from millpond.agent.facts import measure_gpus
from millpond.agent.threads import in_thread
from millpond.agent.volumes import Volumes, sentence
from millpond.client.http import Api, segment
from millpond.errors import MillError
from millpond.lake.http import DataPlane
from millpond.model.quantity import format_rate
from millpond.wire.agent import TrialUrls
from millpond.wire.computes import Check, Checks

log = logging.getLogger(__name__)

ROUNDS = 3
# A clock that is further off than this confuses people, and signed URLs of object stores.
CLOCK_SECONDS = 5.0
VOLUME_BYTES = 64 << 20
LEAST_FREE = 10 * VOLUME_BYTES
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class TestedVolume:
    """A volume to test: where to write, or why that is impossible."""

    name: str
    directory: Path
    problem: str | None = None


class Trials:
    """Runs each requested test once; `run` tests everything and reports to the server."""

    def __init__(self, volumes: Volumes, run: Callable[[str, Sequence[TestedVolume]], None]) -> None:
        self._volumes = volumes
        self._run = run
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def reconcile(self, wanted: Sequence[str]) -> None:
        for gone in self._tasks.keys() - set(wanted):
            self._tasks.pop(gone)
        for test in wanted:
            if test not in self._tasks:
                self._tasks[test] = asyncio.create_task(self._make(test), name=f"test {test}")

    def end(self) -> None:
        for task in self._tasks.values():
            task.cancel()

    async def _make(self, test: str) -> None:
        try:
            await in_thread(partial(self._run, test, self._places()))
        except MillError as error:
            log.warning("cannot report test: test=%s %s", test, error.message)
        except Exception:
            log.exception("test failed: test=%s", test)

    def _places(self) -> list[TestedVolume]:
        return [
            TestedVolume(
                str(watch.volume.root), watch.volume.probing, None if watch.seen is None else watch.seen.problem
            )
            for watch in self._volumes.watched()
        ]


def run_trial(api: Api, test: str, places: Sequence[TestedVolume]) -> None:
    """Run all checks one by one, so that they do not disturb each other, and report to the server."""
    checks: list[Check] = []
    for name, step in _steps(api, test, places):
        try:
            checks += step()
        except (MillError, OSError) as error:
            checks.append(Check(name=name, state="failed", message=sentence(error)))
    api.request("POST", f"/agents/tests/{segment(test)}", body=Checks(checks=checks), idempotent=True)
    log.info("test done: test=%s failed=%d", test, sum(check.state == "failed" for check in checks))


def _steps(api: Api, test: str, places: Sequence[TestedVolume]) -> Iterator[tuple[str, Callable[[], list[Check]]]]:
    yield "server", partial(_server, api, test)
    yield "lake", partial(_lake, api, test)
    for place in places:
        yield f"volume {place.name}", partial(_volume, place)
    yield "gpus", _gpus


def _server(api: Api, test: str) -> list[Check]:
    """Latency and clock offset from the fastest of several round trips; its middle is the server's time."""
    found: list[tuple[float, float]] = []
    for _ in range(ROUNDS):
        before, began = datetime.now(UTC), time.monotonic()
        told = _urls(api, test).server_time
        took = time.monotonic() - began
        found.append((took, (told - before).total_seconds() - took / 2))
    took, ahead = min(found)
    off = abs(ahead)
    words = f"The clock here is {off:.1f} s {'behind' if ahead > 0 else 'ahead of'} the server's."
    clock = words if off >= 0.1 else "The clock here agrees with the server's."
    return [
        Check(name="server", state="ok", message=f"Responds in {took * 1000:.0f} ms.", value=took * 1000, unit="ms"),
        Check(name="clock", state="ok" if off <= CLOCK_SECONDS else "failed", message=clock, value=-ahead, unit="s"),
    ]


def _lake(api: Api, test: str) -> list[Check]:
    urls = _urls(api, test)
    data = os.urandom(urls.bytes)
    plane = DataPlane(api.base_url)
    try:
        wrote = _timed(lambda: plane.put(urls.put, data, urls.put_headers))
        began = time.monotonic()
        same = plane.get(urls.get) == data
        read = time.monotonic() - began
    finally:
        plane.close()
    if not same:
        return [Check(name="lake read", state="failed", message="The lake returned different bytes than were written.")]
    return [_rate("lake write", len(data), wrote), _rate("lake read", len(data), read)]


def _volume(place: TestedVolume) -> list[Check]:
    name = f"volume {place.name}"
    if place.problem is not None:
        return [Check(name=name, state="failed", message=place.problem)]
    found = os.statvfs(place.directory.parent)
    if found.f_bavail * found.f_frsize < LEAST_FREE:
        return [Check(name=name, state="skipped", message="Not enough free space for the test.")]
    block = os.urandom(_BLOCK)
    path = place.directory / f"speed-{os.getpid()}"
    place.directory.mkdir(exist_ok=True)
    try:
        with open(path, "xb", buffering=0) as file:
            wrote = _timed(lambda: _write(file.fileno(), block))
        with open(path, "rb", buffering=0) as file:
            # Asked of the disk, not of what the machine remembers.
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            read = _timed(lambda: _read(file.fileno()))
    finally:
        path.unlink(missing_ok=True)
    return [_rate(f"{name} write", VOLUME_BYTES, wrote), _rate(f"{name} read", VOLUME_BYTES, read)]


def _write(descriptor: int, block: bytes) -> None:
    for _ in range(VOLUME_BYTES // _BLOCK):
        os.write(descriptor, block)
    os.fsync(descriptor)


def _read(descriptor: int) -> None:
    while os.read(descriptor, _BLOCK):
        pass


def _gpus() -> list[Check]:
    count, model, _ = measure_gpus()
    if not count:
        return [Check(name="gpus", state="skipped", message="No GPU found.", value=0, unit="GPUs")]
    return [Check(name="gpus", state="ok", message=f"{count} × {model}", value=count, unit="GPUs")]


def _urls(api: Api, test: str) -> TrialUrls:
    return api.send("POST", f"/agents/tests/{segment(test)}/urls", TrialUrls, idempotent=True)


def _timed(call: Callable[[], object]) -> float:
    began = time.monotonic()
    call()
    return time.monotonic() - began


def _rate(name: str, count: int, seconds: float) -> Check:
    rate = count / max(seconds, 1e-6)
    return Check(name=name, state="ok", message=format_rate(rate), value=rate, unit="bytes/s")
