"""Plans an import: compares objects found at a place with the current tree and with what was imported before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from millpond.model.connection import ExternalObject
from millpond.model.source import SourceObject
from millpond.model.tree import Entry


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """`puts` are new or differ; `removes` were put there by this source and are gone from its place.

    `forgets` are gone from the place, too, but what stands at their path now is somebody else's.
    """

    puts: tuple[bytes, ...]
    added: int
    unchanged: int
    removes: tuple[bytes, ...]
    forgets: tuple[bytes, ...]

    @property
    def changed(self) -> int:
        return len(self.puts) - self.added


def plan_import(
    found: Mapping[bytes, ExternalObject],
    before: Mapping[bytes, SourceObject],
    *,
    stat: Callable[[bytes], Entry | None],
    is_current: Callable[[bytes, ExternalObject, Entry], bool],
) -> ImportPlan:
    """`stat` looks into the tree, asked in the order of paths; `is_current` whether an entry stands for an object."""
    puts: list[bytes] = []
    added = unchanged = 0
    for path in sorted(found):
        entry = stat(path)
        if entry is not None and is_current(path, found[path], entry):
            unchanged += 1
            continue
        added += entry is None
        puts.append(path)
    gone = sorted(before.keys() - found.keys())
    own = {path for path in gone if (entry := stat(path)) is not None and entry.digest == before[path].digest}
    return ImportPlan(
        puts=tuple(puts),
        added=added,
        unchanged=unchanged,
        removes=tuple(path for path in gone if path in own),
        forgets=tuple(path for path in gone if path not in own),
    )
