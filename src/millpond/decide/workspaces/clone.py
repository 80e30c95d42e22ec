"""Chooses how the tree of a workspace is made from its source, and says about how long that takes.

The quickest way that the volume allows wins; every way that was not taken says why. Hard links are never one: whoever
writes to a file would write to the original.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from millpond.decide.bandwidth import expected_seconds
from millpond.model.quantity import format_count, format_seconds, format_tree
from millpond.model.workspace import Begins, How

# A layer costs every first write a copy of the file, and binds all jobs to one machine: below so many files it saves
# too little for that.
OVERLAY_FILES = 5_000

# What was seen on XFS and ext4 on a disk of two cores: how long one file takes, and how fast bytes are copied.
_FILE_SECONDS = 0.00015
_COPY_BYTES_PER_SECOND = 400e6
_MOUNT_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class CloneSource:
    """`is_near`: its files lie on the volume, as a cached commit, a near snapshot or the tree itself."""

    kind: Begins
    files: int = 0
    bytes: int = 0
    is_near: bool = False
    # It was made as a subvolume, of which btrfs makes snapshots.
    is_subvolume: bool = False
    # It is itself a layer over other files, which are shared as they are.
    is_layer: bool = False
    # It is a claim of the class, or a snapshot that the cluster has of one.
    is_claim: bool = False


@dataclass(frozen=True, slots=True)
class CloneTarget:
    """What the volume can do, as its agent tried out."""

    reflink: bool = False
    subvolumes: bool = False
    overlay: bool = False
    # Why its agent cannot make layers.
    overlay_problem: str = ""
    # Jobs of more than one machine have the volume: a layer is there on one alone.
    machines: int = 1
    # The workspace is to be a claim of this class of a cluster; why the class makes no clones, if it does not.
    storage_class: str = ""
    clone_problem: str = ""
    # None where nobody has measured the way from the lake.
    lake_bytes_per_second: float | None = None


@dataclass(frozen=True, slots=True)
class CloneDecision:
    """The way that was chosen. `seconds` is None where nothing is known; `reasons` begin with the way itself."""

    how: How
    seconds: float | None
    reasons: tuple[str, ...]


def choose_how(source: CloneSource, target: CloneTarget) -> CloneDecision:
    """The first way that is possible here, with a reason for it and for each one before it that is not."""
    if source.kind is Begins.EMPTY:
        made = f"made empty, as a claim of {target.storage_class}" if target.storage_class else "made empty"
        return CloneDecision(How.EMPTY, 0.0, (made,))
    refused: list[str] = []
    for how, why_not in _ways(source, target):
        if why_not is None:
            seconds = _seconds(how, source, target)
            return CloneDecision(how, seconds, (_chosen(how, source, target), *refused))
        refused.append(f"not by {_NAMES[how]}: {why_not}")
    raise AssertionError("a copy is always possible")


def _ways(source: CloneSource, target: CloneTarget) -> Iterator[tuple[How, str | None]]:
    """Every way, the best first, with what stands against it."""
    if target.storage_class:
        if source.kind is not Begins.COMMIT:
            yield How.CSI, _against_csi(source, target)
        yield How.FILL, _against_fill(source, target)
        yield How.COPY, None
        return
    yield How.SUBVOLUME, _against_subvolume(source, target)
    yield How.OVERLAY, _against_overlay(source, target)
    yield How.REFLINK, _against_reflink(source, target)
    yield How.FILL, _against_fill(source, target)
    yield How.COPY, None


def _against_csi(source: CloneSource, target: CloneTarget) -> str | None:
    if not source.is_claim:
        return "it is no claim of the same class"
    return target.clone_problem or None


def _against_subvolume(source: CloneSource, target: CloneTarget) -> str | None:
    if not target.subvolumes:
        return "the file system has no snapshots of directories"
    if not source.is_near:
        return "its files are not on the volume"
    return None if source.is_subvolume else "a cached commit is not a subvolume"


def _against_overlay(source: CloneSource, target: CloneTarget) -> str | None:
    if not source.is_near:
        return "its files are not on the volume"
    if source.kind is Begins.WORKSPACE and not source.is_layer:
        return "the workspace below it may change; a snapshot of it would not"
    if not target.overlay:
        return target.overlay_problem or "its agent cannot make layers"
    if target.machines > 1:
        return f"jobs of {target.machines} machines use the volume, and a layer is there on one alone"
    if source.files < OVERLAY_FILES and target.reflink and not source.is_layer:
        return f"{format_count(source.files, 'file')} are soon cloned one by one"
    return None


def _against_reflink(source: CloneSource, target: CloneTarget) -> str | None:
    if not source.is_near:
        return "its files are not on the volume"
    if source.is_layer:
        return "it is a layer over other files, which cannot share their blocks with one tree"
    return None if target.reflink else "the file system cannot share blocks between files"


def _against_fill(source: CloneSource, target: CloneTarget) -> str | None:
    """What is near is copied, unless the lake is known to be quicker."""
    if not source.is_near:
        return None
    if source.kind is not Begins.COMMIT:
        return "its files are on the volume"
    filled, copied = _seconds(How.FILL, source, target), _seconds(How.COPY, source, target) or 0.0
    if filled is None:
        return "its files are on the volume, and nobody knows how fast the lake is"
    return None if filled < copied else f"{format_seconds(filled)} rather than {format_seconds(copied)}"


_NAMES = {
    How.SUBVOLUME: "a snapshot of the file system",
    How.CSI: "a clone of the claim",
    How.OVERLAY: "a writable layer",
    How.REFLINK: "sharing blocks",
    How.FILL: "filling from the lake",
    How.COPY: "copying",
}


def _chosen(how: How, source: CloneSource, target: CloneTarget) -> str:
    amount = format_tree(source.files, source.bytes)
    match how:
        case How.CSI:
            return f"{_NAMES[how]} by storage class {target.storage_class}"
        case How.SUBVOLUME:
            return f"{_NAMES[how]}, at once"
        case How.OVERLAY if source.is_layer:
            return f"a writable layer over the same files as its source: {amount}"
        case How.OVERLAY:
            return f"a writable layer over {amount}, at once"
        case How.REFLINK:
            return f"shares the blocks of {amount}"
        case How.FILL:
            return f"filled from the lake: {amount}"
        case _:
            return f"copied{' in a pod' if target.storage_class else ''}: {amount}"


def _seconds(how: How, source: CloneSource, target: CloneTarget) -> float | None:
    files = source.files * _FILE_SECONDS
    match how:
        case How.REFLINK:
            return _MOUNT_SECONDS + files
        case How.COPY:
            return _MOUNT_SECONDS + files + source.bytes / _COPY_BYTES_PER_SECOND
        case How.FILL:
            fetched = expected_seconds(source.bytes, target.lake_bytes_per_second)
            return None if fetched is None else files + fetched
        case _:
            return _MOUNT_SECONDS
