"""Pushing an edited tree: the blobs of what was put, then only the pages that changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from millpond.errors import Conflict
from millpond.lake.edit import EditedTree, edit_tree
from millpond.lake.packer import Packer
from millpond.lake.packs import PACK_TARGET
from millpond.lake.pages import pack_page
from millpond.lake.reader import PageSource
from millpond.lake.stable_read import read_chunks
from millpond.lake.transfer import Meter, Moved, Progress, Uploader
from millpond.model.path import to_text
from millpond.model.tree import Content, Entry


@dataclass(frozen=True, slots=True)
class PushedEdit:
    tree: EditedTree
    moved: Moved


def push_edit(
    root: Path,
    uploader: Uploader,
    source: PageSource,
    tree: str,
    *,
    puts: Sequence[Entry],
    removals: Iterable[bytes],
    progress: Progress | None = None,
) -> PushedEdit:
    """Upload what `tree` becomes with `puts`, whose content lies below `root`, and without `removals`.

    Conflict if a file is no longer what its entry says. Nothing is visible until the caller commits the root.
    """
    meter = Meter(progress)
    meter.expect(len(puts), sum(entry.size for entry in puts), counted=True)
    pages: dict[str, bytes] = {}
    edited = edit_tree(source, tree, puts, removals, lambda page_id, data: pages.update({page_id: pack_page(data)}))
    with Packer(uploader, meter, PACK_TARGET) as packer:
        for entry in puts:
            if entry.content not in (Content.NOTHING, Content.EXTERNAL):
                _send(root, entry, packer)
            meter.add(files=1, bytes=entry.size)
        packer.finish()
        packer.put_all(uploader.page_slots(list(pages)), pages)
    return PushedEdit(edited, meter.finish())


def _send(root: Path, entry: Entry, packer: Packer) -> None:
    try:
        reading = read_chunks(os.fsencode(root), entry.path, packer.add)
    except FileNotFoundError:
        reading = None
    if reading is None or reading.entry != entry:
        raise Conflict(f"The file {to_text(entry.path)!r} was changed while it was being sent.", hint="Try again.")
