"""`millpond.Endpoint` and `deploy`: models behind an address, for scripts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from millpond.client import endpoints as calls
from millpond.client.credentials import resolve_target
from millpond.client.http import Api
from millpond.client.monitoring.drifting import DriftReport, measure_drift
from millpond.client.monitoring.labels import add_labels
from millpond.client.monitoring.quality import VersionQuality, quality
from millpond.client.monitoring.replaying import MOST_REQUESTS, ReplayReport, replay
from millpond.model.endpoint import EndpointState
from millpond.model.quantity import DAY
from millpond.serve.monitoring.logged import Window
from millpond.wire.endpoint_analyses import EndpointDrift, Replay
from millpond.wire.endpoints import Endpoint as EndpointInfo
from millpond.wire.endpoints import EndpointMetrics


class Endpoint:
    """An endpoint of a project, by name. What is known of it (`state`, `replicas`, `versions` …) are attributes, as
    they were when it was last read: `refresh` reads it again."""

    def __init__(self, name: str, *, server: str | None = None, project: str | None = None) -> None:
        target = resolve_target(server, project)
        self._api = Api(target.server, target.token)
        self.info: EndpointInfo = calls.get_endpoint(self._api, target.project, name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "info":
            raise AttributeError(name)
        return getattr(self.info, name)

    @property
    def is_ready(self) -> bool:
        """True if it answered requests when it was last read."""
        return self.info.state in (EndpointState.READY, EndpointState.UPDATING, EndpointState.DEGRADED)

    def refresh(self) -> Endpoint:
        self.info = calls.get_endpoint(self._api, self.info.project, self.info.name)
        return self

    def wait(self, timeout: float | None = None) -> Endpoint:
        """Until all its replicas are ready. TimeoutError after `timeout` seconds; StartFailed, with the cause, once a
        version has failed to start again and again: what served before goes on."""
        self.info = calls.wait_until_ready(self._api, self.info.project, self.info.name, timeout=timeout)
        if self.info.state not in calls.SETTLED and self.info.failure:
            raise calls.start_failed(self.info)
        if self.info.state not in calls.SETTLED:
            raise TimeoutError(f"Endpoint {self.info.name} is {self.info.state.value}: {' '.join(self.info.reasons)}")
        return self

    def metrics(self, *, since_seconds: int = 3600, step_seconds: int | None = None) -> EndpointMetrics:
        """Requests, errors, latency and replicas over time, by version."""
        return calls.endpoint_metrics(
            self._api, self.info.project, self.info.name, since_seconds=since_seconds, step_seconds=step_seconds
        )

    def add_labels(self, file: str | os.PathLike[str]) -> int:
        """Commit a table with the columns `request_id` and `label` beside the request log; how many they were."""
        return add_labels(self._api, self.info, Path(file))[1]

    def quality(self, *, since_seconds: int = 7 * DAY, output: str | None = None) -> list[VersionQuality]:
        """How often logged answers were right, by version, as far as labels are known."""
        return quality(self._api, self.info, Window.last(since_seconds), output=output)

    def drift(
        self, reference: str, *, window_seconds: int = DAY, version: int | None = None, columns: Sequence[str] = ()
    ) -> DriftReport:
        """Compare logged inputs and outputs with `dataset@ref[:path]`, and keep the result as a run."""
        window = Window.last(window_seconds)
        return measure_drift(self._api, self.info, reference, window, version=version, columns=columns)

    def drift_history(self) -> EndpointDrift:
        """What the schedule of its `drift` found: the newest window, column by column, and those before."""
        return calls.endpoint_drift(self._api, self.info.project, self.info.name)

    def measure_drift(self) -> EndpointDrift:
        """Let a job compare the requests up to now with the endpoint's reference; `pending` is that one."""
        return calls.measure_endpoint_drift(self._api, self.info.project, self.info.name)

    def replay(
        self, candidate: str, *, since_seconds: int = DAY, version: int | None = None, most: int = MOST_REQUESTS
    ) -> ReplayReport:
        """Ask another endpoint of the project logged requests again, compare its answers, and keep that as a run."""
        found = calls.get_endpoint(self._api, self.info.project, candidate)
        return replay(self._api, self.info, found, Window.last(since_seconds), version=version, most=most)

    def replay_on(
        self, model: str, *, since_seconds: int = DAY, version: int | None = None, most: int = MOST_REQUESTS,
        wait: bool = True,
    ) -> Replay:  # fmt: skip
        """Let a job load a version (NAME@VERSION), ask it logged requests again and compare its answers."""
        place = self._api, self.info.project, self.info.name
        found = calls.start_replay(*place, model, since_seconds=since_seconds, version=version, most=most)
        return calls.wait_for_replay(*place, found) if wait else found

    def replays(self) -> list[Replay]:
        """Replays on versions, newest first."""
        return calls.list_replays(self._api, self.info.project, self.info.name)

    def update(self, model: str, *, unchecked: bool = False) -> Endpoint:
        """Replace what it serves by this version, one replica after the other."""
        asked = {**self.info.spec, "versions": [{"model": model, "weight": 100}]}
        info = self.info
        return self._took(calls.update_endpoint(self._api, info.project, info.name, asked, unchecked=unchecked))

    def scale(self, min: int | None = None, max: int | None = None, *, site: str | None = None) -> Endpoint:
        return self._took(
            calls.scale_endpoint(self._api, self.info.project, self.info.name, least=min, most=max, site=site)
        )

    def canary(self, model: str, weight: int = 5, *, unchecked: bool = False) -> Endpoint:
        """Give a share of the requests, in hundredths, to another version."""
        info = self.info
        return self._took(calls.start_canary(self._api, info.project, info.name, model, weight, unchecked=unchecked))

    def promote(self) -> Endpoint:
        return self._took(calls.promote_endpoint(self._api, self.info.project, self.info.name))

    def rollback(self, to: int | None = None) -> Endpoint:
        return self._took(calls.roll_back_endpoint(self._api, self.info.project, self.info.name, to))

    def push(self, model: str, *sites: str, unchecked: bool = False) -> Endpoint:
        """Let sites (or patterns of sites) serve this version; see `sites` for how far each is."""
        info = self.info
        return self._took(calls.push_to_edge(self._api, info.project, model, sites, info.name, unchecked=unchecked))

    def push_back(self, *sites: str) -> Endpoint:
        """The version before at these sites; without any, where the newest push went."""
        return self._took(calls.roll_back_edge(self._api, self.info.project, self.info.name, sites))

    def create_token(self, name: str, *, expires_seconds: int = 30 * DAY, quota: int = 0) -> str:
        """A token for programs that use this endpoint; `quota` are requests per minute, 0 as the endpoint says."""
        made = calls.create_token(
            self._api, self.info.project, self.info.name, name, expires_seconds=expires_seconds, quota=quota
        )
        return made.secret or ""

    def delete(self) -> None:
        calls.delete_endpoint(self._api, self.info.project, self.info.name)

    def __repr__(self) -> str:
        return f"Endpoint('{self.info.project}/{self.info.name}')"

    def _took(self, info: EndpointInfo) -> Endpoint:
        self.info = info
        return self


def deploy(
    name: str, model: str, *, site: str | None = None, min: int = 1, max: int | None = None,
    template: str | None = None, environment: str = "auto", public: bool = False, unchecked: bool = False,
    project: str | None = None, server: str | None = None,
) -> Endpoint:  # fmt: skip
    """Create an endpoint for a version that has passed its check: `millpond.deploy("xray", "chest-xray@3").wait()`."""
    entry: dict[str, Any] = {"min": min, "max": max or (min if min > 1 else 1)}
    if template is not None:
        entry["template"] = template
    target = resolve_target(server, project)
    with Api(target.server, target.token) as api:
        where = site or calls.only_site(api)
        sites = {where: entry} if where else None
        asked = calls.new_document(name, model, sites=sites, environment=environment, access={"public": public})
        calls.create_endpoint(api, target.project, asked, unchecked=unchecked)
    return Endpoint(name, server=target.server, project=target.project)
