"""From commits to the pages they need: only index pages are read, each once, whatever the number of commits."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.db import blobs
from millpond.decide.collection import Mark
from millpond.errors import BadFormat, Corrupt, NotFound
from millpond.lake.pages import IndexPage, decode_page
from millpond.services.commits.pages import ProjectPages
from millpond.services.deps import Deps

# Some 100 bytes for each page, which stands for about a thousand files.
Marks = dict[bytes, Mark]


class Unreadable(Exception):
    """A page that is needed cannot be read: nobody can say what lies below it."""


def mark_pages(deps: Deps, project_id: str, roots: Sequence[tuple[str, Mark]]) -> Marks:
    """Every page below these trees with the best reason for which it stays. Unreadable if one is damaged."""
    source = ProjectPages(deps.store, deps.pages, project_id)
    with deps.db.read() as tx:
        levels = {row.id: row.level for row in blobs.pages(tx, project_id, {tree for tree, _ in roots}).values()}
    marks: Marks = {}
    # The best reasons first, so that the first one to come to a page is the best.
    for tree, mark in sorted(set(roots), key=lambda root: (root[1], root[0])):
        waiting = [(tree, levels.get(tree))]
        while waiting:
            page_id, level = waiting.pop()
            key = bytes.fromhex(page_id)
            if key not in marks:
                marks[key] = mark
                waiting.extend(_below(source, page_id, marks) if level != 0 else ())
    return marks


def _below(source: ProjectPages, page_id: str, marks: Marks) -> list[tuple[str, int | None]]:
    try:
        page = decode_page(source.page(page_id))
    except (NotFound, Corrupt, BadFormat) as error:
        raise Unreadable(f"Page {page_id[:12]} cannot be read: {error.message}") from error
    if not isinstance(page, IndexPage):
        return []
    return [(child, page.level - 1) for child in page.ids if bytes.fromhex(child) not in marks]
