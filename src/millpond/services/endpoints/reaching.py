"""Finds the router of an endpoint that the server can reach through its agent."""

from __future__ import annotations

from dataclasses import dataclass

from millpond.db import endpoints as rows
from millpond.db import jobs, placements, projects, replicas, sites
from millpond.decide.endpoints.changes import sites_of
from millpond.errors import NotReady
from millpond.model.job import JobState, PlacementState
from millpond.model.replica import ReplicaState
from millpond.services.deps import Deps
from millpond.services.endpoints import tokens
from millpond.services.jobs.job_streams import StreamTarget
from millpond.services.jobs.tunnels import port_wanted
from millpond.services.people import access


@dataclass(frozen=True, slots=True)
class RouterPlace:
    """Where to pass a request on: through the agent to the router's port, with a token of the server's own."""

    target: StreamTarget
    endpoint: str
    token: str


def router_of(deps: Deps, project_name: str, written: str) -> RouterPlace:
    """That of a site with replicas that answer, if there is one. The caller has checked who asks.

    NotReady if no router runs.
    """
    with deps.db.read() as tx:
        project = projects.find(tx, project_name)
        endpoint = rows.find(tx, project.id, written) if project else None
        if project is None or endpoint is None or endpoint.deleted_at is not None:
            raise access.not_found("endpoint", written, rows.names(tx, project.id) if project else ())
        here = {site.id for site, _ in sites_of(endpoint.spec, sites.all_of(tx))}
        mine = [
            one
            for one in replicas.routers(tx, project.id)
            if one.ports == endpoint.spec.ports and one.site_id in here and one.job_id
        ]
        known = jobs.by_ids(tx, {one.job_id for one in mine if one.job_id})
        ready = {one.site_id for one in replicas.living(tx, [endpoint.id]) if one.state is ReplicaState.READY}
        for router in sorted(mine, key=lambda one: (one.site_id not in ready, one.site)):
            job = known.get(router.job_id or "")
            placement = placements.get(tx, job.status.placement_id or "") if job else None
            if job is None or placement is None or job.status.state is not JobState.RUNNING:
                continue
            if placement.state is PlacementState.RUNNING:
                wanted = port_wanted(placement.id, router.ports.http)
                target = StreamTarget(placement.agent_id, wanted)
                break
        else:
            raise NotReady(
                f"Endpoint {endpoint.name!r} has no running router.", hint=f"mill endpoint show {endpoint.name}"
            )
    return RouterPlace(target, endpoint.name, tokens.for_server(deps, endpoint))
