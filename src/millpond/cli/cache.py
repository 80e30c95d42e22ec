"""`mill cache`: commits kept as plain files beside the compute."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.output import Bytes, CommitId
from millpond.cli.progress import Meter
from millpond.cli.session import Session
from millpond.cli.usage import add_summary_command
from millpond.client.caches import add_cached, clear_cached, get_cached, list_cached, list_evictions, pin_cached
from millpond.client.datasets import get_commit
from millpond.errors import MillError, NotFound, VolumeProblem
from millpond.model.names import DEFAULT_BRANCH, DatasetRef
from millpond.model.quantity import format_seconds, format_tree
from millpond.model.volume import CachedState
from millpond.wire.cache import CacheAdd, CachedCommit

app = typer.Typer()
add_summary_command(app)

POLL_SECONDS = 0.3

Written = Annotated[str, typer.Argument(metavar="DATASET[@REF]", help="The dataset, and the commit of it (main).")]
On = Annotated[str | None, typer.Option("--on", metavar="VOLUME", help="The volume.")]


@command(app, "add")
def add(
    mill: Session,
    dataset: Written,
    on: Annotated[str | None, typer.Option("--on", metavar="VOLUME", help="The volume (the best one).")] = None,
    near: Annotated[
        str | None, typer.Option(metavar="COMPUTE", help="Choose a volume that serves this compute, or site.")
    ] = None,
    wait: Annotated[bool, typer.Option(help="Wait until it is there.")] = True,
) -> None:
    """Cache a commit on a volume: fetched once and only once, whoever asks."""
    ref = DatasetRef.parse(dataset)
    asked = CacheAdd(dataset=dataset, project=ref.project or mill.project, volume=on, near=near)
    added = add_cached(mill.api, asked)
    for reason in added.reasons:
        mill.out.note(reason)
    cached = added.cached
    if cached.state is not CachedState.READY and wait:
        cached = _wait(mill, cached)
    elif cached.state is not CachedState.READY:
        mill.out.note(f"{_name(cached)} is on its way to volume {cached.volume}; see: mill cache list")
    _show(mill, cached)


@command(app, "list")
def list_all(
    mill: Session,
    dataset: Annotated[str | None, typer.Argument(help="Only this dataset.")] = None,
    on: On = None,
) -> None:
    """List cached commits: where they are, who uses them, when they go."""
    named = DatasetRef.parse(dataset) if dataset else None
    project = (named.project if named else None) or mill.flags.project
    mill.out.items(
        list_cached(mill.api, project=project, dataset=named.dataset if named else None, volume=on),
        [
            ("ID", lambda c: c.id),
            ("DATASET", lambda c: f"{c.project}/{c.dataset}"),
            ("COMMIT", lambda c: CommitId(c.commit_id)),
            ("VOLUME", lambda c: c.volume),
            ("STATE", _state),
            ("SIZE", lambda c: Bytes(c.bytes)),
            ("FILES", lambda c: c.files),
            ("LAST USED", lambda c: c.used_at),
            ("EXPIRES", lambda c: c.expires_at),
            ("USED BY", _holders),
        ],
        empty="Nothing is cached. Cache a commit: mill cache add DATASET",
    )


@command(app, "clear")
def clear(
    mill: Session,
    dataset: Written,
    on: On = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove a cached commit from its volume. It stays in the lake; a running job's data is never cleared."""
    found = _find(mill, dataset, on)
    names = ", ".join(f"{_name(c)} on {c.volume}" for c in found)
    mill.confirm(f"Clear {names}?", yes=yes)
    for cached in found:
        clear_cached(mill.api, cached.id)
        mill.out.note(f"{_name(cached)} is cleared from volume {cached.volume}.")


@command(app, "pin")
def pin(mill: Session, dataset: Written, on: On = None) -> None:
    """Keep a cached commit until it is unpinned, however idle it is."""
    _pin(mill, dataset, on, pinned=True)


@command(app, "unpin")
def unpin(mill: Session, dataset: Written, on: On = None) -> None:
    """Let a cached commit go again when it is idle."""
    _pin(mill, dataset, on, pinned=False)


@command(app, "evictions")
def evictions(
    mill: Session,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many at most.", min=1)] = 50,
) -> None:
    """List what was evicted and why, newest first."""
    mill.out.items(
        list_evictions(mill.api, limit),
        [
            ("WHEN", lambda e: e.at),
            ("VOLUME", lambda e: e.volume),
            ("DATASET", lambda e: e.dataset),
            ("COMMIT", lambda e: CommitId(e.commit_id)),
            ("SIZE", lambda e: Bytes(e.bytes)),
            ("WHY", lambda e: e.reason),
        ],
        empty="Nothing has been evicted yet.",
    )


def _wait(mill: Session, cached: CachedCommit) -> CachedCommit:
    with Meter(mill.out, f"Caching {_name(cached)} on {cached.volume}") as meter:
        while cached.state is CachedState.FILLING:
            meter.update(done=cached.done_bytes, total=cached.bytes, files=cached.done_files, total_files=cached.files)
            time.sleep(POLL_SECONDS)
            cached = get_cached(mill.api, cached.id)
    if cached.state is not CachedState.READY:
        raise VolumeProblem(
            f"{_name(cached)} could not be cached on {cached.volume}: {cached.problem or cached.reason}",
            hint=f"See: mill volume show {cached.volume}",
        )
    size = format_tree(cached.files, cached.bytes)
    mill.out.note(f"{_name(cached)} is on volume {cached.volume}: {size} in {format_seconds(meter.seconds)}.")
    return cached


def _find(mill: Session, written: str, on: str | None) -> list[CachedCommit]:
    """The cached commits meant; without a ref all of the dataset's."""
    ref = DatasetRef.parse(written)
    project = ref.project or mill.project
    commit = get_commit(mill.api, project, ref.dataset, ref.ref or DEFAULT_BRANCH).id if ref.ref else None
    listed = list_cached(mill.api, project=project, dataset=ref.dataset, volume=on)
    found = [c for c in listed if commit in (None, c.commit_id)]
    if not found:
        where = f" on volume {on}" if on else ""
        raise NotFound(f"{written} is not cached{where}.", hint="See what is: mill cache list")
    return found


def _pin(mill: Session, written: str, on: str | None, *, pinned: bool) -> None:
    errors: list[MillError] = []
    for cached in _find(mill, written, on):
        try:
            changed = pin_cached(mill.api, cached.id, pinned=pinned)
        except MillError as error:
            errors.append(error)
            continue
        mill.out.note(f"{_name(changed)} on {changed.volume} is {'pinned' if pinned else 'not pinned any more'}.")
        if mill.out.as_json:
            mill.out.shape(changed, [])
    if errors:
        raise errors[0]


def _show(mill: Session, cached: CachedCommit) -> None:
    mill.out.shape(
        cached,
        [
            ("dataset", f"{cached.project}/{cached.dataset}"),
            ("commit", cached.commit_id),
            ("volume", cached.volume),
            ("path", cached.path),
            ("state", cached.state),
            ("size", Bytes(cached.bytes)),
            ("files", cached.files),
            ("expires", cached.expires_at),
        ],
    )


def _state(cached: CachedCommit) -> str:
    if cached.state is CachedState.FILLING and cached.bytes:
        return f"filling {100 * cached.done_bytes // cached.bytes} %"
    if cached.state is CachedState.FAILED:
        return f"failed: {cached.problem}"
    return f"{cached.state.value}, pinned" if cached.pinned else cached.state.value


def _holders(cached: CachedCommit) -> list[str]:
    return [holder.job or holder.user or "somebody" for holder in cached.leased_by]


def _name(cached: CachedCommit) -> str:
    return f"{cached.dataset}@{cached.commit_id[:8]}"
