"""Clusters over the API."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from millpond.client.http import Api, segment
from millpond.errors import BadRequest
from millpond.model.cluster import ClusterState
from millpond.wire.clusters import Cluster, ClusterCreate, ClusterLimits, ClusterScaling
from millpond.wire.jobs import PortAddress

POLL_SECONDS = 0.5


def create_cluster(api: Api, project: str, asked: ClusterCreate) -> Cluster:
    return api.send("POST", f"/projects/{segment(project)}/clusters", Cluster, asked)


def list_clusters(api: Api, *, project: str | None = None, at_most: int | None = None) -> Iterator[Cluster]:
    return api.items("/clusters", Cluster, project=project, at_most=at_most)


def get_cluster(api: Api, project: str, cluster: str) -> Cluster:
    return api.get(_path(project, cluster), Cluster)


def scale_cluster(
    api: Api, project: str, cluster: str, *, workers: int | None = None, adapt: ClusterLimits | None = None
) -> Cluster:
    """A fixed number of workers, or limits within which they follow the demand."""
    body = ClusterScaling(workers=workers, adapt=adapt)
    return api.send("POST", f"{_path(project, cluster)}/scale", Cluster, body, idempotent=True)


def delete_cluster(api: Api, project: str, cluster: str) -> None:
    api.request("DELETE", _path(project, cluster))


def open_dashboard(api: Api, cluster: Cluster) -> PortAddress | None:
    """Where a browser opens its dashboard; None while it has none."""
    if cluster.scheduler is None or cluster.dashboard is None:
        return None
    path = f"/projects/{segment(cluster.project)}/jobs/{segment(cluster.scheduler.job)}/ports/{cluster.dashboard}/open"
    return api.send("POST", path, PortAddress)


def wait_until_ready(
    api: Api,
    project: str,
    cluster: str,
    *,
    timeout: float | None = None,
    changed: Callable[[Cluster], None] | None = None,
) -> Cluster:
    """The cluster when it has as many workers as wanted, or after `timeout` seconds. `changed` hears of each state."""
    until = None if timeout is None else time.monotonic() + timeout
    told: object = None
    while True:
        found = get_cluster(api, project, cluster)
        if changed is not None and told != (found.state, found.reasons):
            told = (found.state, found.reasons)
            changed(found)
        if found.state is ClusterState.READY or (until is not None and time.monotonic() >= until):
            return found
        time.sleep(POLL_SECONDS)


def parse_adapt(text: str) -> ClusterLimits:
    """`1:8`."""
    least, colon, most = text.partition(":")
    if not (colon and least.isdecimal() and most.isdecimal()):
        raise BadRequest(f"{text!r} are not limits of workers.", hint="Write them as MIN:MAX, like --adapt 1:8")
    if int(least) > int(most):
        raise BadRequest(
            f"Cannot adapt from {least} to {most} workers: the minimum is more than the maximum.",
            hint=f"Write the smaller number first: --adapt {most}:{least}",
        )
    return ClusterLimits(min=int(least), max=int(most))


def _path(project: str, cluster: str) -> str:
    return f"/projects/{segment(project)}/clusters/{segment(cluster)}"
