"""What a mirror does with one object, as a table."""

from __future__ import annotations

import pytest

from millpond.decide.mirroring import MirrorAction, decide_object, why_no_key
from millpond.model.mirror import MirroredObject, seal_of
from millpond.model.tree import Content, Entry, Kind

OLD, NEW = b"o" * 32, b"n" * 32


def file(digest: bytes, *, size: int = 3, path: bytes = b"f") -> Entry:
    return Entry(path, Kind.FILE, size, Content.BLOB, digest)


NOTED = MirroredObject(b"f", "etag", 3, OLD)
OURS, THEIRS = seal_of(3, "etag"), seal_of(3, "other")


@pytest.mark.parametrize(
    ("source", "there", "noted", "action"),
    [
        (file(OLD), None, None, MirrorAction.PUT),
        (file(OLD), None, NOTED, MirrorAction.PUT),
        (file(OLD), OURS, NOTED, MirrorAction.SAME),
        (file(NEW), OURS, NOTED, MirrorAction.REPLACE),
        (file(OLD, size=4), OURS, NOTED, MirrorAction.REPLACE),
        (file(OLD), THEIRS, NOTED, MirrorAction.CHECK),
        (file(OLD), THEIRS, None, MirrorAction.CHECK),
        (file(OLD), seal_of(4, "etag"), NOTED, MirrorAction.CHECK),
        (None, OURS, NOTED, MirrorAction.REMOVE),
        (None, THEIRS, NOTED, MirrorAction.CONFLICT),
        (None, None, NOTED, MirrorAction.FORGET),
    ],
)
def test_nothing_of_others_is_overwritten_or_removed(
    source: Entry | None, there: str | None, noted: MirroredObject | None, action: MirrorAction
) -> None:
    assert decide_object(source, there, noted).action is action


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (file(OLD), None),
        (file(OLD, path=b"\xff"), "not UTF-8"),
        (file(OLD, path=b"x" * 1015), "longer than 1024"),
        (file(OLD, size=5 * 2**30 + 1), "larger than 5 GiB"),
    ],
)
def test_files_that_cannot_be_objects(entry: Entry, words: str | None) -> None:
    why = why_no_key(entry, prefix_bytes=10)
    assert why is None if words is None else why is not None and words in why
