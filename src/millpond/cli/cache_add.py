"""`mill cache add`: a commit beside the compute."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.cache_arguments import Written, name_of
from millpond.cli.command import command
from millpond.cli.progress import Meter, TransferSpeed
from millpond.cli.session import Session
from millpond.cli.values import Bytes, Seconds
from millpond.client.caching import ask_cached, look_again
from millpond.errors import VolumeProblem
from millpond.model.cached_state import CachedState
from millpond.model.names import DatasetRef
from millpond.model.quantity import format_seconds, format_tree
from millpond.wire.quick.cache import CacheAdd, CacheAdded, CachedCommit

app = typer.Typer()


@command(app, "add")
def add(
    mill: Session,
    dataset: Written,
    on: Annotated[str | None, typer.Option("--on", metavar="VOLUME", help="Volume (default: the best one).")] = None,
    near: Annotated[
        str | None, typer.Option(metavar="COMPUTE", help="Choose a volume that serves this compute or site.")
    ] = None,
    wait: Annotated[bool, typer.Option(help="Wait until it is cached.")] = True,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what each volume would do, without caching.")
    ] = False,
) -> None:
    """Cache a commit on a volume. It is fetched once, no matter how many people ask.

    Example: mill cache add x-ray@v1 --near gpu-cluster
    """
    ref = DatasetRef.parse(dataset)
    if dry_run:
        # What shows offers takes as long to load as all else that adding needs.
        from millpond.cli.cache_reasons import show_offers  # noqa: PLC0415

        show_offers(mill, dataset, project=ref.project or mill.project, volume=on, near=near)
        return
    asked = CacheAdd(dataset=dataset, project=ref.project or mill.project, volume=on, near=near)
    added = ask_cached(mill.api, asked, CacheAdded)
    for reason in added.reasons:
        mill.out.note(reason)
    cached = added.cached
    if cached.state is not CachedState.READY and wait:
        cached = _wait(mill, cached)
    elif cached.state is not CachedState.READY:
        mill.out.note(f"Caching {name_of(cached)} on volume {cached.volume}; follow it: mill cache list")
    _show(mill, cached)


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
            ("idle time", Seconds(cached.idle_seconds)),
            ("to fetch", Bytes(cached.fetch_bytes) if cached.base and cached.fetch_bytes is not None else None),
            ("linked from", cached.base),
        ],
    )


def _is_filling(cached: CachedCommit) -> bool:
    return cached.state is CachedState.FILLING


def _wait(mill: Session, cached: CachedCommit) -> CachedCommit:
    with Meter(mill.out, f"Caching {name_of(cached)} on {cached.volume}") as meter:
        told = None
        while _is_filling(cached):
            if cached.problem and cached.problem != told:
                mill.out.warn(f"{name_of(cached)} is delayed on {cached.volume}: {cached.problem}")
            told = cached.problem or told
            meter.update(
                done=cached.done_bytes,
                total=cached.bytes,
                files=cached.done_files,
                total_files=cached.files,
                waits=_waits(cached),
                told=TransferSpeed(cached.bytes_per_second, cached.seconds_left),
            )
            cached = look_again(mill.api, cached.id, CachedCommit, _is_filling)
    if cached.state is not CachedState.READY:
        raise VolumeProblem(
            f"Cannot cache {name_of(cached)} on {cached.volume}: {cached.problem or cached.reason}",
            hint=f"See: mill volume show {cached.volume}",
        )
    size = format_tree(cached.files, cached.bytes)
    mill.out.note(f"{name_of(cached)} is on volume {cached.volume}: {size} in {format_seconds(meter.seconds)}.")
    return cached


def _waits(cached: CachedCommit) -> str | None:
    if cached.problem:
        return f"waiting: {cached.problem}"
    return "waiting for space" if cached.waiting else None
