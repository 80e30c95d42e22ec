"""Backups of the server in the place it was started with: made, listed, verified, downloaded by administrators."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import StreamingResponse

from millpond.api.access import DepsOf, SiteAdmin
from millpond.api.shapes import backups as shapes
from millpond.errors import NotFound
from millpond.model.backup import BackupWork
from millpond.services.backups import download, schedule
from millpond.wire import backups as wire
from millpond.wire.base import Page

router = APIRouter(prefix="/backups", tags=["backups"])


@router.get("")
def list_backups(actor: SiteAdmin, deps: DepsOf) -> Page[wire.Backup]:
    """Complete backups, newest first."""
    return Page(items=[shapes.backup(one) for one in schedule.list_all(deps)])


@router.get("/status")
def get_backup_status(actor: SiteAdmin, deps: DepsOf) -> wire.BackupStatus:
    """Where backups go and how often, what was done lately, and what is wrong."""
    return shapes.status(schedule.status(deps))


@router.post("", status_code=202)
def create_backup(actor: SiteAdmin, deps: DepsOf) -> wire.BackupRun:
    """Make a backup now. It goes on after the answer: ask for the run."""
    return shapes.run(schedule.ask(deps, actor, BackupWork.CREATE))


@router.get("/runs/{backup_run}")
def get_backup_run(backup_run: str, actor: SiteAdmin, deps: DepsOf) -> wire.BackupRun:
    found = schedule.get_run(deps, backup_run)
    if found is None:
        raise NotFound(f"There is no run {backup_run!r} of a backup.", hint="See: mill backup status")
    return shapes.run(found)


@router.post("/{backup}/verify", status_code=202)
def verify_backup(backup: str, actor: SiteAdmin, deps: DepsOf) -> wire.BackupRun:
    """Read every byte of a backup, and put its database together. It goes on after the answer: ask for the run."""
    return shapes.run(schedule.ask(deps, actor, BackupWork.VERIFY, backup))


@router.get("/{backup}/content", response_class=StreamingResponse)
def download_backup(backup: str, actor: SiteAdmin, deps: DepsOf) -> StreamingResponse:
    """An encrypted backup as a tar of its files, as they lie in its place. One that is not encrypted is refused."""
    found = download.open_download(deps, actor, backup)
    headers = {"Content-Disposition": f'attachment; filename="{found.backup.id}.tar"'}
    return StreamingResponse(found.pieces, media_type="application/x-tar", headers=headers)
