"""Endpoints over the API."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from millpond.client.caches import list_sites
from millpond.client.http import Api, segment
from millpond.errors import StartFailed
from millpond.model.endpoint import EndpointState
from millpond.model.endpoint_analysis import AnalysisState
from millpond.model.endpoint_spec import ENDPOINT_SCHEMA
from millpond.model.quantity import DAY
from millpond.wire.endpoint_analyses import EndpointDrift, Replay, Replays, ReplayStart
from millpond.wire.endpoints import (
    EdgePush,
    EdgeRollback,
    Endpoint,
    EndpointCanary,
    EndpointMetrics,
    EndpointRevision,
    EndpointRevisions,
    EndpointRollback,
    EndpointScaling,
    EndpointToken,
    EndpointTokenCreate,
    EndpointTokens,
    EndpointWhy,
)

POLL_SECONDS = 0.5
# What an endpoint may be in when nothing is left to wait for.
SETTLED = (EndpointState.READY, EndpointState.IDLE)


def new_document(
    name: str, model: str, *, sites: Mapping[str, Mapping[str, Any]] | None = None, **more: Any
) -> dict[str, Any]:
    """What `endpoint.yaml` says, for one version with all requests; without sites, the server's only one."""
    found: dict[str, Any] = {"schema": ENDPOINT_SCHEMA, "name": name, "versions": [{"model": model, "weight": 100}]}
    return {**found, **({"sites": dict(sites)} if sites else {}), **more}


def only_site(api: Api) -> str | None:
    """The one site that has a compute; None if there is none, or more than one."""
    found = [one.name for one in list_sites(api) if one.computes]
    return found[0] if len(found) == 1 else None


def create_endpoint(
    api: Api, project: str, asked: str | Mapping[str, Any], *, unchecked: bool = False
) -> Endpoint:  # fmt: skip
    """`asked` is the text of an `endpoint.yaml`, or what it says. Versions must have passed their checks, unless
    `unchecked`."""
    path = f"/projects/{segment(project)}/endpoints"
    return api.send("POST", path, Endpoint, _body(asked), unchecked=unchecked or None)


def list_endpoints(api: Api, *, project: str | None = None, at_most: int | None = None) -> Iterator[Endpoint]:
    return api.items("/endpoints", Endpoint, project=project, at_most=at_most)


def get_endpoint(api: Api, project: str, endpoint: str) -> Endpoint:
    return api.get(_path(project, endpoint), Endpoint)


def endpoint_yaml(api: Api, project: str, endpoint: str) -> str:
    return api.request("GET", _path(project, endpoint), headers={"Accept": "application/yaml"}).content.decode()


def update_endpoint(
    api: Api, project: str, endpoint: str, asked: str | Mapping[str, Any], *, expected: int | None = None,
    unchecked: bool = False,
) -> Endpoint:  # fmt: skip
    """A new revision; Conflict if somebody made one after `expected`."""
    headers = {} if expected is None else {"If-Match": f'"{expected}"'}
    params = {"unchecked": unchecked or None}
    answer = api.request("PUT", _path(project, endpoint), body=_body(asked), headers=headers, params=params)
    return Endpoint.model_validate_json(answer.content)


def scale_endpoint(
    api: Api, project: str, endpoint: str, *, least: int | None, most: int | None, site: str | None = None
) -> Endpoint:
    body = EndpointScaling(site=site, min=least, max=most)
    return api.send("POST", f"{_path(project, endpoint)}/scale", Endpoint, body, idempotent=True)


def start_canary(
    api: Api, project: str, endpoint: str, model: str, weight: int, *, unchecked: bool = False
) -> Endpoint:  # fmt: skip
    body = EndpointCanary(model=model, weight=weight, unchecked=unchecked)
    return api.send("POST", f"{_path(project, endpoint)}/canary", Endpoint, body, idempotent=True)


def endpoint_metrics(
    api: Api, project: str, endpoint: str, *, since_seconds: int = 3600, step_seconds: int | None = None
) -> EndpointMetrics:
    """Requests, errors, latency and replicas over time, by version."""
    return api.get(f"{_path(project, endpoint)}/metrics", EndpointMetrics, since=since_seconds, step=step_seconds)


def endpoint_drift(api: Api, project: str, endpoint: str) -> EndpointDrift:
    """What its schedule found: the newest window, column by column, and those before."""
    return api.get(f"{_path(project, endpoint)}/drift", EndpointDrift)


def measure_endpoint_drift(api: Api, project: str, endpoint: str) -> EndpointDrift:
    """Let a job compare the requests up to now with the endpoint's reference; `pending` is that one."""
    return api.send("POST", f"{_path(project, endpoint)}/drift", EndpointDrift, idempotent=True)


def start_replay(
    api: Api, project: str, endpoint: str, model: str, *, since_seconds: int = DAY, version: int | None = None,
    most: int = 1000, on: str | None = None, site: str | None = None,
) -> Replay:  # fmt: skip
    """Let a job ask a version logged requests again. The same replay of the same log is not done twice."""
    body = ReplayStart(model=model, since_seconds=since_seconds, version=version, limit=most, on=on, site=site)
    return api.send("POST", f"{_path(project, endpoint)}/replays", Replay, body, idempotent=True)


def list_replays(api: Api, project: str, endpoint: str) -> list[Replay]:
    """Newest first."""
    return api.get(f"{_path(project, endpoint)}/replays", Replays).items


def wait_for_replay(api: Api, project: str, endpoint: str, replay: Replay) -> Replay:
    """The replay when its job has ended."""
    while replay.state is AnalysisState.RUNNING:
        time.sleep(POLL_SECONDS)
        replay = next((one for one in list_replays(api, project, endpoint) if one.id == replay.id), replay)
    return replay


def promote_endpoint(api: Api, project: str, endpoint: str) -> Endpoint:
    return api.send("POST", f"{_path(project, endpoint)}/promote", Endpoint)


def roll_back_endpoint(api: Api, project: str, endpoint: str, to: int | None = None) -> Endpoint:
    return api.send("POST", f"{_path(project, endpoint)}/rollback", Endpoint, EndpointRollback(to=to))


def push_to_edge(
    api: Api, project: str, model: str, sites: Sequence[str], endpoint: str | None = None, *, unchecked: bool = False
) -> Endpoint:
    """Let sites (or patterns of sites) serve a version. The endpoint is made if there is none."""
    body = EdgePush(model=model, sites=list(sites), endpoint=endpoint, unchecked=unchecked)
    return api.send("POST", f"/projects/{segment(project)}/edge/push", Endpoint, body, idempotent=True)


def roll_back_edge(api: Api, project: str, endpoint: str, sites: Sequence[str] = ()) -> Endpoint:
    """The version before, at these sites or where the newest push went."""
    return api.send("POST", f"{_path(project, endpoint)}/edge/rollback", Endpoint, EdgeRollback(sites=list(sites)))


def list_revisions(api: Api, project: str, endpoint: str) -> list[EndpointRevision]:
    """Newest first."""
    return api.get(f"{_path(project, endpoint)}/revisions", EndpointRevisions).items


def why_endpoint(api: Api, project: str, endpoint: str) -> EndpointWhy:
    return api.get(f"{_path(project, endpoint)}/why", EndpointWhy)


def create_token(
    api: Api, project: str, endpoint: str, name: str, *, expires_seconds: int, quota: int = 0
) -> EndpointToken:  # fmt: skip
    """With its secret, which is told this once."""
    body = EndpointTokenCreate(name=name, expires_seconds=expires_seconds, quota=quota)
    return api.send("POST", f"{_path(project, endpoint)}/tokens", EndpointToken, body)


def list_tokens(api: Api, project: str, endpoint: str) -> list[EndpointToken]:
    """Newest first."""
    return api.get(f"{_path(project, endpoint)}/tokens", EndpointTokens).items


def revoke_token(api: Api, project: str, endpoint: str, token: str) -> None:
    api.request("DELETE", f"{_path(project, endpoint)}/tokens/{segment(token)}")


def delete_endpoint(api: Api, project: str, endpoint: str) -> None:
    api.request("DELETE", _path(project, endpoint))


def wait_until_ready(
    api: Api,
    project: str,
    endpoint: str,
    *,
    timeout: float | None = None,
    changed: Callable[[Endpoint], None] | None = None,
) -> Endpoint:
    """The endpoint when all replicas are ready or its `failure` says that they will not be, or after `timeout` seconds.
    `changed` is told of every new state."""
    until = None if timeout is None else time.monotonic() + timeout
    told: object = None
    while True:
        found = get_endpoint(api, project, endpoint)
        if changed is not None and told != (found.state, found.reasons):
            told = (found.state, found.reasons)
            changed(found)
        if found.state in SETTLED or found.failure or (until is not None and time.monotonic() >= until):
            return found
        time.sleep(POLL_SECONDS)


def start_failed(endpoint: Endpoint) -> StartFailed:
    """For one that has a `failure`."""
    name = endpoint.name
    back = f" Go back: mill endpoint rollback {name}" if endpoint.revision > 1 else ""
    return StartFailed(endpoint.failure, hint=f"See: mill why {name}, and the logs: mill endpoint logs {name}.{back}")


def _body(asked: str | Mapping[str, Any]) -> bytes:
    return (asked if isinstance(asked, str) else json.dumps(asked)).encode()


def _path(project: str, endpoint: str) -> str:
    return f"/projects/{segment(project)}/endpoints/{segment(endpoint)}"
