"""Endpoints as the wire shows them."""

from __future__ import annotations

from dataclasses import asdict

from millpond.decide.endpoints.changes import entry_of
from millpond.decide.endpoints.reader import endpoint_document
from millpond.decide.endpoints.replicas import divided
from millpond.model import endpoint as model
from millpond.model.replica import ReplicaState, ReplicaView
from millpond.wire import endpoints as wire


def endpoint(view: model.EndpointView) -> wire.Endpoint:
    value, spec = view.endpoint, view.endpoint.spec
    return wire.Endpoint(
        id=value.id,
        project=value.project,
        name=value.name,
        state=value.state,
        reasons=list(value.reasons),
        failure=value.failure,
        revision=value.number,
        versions=[
            wire.EndpointVersion(model=one.name, version=one.number, weight=weight, asked=one.weight)
            for one, weight in zip(spec.versions, value.weights, strict=True)
        ],
        sites=[_site(view, site) for site in view.addresses],
        replicas=[_replica(one) for one in view.replicas],
        rollout=wire.RolloutState(canary=value.rollout.canary, since=value.rollout.since, reason=value.rollout.reason)
        if value.rollout
        else None,
        drift_alerts=list(view.drift_alerts),
        public=spec.access.public,
        url=f"/api/v1/projects/{value.project}/endpoints/{value.name}",
        spec=endpoint_document(spec),
        created_by=value.created_by,
        created_at=value.created_at,
        changed_at=value.changed_at,
    )


def point(value: model.EndpointPoint) -> wire.EndpointPoint:
    return wire.EndpointPoint(**asdict(value))


def revision(value: model.EndpointRevision) -> wire.EndpointRevision:
    return wire.EndpointRevision(
        number=value.number,
        action=value.action,
        restores=value.restores,
        reason=value.reason,
        created_by=value.created_by,
        created_at=value.created_at,
        spec=endpoint_document(value.spec),
    )


def token(value: model.EndpointToken, secret: str | None = None) -> wire.EndpointToken:
    return wire.EndpointToken(
        id=value.id,
        name=value.name,
        quota=value.quota,
        created_by=value.created_by,
        created_at=value.created_at,
        expires_at=value.expires_at,
        revoked_at=value.revoked_at,
        secret=secret,
    )


def _site(view: model.EndpointView, site: str) -> wire.EndpointSiteState:
    value = view.endpoint
    asked = entry_of(value.spec, site)
    assert asked is not None, "a site without an entry has no address"
    here = [one.replica for one in view.replicas if one.replica.site == site]
    serving = view.serving[site]
    return wire.EndpointSiteState(
        site=site,
        ready=sum(one.state is ReplicaState.READY for one in here),
        wanted=_wanted(value, site),
        reason=value.scale_reasons.get(site, ""),
        min=asked.min,
        max=asked.max,
        **view.addresses[site],
        desired=list(serving.desired),
        serving=list(serving.serving),
        since=serving.since,
        swap=serving.state,
        swap_reason=serving.reason,
        is_online=serving.is_online,
        heard_at=serving.heard_at,
        is_pushed=serving.is_pushed,
    )


def _wanted(value: model.Endpoint, site: str) -> int:
    """Replicas of all versions: each that gets requests has at least one, and so has the shadow."""
    count = value.wanted.get(site, 0)
    return sum(divided(count, value.weights)) + (1 if value.spec.shadow is not None and count else 0)


def _replica(view: ReplicaView) -> wire.EndpointReplica:
    value = view.replica
    return wire.EndpointReplica(
        id=value.id,
        site=value.site,
        model=value.model,
        version=value.version,
        state=value.state,
        job=value.job_id,
        job_name=view.job_name,
        job_state=view.job_state,
        compute=view.compute,
        node=view.node,
        reason=view.reason,
        created_at=value.created_at,
        ready_at=value.ready_at,
        started=dict(view.started),
    )
