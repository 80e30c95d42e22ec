"""`mill volume`: directories that hold cached commits."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from millpond.cli.command import command
from millpond.cli.compute_trust import trust_words
from millpond.cli.session import Session
from millpond.cli.usage import add_usage_command
from millpond.cli.values import Bytes, Seconds
from millpond.client.caches import change_volume, create_volume, delete_volume, get_volume, limit_volume, list_volumes
from millpond.errors import BadRequest, InUse, VolumeProblem
from millpond.model.quantity import LONGEST_IDLE, format_bytes, format_count, format_rate, parse_bytes, parse_seconds
from millpond.wire.cache import Volume, VolumeChange, VolumeCreate, VolumeLimit

app = typer.Typer()
add_usage_command(app)

# How long a forced removal, and a new volume, waits for the agent; and how often it is asked.
CLEAR_SECONDS = 60.0
LOOK_SECONDS = 15.0
POLL_SECONDS = 0.3
_MECHANISMS = {"blkio": "blkio, for jobs here", "io.max": "io.max, for jobs here", "plugin": "plug-in"}

Name = Annotated[str, typer.Argument(help="Name of the volume.")]
Capacity = Annotated[str | None, typer.Option(metavar="SIZE", help="Maximum size, like 2TB.")]
Reserve = Annotated[str | None, typer.Option(metavar="SIZE", help="Space to leave free, like 50GB.")]
Idle = Annotated[
    str | None, typer.Option(metavar="TIME", help="Evict a commit after this long without use, like 8h or 1d.")
]
High = Annotated[int | None, typer.Option(metavar="PERCENT", help="Evict early when fuller than this.", min=1, max=100)]
Low = Annotated[int | None, typer.Option(metavar="PERCENT", help="Evict down to this.", min=0, max=100)]
Tier = Annotated[str | None, typer.Option(metavar="NAME", help="Service tier, like premium.")]
Throughput = Annotated[
    float | None,
    typer.Option("--tier-throughput", metavar="N", help="Relative speed; the standard tier has 1.", min=0.001),
]
Price = Annotated[
    float | None, typer.Option("--tier-price", metavar="N", help="Relative price; the standard tier has 1.", min=0)
]


By = Annotated[
    str | None,
    typer.Option(
        "--tier-by", metavar="PLUGIN", help="Plug-in that sets the tier, like command:ontap; `agents` for none."
    ),
]


@command(app, "add")
def add(
    mill: Session,
    name: Name,
    path: Annotated[str, typer.Argument(help="Directory, as seen by the machines of its site.")],
    site: Annotated[str, typer.Option(help="Site of the volume.")] = "local",
    capacity: Capacity = None,
    reserve: Reserve = None,
    idle: Idle = None,
    high: High = None,
    low: Low = None,
    tier: Tier = None,
    throughput: Throughput = None,
    price: Price = None,
    by: By = None,
    check: Annotated[
        bool, typer.Option(help="Wait until an agent has checked it; refuse it if it cannot be used.")
    ] = True,
) -> None:
    """Add a directory for cached commits, normally an NFS mount. It must exist.

    Example: mill volume add nfs /mnt/cache --capacity 10TB
    """
    limits = _limits(capacity, reserve, idle, high, low) | _tier(tier, throughput, price, by)
    volume = create_volume(mill.api, VolumeCreate(name=name, path=path, site=site, **limits))
    if check:
        volume = _looked_at(mill, volume)
    if volume.seen_at is None:
        mill.out.note(f"Volume {volume.name} added. The agent of site {volume.site} has not checked it yet.")
    else:
        mill.out.note(f"Volume {volume.name} added.")
    _show(mill, volume)


@command(app, "list")
def list_all(mill: Session) -> None:
    """List volumes with their contents and free space.

    Example: mill volume list
    """
    mill.out.items(
        list_volumes(mill.api),
        [
            ("VOLUME", lambda v: v.name),
            ("SITE", lambda v: v.site),
            ("CONNECTED", lambda v: v.connected),
            ("COMMITS", lambda v: v.cached_commits),
            ("USED", lambda v: Bytes(v.used_bytes)),
            ("FREE", lambda v: Bytes(v.free_bytes)),
            ("CAPACITY", lambda v: Bytes(v.capacity_bytes)),
            ("IDLE", lambda v: Seconds(v.idle_seconds)),
            ("PATH", lambda v: v.path),
            ("PROBLEM", lambda v: v.problem),
        ],
        empty="No volumes yet. Add one: mill volume add NAME DIRECTORY",
    )


@command(app, "show")
def show(mill: Session, name: Name) -> None:
    """Show a volume.

    Example: mill volume show nfs
    """
    _show(mill, get_volume(mill.api, name))


@command(app, "set")
def change(
    mill: Session,
    name: Name,
    capacity: Capacity = None,
    reserve: Reserve = None,
    idle: Idle = None,
    high: High = None,
    low: Low = None,
    tier: Tier = None,
    throughput: Throughput = None,
    price: Price = None,
    by: By = None,
) -> None:
    """Change the limits or the tier of a volume. No data is moved; jobs that read it see the new rate within seconds.

    Example: mill volume set nfs --tier premium
    """
    tiered = _tier(tier, throughput, price, by)
    limits = _limits(capacity, reserve, idle, high, low) | tiered
    if not limits:
        raise BadRequest("Nothing to change.", hint="See: mill volume set --help")
    volume = change_volume(mill.api, name, VolumeChange(**limits))
    _show(mill, _enforced(mill, volume) if tiered and volume.connected else volume)


@command(app, "limit")
def limit(
    mill: Session,
    name: Name,
    of: Annotated[str, typer.Argument(metavar="PROJECT", help="Project.")],
    size: Annotated[str, typer.Argument(metavar="SIZE", help="Maximum size, like 500GB; or `none`.")],
) -> None:
    """Limit the space of a project on a volume. Anything above the limit is evicted, least recently used first.

    Example: mill volume limit nfs vision 500GB
    """
    changed = limit_volume(mill.api, name, of, None if size == "none" else parse_bytes(size))
    found = next((one for one in changed.limits if one.project == of), None)
    words = f"may use {format_bytes(found.bytes)}" if found else "may use all free space"
    mill.out.note(f"Project {of} {words} on volume {name}.")
    if mill.out.as_json:
        mill.out.shape(changed, [])


@command(app, "rm")
def remove(
    mill: Session,
    name: Name,
    force: Annotated[bool, typer.Option("--force", help="Clear its cached commits first.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
) -> None:
    """Remove a volume. Refused while it has cached commits, unless --force clears them first.

    Example: mill volume rm nfs
    """
    volume = get_volume(mill.api, name)
    if volume.cached_commits and force:
        mill.confirm(f"Clear {format_count(volume.cached_commits, 'cached commit')} on {name} and remove it?", yes=yes)
    else:
        mill.confirm(f"Remove the volume {name}?", yes=yes)
    _remove(mill, name, force=force)
    mill.out.note(f"Volume {name} removed.")


def _looked_at(mill: Session, volume: Volume) -> Volume:
    """The new volume after its agent has checked it, or unchecked if there is no agent.

    Remove it again and raise VolumeProblem if it cannot be used.
    """
    deadline = time.monotonic() + LOOK_SECONDS
    while volume.seen_at is None and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        volume = get_volume(mill.api, volume.name)
    if volume.problem is None:
        return volume
    delete_volume(mill.api, volume.name)
    raise VolumeProblem(
        f"Volume {volume.name} was not added. {volume.problem}",
        hint="Fix that and add it again, or add it unchecked with --no-check.",
        volume=volume.name,
    )


def _remove(mill: Session, name: str, *, force: bool) -> None:
    """A forced removal waits while the agent clears what is there; what is in use ends it at once."""
    deadline = time.monotonic() + CLEAR_SECONDS
    while True:
        try:
            return delete_volume(mill.api, name, force=force)
        except InUse as error:
            if not (force and error.details.get("clearing")) or time.monotonic() > deadline:
                raise
        time.sleep(POLL_SECONDS)


def _limits(
    capacity: str | None, reserve: str | None, idle: str | None, high: int | None, low: int | None
) -> dict[str, Any]:
    given = {
        "capacity_bytes": None if capacity is None else parse_bytes(capacity),
        "reserve_bytes": None if reserve is None else parse_bytes(reserve),
        "idle_seconds": None if idle is None else parse_seconds(idle, least=1, most=LONGEST_IDLE),
        "high_percent": high,
        "low_percent": low,
    }
    return {key: value for key, value in given.items() if value is not None}


def _limit(limit: VolumeLimit) -> str:
    return f"{format_bytes(limit.used_bytes)}/{format_bytes(limit.bytes)}"


def _enforced(mill: Session, volume: Volume) -> Volume:
    """The volume once its new tier is in force, or as it is after a while."""
    deadline = time.monotonic() + LOOK_SECONDS
    while not _is_settled(volume) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        volume = get_volume(mill.api, volume.name)
    return volume


def _is_settled(volume: Volume) -> bool:
    kept = volume.tier_enforced
    return kept is not None and (kept.by == "none" or kept.bytes_per_second == volume.tier_rate)


def _enforcement(volume: Volume) -> str:
    """`400.0 MB/s, enforced by blkio`."""
    rate = "unlimited" if volume.tier_rate is None else format_rate(volume.tier_rate)
    kept = volume.tier_enforced
    if kept is None:
        return f"{rate}, not enforced yet" if volume.tier_rate else rate
    words = "told only" if kept.by == "none" else f"enforced by {_MECHANISMS.get(kept.by, kept.by)}"
    return f"{rate}, {words}{f'. {kept.problem}' if kept.problem else ''}"


def _tier(tier: str | None, throughput: float | None, price: float | None, by: str | None) -> dict[str, Any]:
    setter = "" if by == "agents" else by
    given = {"tier": tier, "tier_throughput": throughput, "tier_price": price, "tier_by": setter}
    return {key: value for key, value in given.items() if value is not None}


def _show(mill: Session, volume: Volume) -> None:
    mill.out.shape(
        volume,
        [
            ("volume", volume.name),
            ("site", volume.site),
            ("path", volume.path),
            ("connected", volume.connected),
            ("problem", volume.problem),
            ("capacity", Bytes(volume.capacity_bytes)),
            ("reserve", Bytes(volume.reserve_bytes)),
            ("used", Bytes(volume.used_bytes)),
            ("reserved for fills", Bytes(volume.filling_bytes) if volume.filling_bytes else None),
            ("being evicted", Bytes(volume.evicting_bytes) if volume.evicting_bytes else None),
            ("free", Bytes(volume.free_bytes)),
            ("other files", Bytes(volume.foreign_bytes) if volume.foreign_bytes is not None else None),
            ("evicted and still open, request logs", Bytes(volume.leftover_bytes) if volume.leftover_bytes else None),
            ("files and directories", volume.used_inodes),
            ("inodes free", volume.inodes_free),
            ("cached commits", volume.cached_commits),
            ("idle time", Seconds(volume.idle_seconds)),
            ("watermarks", f"{volume.high_percent} % down to {volume.low_percent} %"),
            ("tier", f"{volume.tier} ({volume.tier_throughput:g} × speed, {volume.tier_price:g} × price)"),
            ("tier's rate", _enforcement(volume)),
            ("tier set by", volume.tier_by),
            ("limits", [f"{limit.project} {_limit(limit)}" for limit in volume.limits]),
            ("filled by", volume.filler),
            ("file system", _abilities(volume.features) if volume.features else None),
            ("trust", trust_words(volume.trust)),
            ("seen", volume.seen_at),
        ],
    )


def _abilities(features: Mapping[str, object]) -> list[str]:
    """What the probe found, where it matters: what is not there is done without."""
    words = {
        "link": ("hard links", "no hard links: unchanged files are copied"),
        "reflink": ("copies share blocks", ""),
        "symlink": ("", "no symbolic links"),
        "chmod": ("", "permissions cannot be changed"),
        "times": ("", "times cannot be set"),
        "case_sensitive": ("", "case-insensitive"),
    }
    said = [words[name][0 if features[name] else 1] for name in words if name in features]
    if features.get("squashed"):
        said.append("the agent writes as another user")
    return [text for text in said if text]
