"""What the files of a new workspace hold, known from the commit that it began with: its first kept snapshot reads only
what has changed since, as every later one does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from millpond.lake.batch import Batch, batches, changed_at
from millpond.lake.pages import Row
from millpond.lake.scan import scan_runs
from millpond.lake.statcache import StatCache
from millpond.model.tree import Content, Kind
from millpond.volumes.workspaces.identities import read_identities
from millpond.volumes.workspaces.layout import WorkspaceFolder, read_workspace
from millpond.volumes.workspaces.trees import LayersView

_AT_ONCE = 1024

# Files as they were when the workspace appeared: path and numbers, in the order of paths.
Originals = Iterator[tuple[bytes, bytes]]


def remember_origin(folder: WorkspaceFolder, rows: Iterable[Sequence[Row]]) -> None:
    """Write the stat cache of a workspace that has none, from the `rows` of the commit that it began with, in order."""
    document = read_workspace(folder)
    if document is None or folder.kept_stat.exists():
        return
    if document.is_overlay:
        with LayersView(folder, document.layers, folder.snapshots) as tree:
            _remember(folder.kept_stat, _scanned(tree), rows)
    elif folder.made_files.exists():
        originals = ((path, numbers) for path, numbers, _ in read_identities(folder.made_files))
        _remember(folder.kept_stat, originals, rows)


def _remember(path: Path, originals: Originals, rows: Iterable[Sequence[Row]]) -> None:
    with StatCache(path) as cache:
        pairs = _joined(originals, chain.from_iterable(rows))
        while some := list(islice(pairs, _AT_ONCE)):
            numbers = [one for _, one in some]
            newest = max(map(changed_at, numbers))
            cache.record(Batch([], numbers, newest, [row for row, _ in some]))


def _joined(originals: Originals, rows: Iterator[Row]) -> Iterator[tuple[Row, bytes]]:
    known = next(originals, None)
    for row in rows:
        while known is not None and known[0] < row[0]:
            known = next(originals, None)
        # What comes from outside the lake is not known by a digest.
        has_digest = row[1] != Kind.DIRECTORY and row[2] != Content.EXTERNAL
        if known is not None and known[0] == row[0] and has_digest:
            yield row, known[1]


def _scanned(tree: Path) -> Originals:
    for batch in batches(scan_runs(tree, ignore_files=())):
        for found, numbers in zip(batch.found, batch.numbers, strict=True):
            if numbers:
                yield found.path, numbers
