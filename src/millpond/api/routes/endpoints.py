"""Endpoints: create, list, show, change, delete; revisions. They are asked for as `endpoint.yaml`, or as JSON."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import yaml
from fastapi import APIRouter, Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from millpond.api.access import DepsOf, Member, SignedIn, Viewer
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.api.preconditions import if_match_number
from millpond.api.shapes import endpoints as shapes
from millpond.errors import BadRequest
from millpond.services.endpoints import edge, endpoints, metrics, tokens
from millpond.services.endpoints.why import why
from millpond.wire import endpoints as wire
from millpond.wire.base import Page

router = APIRouter(tags=["endpoints"])

_ENDPOINT = "/projects/{project}/endpoints/{endpoint}"
_YAML = "application/yaml"

Unchecked = Annotated[bool, Query(description="Serve versions that have not passed their check, too.")]


@router.get("/endpoints")
def list_endpoints(
    actor: SignedIn,
    deps: DepsOf,
    project: Annotated[str | None, Query(max_length=63)] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Page[wire.Endpoint]:
    """Of all projects one may see, by project and name."""
    found = endpoints.list_endpoints(deps, actor, project=project, limit=limit, cursor=cursor)
    return page(found, shapes.endpoint)


@router.post("/projects/{project}/endpoints", status_code=201)
async def create_endpoint(
    request: Request, scope: Member, deps: DepsOf, unchecked: Unchecked = False
) -> wire.Endpoint:  # fmt: skip
    """The body is `endpoint.yaml`, or the same as JSON. 422 with every problem, its line and column."""
    text = _text(await request.body())

    def create() -> wire.Endpoint:
        return shapes.endpoint(endpoints.create(deps, scope.actor, scope.project, text, unchecked=unchecked))

    return await run_in_threadpool(create)


@router.get(_ENDPOINT, response_model=wire.Endpoint)
def get_endpoint(
    endpoint: str, scope: Viewer, deps: DepsOf, accept: Annotated[str, Header()] = ""
) -> wire.Endpoint | Response:
    """By name or id; as `endpoint.yaml` if `Accept` says `application/yaml`."""
    shown = shapes.endpoint(endpoints.get(deps, scope.project, endpoint))
    if "yaml" not in accept:
        return shown
    text = yaml.safe_dump(shown.spec, sort_keys=False, allow_unicode=True)
    return Response(text, media_type=_YAML, headers={"ETag": f'"{shown.revision}"'})


@router.put(_ENDPOINT)
async def update_endpoint(
    endpoint: str, request: Request, scope: Member, deps: DepsOf, unchecked: Unchecked = False,
    if_match: Annotated[str | None, Header()] = None,
) -> wire.Endpoint:  # fmt: skip
    """A new revision from a whole `endpoint.yaml` (or JSON). `If-Match` is the revision that was changed."""
    text, expected = _text(await request.body()), if_match_number(if_match)

    def update() -> wire.Endpoint:
        view = endpoints.update(
            deps, scope.actor, scope.project, endpoint, text, expected=expected, unchecked=unchecked
        )
        return shapes.endpoint(view)

    return await run_in_threadpool(update)


@router.delete(_ENDPOINT, status_code=204)
def delete_endpoint(endpoint: str, scope: Member, deps: DepsOf) -> None:
    """Stop answering, and stop its replicas. Their jobs stay."""
    endpoints.delete(deps, scope.actor, scope.project, endpoint)


@router.get(f"{_ENDPOINT}/revisions")
def list_endpoint_revisions(endpoint: str, scope: Viewer, deps: DepsOf) -> wire.EndpointRevisions:
    found = endpoints.list_revisions(deps, scope.project, endpoint)
    return wire.EndpointRevisions(items=[shapes.revision(one) for one in found])


@router.get(f"{_ENDPOINT}/metrics")
def get_endpoint_metrics(
    endpoint: str,
    scope: Viewer,
    deps: DepsOf,
    since: Annotated[int, Query(ge=60, le=14 * 86400, description="Seconds to look back.")] = 3600,
    step: Annotated[int | None, Query(ge=15, le=86400, description="Seconds of each point.")] = None,
) -> wire.EndpointMetrics:
    """Requests, errors, latency and replicas over time, by version, of all routers."""
    window = timedelta(seconds=since)
    used, points = metrics.metrics(deps, scope.project, endpoint, since=window, step_seconds=step)
    return wire.EndpointMetrics(step_seconds=used, points=[shapes.point(one) for one in points])


@router.post(f"{_ENDPOINT}/scale")
def scale_endpoint(endpoint: str, body: wire.EndpointScaling, scope: Member, deps: DepsOf) -> wire.Endpoint:
    """Set limits of replicas, at one site or at all."""
    if body.min is None and body.max is None:
        raise BadRequest("Neither a minimum nor a maximum is given.", hint="Give at least one of them.")
    view = endpoints.scale(
        deps, scope.actor, scope.project, endpoint, site=body.site, least=body.min, most=body.max
    )  # fmt: skip
    return shapes.endpoint(view)


@router.post(f"{_ENDPOINT}/canary")
def start_endpoint_canary(endpoint: str, body: wire.EndpointCanary, scope: Member, deps: DepsOf) -> wire.Endpoint:
    """Give a share of the requests to another version; by the endpoint's rule for rollouts it then grows."""
    view = endpoints.canary(
        deps, scope.actor, scope.project, endpoint, model=body.model, weight=body.weight, unchecked=body.unchecked
    )
    return shapes.endpoint(view)


@router.post(f"{_ENDPOINT}/promote")
def promote_endpoint(endpoint: str, scope: Member, deps: DepsOf) -> wire.Endpoint:
    """Give all requests to the canary."""
    return shapes.endpoint(endpoints.promote(deps, scope.actor, scope.project, endpoint))


@router.post(f"{_ENDPOINT}/rollback")
def roll_back_endpoint(endpoint: str, body: wire.EndpointRollback, scope: Member, deps: DepsOf) -> wire.Endpoint:
    """Bring back the revision before this one, or the one named, as a new revision."""
    return shapes.endpoint(endpoints.roll_back(deps, scope.actor, scope.project, endpoint, to=body.to))


@router.post("/projects/{project}/edge/push")
def push_to_edge(body: wire.EdgePush, scope: Member, deps: DepsOf) -> wire.Endpoint:
    """Let sites serve a version: each loads and warms it up first, those that are silent when they are back."""
    view = edge.push(
        deps, scope.actor, scope.project, model=body.model, sites=body.sites, endpoint=body.endpoint,
        unchecked=body.unchecked,
    )  # fmt: skip
    return shapes.endpoint(view)


@router.post(f"{_ENDPOINT}/edge/rollback")
def roll_back_edge(endpoint: str, body: wire.EdgeRollback, scope: Member, deps: DepsOf) -> wire.Endpoint:
    """Bring back the version before at sites, as a new revision."""
    return shapes.endpoint(edge.roll_back(deps, scope.actor, scope.project, endpoint, sites=body.sites))


@router.get(f"{_ENDPOINT}/why")
def why_endpoint(endpoint: str, scope: Viewer, deps: DepsOf) -> wire.EndpointWhy:
    """Why it is in its state, has as many replicas, and what becomes of its canary."""
    found = why(deps, scope.project, endpoint)
    return wire.EndpointWhy(state=found.state, reasons=list(found.reasons))


@router.get(f"{_ENDPOINT}/tokens")
def list_endpoint_tokens(endpoint: str, scope: Member, deps: DepsOf) -> wire.EndpointTokens:
    found = tokens.list_tokens(deps, scope.actor, scope.project, endpoint)
    return wire.EndpointTokens(items=[shapes.token(one) for one in found])


@router.post(f"{_ENDPOINT}/tokens", status_code=201)
def create_endpoint_token(
    endpoint: str, body: wire.EndpointTokenCreate, scope: Member, deps: DepsOf
) -> wire.EndpointToken:  # fmt: skip
    """The answer holds the secret, which is shown once."""
    made = tokens.create(
        deps, scope.actor, scope.project, endpoint, name=body.name, seconds=body.expires_seconds, quota=body.quota
    )
    return shapes.token(made.token, made.secret)


@router.delete(f"{_ENDPOINT}/tokens/{{token}}", status_code=204)
def revoke_endpoint_token(endpoint: str, token: str, scope: Member, deps: DepsOf) -> None:
    """By id or name. Routers refuse it from their next contact with the server on."""
    tokens.revoke(deps, scope.actor, scope.project, endpoint, token)


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise BadRequest("The endpoint is not UTF-8 text.", hint="Send endpoint.yaml, or the same as JSON.") from error
