"""`mill volume`: directories that hold cached commits."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from millpond.cli.command import command
from millpond.cli.compute_trust import trust_words
from millpond.cli.output import Bytes, Seconds
from millpond.cli.session import Session
from millpond.cli.usage import add_usage_command
from millpond.client.caches import change_volume, create_volume, delete_volume, get_volume, limit_volume, list_volumes
from millpond.errors import BadRequest, InUse, VolumeProblem
from millpond.model.quantity import LONGEST_IDLE, format_bytes, parse_bytes, parse_seconds
from millpond.wire.cache import Volume, VolumeChange, VolumeCreate, VolumeLimit

app = typer.Typer()
add_usage_command(app)

# How long a forced removal, and a new volume, waits for the agent; and how often it is asked.
CLEAR_SECONDS = 60.0
LOOK_SECONDS = 15.0
POLL_SECONDS = 0.3

Name = Annotated[str, typer.Argument(help="The volume's name.")]
Capacity = Annotated[str | None, typer.Option(metavar="SIZE", help="What it may hold at most, like 2TB.")]
Reserve = Annotated[str | None, typer.Option(metavar="SIZE", help="What stays free on it for others, like 50GB.")]
Idle = Annotated[str | None, typer.Option(metavar="TIME", help="How long an unused commit stays, like 8h or 1d.")]
High = Annotated[int | None, typer.Option(metavar="PERCENT", help="Evict early above this.", min=1, max=100)]
Low = Annotated[int | None, typer.Option(metavar="PERCENT", help="… down to this.", min=0, max=100)]
Tier = Annotated[str | None, typer.Option(metavar="NAME", help="Its class of service, like premium.")]
Throughput = Annotated[
    float | None, typer.Option("--tier-throughput", metavar="N", help="Its speed; the standard tier has 1.", min=0.001)
]
Price = Annotated[float | None, typer.Option("--tier-price", metavar="N", help="Its price; the standard has 1.", min=0)]


@command(app, "add")
def add(
    mill: Session,
    name: Name,
    path: Annotated[str, typer.Argument(help="The directory, as the machines of its site see it.")],
    site: Annotated[str, typer.Option(help="The site it is at.")] = "local",
    capacity: Capacity = None,
    reserve: Reserve = None,
    idle: Idle = None,
    high: High = None,
    low: Low = None,
    tier: Tier = None,
    throughput: Throughput = None,
    price: Price = None,
    check: Annotated[bool, typer.Option(help="Wait for its agent's first look; refuse what cannot be used.")] = True,
) -> None:
    """Add a directory that may hold cached commits, normally an NFS mount. It must exist."""
    limits = _limits(capacity, reserve, idle, high, low) | _tier(tier, throughput, price)
    volume = create_volume(mill.api, VolumeCreate(name=name, path=path, site=site, **limits))
    if check:
        volume = _looked_at(mill, volume)
    if volume.seen_at is None:
        mill.out.note(f"Volume {volume.name} added; the agent of site {volume.site} has not looked at it yet.")
    else:
        mill.out.note(f"Volume {volume.name} added.")
    _show(mill, volume)


@command(app, "list")
def list_all(mill: Session) -> None:
    """List volumes with what they hold and how much room is left."""
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
        empty="There are no volumes yet. Add one: mill volume add NAME DIRECTORY",
    )


@command(app, "show")
def show(mill: Session, name: Name) -> None:
    """Show one volume."""
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
) -> None:
    """Change a volume's limits, or its tier: nothing is moved."""
    limits = _limits(capacity, reserve, idle, high, low) | _tier(tier, throughput, price)
    if not limits:
        raise BadRequest("Nothing to change was given.", hint="See: mill volume set --help")
    _show(mill, change_volume(mill.api, name, VolumeChange(**limits)))


@command(app, "limit")
def limit(
    mill: Session,
    name: Name,
    of: Annotated[str, typer.Argument(metavar="PROJECT", help="The project.")],
    size: Annotated[str, typer.Argument(metavar="SIZE", help="What it may take at most, like 500GB; or none.")],
) -> None:
    """Limit what a project may take of a volume. What it has above that goes, least recently used first."""
    changed = limit_volume(mill.api, name, of, None if size == "none" else parse_bytes(size))
    found = next((one for one in changed.limits if one.project == of), None)
    words = f"may take {format_bytes(found.bytes)}" if found else "may take what is free"
    mill.out.note(f"Project {of} {words} of volume {name}.")
    if mill.out.as_json:
        mill.out.shape(changed, [])


@command(app, "rm")
def remove(
    mill: Session,
    name: Name,
    force: Annotated[bool, typer.Option("--force", help="Clear the commits cached there first.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove a volume. Refused while commits are cached there, unless --force clears them first."""
    volume = get_volume(mill.api, name)
    if volume.cached_commits and force:
        mill.confirm(f"Clear {volume.cached_commits} cached commits on {name} and remove it?", yes=yes)
    else:
        mill.confirm(f"Remove the volume {name}?", yes=yes)
    _remove(mill, name, force=force)
    mill.out.note(f"Volume {name} removed.")


def _looked_at(mill: Session, volume: Volume) -> Volume:
    """The new volume after its agent's first look, or as it is if there is no agent that looks.

    VolumeProblem, and the volume is not there any more, if it cannot be used.
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
        hint="Mend that and add it again. To add it as it is: --no-check.",
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


def _tier(tier: str | None, throughput: float | None, price: float | None) -> dict[str, Any]:
    given = {"tier": tier, "tier_throughput": throughput, "tier_price": price}
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
            ("promised to fills", Bytes(volume.filling_bytes) if volume.filling_bytes else None),
            ("on their way out", Bytes(volume.evicting_bytes) if volume.evicting_bytes else None),
            ("free", Bytes(volume.free_bytes)),
            ("other files", Bytes(volume.foreign_bytes) if volume.foreign_bytes is not None else None),
            ("evicted, still open", Bytes(volume.leftover_bytes) if volume.leftover_bytes else None),
            ("files and directories", volume.used_inodes),
            ("inodes free", volume.inodes_free),
            ("cached commits", volume.cached_commits),
            ("idle time", Seconds(volume.idle_seconds)),
            ("watermarks", f"{volume.high_percent} % down to {volume.low_percent} %"),
            ("tier", f"{volume.tier} ({volume.tier_throughput:g} × speed, {volume.tier_price:g} × price)"),
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
        "case_sensitive": ("", "upper and lower case are the same"),
    }
    said = [words[name][0 if features[name] else 1] for name in words if name in features]
    if features.get("squashed"):
        said.append("the agent writes as another user")
    return [text for text in said if text]
