"""`mill volume usage` and `mill cache summary`: how full, how used, and what the cache has saved."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.cli.values import Bytes, Seconds
from millpond.client.topology import get_caches_summary, get_volume_usage
from millpond.model.quantity import format_bytes, format_count, format_rate, format_seconds, parse_seconds
from millpond.wire.topology import CacheUses, RunningFill


def add_usage_command(app: typer.Typer) -> None:
    command(app, "usage")(usage)


def add_summary_command(app: typer.Typer) -> None:
    command(app, "summary")(summary)


def usage(
    mill: Session,
    name: Annotated[str, typer.Argument(help="Name of the volume.")],
    last: Annotated[str, typer.Option(metavar="TIME", help="Period, like 6h or 30d.")] = "1d",
) -> None:
    """Show fill level and use of a volume over time: by the minute for a day, by the hour for 90 days.

    Example: mill volume usage nfs --last 30d
    """
    since = datetime.now(UTC) - timedelta(seconds=parse_seconds(last))
    found = get_volume_usage(mill.api, name, since=since)
    if mill.out.as_json:
        mill.out.json(found.model_dump(mode="json"))
        return
    mill.out.items(
        found.samples,
        [
            ("WHEN", lambda s: s.at),
            ("USED", lambda s: Bytes(s.used_bytes)),
            ("RESERVED", lambda s: Bytes(s.reserved_bytes)),
            ("FREE", lambda s: Bytes(s.free_bytes)),
            ("FOREIGN", lambda s: Bytes(s.foreign_bytes)),
        ],
        empty=f"No samples of {name} in this period.",
    )
    mill.out.note(f"In this period: {uses_text(found.total)}.")


def summary(mill: Session) -> None:
    """Show a summary of all caches: size, savings, running fills.

    Example: mill cache summary
    """
    found = get_caches_summary(mill.api)
    mill.out.shape(
        found,
        [
            ("volumes", f"{found.volumes_connected} of {found.volumes} connected"),
            ("capacity", Bytes(found.capacity_bytes)),
            ("used", Bytes(found.used_bytes)),
            ("reserved by fills", Bytes(found.reserved_bytes)),
            ("free", Bytes(found.free_bytes)),
            ("foreign", Bytes(found.foreign_bytes)),
            ("cached commits", found.cached_commits),
            ("cached", Bytes(found.cached_bytes)),
            ("saved", Bytes(found.total.saved_bytes)),
            ("time saved", Seconds(found.total.saved_seconds)),
            ("last 24 hours", uses_text(found.today)),
            ("since the start", uses_text(found.total)),
            *(("being cached", _fill(fill)) for fill in found.fills),
        ],
    )


def uses_text(uses: CacheUses) -> str:
    """`12 hits, 3 misses (80 %), 3.2 GB and 14 s saved`."""
    if uses.hit_rate is None:
        return "no requests"
    saved = f"{format_bytes(uses.saved_bytes)} and {format_seconds(uses.saved_seconds)} saved"
    hits, misses = format_count(uses.hits, "hit"), format_count(uses.misses, "miss", "misses")
    return f"{hits}, {misses} ({100 * uses.hit_rate:.0f} %), {saved}"


def _fill(fill: RunningFill) -> str:
    name = f"{fill.project}/{fill.dataset}@{fill.commit_id[:8]} to {fill.volume}"
    done = f"{format_bytes(fill.done_bytes)} of {format_bytes(fill.bytes)}"
    rate = [f"{format_rate(fill.bytes_per_second)} from {fill.source}"] if fill.bytes_per_second else []
    left = [f"{format_seconds(fill.seconds_left)} left"] if fill.seconds_left is not None else []
    return ", ".join([name, "waiting for space" if fill.waiting else done, *rate, *left])
