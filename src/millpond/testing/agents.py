"""The server's side of the agent protocol as a fake in memory, and builders for what it wants."""

from __future__ import annotations

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

import httpx

from millpond.agent.server import Server
from millpond.agent.spec import Spec
from millpond.errors import MillError
from millpond.model.job_spec import JobSpec
from millpond.wire.agent import LogAnswer, UsageBatch, UsageSample
from millpond.wire.desired import Desired, DesiredFill, DesiredInput, DesiredPlacement, DesiredVolume
from millpond.wire.observed import FillSeen, Observed, PlacementSeen, VolumeSeen
from millpond.wire.workspaces import DesiredSource, DesiredWorkspace, WorkspaceSeen

T = TypeVar("T")


def a_placement(placement_id: str = "p1", command: tuple[str, ...] = ("true",), **changes: Any) -> DesiredPlacement:
    """Fields of its spec may be given as its own."""
    defaults: dict[str, Any] = {
        "job_id": f"job-{placement_id}",
        "job_name": "train",
        "project": "default",
        "run_id": f"run-{placement_id}",
        "token": "mill_secret",
        "node": "node",
        "inputs": [],
        "code": None,
        "valid_seconds": 600,
        "grace_seconds": 5,
        "want": "run",
    }
    told = {"id": placement_id, "command": list(command), **defaults, **changes}
    return DesiredPlacement.model_validate(told)


def a_spec(command: Sequence[str] = ("true",), **changes: Any) -> Spec:
    """What an agent writes for its keeper. Fields of what was asked may be given as its own."""
    own: dict[str, Any] = {
        "placement": "p1", "job": "job1", "project": "p", "env": {}, "directory": "/work", "valid_seconds": 600,
        "grace_seconds": 30,
    }  # fmt: skip
    own |= {field.name: changes.pop(field.name) for field in fields(Spec) if field.name in changes}
    return Spec(**{"asked": JobSpec(command=tuple(command), **changes)} | own)


def changed_spec(spec: Spec, **changes: Any) -> Spec:
    """The spec with other fields: its own, or of what was asked."""
    own = {field.name: changes.pop(field.name) for field in fields(Spec) if field.name in changes}
    return replace(spec, asked=replace(spec.asked, **changes), **own)


def a_fill(cached_id: str = "cached", **changes: Any) -> DesiredFill:
    defaults: dict[str, Any] = {
        "volume_id": "v1",
        "project": "default",
        "project_id": "project",
        "dataset": "digits",
        "dataset_id": "dataset",
        "commit_id": "c" * 64,
        "tree": "",
        "files": 1,
        "bytes": 1,
        "attempt": 1,
        "want": "present",
    }
    return DesiredFill(cached_id=cached_id, **{**defaults, **changes})


def a_workspace(workspace_id: str = "w1", **changes: Any) -> DesiredWorkspace:
    defaults: dict[str, Any] = {
        "name": workspace_id,
        "project": "default",
        "project_id": "project",
        "volume_id": "v1",
        "token": "millw_secret",
        "attempt": 1,
        "want": "present",
        "how": "empty",
        "source": DesiredSource(),
        "size_bytes": 0,
    }
    return DesiredWorkspace(id=workspace_id, **{**defaults, **changes})


def an_input(fill: DesiredFill, *, env: str = "MILL_DATA_DIGITS", ready: bool = True) -> DesiredInput:
    return DesiredInput(
        env=env,
        project_id=fill.project_id,
        dataset=fill.dataset,
        dataset_id=fill.dataset_id,
        commit_id=fill.commit_id,
        volume_id=fill.volume_id,
        ready=ready,
    )


class FakeServer:
    """Holds what is wanted, hears what is seen. Change it through `want`; `away` and `refusal` make it fail."""

    def __init__(self) -> None:
        self.volumes: dict[str, DesiredVolume] = {}
        self.fills: dict[str, DesiredFill] = {}
        self.placements: dict[str, DesiredPlacement] = {}
        self.workspaces: dict[str, DesiredWorkspace] = {}
        self.observed: Observed | None = None
        self.syncs = 0
        self.logs: defaultdict[str, bytearray] = defaultdict(bytearray)
        self.usage: defaultdict[str, list[UsageSample]] = defaultdict(list)
        self.away = False
        self.refusal: MillError | None = None
        # Every state each placement was reported in, in order.
        self.states: defaultdict[str, list[str]] = defaultdict(list)
        # How long the first report of each such state might have waited for an answer, and all that were given up.
        self.patience: dict[tuple[str, str], float] = {}
        self.given_up: list[Observed] = []
        self._changed = asyncio.Event()

    def connection(self) -> Server:
        return Server("http://127.0.0.1:1", "mill_agent", transport=httpx.MockTransport(self._handle))

    def want(self, *items: DesiredVolume | DesiredFill | DesiredPlacement | DesiredWorkspace) -> None:
        for item in items:
            if isinstance(item, DesiredVolume):
                self.volumes[item.id] = item
            elif isinstance(item, DesiredFill):
                self.fills[item.cached_id] = item
            elif isinstance(item, DesiredWorkspace):
                self.workspaces[item.id] = item
            else:
                self.placements[item.id] = item
        self._changed.set()

    def forget(self, key: str) -> None:
        for known in (self.volumes, self.fills, self.placements, self.workspaces):
            known.pop(key, None)
        self._changed.set()

    def placement(self, placement_id: str) -> PlacementSeen | None:
        found = self.observed.placements if self.observed else []
        return next((seen for seen in found if seen.id == placement_id), None)

    def fill(self, cached_id: str) -> FillSeen | None:
        found = self.observed.fills if self.observed else []
        return next((seen for seen in found if seen.cached_id == cached_id), None)

    def workspace(self, workspace_id: str) -> WorkspaceSeen | None:
        found = self.observed.workspaces if self.observed else []
        return next((seen for seen in found if seen.id == workspace_id), None)

    def volume(self, volume_id: str) -> VolumeSeen | None:
        found = self.observed.volumes if self.observed else []
        return next((seen for seen in found if seen.id == volume_id), None)

    async def until(self, condition: Callable[[], T | None], *, within: float = 15.0) -> T:
        """The first true answer of `condition`, looked at while the agent works."""
        deadline = asyncio.get_running_loop().time() + within
        while not (answer := condition()):
            assert asyncio.get_running_loop().time() < deadline, f"not within {within} s; last seen: {self.observed!r}"
            await asyncio.sleep(0.01)
        return answer

    async def until_placement(self, placement_id: str, state: str) -> PlacementSeen:
        def reached() -> PlacementSeen | None:
            seen = self.placement(placement_id)
            return seen if seen and seen.state == state else None

        return await self.until(reached)

    async def until_fill(self, cached_id: str, state: str) -> FillSeen:
        def reached() -> FillSeen | None:
            seen = self.fill(cached_id)
            return seen if seen and seen.state == state else None

        return await self.until(reached)

    async def until_workspace(
        self, workspace_id: str, condition: Callable[[WorkspaceSeen], bool], *, within: float = 15.0
    ) -> WorkspaceSeen:
        def reached() -> WorkspaceSeen | None:
            seen = self.workspace(workspace_id)
            return seen if seen and condition(seen) else None

        return await self.until(reached, within=within)

    async def _handle(self, request: httpx.Request) -> httpx.Response:
        if self.away:
            raise httpx.ConnectError("connection refused")
        if self.refusal is not None:
            return _problem(self.refusal)
        _, kind, placement, *_ = [*request.url.path.removeprefix("/api/v1").split("/"), ""]
        if kind == "agents":
            return await self._sync(Observed.model_validate_json(request.content))
        if request.method == "PUT":
            left_out_from = request.url.params.get("left_out_from")
            return self._log(placement, int(request.url.params["offset"]), request.content, left_out_from)
        known = {sample.at for sample in self.usage[placement]}
        batch = UsageBatch.model_validate_json(request.content)
        self.usage[placement].extend(sample for sample in batch.samples if sample.at not in known)
        return httpx.Response(204)

    async def _sync(self, observed: Observed) -> httpx.Response:
        self.observed = observed
        self.syncs += 1
        for seen in observed.placements:
            if self.states[seen.id][-1:] != [seen.state]:
                self.states[seen.id].append(seen.state)
                self.patience.setdefault((seen.id, seen.state), observed.wait_seconds)
        deadline = asyncio.get_running_loop().time() + observed.wait_seconds
        while (desired := self._desired()).revision == observed.seen_revision:
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                break
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), left)
            except TimeoutError:
                break
            except asyncio.CancelledError:
                self.given_up.append(observed)
                raise
        if self.away:
            raise httpx.ReadError("connection lost")
        return httpx.Response(200, content=desired.model_dump_json())

    def _desired(self) -> Desired:
        desired = Desired(
            revision="",
            agent_id="agent",
            site="local",
            volumes=list(self.volumes.values()),
            fills=list(self.fills.values()),
            placements=list(self.placements.values()),
            workspaces=list(self.workspaces.values()),
            server_time=datetime(2026, 1, 1, tzinfo=UTC),
        )
        return desired.model_copy(update={"revision": hashlib.sha256(desired.model_dump_json().encode()).hexdigest()})

    def _log(self, placement: str, offset: int, data: bytes, left_out_from: str | None) -> httpx.Response:
        """What was left out stands as zeros."""
        log = self.logs[placement]
        if left_out_from is not None and int(left_out_from) <= len(log) < offset:
            log.extend(bytes(offset - len(log)))
        if offset <= len(log):
            log.extend(data[len(log) - offset :])
        return httpx.Response(200, content=LogAnswer(offset=len(log), durable=len(log)).model_dump_json())


def _problem(error: MillError) -> httpx.Response:
    body = {"title": "Refused", "status": error.status, "code": error.code, "detail": error.message, "request_id": "r"}
    return httpx.Response(error.status, json=body, headers={"Content-Type": "application/problem+json"})
