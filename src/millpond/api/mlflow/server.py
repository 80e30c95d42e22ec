"""One door for MLflow's clients: finds the endpoint, the caller and the project, and answers in MLflow's shapes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from millpond.api.access import check_scopes, deps_of
from millpond.api.mlflow import (
    artifacts,
    datasets,
    errors,
    experiments,
    histories,
    logged,
    logged_models,
    model_versions,
    page_files,
    part_uploads,
    registered_models,
    runs,
)
from millpond.api.mlflow.endpoint import Call, Document, Endpoint
from millpond.api.mlflow.methods import METHODS, Method
from millpond.api.mlflow.reading import read_body, read_query, secret_of
from millpond.errors import Forbidden, MillError, NotFound, NotSignedIn
from millpond.model.people import Actor, ActorKind, Role, TokenScope
from millpond.services.people import access, tokens

# The release whose clients this was tried with.
VERSION = "3.17.2"
_MODULES = (
    experiments, runs, logged, histories, logged_models, registered_models, model_versions, artifacts, part_uploads,
    datasets,
)  # fmt: skip
ENDPOINTS: Mapping[tuple[str, str], Endpoint] = {
    (endpoint.method, endpoint.full_path): endpoint for module in _MODULES for endpoint in module.ENDPOINTS
}
# Those with parts that stand for fields.
_PATTERNS = [
    (re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", re.sub(r"\{(\w+):path\}", r"(?P<\1>.+)", path))), endpoint)
    for (_, path), endpoint in ENDPOINTS.items()
    if "{" in path
]
_API = ("api/2.0/preview/", "api/2.0/", "api/3.0/", "ajax-api/2.0/", "ajax-api/3.0/")
# Clients ask before they sign in; nothing of the project is said here.
_SERVER_INFO = {
    "store_type": "SqlStore",
    "workspaces_enabled": False,
    "trace_archival_enabled": False,
    "multipart_uploads_enabled": True,
    "multipart_downloads_enabled": False,
    "features_enabled": {"gateway": False},
}
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Millpond</title><script src="open.js"></script></head>
<body><p><a href="/">Open Millpond</a></p></body></html>
"""
# Links that the client prints name a run behind the #, which a server never sees.
_OPEN = """const project = location.pathname.split("/")[2];
const run = /\\/runs\\/([0-9a-z]+)/.exec(location.hash);
location.replace(run ? `/projects/${project}/runs/${run[1]}` : `/runs?project=${project}`);
"""

router = APIRouter(include_in_schema=False)


@router.api_route("/mlflow/{project}/{path:path}", methods=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])
async def mlflow(request: Request, project: str, path: str) -> Response:
    try:
        return await _answer(request, project, path.lstrip("/"))
    except MillError as error:
        return errors.respond(error)


def is_offered(method: Method) -> bool:
    """True if a method of MLflow's protocol is answered with more than 501."""
    if method.path.startswith(artifacts.PREFIX):
        return method.method in ("GET", "PUT", "DELETE")
    return (method.method, method.path) in ENDPOINTS


async def _answer(request: Request, project: str, path: str) -> Response:
    if (public := _public(path)) is not None:
        return public
    if request.method == "GET" and (opener := page_files.opener_of(path)) is not None:
        call = await run_in_threadpool(_called, request, project, Role.VIEWER, read_query(request), _itself)
        return await run_in_threadpool(lambda: artifacts.answer(call, opener(call), request))
    name = next((path.removeprefix(prefix) for prefix in _API if path.startswith(prefix)), None)
    if name is None:
        raise NotFound(f"MLflow's API has no path {path[:200]!r}.")
    if name == artifacts.PREFIX or name.startswith(f"{artifacts.PREFIX}/"):
        return await _artifact(request, project, name.removeprefix(artifacts.PREFIX).strip("/"))
    if request.method == "POST" and name == page_files.UPLOAD:
        call = await run_in_threadpool(_called, request, project, Role.MEMBER, read_query(request), _itself)
        await run_in_threadpool(page_files.upload, call, await request.body())
        return JSONResponse({})
    endpoint, parts = _endpoint(request.method, name)
    if endpoint is None:
        return _missing(request.method, name)
    fields = {**(read_query(request) if request.method == "GET" else read_body(await request.body())), **parts}
    return JSONResponse(
        await run_in_threadpool(_called, request, project, endpoint.role, fields, endpoint.handle, endpoint.for_jobs)
    )


def _endpoint(method: str, path: str) -> tuple[Endpoint | None, Document]:
    """The endpoint of a path, and the fields that the path names."""
    if (found := ENDPOINTS.get((method, path))) is not None:
        return found, {}
    for pattern, endpoint in _PATTERNS:
        if endpoint.method == method and (match := pattern.fullmatch(path)):
            return endpoint, match.groupdict()
    return None, {}


def _public(path: str) -> Response | None:
    match path:
        case "":
            return HTMLResponse(_PAGE)
        case "open.js":
            return Response(_OPEN, media_type="text/javascript")
        case "version":
            return PlainTextResponse(VERSION)
        case "health":
            return PlainTextResponse("OK")
        case "api/3.0/mlflow/server-info" | "ajax-api/3.0/mlflow/server-info":
            return JSONResponse(_SERVER_INFO)
    return None


async def _artifact(request: Request, project: str, path: str) -> Response:
    if request.method == "PUT" and path:
        call = await run_in_threadpool(_called, request, project, Role.MEMBER, {}, _itself)
        file = await artifacts.receive(request)
        await run_in_threadpool(artifacts.store, call, path, file)
        return JSONResponse({})
    if request.method in ("GET", "HEAD"):
        call = await run_in_threadpool(_called, request, project, Role.VIEWER, read_query(request), _itself)
        if not path:
            return JSONResponse(await run_in_threadpool(artifacts.list_folder, call))
        return await run_in_threadpool(artifacts.download, call, path, request)
    if request.method == "DELETE" and path:
        call = await run_in_threadpool(_called, request, project, Role.MEMBER, {}, _itself)
        await run_in_threadpool(artifacts.remove, call, path)
        return JSONResponse({})
    return errors.not_offered(f"{request.method} of artifacts")


def _itself(call: Call) -> Any:
    return call


def _called(
    request: Request, project: str, role: Role, fields: Document, handle: Callable[[Call], Any], for_jobs: bool = True
) -> Any:
    deps = deps_of(request)
    actor = _caller(request)
    if actor.kind is ActorKind.AGENT or (actor.kind is ActorKind.PLACEMENT and not for_jobs):
        raise Forbidden("This is only for people.")
    check_scopes(actor, frozenset({TokenScope.READ if role is Role.VIEWER else TokenScope.SUBMIT}))
    with deps.db.read() as tx:
        found = access.find_project(tx, actor, project, role)
    deps.calls.count(deps.clock.now(), actor, found.id, found.name)
    server_url = (deps.settings.public_url or str(request.base_url)).rstrip("/")
    return handle(Call(deps, actor, found, fields, server_url, request.headers.get("authorization", "")))


def _caller(request: Request) -> Actor:
    secret = secret_of(request.headers.get("authorization", ""))
    if secret is None:
        hint = "Set MLFLOW_TRACKING_TOKEN to a token of yours: mill token create NAME"
        raise NotSignedIn("This needs a token.", hint=hint)
    return tokens.actor_of(deps_of(request), secret)


def _missing(method: str, path: str) -> Response:
    """501 for what MLflow has and we do not, 404 for what it has not either."""
    name = METHODS.find(method, path)
    return errors.not_offered(name) if name else errors.respond(NotFound(f"MLflow's API has no {method} {path[:200]}."))
