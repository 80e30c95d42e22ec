"""Large artifacts that clients send in parts: each by a signed PUT to the store, put together when all have come.

Parts are objects of their own (`parts/UPLOAD/PROJECT/RUN/NUMBER`) until the artifact is in the lake. An upload's id
begins with the time it was created at, so that what nobody completed is found without a row in the database.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from millpond.blobs.store import SignedUrl
from millpond.errors import Incomplete, Invalid, NotFound
from millpond.model.people import Actor, Project
from millpond.services.deps import Deps
from millpond.services.people import access
from millpond.services.runs import artifacts, runs
from millpond.services.runs.artifact_staging import check_name

MOST_PARTS = 10_000
# How long parts may take to come. What is older is removed.
KEPT = timedelta(days=1)
_PREFIX = "parts/"
# Beside the parts of an upload that was completed: clients may ask again when an answer is lost.
_DONE = "done"
_TIME_DIGITS = 10
_PIECE = 8 << 20


@dataclass(frozen=True, slots=True)
class PartUpload:
    id: str
    # In the order of the parts, the first of which has number 1.
    urls: Sequence[SignedUrl]


def create(deps: Deps, actor: Actor, project: Project, run_id: str, path: str, parts: int) -> PartUpload:
    """URLs for the parts of a file. A URL beginning with `/` is the server's own."""
    check_name(path)
    if not 1 <= parts <= MOST_PARTS:
        raise Invalid(f"A file has 1 to {MOST_PARTS} parts, not {parts}.", fields=["num_parts"])
    runs.get(deps, actor, project, run_id)
    upload_id = f"{int(deps.clock.now().timestamp()):0{_TIME_DIGITS}x}{secrets.token_hex(16)}"
    folder, seconds = _folder(project, run_id, upload_id), int(KEPT.total_seconds())
    urls = [deps.store.sign("PUT", f"{folder}{number:05d}", seconds) for number in range(1, parts + 1)]
    return PartUpload(upload_id, urls)


def complete(
    deps: Deps, actor: Actor, project: Project, run_id: str, path: str, upload_id: str, numbers: Sequence[int]
) -> None:
    """Make the artifact of these parts: durable and listed when it returns. Asked again, it is done already.

    Incomplete names parts that have not come.
    """
    runs.get(deps, actor, project, run_id)
    folder = _folder(project, run_id, upload_id)
    sizes = {one.key.removeprefix(folder): one.size for one in deps.store.list(folder)}
    if _DONE in sizes:
        return
    wanted = [f"{number:05d}" for number in sorted(set(numbers))]
    if not wanted or not sizes:
        raise access.not_found("upload", upload_id)
    if missing := [int(name) for name in wanted if name not in sizes]:
        raise Incomplete(f"Parts of {path!r} have not come: {', '.join(map(str, missing[:20]))}.", parts=missing[:1000])
    pieces = _pieces(deps, [(folder + name, sizes[name]) for name in wanted])
    try:
        artifacts.put_stream(deps, actor, project, run_id, path, sum(sizes[name] for name in wanted), pieces)
    except NotFound:
        if deps.store.head(folder + _DONE) is None:
            raise
        return  # an earlier try of this request was still at it, and has ended
    deps.store.put(folder + _DONE, b"done")
    for name in sizes:
        deps.store.delete(folder + name)


def abort(deps: Deps, actor: Actor, project: Project, run_id: str, upload_id: str) -> None:
    """Remove the parts that have come. Done as well if there are none."""
    runs.get(deps, actor, project, run_id)
    for one in list(deps.store.list(_folder(project, run_id, upload_id))):
        if not one.key.endswith(f"/{_DONE}"):
            deps.store.delete(one.key)


def forget_old(deps: Deps, now: datetime) -> int:
    """Housekeeping: remove what was not completed in time; how many objects."""
    limit = f"{int((now - KEPT).timestamp()):0{_TIME_DIGITS}x}"
    removed = 0
    for one in deps.store.list(_PREFIX):
        if one.key.removeprefix(_PREFIX)[:_TIME_DIGITS] >= limit:
            break  # they come in the order of their times
        deps.store.delete(one.key)
        removed += 1
    return removed


def _folder(project: Project, run_id: str, upload_id: str) -> str:
    if not (upload_id.isascii() and upload_id.isalnum() and len(upload_id) == _TIME_DIGITS + 32):
        raise access.not_found("upload", upload_id[:100])
    return f"{_PREFIX}{upload_id}/{project.id}/{run_id}/"


def _pieces(deps: Deps, parts: Sequence[tuple[str, int]]) -> Iterator[bytes]:
    for key, size in parts:
        for begin in range(0, size, _PIECE):
            yield deps.store.get_range(key, begin, min(begin + _PIECE, size))
