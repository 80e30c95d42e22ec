"""What to do with one object of a mirror: decided from the file at the source, what the target has, and what the mirror
noted when it last put it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from millpond.model.mirror import MirroredObject
from millpond.model.tree import Entry

KEY_BYTES = 1024
# Objects that can be put in one piece.
OBJECT_MOST = 5 * 2**30


class MirrorAction(Enum):
    """`CHECK`: the mirror did not put what is there. Its digest decides: the same, or a conflict. `FORGET`: gone on
    both sides."""

    PUT = "put"
    REPLACE = "replace"
    SAME = "same"
    CHECK = "check"
    REMOVE = "remove"
    FORGET = "forget"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class MirrorDecision:
    action: MirrorAction
    why: str = ""


_PUT, _REPLACE, _SAME = (MirrorDecision(one) for one in (MirrorAction.PUT, MirrorAction.REPLACE, MirrorAction.SAME))
_REMOVE, _FORGET = MirrorDecision(MirrorAction.REMOVE), MirrorDecision(MirrorAction.FORGET)
_NOT_OURS = MirrorDecision(MirrorAction.CHECK, "an object of this name was there before")
_CHANGED = MirrorDecision(MirrorAction.CHECK, "changed at the target by others")
_KEPT = MirrorDecision(MirrorAction.CONFLICT, "removed at the source, but changed at the target by others")


def decide_object(source: Entry | None, there: str | None, noted: MirroredObject | None) -> MirrorDecision:
    """`there` is the seal of the object at the target.

    Nothing that others put at the target or changed there is ever overwritten or removed. One of `source` and `noted`
    is given.
    """
    is_own = noted is not None and there == noted.seal
    if source is None:
        if there is None:
            return _FORGET
        return _REMOVE if is_own else _KEPT
    if there is None:
        return _PUT
    if noted is None:
        return _NOT_OURS
    if not is_own:
        return _CHANGED
    return _SAME if (noted.digest, noted.size) == (source.digest, source.size) else _REPLACE


def why_no_key(entry: Entry, prefix_bytes: int) -> str | None:
    """Why a file cannot be an object below a prefix of so many bytes; None if it can."""
    try:
        entry.path.decode()
    except UnicodeDecodeError:
        return "its name is not UTF-8, as keys are"
    if prefix_bytes + len(entry.path) > KEY_BYTES:
        return f"its key would be longer than {KEY_BYTES} bytes"
    if entry.size > OBJECT_MOST:
        return "it is larger than 5 GiB, which a bucket takes in parts only"
    return None
