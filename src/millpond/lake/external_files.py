"""Files of a folder that stand for external entries: which content each had when it was fetched.

A folder holds such files like all others. As long as one holds what was fetched, it is the external entry and nothing
is sent; the tree of an unchanged folder is thus the tree it came from.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from millpond.model.path import from_text, to_text
from millpond.model.tree import Content, Entry

# By path, and by the digest of what a file holds (as a plain entry would name it): the digest of the descriptor.
# Earlier ones are kept, so that a folder that is being changed is understood at every moment.
StandIns = Mapping[bytes, Mapping[bytes, bytes]]

_MAGIC = "millpond stand-ins 1"


def stands_for(known: StandIns, entry: Entry) -> Entry:
    """The entry that a file stands for: itself, or the external one it was fetched from."""
    descriptor = known.get(entry.path, {}).get(entry.digest)
    if descriptor is None or not entry.kind.is_file:
        return entry
    return replace(entry, content=Content.EXTERNAL, digest=descriptor)


def with_fetched(known: StandIns, fetched: Iterable[tuple[Entry, Entry]]) -> StandIns:
    """With those that were fetched now, each as it stands in the tree and as it was read."""
    found = {path: dict(contents) for path, contents in known.items()}
    for entry, read in fetched:
        found.setdefault(entry.path, {})[read.digest] = entry.digest
    return found


def load_stand_ins(file: Path) -> StandIns:
    """What was saved; nothing from a file that is missing or damaged: its files count as plain ones then."""
    try:
        lines = file.read_text("utf-8").splitlines()
        if not lines or lines[0] != _MAGIC:
            return {}
        found: dict[bytes, dict[bytes, bytes]] = {}
        for path, read, digest in map(json.loads, lines[1:]):
            found.setdefault(from_text(path), {})[bytes.fromhex(read)] = bytes.fromhex(digest)
        return found
    except (OSError, ValueError, TypeError):
        return {}


def encode_stand_ins(known: StandIns) -> bytes:
    rows = (
        json.dumps([to_text(path), read.hex(), digest.hex()])
        for path, contents in sorted(known.items())
        for read, digest in contents.items()
    )
    return "\n".join([_MAGIC, *rows, ""]).encode()
