"""Uploads: which content must be sent, where to write it, and what has been written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from millpond.api.access import DepsOf, InProject, Member, Scope
from millpond.api.bodies import received
from millpond.model.people import Role
from millpond.services.commits.uploads import relay as upload_bytes
from millpond.services.commits.uploads import uploads
from millpond.services.commits.uploads.uploads import Slot, WrittenPack
from millpond.wire import data as wire

router = APIRouter(prefix="/projects/{project}/uploads", tags=["uploads"])

Uploader = Annotated[Scope, InProject(Role.MEMBER, placements=True, workspaces=True)]


@router.post("", status_code=201)
def create_upload(body: wire.UploadCreate, scope: Uploader, deps: DepsOf) -> wire.Upload:
    made = uploads.create(deps, scope.actor, scope.project)
    return wire.Upload(
        id=made.id, created_at=made.created_at, begins_empty=uploads.begins_empty(deps, made), takes_sizes=True
    )


@router.post("/{upload}/missing", response_class=Response)
async def find_missing(upload: str, request: Request, scope: Uploader, deps: DepsOf) -> Response:
    """Takes digests, 32 bytes each; answers one byte for each: 1 if it must be sent."""
    digests = await request.body()

    def answer() -> bytes:
        return uploads.missing(deps, uploads.get(deps, scope.actor, scope.project, upload), digests)

    return Response(await run_in_threadpool(answer), media_type="application/octet-stream")


@router.post("/{upload}/packs")
def promise_packs(upload: str, body: wire.PackSlotsRequest, scope: Uploader, deps: DepsOf) -> wire.Slots:
    found = uploads.get(deps, scope.actor, scope.project, upload)
    return _slots(
        uploads.pack_slots(deps, found, body.count, body.crc32, sizes=body.sizes, site_id=scope.actor.site_id)
    )


@router.post("/{upload}/packs/written", status_code=204)
def take_packs(upload: str, body: wire.PacksWritten, scope: Uploader, deps: DepsOf) -> None:
    """The server reads the index of each pack; from now on its blobs are not missing for this uploader."""
    written = [WrittenPack(pack.id, pack.size) for pack in body.packs]
    uploads.packs_written(deps, uploads.get(deps, scope.actor, scope.project, upload), written)


@router.post("/{upload}/pages")
def promise_pages(upload: str, body: wire.PageSlotsRequest, scope: Uploader, deps: DepsOf) -> wire.Slots:
    """Slots for those pages that the project does not have."""
    found = uploads.get(deps, scope.actor, scope.project, upload)
    return _slots(uploads.page_slots(deps, found, body.pages))


@router.put("/{upload}/pages/bytes", status_code=204)
async def put_pages(upload: str, request: Request, scope: Uploader, deps: DepsOf) -> None:
    """Many pages at once: for each its id (32 bytes), its length (4 bytes, little-endian) and one zstd frame."""
    body = await request.body()

    def put() -> None:
        upload_bytes.put_pages(deps, uploads.get(deps, scope.actor, scope.project, upload), body)

    await run_in_threadpool(put)


@router.put("/{upload}/packs/{pack}/bytes", status_code=204)
async def put_pack(upload: str, pack: str, request: Request, scope: Member, deps: DepsOf) -> None:
    """The bytes of a promised pack (at most 64 MiB), for those who cannot reach the slot's URL."""
    found = await run_in_threadpool(uploads.get, deps, scope.actor, scope.project, upload)
    async with received(request, deps.settings.data_dir) as body:
        await run_in_threadpool(upload_bytes.put_pack, deps, found, pack, body)


@router.put("/{upload}/pages/{page}/bytes", status_code=204)
async def put_page(upload: str, page: str, request: Request, scope: Member, deps: DepsOf) -> None:
    """The bytes of a page as it is stored: one zstd frame."""
    found = await run_in_threadpool(uploads.get, deps, scope.actor, scope.project, upload)
    async with received(request, deps.settings.data_dir) as body:
        await run_in_threadpool(upload_bytes.put_page, deps, found, page, body)


def _slots(found: Sequence[Slot]) -> wire.Slots:
    return wire.Slots(slots=[wire.Slot.model_validate(slot) for slot in found])
