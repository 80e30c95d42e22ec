"""What lets a browser into the dashboard of a cluster, once its person was let to the port."""

from __future__ import annotations

from collections.abc import Mapping

from millpond.db import clusters
from millpond.errors import Unavailable
from millpond.model.cluster import ClusterKind, ClusterRole
from millpond.services.clusters.credentials import TOKEN, opened
from millpond.services.deps import Deps

# Where Ray's dashboard looks for its token.
_RAY = "ray-authentication-token"


def cookies_of(deps: Deps, job_id: str, port: int) -> Mapping[str, str]:
    """For the host of this port of a job; empty unless it is the dashboard of a Ray cluster."""
    with deps.db.read() as tx:
        process, cluster = clusters.of_jobs(tx, [job_id]).get(job_id, (None, None))
        if process is None or cluster is None or cluster.spec.kind is not ClusterKind.RAY:
            return {}
        if process.role is not ClusterRole.SCHEDULER or process.ready.get("dashboard") != port:
            return {}
        try:
            given = opened(deps.seal, cluster.id, clusters.secret(tx, cluster.id))
        except Unavailable:
            return {}
    return {_RAY: given[ClusterRole.CLIENT][TOKEN]}
