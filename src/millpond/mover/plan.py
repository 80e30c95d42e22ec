"""What to do with each file: decided from what is here, what is there, and what an earlier move has noted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Action(Enum):
    """`CHECK`: nobody knows whether both are the same. Their digests decide: the same, or a conflict."""

    COPY = "copy"
    SAME = "same"
    CHECK = "check"
    REMOVE = "remove"
    KEEP = "keep"
    CONFLICT = "conflict"


@dataclass(frozen=True)
class Noted:
    """A file as it was after it was moved: the object's ETag, the file's size and time."""

    etag: str
    size: int
    mtime_ns: int


@dataclass(frozen=True)
class Here:
    size: int
    mtime_ns: int


@dataclass(frozen=True)
class There:
    size: int
    etag: str


@dataclass(frozen=True)
class Decision:
    action: Action
    why: str = ""


def to_bring(here: Here | None, there: There | None, noted: Noted | None, *, delete: bool) -> Decision:
    """From the bucket to the directory. Nothing that somebody changed here is ever overwritten or removed."""
    own = noted is not None and here is not None and (here.size, here.mtime_ns) == (noted.size, noted.mtime_ns)
    if there is None:
        if own and delete:
            return Decision(Action.REMOVE)
        return Decision(Action.KEEP)
    if here is None:
        return Decision(Action.COPY)
    if noted is None:
        return Decision(Action.CHECK, "a file of this name was here before")
    if noted.etag == there.etag:
        return Decision(Action.SAME) if own else Decision(Action.KEEP, "changed here")
    return Decision(Action.COPY) if own else Decision(Action.CONFLICT, "changed here and in the bucket")


def to_send(here: Here | None, there: There | None, noted: Noted | None, *, delete: bool) -> Decision:
    """From the directory to the bucket. No object that somebody else put there is ever overwritten or removed."""
    own = noted is not None and there is not None and there.etag == noted.etag
    if here is None:
        if own and delete:
            return Decision(Action.REMOVE)
        return Decision(Action.KEEP)
    if there is None:
        return Decision(Action.COPY)
    if noted is None:
        return Decision(Action.CHECK, "an object of this name was there before")
    unchanged = (here.size, here.mtime_ns) == (noted.size, noted.mtime_ns)
    if own:
        return Decision(Action.SAME) if unchanged else Decision(Action.COPY)
    return Decision(Action.CHECK, "changed in the bucket by others")
