"""Where a new workspace goes, how it is made and how long that takes: asked for itself, or before it is created."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import computes, sites, volumes
from millpond.db.leases import Sees
from millpond.decide.admission import Admit, Refuse, usable_room
from millpond.decide.stock import used_room
from millpond.decide.workspaces.clone import CloneDecision
from millpond.decide.workspaces.place import VolumeOption, choose_place
from millpond.errors import DoesNotFit, Invalid, MillError, VolumeProblem
from millpond.model.compute import Compute
from millpond.model.names import check_name
from millpond.model.people import Project
from millpond.model.quantity import format_bytes, format_tree
from millpond.model.volume import Volume
from millpond.model.workspace import NOTHING, Begins, WorkspaceSource
from millpond.services.caches.admission.admit import check_usable
from millpond.services.caches.admission.stock import space_of, stock_of
from millpond.services.computes import trust
from millpond.services.people import access
from millpond.services.places.geography import Geography
from millpond.services.workspaces import room, sources
from millpond.services.workspaces.storage import class_of, no_such_class

LEAST_BYTES = 1_000_000
MOST_BYTES = 1 << 60


@dataclass(frozen=True, slots=True)
class Wanted:
    """A new workspace. Without a volume the best one is chosen: near a compute or site, of a tier."""

    name: str
    size_bytes: int
    source: WorkspaceSource = NOTHING
    volume: str | None = None
    near: str | None = None
    tier: str | None = None
    # As a claim of this class of a Kubernetes cluster, which pods of several nodes may mount or not.
    storage_class: str = ""
    many_nodes: bool = False
    read_only: bool = False
    shared: bool = False
    git_url: str = ""
    git_ref: str = ""


@dataclass(frozen=True, slots=True)
class Planned:
    """Where it goes and how. `evicts`: how many idle cached commits go for it."""

    volume: Volume
    decision: CloneDecision
    reasons: tuple[str, ...]
    size_bytes: int
    evicts: int = 0


def check_wanted(wanted: Wanted) -> None:
    """Raises what is wrong with it whatever the volumes are like."""
    check_name(wanted.name, "workspace")
    if not LEAST_BYTES <= wanted.size_bytes <= MOST_BYTES:
        raise Invalid(
            f"The size of a workspace must be at least {format_bytes(LEAST_BYTES)}.", hint="Write it like --size 20GB.",
            fields=["size_bytes"],
        )  # fmt: skip
    check_holds(wanted.size_bytes, wanted.source)
    if wanted.many_nodes and not wanted.storage_class:
        raise Invalid(
            "Only claims of a storage class are for one node or many.", hint="Add --class CLASS.", fields=["many_nodes"]
        )
    for text in (wanted.git_url, wanted.git_ref):
        if text.startswith("-") or (text and not text.isprintable()):
            raise Invalid(f"{text[:100]!r} is not a Git repository or ref.", fields=["git"])


def check_holds(size: int, source: WorkspaceSource, *, of: str = "") -> None:
    """Invalid if the source is larger than the workspace may be; `of`: the one that is there already."""
    if source.bytes > size:
        least = f"{-(-source.bytes // 1_000_000)}MB"
        raise Invalid(
            f"{source.written} holds {format_tree(source.files, source.bytes)}, more than the size of "
            f"{format_bytes(size)}.",
            hint=f"Resize it first: mill workspace resize {of} {least}" if of else f"Ask for at least --size {least}.",
            fields=["size_bytes"],
            needed_bytes=source.bytes,
        )


def plan(
    tx: Connection, project: Project, wanted: Wanted, places: Geography, now: datetime, *, sees: Sees
) -> Planned:  # fmt: skip
    """The volume and the way. Changes nothing.

    NotFound for names that there are not, VolumeProblem or DoesNotFit, with a reason for each, if no volume can.
    """
    candidates = _candidates(tx, wanted)
    known = computes.all_computes(tx)
    near = _computes_named(tx, wanted.near, known) if wanted.near else None
    options = {one.id: _option(tx, one, project, wanted, places, known, near, now, sees) for one in candidates}
    chosen = choose_place([option for option, _ in options.values()])
    if not chosen.ranked:
        raise _nowhere(wanted, candidates, [error for _, error in options.values() if error is not None])
    volume = next(one for one in candidates if one.id == chosen.ranked[0].id)
    source = sources.resolve(tx, wanted.source, volume.id, wanted.storage_class) or wanted.source
    machines = len(serving(places, known, volume))
    decision = sources.decide_how(tx, source, volume, places, machines, wanted.storage_class)
    reasons = (*decision.reasons, *chosen.reasons) if wanted.volume is None else decision.reasons
    return Planned(volume, decision, reasons, wanted.size_bytes, chosen.ranked[0].evicts)


def serving(places: Geography, known: Sequence[Compute], volume: Volume) -> Sequence[Compute]:
    """Computes whose jobs see the volume."""
    return [one for one in known if places.serves(one, volume).serves]


def _candidates(tx: Connection, wanted: Wanted) -> Sequence[Volume]:
    """Volumes that it may go to; for a claim, those whose agents make claims of its class."""
    found = _named_or_of_tier(tx, wanted)
    if not wanted.storage_class:
        return found
    offering = [one for one in found if class_of(one, wanted.storage_class) is not None]
    if not offering:
        raise no_such_class(wanted.storage_class, found)
    return offering


def _named_or_of_tier(tx: Connection, wanted: Wanted) -> Sequence[Volume]:
    found = volumes.all_of(tx)
    if wanted.volume is not None:
        named = volumes.find(tx, wanted.volume)
        if named is None:
            raise access.not_found("volume", wanted.volume, volumes.names(tx))
        return [named]
    if not found:
        raise VolumeProblem("No volume can be used.", hint="Add one: mill volume add NAME PATH")
    if wanted.tier is None:
        return found
    of_tier = [one for one in found if one.tier == wanted.tier]
    if not of_tier:
        raise access.not_found("volume or tier", wanted.tier, {one.tier for one in found} | set(volumes.names(tx)))
    return of_tier


def _computes_named(tx: Connection, name: str, known: Sequence[Compute]) -> Sequence[Compute]:
    site = sites.find(tx, name)
    found = [one for one in known if one.name == name or (site is not None and one.site_id == site.id)]
    if not found:
        raise access.not_found("compute or site", name, [*(one.name for one in known), *sites.names(tx)])
    return found


def _option(
    tx: Connection, volume: Volume, project: Project, wanted: Wanted, places: Geography, known: Sequence[Compute],
    near: Sequence[Compute] | None, now: datetime, sees: Sees,
) -> tuple[VolumeOption, MillError | None]:  # fmt: skip
    def option(answer: Admit | Refuse | None, refusal: MillError | None) -> tuple[VolumeOption, MillError | None]:
        stock = stock_of(tx, volume.id, now)
        free = usable_room(space_of(volume), stock).bytes - used_room(stock).bytes
        return VolumeOption(
            id=volume.id,
            name=volume.name,
            free_bytes=max(0, free),
            refusal=refusal.message if refusal else None,
            has_source=wanted.source.kind is not Begins.EMPTY
            and sources.is_near(tx, wanted.source, volume, wanted.storage_class),
            evicts=len(answer.evict) if isinstance(answer, Admit) else 0,
            computes=len(serving(places, known, volume)),
        ), refusal

    try:
        check_usable(volume)
        trust.check_volume(tx, volume, project.id, project.name)
        if near is not None and not serving(places, near, volume):
            raise VolumeProblem(f"{wanted.near} does not see it", hint="See: mill topology", volume=volume.name)
    except MillError as error:
        return option(None, error)
    if wanted.storage_class:
        return option(None, None)  # the class has room of its own
    written = f"workspace {project.name}/{wanted.name}"
    answer = room.would_fit(tx, volume, written, wanted.size_bytes, project.id, now, sees=sees)
    refused = room.does_not_fit(volume, wanted.size_bytes, answer) if isinstance(answer, Refuse) else None
    return option(answer, refused)


def _nowhere(wanted: Wanted, candidates: Sequence[Volume], errors: Sequence[MillError]) -> MillError:
    if len(errors) == 1:
        return errors[0]
    words = " ".join(f"{one.name}: {error.message}" for one, error in zip(candidates, errors, strict=True))
    kind = DoesNotFit if any(isinstance(one, DoesNotFit) for one in errors) else VolumeProblem
    blockers = [text for one in errors for text in one.details.get("blockers", [])]
    return kind(
        f"No volume can take workspace {wanted.name!r}. {words}",
        hint="Ask for a smaller --size, or make room: mill cache list, mill workspace list --space",
        blockers=blockers, needed_bytes=wanted.size_bytes,
    )  # fmt: skip
