"""`mill cache`: commits kept as plain files beside the compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from millpond.cli.cache_add import add
from millpond.cli.cache_arguments import On, Written, name_of
from millpond.cli.cache_holds import add_keeping_commands
from millpond.cli.cache_lookup import find_cached, idle_of, list_found
from millpond.cli.cache_reasons import add_reason_commands
from millpond.cli.command import command
from millpond.cli.progress import Meter
from millpond.cli.session import Session
from millpond.cli.usage import add_summary_command
from millpond.cli.values import Bytes, CommitId
from millpond.client.caches import (
    change_cached,
    clear_cached,
    list_evictions,
    pin_cached,
    verify_cached,
    wait_cached,
    wait_cleared,
)
from millpond.errors import Corrupt, InUse, Invalid, NotReady, VolumeProblem
from millpond.model.cached_state import CachedState
from millpond.model.names import DatasetRef
from millpond.model.quantity import format_count, format_seconds, format_tree
from millpond.wire.cache import CacheChange, CachedCommit

app = typer.Typer()

command(app, "add")(add)


@command(app, "list")
def list_all(
    mill: Session,
    dataset: Annotated[
        str | None, typer.Argument(metavar="DATASET[@REF]", help="Dataset, or one of its commits.")
    ] = None,
    on: On = None,
) -> None:
    """List cached commits: where they are, who uses them, when they expire.

    Example: mill cache list x-ray
    """
    mill.out.items(
        list_found(mill, dataset, on),
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
        empty="No cached commits. Cache one: mill cache add DATASET",
    )


@command(app, "clear")
def clear(
    mill: Session,
    dataset: Written,
    on: On = None,
    every: Annotated[bool, typer.Option("--all", help="Clear all cached commits of the dataset.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
    wait: Annotated[bool, typer.Option(help="Wait until it is removed, up to 30 seconds.")] = True,
) -> None:
    """Evict a cached commit from its volume now. It stays in the lake. Data of running jobs is never evicted.

    Example: mill cache clear x-ray@v1 --on nfs
    """
    if every and DatasetRef.parse(dataset).ref is not None:
        raise Invalid(f"{dataset} names one commit, but --all means every commit.", hint="Use one or the other.")
    found = find_cached(mill, dataset, on, every=every)
    names = ", ".join(f"{name_of(c)} on {c.volume}" for c in found)
    mill.confirm(f"Clear {names}?", yes=yes)
    leaving, refused = _each(found, lambda cached: clear_cached(mill.api, cached.id))
    for cached in leaving:
        left = wait_cleared(mill.api, cached.id) if wait else cached
        if left is None:
            mill.out.note(f"{name_of(cached)} cleared from volume {cached.volume}.")
        elif wait and left.problem:
            mill.out.warn(
                f"{name_of(cached)} will be removed from volume {cached.volume} as soon as possible. {left.problem}"
            )
        else:
            mill.out.note(f"Removing {name_of(cached)} from volume {cached.volume}; follow it: mill cache list")
    _raise_all(mill, refused)


@command(app, "pin")
def pin(mill: Session, dataset: Written, on: On = None) -> None:
    """Pin a cached commit: it is never evicted until you unpin it.

    Example: mill cache pin x-ray@v1 --on nfs
    """
    _pin(mill, dataset, on, pinned=True)


@command(app, "unpin")
def unpin(mill: Session, dataset: Written, on: On = None) -> None:
    """Unpin a cached commit, so that it can be evicted when idle.

    Example: mill cache unpin x-ray@v1 --on nfs
    """
    _pin(mill, dataset, on, pinned=False)


@command(app, "set")
def change(
    mill: Session,
    dataset: Written,
    idle: Annotated[
        str, typer.Option("--idle", metavar="TIME", help="Evict it after this long without use, like 8h; or `default`.")
    ],
    on: On = None,
) -> None:
    """Set the idle time of a cached commit. `--idle default` returns to that of its dataset or volume.

    Example: mill cache set x-ray@v1 --idle 3d
    """
    seconds = idle_of(idle)
    changed = [change_cached(mill.api, c.id, CacheChange(idle_seconds=seconds)) for c in find_cached(mill, dataset, on)]
    for cached in changed:
        mill.out.note(
            f"{name_of(cached)} on {cached.volume} will be evicted after "
            f"{format_seconds(cached.idle_seconds)} without use."
        )
    if mill.out.as_json:
        mill.out.items(changed, [], empty="")


@command(app, "verify")
def verify(
    mill: Session,
    dataset: Written,
    on: On = None,
    wait: Annotated[bool, typer.Option(help="Wait for the result.")] = True,
) -> None:
    """Check every file of a cached commit against its digest, and fetch damaged files again.

    Example: mill cache verify x-ray@main --wait
    """
    asked = [verify_cached(mill.api, c.id) for c in find_cached(mill, dataset, on) if c.state is CachedState.READY]
    if not asked:
        raise NotReady(f"{dataset} is not fully cached on any volume.", hint="See: mill cache list")
    done = [_verified(mill, cached) for cached in asked] if wait else asked
    if mill.out.as_json:
        mill.out.items(done, [], empty="")
    for cached in done:
        _check_verified(mill, cached)


@command(app, "evictions")
def evictions(
    mill: Session,
    on: On = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number of evictions.", min=1)] = 50,
) -> None:
    """List evictions and their reasons, newest first.

    Example: mill cache evictions --limit 20
    """
    mill.out.items(
        list_evictions(mill.api, limit, volume=on),
        [
            ("WHEN", lambda e: e.at),
            ("VOLUME", lambda e: e.volume),
            ("DATASET", lambda e: e.dataset),
            ("COMMIT", lambda e: CommitId(e.commit_id)),
            ("SIZE", lambda e: Bytes(e.bytes)),
            ("CAUSE", lambda e: e.cause),
            ("BY", lambda e: e.by),
            ("WHY", lambda e: e.reason),
        ],
        empty="No evictions yet.",
    )


def _verified(mill: Session, cached: CachedCommit) -> CachedCommit:
    """Wait until its verification has ended or it is no longer cached."""
    with Meter(mill.out, f"Verifying {name_of(cached)} on {cached.volume}") as meter:
        told = None
        while cached.verification is not None and cached.verification.ended_at is None:
            seen = cached.verification
            if cached.problem and cached.problem != told:
                mill.out.warn(f"{name_of(cached)} on {cached.volume} waits: {cached.problem}")
            told = cached.problem or told
            meter.update(
                done=seen.checked_bytes,
                total=cached.bytes,
                files=seen.checked_files,
                total_files=cached.files,
                waits=f"waits: {cached.problem}" if cached.problem else None,
            )
            cached = wait_cached(mill.api, cached.id)
            if cached.state is not CachedState.READY:
                break
    return cached


def _check_verified(mill: Session, cached: CachedCommit) -> None:
    """Say what was found. Corrupt if something is still wrong, VolumeProblem if nobody could look."""
    where, seen = f"{name_of(cached)} on {cached.volume}", cached.verification
    if seen is None or seen.ended_at is None:
        mill.out.note(f"{where} is being verified; follow it: mill cache why {cached.dataset}@{cached.commit_id[:8]}")
    elif seen.state == "failed":
        raise VolumeProblem(f"Cannot verify {where}: {seen.problem}", volume=cached.volume)
    elif seen.damaged_files > seen.healed_files:
        wrong = ", ".join(seen.examples[:5])
        raise Corrupt(
            f"{where}: {format_count(seen.damaged_files, 'damaged file')}, {seen.healed_files:,} repaired: {wrong}"
        )
    elif seen.damaged_files:
        mill.out.note(f"{where}: {format_count(seen.damaged_files, 'damaged file')} repaired.")
    else:
        mill.out.note(f"{where} is intact: {format_tree(seen.checked_files, seen.checked_bytes)} checked.")


def _pin(mill: Session, written: str, on: str | None, *, pinned: bool) -> None:
    changed: list[CachedCommit] = []
    _, refused = _each(
        find_cached(mill, written, on),
        lambda cached: changed.append(pin_cached(mill.api, cached.id, pinned=pinned)),
    )
    for cached in changed:
        mill.out.note(f"{name_of(cached)} on {cached.volume} is {'pinned' if pinned else 'no longer pinned'}.")
    if mill.out.as_json and changed:
        mill.out.items(changed, [], empty="")
    _raise_all(mill, refused)


def _each(
    found: Sequence[CachedCommit], change: Callable[[CachedCommit], None]
) -> tuple[list[CachedCommit], list[InUse]]:
    """Those that could be changed; and why the others could not, which holds up none of the rest."""
    changed: list[CachedCommit] = []
    refused: list[InUse] = []
    for cached in found:
        try:
            change(cached)
        except InUse as error:
            refused.append(error)
        else:
            changed.append(cached)
    return changed, refused


def _raise_all(mill: Session, refused: Sequence[InUse]) -> None:
    for error in refused[:-1]:
        mill.out.warn(error.message)
    if refused:
        raise refused[-1]


def _state(cached: CachedCommit) -> str:
    if cached.state is CachedState.FILLING and cached.bytes and not cached.waiting:
        left = f", {format_seconds(cached.seconds_left)} left" if cached.seconds_left is not None else ""
        problem = f": {cached.problem}" if cached.problem else ""
        return f"filling {100 * cached.done_bytes // cached.bytes} %{left}{problem}"
    if cached.state is CachedState.FAILED:
        return f"failed: {cached.problem}"
    if cached.waiting:
        return "waiting for space"
    marks = ["pinned"] if cached.pinned else []
    marks += [f"newest of {branch}" for branch in cached.kept_by]
    marks += ["evicted when no longer used"] if cached.leaving else []
    problem = f": {cached.problem}" if cached.problem else ""
    return ", ".join([cached.state.value, *marks]) + problem


def _holders(cached: CachedCommit) -> list[str]:
    return [holder.job or holder.user or "somebody" for holder in cached.leased_by]


add_keeping_commands(app)
add_reason_commands(app)
add_summary_command(app)
