"""A job's log: bytes by offset, attempts, search, the whole of it; and what the job used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

from millpond.api.access import DepsOf, Viewer
from millpond.api.shapes import jobs as shapes
from millpond.services.jobs import jobs
from millpond.services.runs import log_search, logs, series
from millpond.services.runs.log_search import Ended, Hit
from millpond.services.runs.logs import LogPart
from millpond.wire import logs as wire
from millpond.wire.jobs import UsageSeries

router = APIRouter(tags=["logs"])

_JOB = "/projects/{project}/jobs/{job}"
# Jobs write what they like: no browser may take it for anything but text.
_PLAIN = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

# Beyond what any log has: numbers in a query are not bounded by themselves.
_MOST = 1 << 31
_MOST_BYTES = 1 << 62

Attempt = Annotated[int | None, Query(ge=1, lt=_MOST, description="Attempt (default: the newest).")]
Rank = Annotated[
    int | None,
    Query(ge=0, lt=_MOST, description="Rank of a distributed job (default: the first that failed, or 0)."),
]


@router.get(f"{_JOB}/log", response_class=Response)
def read_log(
    job: str,
    scope: Viewer,
    deps: DepsOf,
    offset: Annotated[
        int,
        Query(gt=-_MOST_BYTES, lt=_MOST_BYTES, description="Offset of the first byte; negative: counted from the end."),
    ] = 0,
    limit: Annotated[int, Query(ge=1, le=logs.MAX_READ)] = 1 << 20,
    attempt: Attempt = None,
    rank: Rank = None,
) -> Response:
    """Bytes. `X-Mill-Offset` is that of the next byte, `X-Mill-Begin` of the first, `X-Mill-Size` of the end now.

    `X-Mill-Complete: 1` says that nothing more will come; `X-Mill-Left-Out: A-B` that the answer is a line saying that
    bytes A to B are not held.
    """
    part = logs.read(deps, jobs.get_plain(deps, scope.project, job), offset, limit, attempt, rank)
    return Response(part.data, media_type="text/plain; charset=utf-8", headers=_headers(part))


@router.get(f"{_JOB}/log/file", response_class=Response)
def download_log(
    job: str, scope: Viewer, deps: DepsOf, attempt: Attempt = None, rank: Rank = None
) -> StreamingResponse:
    """All that the log holds now, as a file."""
    found = jobs.get_plain(deps, scope.project, job)
    which = "" if rank is None else f"-rank{rank}"
    name = quote(f"{found.name}-{found.number}{which}.log")
    headers = {**_PLAIN, "Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    content = logs.whole(deps, found, attempt, rank)
    return StreamingResponse(content, media_type="text/plain; charset=utf-8", headers=headers)


@router.get(f"{_JOB}/log/attempts")
def list_logs(job: str, scope: Viewer, deps: DepsOf) -> wire.LogAttempts:
    found = logs.attempts(deps, jobs.get_plain(deps, scope.project, job))
    return wire.LogAttempts(items=[_attempt(one) for one in found], limit_bytes=deps.settings.log_bytes)


@router.get(f"{_JOB}/log/search", response_class=Response)
def search_log(
    job: str,
    scope: Viewer,
    deps: DepsOf,
    q: Annotated[
        str, Query(min_length=1, max_length=1000, description="Text, or with `regex` a regular expression (RE2).")
    ],
    regex: bool = False,
    ignore_case: bool = False,
    offset: Annotated[int, Query(ge=0, lt=_MOST_BYTES, description="Skip matches before it.")] = 0,
    context: Annotated[
        int, Query(ge=0, le=log_search.MAX_CONTEXT, description="Lines of context around each match.")
    ] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000, description="Maximum number of matches.")] = 1000,
    seconds: Annotated[
        float, Query(gt=0, le=60, description="After this time the search reports how far it came.")
    ] = 20,
    attempt: Attempt = None,
    rank: Rank = None,
) -> StreamingResponse:
    """Lines of JSON as they are found: a `LogHit` for each line that matches, and at the end one `LogSearchEnd`."""
    query = log_search.Query(q, regex, ignore_case, offset, context, limit, seconds)
    found = log_search.search(deps, jobs.get_plain(deps, scope.project, job), query, attempt, rank)
    return StreamingResponse(_lines(found), media_type="application/x-ndjson", headers=_PLAIN)


@router.get(f"{_JOB}/usage")
def get_usage(job: str, scope: Viewer, deps: DepsOf) -> UsageSeries:
    """What the job used over time, in at most a few hundred points."""
    samples = series.usage_series(deps, jobs.get_plain(deps, scope.project, job))
    return UsageSeries(items=[shapes.usage(sample) for sample in samples])


def _headers(part: LogPart) -> dict[str, str]:
    headers = {
        **_PLAIN,
        wire.BEGIN_HEADER: str(part.begin),
        wire.OFFSET_HEADER: str(part.offset),
        wire.SIZE_HEADER: str(part.size),
        wire.ATTEMPT_HEADER: str(part.attempt),
        wire.RANK_HEADER: str(part.rank),
    }
    if part.is_complete:
        headers[wire.COMPLETE_HEADER] = "1"
    if part.left_out is not None:
        headers[wire.LEFT_OUT_HEADER] = f"{part.left_out.begin}-{part.left_out.end}"
    return headers


def _attempt(found: logs.LogAttempt) -> wire.LogAttempt:
    return wire.LogAttempt(
        attempt=found.number,
        rank=found.rank,
        node=found.node,
        created_at=found.created_at,
        ended_at=found.ended_at,
        size=found.size,
        lines=found.lines,
        stored_bytes=found.stored_bytes,
        left_out=[wire.LogLeftOut(begin=gap.begin, end=gap.end) for gap in found.left_out],
    )


def _lines(found: Iterator[Hit | Ended]) -> Iterator[bytes]:
    for item in found:
        shape = _hit(item) if isinstance(item, Hit) else _end(item)
        yield shape.model_dump_json().encode() + b"\n"


def _hit(hit: Hit) -> wire.LogHit:
    return wire.LogHit(
        offset=hit.offset,
        length=hit.length,
        line=hit.line,
        line_offset=hit.line_offset,
        text=_text(hit.text),
        before=[_text(line) for line in hit.before],
        after=[_text(line) for line in hit.after],
    )


def _end(ended: Ended) -> wire.LogSearchEnd:
    return wire.LogSearchEnd(offset=ended.offset, complete=ended.complete, hits=ended.hits)


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r")
