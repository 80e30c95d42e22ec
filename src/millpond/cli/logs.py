"""`mill logs`: print, follow, search or save the log of a job."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.follow import end_with
from millpond.cli.session import Session
from millpond.client.jobs import get_job, wait_for_job
from millpond.client.logs import LogPiece, LogQuery, follow_log, read_all, read_log, search_log
from millpond.client.workspaces import list_run_snapshots
from millpond.errors import BadRequest
from millpond.model.quantity import format_bytes
from millpond.wire.jobs import Job
from millpond.wire.logs import LogHit

app = typer.Typer()

_TAIL_BYTES = 64 << 10
_NOTHING_FOUND = 1

Name = Annotated[str, typer.Argument(metavar="JOB", help="Job: NAME (the newest), NAME#N or id.")]


@command(app, "logs")
def logs(
    mill: Session,
    job: Name,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow the log until the job has ended.")] = False,
    tail: Annotated[int | None, typer.Option(metavar="N", help="Print only the last N lines.", min=0)] = None,
    since_offset: Annotated[
        int | None, typer.Option(metavar="BYTE", help="Start at this byte; a negative number counts from the end.")
    ] = None,
    grep: Annotated[str | None, typer.Option(metavar="TEXT", help="Print only lines that contain TEXT.")] = None,
    regex: Annotated[
        bool, typer.Option("--regex", "-E", help="Read TEXT of --grep as a regular expression (RE2).")
    ] = False,
    ignore_case: Annotated[bool, typer.Option("--ignore-case", "-i", help="Ignore case in --grep.")] = False,
    context: Annotated[
        int, typer.Option("--context", "-C", metavar="N", min=0, max=20, help="Lines of context around each match.")
    ] = 0,
    attempt: Annotated[int | None, typer.Option(min=1, help="Attempt (default: the newest).")] = None,
    rank: Annotated[
        int | None, typer.Option(min=0, help="Rank of a distributed job (default: the one that failed, or 0).")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the log to a file.")
    ] = None,
) -> None:
    """Print the log of a job. With --grep, exit code 1 means no match.

    Example: mill logs train --follow
    """
    found = get_job(mill.api, mill.project, job)
    rank = _rank_of(mill, found, rank)
    if grep is not None:
        if follow or tail is not None or output is not None:
            raise BadRequest("Cannot combine --grep with --follow, --tail or --output.", hint="Remove one of them.")
        query = LogQuery(grep, regex, ignore_case, context, max(0, since_offset or 0))
        _show_hits(mill, search_log(mill.api, found.project, found.id, query, attempt=attempt, rank=rank), context)
        return
    begin = since_offset or 0
    if tail is not None:
        begin = _begin_of_last(mill, found, tail, attempt, rank)
    if mill.out.as_json and not follow and output is None:
        _show_piece(mill, read_log(mill.api, found.project, found.id, begin, 8 << 20, attempt, rank))
        return
    if output is not None:
        _write(mill, found, output, begin, attempt, rank)
        return
    place = (mill.api, found.project, found.id, begin, attempt, rank)
    _copy(mill, follow_log(*place) if follow else read_all(*place))
    _tell_snapshots(mill, found)
    if follow:
        end_with(mill, wait_for_job(mill.api, found.project, found.id))


def _rank_of(mill: Session, job: Job, rank: int | None) -> int | None:
    """Choose the rank once, so that it does not change when the job fails, and say which it is."""
    if not job.spec.ranks or rank is not None:
        return rank
    chosen = job.failed_rank if job.failed_rank is not None else 0
    why = ", which failed first" if job.failed_rank is not None else ""
    mill.out.note(f"Rank {chosen} of {job.spec.ranks}{why}; for others: --rank N")
    return chosen


def _tell_snapshots(mill: Session, job: Job) -> None:
    """After the log: the end snapshot is taken once the command has ended."""
    if job.spec.snapshots is not None:
        for one in list_run_snapshots(mill.api, job.project, job.run_id):
            mill.out.note(f"Snapshot {one.name} of workspace {one.workspace}: {one.state.value}.")


def _copy(mill: Session, pieces: Iterable[bytes]) -> None:
    """Copy the raw bytes: a job may write anything."""
    raw = mill.out.raw
    for content in pieces:
        raw.write(content)
        raw.flush()


def _write(mill: Session, job: Job, file: Path, begin: int, attempt: int | None, rank: int | None) -> None:
    written = 0
    with open(file, "wb") as target:
        for content in read_all(mill.api, job.project, job.id, begin, attempt, rank):
            written += target.write(content)
    mill.out.note(f"Wrote {format_bytes(written)} of {job.written} to {file}.")
    if mill.out.as_json:
        mill.out.json({"file": str(file), "bytes": written})


def _begin_of_last(mill: Session, job: Job, lines: int, attempt: int | None, rank: int | None) -> int:
    """Offset at which the last `lines` lines begin."""
    size = _TAIL_BYTES
    while True:
        piece = read_log(mill.api, job.project, job.id, -size, size, attempt, rank)
        if piece.begin == 0 or piece.content.count(b"\n") > lines or size > piece.size:
            break
        size *= 4
    kept = piece.content.splitlines(keepends=True)[-lines:] if lines else []
    return piece.offset - sum(len(line) for line in kept)


def _show_piece(mill: Session, piece: LogPiece) -> None:
    mill.out.json(
        {
            "attempt": piece.attempt,
            "rank": piece.rank,
            "begin": piece.begin,
            "offset": piece.offset,
            "size": piece.size,
            "complete": piece.complete,
            "text": piece.content.decode("utf-8", "replace"),
        }
    )


def _show_hits(mill: Session, hits: Iterable[LogHit], context: int) -> None:
    """Print like grep: `LINE:text` for a match, `LINE-text` for context. As JSON, one list."""
    found = False
    if mill.out.as_json:
        items = [hit.model_dump(mode="json", exclude={"kind"}) for hit in hits]
        mill.out.json({"items": items})
        found = bool(items)
    else:
        for hit in hits:
            if found and context:
                mill.out.verbatim("--")
            found = True
            _show_hit(mill, hit)
    if not found:
        mill.out.note("No matches.")
        raise typer.Exit(_NOTHING_FOUND)


def _show_hit(mill: Session, hit: LogHit) -> None:
    for number, text in enumerate(hit.before, hit.line - len(hit.before)):
        mill.out.verbatim(f"{number}-{text}")
    mill.out.verbatim(f"{hit.line}:{hit.text}")
    for number, text in enumerate(hit.after, hit.line + 1):
        mill.out.verbatim(f"{number}-{text}")
