"""The HTTP application: routers by noun under /api/v1, health and metrics beside it, the page behind it all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from millpond import __version__, tracing
from millpond.api import docs, health, problems, static, storage_errors, streams
from millpond.api.access import requirements_of
from millpond.api.characters import whole_characters
from millpond.api.limits import BodyLimit
from millpond.api.metrics.registries import Registries
from millpond.api.metrics.routes import router as metrics_router
from millpond.api.mlflow.server import router as mlflow_router
from millpond.api.request_keys import RequestKeys
from millpond.api.requests import RequestEdge
from millpond.api.routes import (
    activity,
    agents,
    audit,
    auth,
    backups,
    cache_plans,
    caches,
    clusters,
    commits,
    computes,
    connections,
    datasets,
    doctor,
    egress,
    elastic,
    endpoint_analyses,
    endpoint_use,
    endpoints,
    events,
    external,
    files,
    find,
    flow_backfills,
    flow_runs,
    flow_triggers,
    flows,
    gpu_use,
    home,
    job_ports,
    jobs,
    join_tokens,
    lake,
    lake_care,
    lake_replicas,
    library,
    lineage,
    logs,
    machine_logins,
    mirrors,
    mlperf,
    models,
    mounts,
    notifications,
    placements,
    project_channels,
    projects,
    queues,
    quotas,
    runs,
    saved_views,
    scheduling,
    searches,
    secrets,
    session,
    sessions,
    shares,
    sign_in,
    sites,
    sources,
    templates,
    tiers,
    tokens,
    top,
    uploads,
    usage,
    users,
    volumes,
    workspace_sessions,
    workspaces,
)
from millpond.api.traces import TracedRequests
from millpond.services.deps import Deps
from millpond.services.events import EventHub
from millpond.services.health import Health
from millpond.services.people.sessions import LoginLimiter
from millpond.wire.base import Problem

PREFIX = "/api/v1"
ROUTERS: Sequence[APIRouter] = (
    # First those that are asked most: each route before the one that is meant costs a few microseconds.
    agents.router,
    placements.router,
    uploads.router,
    logs.router,
    session.router,
    users.router,
    tokens.router,
    sessions.router,
    sign_in.router,
    auth.router,
    machine_logins.router,
    projects.router,
    quotas.router,
    activity.router,
    audit.router,
    backups.router,
    events.router,
    doctor.router,
    health.api_router,
    home.router,
    find.router,
    jobs.router,
    job_ports.router,
    runs.router,
    saved_views.router,
    searches.router,
    models.router,
    mlperf.router,
    endpoints.router,
    endpoint_analyses.router,
    clusters.router,
    workspaces.router,
    workspace_sessions.router,
    endpoint_use.router,
    computes.router,
    gpu_use.router,
    shares.router,
    mounts.router,
    notifications.router,
    project_channels.router,
    elastic.router,
    scheduling.router,
    templates.router,
    top.router,
    queues.router,
    join_tokens.router,
    datasets.router,
    files.router,
    commits.router,
    sites.router,
    # Before the caches: `summary` is no id of a cached commit.
    usage.router,
    volumes.router,
    tiers.router,
    caches.router,
    cache_plans.router,
    egress.router,
    lake_care.router,
    lake_replicas.router,
    lineage.router,
    connections.router,
    secrets.router,
    sources.router,
    mirrors.router,
    flow_backfills.router,
    flow_runs.router,
    flow_triggers.router,
    flows.router,
    library.router,
)


def create_app(deps: Deps, hub: EventHub, *, routers: Sequence[APIRouter] = ROUTERS) -> FastAPI:
    """The whole application. ValueError for a route that does not declare who may use it."""
    app = FastAPI(
        title="Millpond",
        version=__version__,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
        responses=problems.RESPONSES,
    )
    app.state.deps = deps
    app.state.hub = hub
    app.state.login_limiter = LoginLimiter(deps.db)
    app.state.health = Health(deps)
    app.state.metrics = Registries()
    app.state.metrics.fill(deps, hub, app.state.health)
    app.state.request_metrics = app.state.metrics.requests()
    _check_routes(routers)
    for router in routers:
        app.include_router(router, prefix=PREFIX, dependencies=[Depends(whole_characters)])
    app.include_router(streams.router, prefix=PREFIX)
    outside = (
        health.router,
        metrics_router,
        lake.router,
        external.router,
        flow_triggers.hook_router,
        mlflow_router,
    )
    for router in (*outside, docs.docs_router(), static.page_router()):
        app.include_router(router)
    problems.install(app)
    storage_errors.install(app)
    app.add_middleware(RequestKeys, deps=deps)
    app.add_middleware(BodyLimit, settings=deps.settings)
    app.add_middleware(RequestEdge, metrics=app.state.request_metrics, settings=deps.settings)
    if tracing.is_on():
        app.add_middleware(TracedRequests)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def api_routes(routers: Sequence[APIRouter] = ROUTERS) -> Iterator[APIRoute]:
    """Every route under /api/v1; its path is given without that prefix."""
    for router in routers:
        for route in router.routes:
            if not isinstance(route, APIRoute):
                raise ValueError(f"{route!r} is not a plain route: routers hold routes, not other routers")
            yield route


def _check_routes(routers: Sequence[APIRouter]) -> None:
    """Each route says who may use it, and each operation id (the function's name) is used once."""
    for route in api_routes(routers):
        declared = requirements_of(route.dependant)
        if len(declared) != 1:
            raise ValueError(f"{route.path} ({route.name}) declares {len(declared)} access requirements, not one")
        route.openapi_extra = {**(route.openapi_extra or {}), "x-mill-access": declared[0].written}
    names = Counter(route.name for route in api_routes(routers))
    if twice := [name for name, count in names.items() if count > 1]:
        raise ValueError(f"operation ids used twice: {', '.join(twice)}")


def _openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, routes=app.routes)
        schemas = schema.setdefault("components", {}).setdefault("schemas", {})
        schemas["Problem"] = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        app.openapi_schema = schema
    return app.openapi_schema
