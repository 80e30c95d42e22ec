"""Checks a tree before it becomes a commit: whole, canonical, and made only of what the committer may build on.

Pages the project has already were checked when they came; their rows stand for them, so a commit that changes one
file of a million costs a few pages.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field

from millpond.db import blobs, promised_pages
from millpond.db.blobs import PageRow
from millpond.errors import BadFormat, Corrupt, Incomplete, NotFound
from millpond.lake.folders import encode_folders
from millpond.lake.pages import IndexPage, LeafPage, Page, PageRef, decode_page
from millpond.lake.tree import index_ends, leaf_ends
from millpond.model.path import to_text
from millpond.model.quantity import format_count
from millpond.model.tree import Content
from millpond.services.commits.checks.leaf import CheckedLeaf, check_boundaries, check_leaf
from millpond.services.commits.checks.paths import LeafEnds, check_directories, ends_of, leaf_ids
from millpond.services.commits.packs.locators import announce_locators
from millpond.services.commits.packs.stable import ensure_stable_packs, settle_locator, write_locator
from millpond.services.commits.packs.trust import NAMED, JobScope
from millpond.services.commits.pages import ProjectPages
from millpond.services.deps import Deps

# Leaves checked at a time: each may hold some megabytes.
_PARALLEL = 8
_BATCH = 32
_TRIES = 3


@dataclass(frozen=True, slots=True)
class CheckedTree:
    """What a commit of this tree adds to the project."""

    root: PageRow
    pages: tuple[PageRow, ...]
    packs: Mapping[str, frozenset[str]]
    # The token of each new page when it was read: with another one it is not the object that was read.
    tokens: Mapping[str, str]
    # Pages of earlier commits that this one builds on; what lies below them was not looked at.
    reused: frozenset[str]
    # What new leaves hold by directory, as their rows keep it.
    folders: Mapping[str, bytes]


def check_tree(
    deps: Deps, project_id: str, owner: str, *, root: str, settled: str | None = None, scope: JobScope | None = None
) -> CheckedTree:
    """Check the tree and write the locators of its new leaves. Called again it does the same again.

    `scope` is what a job may build on.
    `settled` is the tree of the commit before: what both share was checked together. Incomplete names the pages and
    blobs that are missing, BadFormat what is wrong with the tree.
    """
    pages = ProjectPages(deps.store, deps.pages, project_id)
    for _ in range(_TRIES):
        walk = _Walk(deps, project_id, owner, scope)
        with ThreadPoolExecutor(_PARALLEL) as walk.pool:
            row = walk.page(root, is_last=True)
        if walk.missing_pages or walk.missing_blobs or row is None:
            raise _incomplete(walk)
        check_directories(pages, root, settled, walk.ends)
        shared = leaf_ids(pages, root) - walk.packs.keys()
        if ensure_stable_packs(deps, project_id, owner, shared, walk.packs):
            tokens = {page.id: walk.tokens[page.id] for page in walk.rows}
            return CheckedTree(row, tuple(walk.rows), walk.packs, tokens, frozenset(walk.reused), walk.folders)
    raise Incomplete("Content shared with other commits is damaged.", hint="Send it again.")


@dataclass
class _Walk:
    deps: Deps
    project_id: str
    owner: str
    scope: JobScope | None = None
    rows: list[PageRow] = field(default_factory=list)
    packs: dict[str, frozenset[str]] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    reused: set[str] = field(default_factory=set)
    ends: dict[str, LeafEnds] = field(default_factory=dict)
    folders: dict[str, bytes] = field(default_factory=dict)
    missing_pages: list[str] = field(default_factory=list)
    missing_blobs: list[str] = field(default_factory=list)
    pool: ThreadPoolExecutor = field(init=False)
    turn: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.source = ProjectPages(self.deps.store, self.deps.pages, self.project_id)
        self.within = self.scope.blobs if self.scope else None

    def page(self, page_id: str, *, is_last: bool) -> PageRow | None:
        """The root: known, or new with everything below it. None if something is missing."""
        known = self.known([page_id])
        if page_id in known:
            return known[page_id]
        page = self.load(page_id)
        if page is None:
            return None
        if isinstance(page, LeafPage):
            return next(self.take([self.leaf(page_id, page, is_last=is_last)]))
        if len(page) < 2:
            raise BadFormat("The root of a tree must not be an index page with a single child.")
        return self.index(page_id, page, is_last=is_last)

    def index(self, page_id: str, page: IndexPage, *, is_last: bool) -> PageRow | None:
        _check_index_boundaries(page, is_last=is_last)
        children = page.children()
        rows: list[PageRow] = []
        for start in range(0, len(children), _BATCH):
            batch = children[start : start + _BATCH]
            ends = [is_last and start + n == len(children) - 1 for n in range(len(batch))]
            for ref, row in zip(batch, self.children(batch, ends), strict=True):
                if row is not None:
                    _check_child(ref, row, rows[-1] if rows else None)
                    rows.append(row)
            if len(self.missing_blobs) + len(self.missing_pages) >= NAMED:
                return None
        if len(rows) < len(children):
            return None
        own = index_row(page_id, page.level, rows)
        self.rows.append(own)
        return own

    def children(self, refs: Sequence[PageRef], ends: Sequence[bool]) -> Iterator[PageRow | None]:
        """The rows of some children of one index page; new leaves are checked side by side."""
        known = self.known([ref.id for ref in refs])
        new = [(ref, last) for ref, last in zip(refs, ends, strict=True) if ref.id not in known]
        leaves = [self.pool.submit(self.new_leaf, ref.id, is_last=last) for ref, last in new if ref.level == 0]
        taken = self.take([leaf.result() for leaf in leaves])
        for ref, last in zip(refs, ends, strict=True):
            if ref.id in known:
                self.check_known_end(known[ref.id], is_last=last)
                yield known[ref.id]
            elif ref.level == 0:
                yield next(taken)
            else:
                yield self.new_index(ref, is_last=last)

    def new_leaf(self, page_id: str, *, is_last: bool) -> CheckedLeaf | None:
        page = self.load(page_id)
        if page is None:
            return None
        if not isinstance(page, LeafPage):
            raise BadFormat("An index page is used where a leaf is expected.")
        return self.leaf(page_id, page, is_last=is_last)

    def new_index(self, ref: PageRef, *, is_last: bool) -> PageRow | None:
        page = self.load(ref.id)
        if page is None:
            return None
        if not isinstance(page, IndexPage) or page.level != ref.level:
            raise BadFormat(f"Page {ref.id[:12]} does not have the level that its parent declares.")
        return self.index(ref.id, page, is_last=is_last)

    def leaf(self, page_id: str, page: LeafPage, *, is_last: bool) -> CheckedLeaf:
        check_boundaries(page, is_last=is_last)
        if page.paths:
            self.ends[page_id] = ends_of(page)
        # Without anything to read from the store it is the interpreter's work: several at once only fight for its lock.
        reads = Content.CHUNKS in page.contents or Content.EXTERNAL in page.contents
        with nullcontext() if reads else self.turn:
            return check_leaf(self.deps, self.project_id, self.owner, page_id, page, self.within)

    def take(self, leaves: Sequence[CheckedLeaf | None]) -> Iterator[PageRow | None]:
        """The rows of new leaves, whose locators are written. Only here, in one thread, is what was found added up."""
        whole = [leaf for leaf in leaves if leaf is not None and not leaf.missing]
        if whole:
            announce_locators(self.deps, self.project_id, whole)
        written = self.pool.map(lambda leaf: write_locator(self.deps, self.project_id, self.owner, leaf), whole)
        for new, packs in zip(whole, written, strict=True):
            self.packs[new.row.id] = packs or settle_locator(self.deps, self.project_id, self.owner, new)
        for leaf in leaves:
            if leaf is None or leaf.missing:
                self.missing_blobs.extend(digest.hex() for digest in (leaf.missing if leaf else ()))
                yield None
            else:
                self.rows.append(leaf.row)
                yield leaf.row

    def load(self, page_id: str) -> Page | None:
        """A new page. The object is the client's work: damage is the client's mistake, not the lake's."""
        if page_id not in self.tokens:  # nobody has asked for a URL: what may lie there is not to be relied on
            self.missing_pages.append(page_id)
            return None
        try:
            data = self.source.fresh(page_id, self.tokens[page_id])
        except NotFound:
            self.missing_pages.append(page_id)
            return None
        except Corrupt as error:
            raise BadFormat(error.message) from error
        page = decode_page(data)
        if isinstance(page, LeafPage):
            # People look at what they have just committed.
            self.folders[page_id] = encode_folders(self.source.keep_folders(page_id, data))
        return page

    def known(self, page_ids: Sequence[str]) -> Mapping[str, PageRow]:
        """Those of these pages that earlier commits have. The tokens of the others are noted before they are read."""
        with self.deps.db.read() as tx:
            found = blobs.pages(tx, self.project_id, page_ids)
            new = [page_id for page_id in page_ids if page_id not in found]
            self.tokens.update(promised_pages.tokens(tx, self.project_id, new))
        self.reused.update(found)
        if self.scope is not None:
            self.check_sent(found.keys() - self.scope.pages)
        return found

    def check_sent(self, page_ids: Set[str]) -> None:
        """For a job: what it cannot read already it must have sent, all that known pages name included."""
        for page_id in sorted(page_ids):
            page = decode_page(self.source.page(page_id))
            if isinstance(page, IndexPage):
                self.check_sent(set(page.ids) - (self.scope.pages if self.scope else set()))
                continue
            checked = check_leaf(self.deps, self.project_id, self.owner, page_id, page, self.within)
            self.missing_blobs.extend(digest.hex() for digest in checked.missing)

    def check_known_end(self, row: PageRow, *, is_last: bool) -> None:
        """A page that was the last of another tree may have ended early; in the middle of this one it may not."""
        if is_last or (row.level == 0 and leaf_ends(row.entries, row.last_path, 0)):
            return
        page = decode_page(self.source.page(row.id))
        if isinstance(page, LeafPage):
            check_boundaries(page, is_last=False)
        else:
            _check_index_boundaries(page, is_last=False)


def _check_index_boundaries(page: IndexPage, *, is_last: bool) -> None:
    for number, first in enumerate(page.paths, start=1):
        ends = index_ends(number, first)
        if ends != (number == len(page)) and not (is_last and number == len(page)):
            raise BadFormat("An index page ends in the wrong place.")


def _check_child(ref: PageRef, row: PageRow, before: PageRow | None) -> None:
    told = (ref.level, ref.entries, ref.size, ref.first)
    if told != (row.level, row.entries, row.size, row.first_path):
        raise BadFormat(f"An index page has wrong counts for page {ref.id[:12]}.")
    if before is not None and before.last_path >= row.first_path:
        raise BadFormat(f"The pages of the tree overlap at {to_text(row.first_path)!r}.")


def index_row(page_id: str, level: int, rows: Sequence[PageRow]) -> PageRow:
    return PageRow(
        id=page_id,
        level=level,
        entries=sum(row.entries for row in rows),
        files=sum(row.files for row in rows),
        size=sum(row.size for row in rows),
        allocated=sum(row.allocated for row in rows),
        first_path=rows[0].first_path,
        last_path=rows[-1].last_path,
        external=frozenset().union(*(row.external for row in rows)),
        inodes=_sum_known([row.inodes for row in rows]),
        directory_bytes=_sum_known([row.directory_bytes for row in rows]),
    )


def _sum_known(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _incomplete(walk: _Walk) -> Incomplete:
    pages, found = walk.missing_pages, walk.missing_blobs
    return Incomplete(
        f"The tree is missing {format_count(len(pages), 'page')} and "
        f"{format_count(len(found), 'blob')} that must be sent first.",
        hint="Run the command again: only what is missing is sent.",
        pages=sorted(pages)[:NAMED],
        blobs=sorted(found)[:NAMED],
    )
