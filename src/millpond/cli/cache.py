"""`mill cache`: commits kept as plain files beside the compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from millpond.cli.cache_add import add
from millpond.cli.cache_found import find_cached, idle_of, list_found
from millpond.cli.cache_keeping import add_keeping_commands
from millpond.cli.cache_naming import On, Written, name_of
from millpond.cli.cache_reasons import add_reason_commands
from millpond.cli.command import command
from millpond.cli.output import Bytes, CommitId
from millpond.cli.progress import Meter
from millpond.cli.session import Session
from millpond.cli.usage import add_summary_command
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
from millpond.model.quantity import format_seconds, format_tree
from millpond.wire.cache import CacheChange, CachedCommit

app = typer.Typer()

command(app, "add")(add)


@command(app, "list")
def list_all(
    mill: Session,
    dataset: Annotated[
        str | None, typer.Argument(metavar="DATASET[@REF]", help="Only this dataset, or this commit of it.")
    ] = None,
    on: On = None,
) -> None:
    """List cached commits: where they are, who uses them, when they go."""
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
        empty="Nothing is cached. Cache a commit: mill cache add DATASET",
    )


@command(app, "clear")
def clear(
    mill: Session,
    dataset: Written,
    on: On = None,
    every: Annotated[bool, typer.Option("--all", help="All cached commits of the dataset.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    wait: Annotated[bool, typer.Option(help="Wait until it is gone, for half a minute at most.")] = True,
) -> None:
    """Remove a cached commit from its volume. It stays in the lake; a running job's data is never cleared."""
    if every and DatasetRef.parse(dataset).ref is not None:
        raise Invalid(f"{dataset} names one commit, --all means every one.", hint="Leave one of them away.")
    found = find_cached(mill, dataset, on, every=every)
    names = ", ".join(f"{name_of(c)} on {c.volume}" for c in found)
    mill.confirm(f"Clear {names}?", yes=yes)
    leaving, refused = _each(found, lambda cached: clear_cached(mill.api, cached.id))
    for cached in leaving:
        left = wait_cleared(mill.api, cached.id) if wait else cached
        if left is None:
            mill.out.note(f"{name_of(cached)} is cleared from volume {cached.volume}.")
        elif wait and left.problem:
            mill.out.warn(f"{name_of(cached)} goes from volume {cached.volume} as soon as it can. {left.problem}")
        else:
            mill.out.note(f"{name_of(cached)} is on its way from volume {cached.volume}; see: mill cache list")
    _raise_all(mill, refused)


@command(app, "pin")
def pin(mill: Session, dataset: Written, on: On = None) -> None:
    """Keep a cached commit until it is unpinned, however idle it is."""
    _pin(mill, dataset, on, pinned=True)


@command(app, "unpin")
def unpin(mill: Session, dataset: Written, on: On = None) -> None:
    """Let a cached commit go again when it is idle."""
    _pin(mill, dataset, on, pinned=False)


@command(app, "set")
def change(
    mill: Session,
    dataset: Written,
    idle: Annotated[str, typer.Option("--idle", metavar="TIME", help="How long it stays unused, like 8h; or default.")],
    on: On = None,
) -> None:
    """Give a cached commit an idle time of its own; `--idle default` gives it back to its dataset or volume."""
    seconds = idle_of(idle)
    changed = [change_cached(mill.api, c.id, CacheChange(idle_seconds=seconds)) for c in find_cached(mill, dataset, on)]
    for cached in changed:
        mill.out.note(f"{name_of(cached)} on {cached.volume} goes after {format_seconds(cached.idle_seconds)} unused.")
    if mill.out.as_json:
        mill.out.items(changed, [], empty="")


@command(app, "verify")
def verify(
    mill: Session,
    dataset: Written,
    on: On = None,
    wait: Annotated[bool, typer.Option(help="Wait for the result.")] = True,
) -> None:
    """Hold every cached file against its digest; what is wrong is fetched anew, in every commit that shares it."""
    asked = [verify_cached(mill.api, c.id) for c in find_cached(mill, dataset, on) if c.state is CachedState.READY]
    if not asked:
        raise NotReady(f"{dataset} is not whole on any volume.", hint="See: mill cache list")
    done = [_verified(mill, cached) for cached in asked] if wait else asked
    if mill.out.as_json:
        mill.out.items(done, [], empty="")
    for cached in done:
        _check_verified(mill, cached)


@command(app, "evictions")
def evictions(
    mill: Session,
    on: On = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many at most.", min=1)] = 50,
) -> None:
    """List what was evicted and why, newest first."""
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
        empty="Nothing has been evicted yet.",
    )


def _verified(mill: Session, cached: CachedCommit) -> CachedCommit:
    """Wait until its verification has ended, or it is not there any more."""
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
        mill.out.note(f"{where} is being verified; see: mill cache why {cached.dataset}@{cached.commit_id[:8]}")
    elif seen.state == "failed":
        raise VolumeProblem(f"{where} could not be verified: {seen.problem}", volume=cached.volume)
    elif seen.damaged_files > seen.healed_files:
        wrong = ", ".join(seen.examples[:5])
        raise Corrupt(f"{where}: {seen.damaged_files:,} files are wrong, {seen.healed_files:,} healed: {wrong}")
    elif seen.damaged_files:
        wrong = (
            "1 file was wrong and is" if seen.damaged_files == 1 else f"{seen.damaged_files:,} files were wrong and are"
        )
        mill.out.note(f"{where}: {wrong} healed.")
    else:
        mill.out.note(f"{where} is whole: {format_tree(seen.checked_files, seen.checked_bytes)} read and right.")


def _pin(mill: Session, written: str, on: str | None, *, pinned: bool) -> None:
    changed: list[CachedCommit] = []
    _, refused = _each(
        find_cached(mill, written, on),
        lambda cached: changed.append(pin_cached(mill.api, cached.id, pinned=pinned)),
    )
    for cached in changed:
        mill.out.note(f"{name_of(cached)} on {cached.volume} is {'pinned' if pinned else 'not pinned any more'}.")
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
        problem = f": {cached.problem}" if cached.problem else ""
        return f"filling {100 * cached.done_bytes // cached.bytes} %{problem}"
    if cached.state is CachedState.FAILED:
        return f"failed: {cached.problem}"
    if cached.waiting:
        return "waiting for room"
    marks = ["pinned"] if cached.pinned else []
    marks += [f"newest of {branch}" for branch in cached.kept_by]
    marks += ["goes when nobody uses it any more"] if cached.leaving else []
    problem = f": {cached.problem}" if cached.problem else ""
    return ", ".join([cached.state.value, *marks]) + problem


def _holders(cached: CachedCommit) -> list[str]:
    return [holder.job or holder.user or "somebody" for holder in cached.leased_by]


add_keeping_commands(app)
add_reason_commands(app)
add_summary_command(app)
