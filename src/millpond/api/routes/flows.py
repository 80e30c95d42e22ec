"""Flows: validate, save, read, remove; versions."""

from __future__ import annotations

import io
import zipfile
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from millpond.api.access import DepsOf, Member, Viewer
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.api.preconditions import if_match_number
from millpond.api.shapes import flows as shapes
from millpond.model.program import mode_of
from millpond.services.flows import checking, saving
from millpond.services.flows.bundle import Bundle, is_archive, read_bundle
from millpond.wire import flows as wire
from millpond.wire.base import Page

router = APIRouter(prefix="/projects/{project}", tags=["flows"])

_YAML = "application/yaml"
_ZIP = "application/zip"
_Version = Annotated[int | None, Query(ge=1, description="Default: the newest.")]


@router.get("/flows")
def list_flows(scope: Viewer, deps: DepsOf, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None) -> Page[wire.Flow]:
    """By name, each with its newest version and run."""
    return page(saving.list_all(deps, scope.project, limit=limit, cursor=cursor), shapes.flow)


@router.post("/flows:validate")
async def validate_flow(
    request: Request,
    scope: Viewer,
    deps: DepsOf,
    flow: Annotated[str | None, Query(description="Check YAML with the files saved beside this flow.")] = None,
) -> wire.FlowProblems:
    """Every problem of a flow (YAML, or a zip with its code), with this server's library."""
    body = await request.body()

    def check() -> wire.FlowProblems:
        bundle = read_bundle(body)
        if flow and not is_archive(body):
            bundle = saving.with_saved_files(deps, scope.project, flow, bundle)
        with_files = is_archive(body) or len(bundle.files) > 1
        checked = checking.check(deps, scope.actor, scope.project, bundle, with_files=with_files)
        return wire.FlowProblems(problems=[wire.FlowProblem(**asdict(one)) for one in checked.problems])

    return await run_in_threadpool(check)


@router.get("/flows/{flow}", response_model=wire.Flow)
def get_flow(
    flow: str, scope: Viewer, deps: DepsOf, version: _Version = None, accept: Annotated[str, Header()] = ""
) -> wire.Flow | Response:
    """As JSON, or as `Accept` says: its YAML (`application/yaml`), or everything that was saved (`application/zip`)."""
    found = saving.get(deps, scope.project, flow, version)
    tag = {"ETag": f'"{found.version.number}"'}
    if "yaml" in accept:
        return Response(found.version.text, media_type=_YAML, headers=tag)
    bundle = saving.bundle_of(deps, scope.project, found.version)
    if "zip" in accept:
        return Response(_zipped(bundle), media_type=_ZIP, headers=tag)
    return shapes.whole_flow(found, sorted(bundle.beside))


@router.put("/flows/{flow}")
async def save_flow(
    flow: str, request: Request, scope: Member, deps: DepsOf, if_match: Annotated[str | None, Header()] = None
) -> wire.Flow:
    """Save a version: YAML, beside which the saved files stay, or a zip with all its files.

    `If-Match` is the version that was changed, 0 for a new flow.
    """
    body = await request.body()

    def save() -> wire.Flow:
        bundle = read_bundle(body)
        if not is_archive(body):
            bundle = saving.with_saved_files(deps, scope.project, flow, bundle)
        view, is_new = saving.save(deps, scope.actor, scope.project, flow, bundle, expected=if_match_number(if_match))
        return shapes.flow(view).model_copy(update={"is_new": is_new})

    return await run_in_threadpool(save)


@router.delete("/flows/{flow}", status_code=204)
def delete_flow(flow: str, scope: Member, deps: DepsOf) -> None:
    """Remove the flow and its versions; its runs stay."""
    saving.remove(deps, scope.actor, scope.project, flow)


@router.get("/flows/{flow}/versions")
def list_flow_versions(flow: str, scope: Viewer, deps: DepsOf) -> wire.FlowVersionList:
    """Newest first."""
    return wire.FlowVersionList(items=[shapes.version(one) for one in saving.versions(deps, scope.project, flow)])


def _zipped(bundle: Bundle) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in sorted(bundle.files.items()):
            member = zipfile.ZipInfo(path)
            member.external_attr = mode_of(data) << 16
            archive.writestr(member, data)
    return target.getvalue()
