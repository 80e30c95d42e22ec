"""Commits that the server makes for flows: files of its own, and folders of other commits put together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from blake3 import blake3

from millpond.db import blobs, commits, jobs, placements, uploads, users
from millpond.errors import NotFound, RefMoved
from millpond.lake.packer import Packer
from millpond.lake.packs import PACK_TARGET
from millpond.lake.reader import TreeReader
from millpond.lake.streaming import entry_of_stream
from millpond.lake.transfer import Meter
from millpond.lake.tree import build_tree
from millpond.model.dataset import Commit, Dataset, Upload
from millpond.model.ids import new_id
from millpond.model.people import SYSTEM, Project
from millpond.model.program import Program
from millpond.model.tree import Entry, Kind
from millpond.services.commits import refs
from millpond.services.commits.accept import Proposal, accept
from millpond.services.commits.checks.paths import leaf_ids
from millpond.services.commits.packs import verify
from millpond.services.commits.packs.trust import NOBODY, owner_of_placement, unverified_of_others
from millpond.services.commits.pages import ProjectPages
from millpond.services.commits.uploads.server import ServerUploader
from millpond.services.commits.uploads.uploads import promise_pages
from millpond.services.datasets.datasets import ensure_system_dataset
from millpond.services.deps import Deps

# Pages that are written at once: of a large tree, not all are in memory.
_PAGES_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Part:
    """What lies in a commit at `path` (b"": all of it), to be put at `into` (b"": at the top)."""

    commit: Commit
    path: bytes = b""
    into: bytes = b""


def combine(
    deps: Deps, project: Project, dataset_name: str, parts: Sequence[Part], *, author: str, message: str,
    lineage: Mapping[str, Any] | None = None,
) -> Commit:  # fmt: skip
    """A commit of a hidden dataset that holds exactly these parts. The same parts always make the same commit.

    `lineage` is kept beside the commits that the parts are of, if this makes it.

    NotFound if a part is not there. A file is put below its own name.
    """
    dataset = ensure_system_dataset(deps, project, dataset_name)
    named = [(part.commit.id, part.path.hex(), part.into.hex()) for part in parts]
    branch = f"of-{blake3(json.dumps(named).encode()).hexdigest(16)}"
    with deps.db.read() as tx:
        found = refs.head_commit(tx, dataset, branch)
    if found is not None:
        return found
    tree = _write_tree(deps, project.id, _entries(deps, project.id, parts))
    proposal = Proposal(
        tree=tree,
        branch=branch,
        expected=None,
        parents=(),
        message=message,
        owner=_owner(deps, project.id, parts),
        lineage={**(lineage or {}), "inputs": sorted({part.commit.id for part in parts})},
        origins=sorted({part.commit.tree for part in parts}),
    )
    return _accept_once(deps, dataset, proposal, author)


def commit_files(
    deps: Deps, project: Project, dataset_name: str, files: Mapping[str, bytes], *, branch: str, author: str,
    message: str = "", lineage: Mapping[str, Any] | None = None,
) -> Commit:  # fmt: skip
    """A commit of these files on a branch that is not there yet; the branch's commit if it is."""
    dataset = ensure_system_dataset(deps, project, dataset_name)
    with deps.db.read() as tx:
        found = refs.head_commit(tx, dataset, branch)
    if found is not None:
        return found
    tree, upload = write_files(deps, project, files, author=author)
    proposal = Proposal(
        tree=tree, branch=branch, expected=None, parents=(), message=message, owner=upload.owner, upload_id=upload.id,
        lineage=lineage or {},
    )  # fmt: skip
    return _accept_once(deps, dataset, proposal, author)


def write_files(deps: Deps, project: Project, files: Mapping[str, bytes], *, author: str) -> tuple[str, Upload]:
    """The tree of these files, which is in the lake then, and the upload that holds their content."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        user = users.find(tx, author)
        owner = f"user:{user.id}" if user else "server"
        upload = Upload(id=new_id(), project_id=project.id, owner=owner, created_at=now, used_at=now)
        uploads.insert(tx, upload)
    ordered = sorted((path.encode(), data) for path, data in files.items())
    with Packer(ServerUploader(deps, upload), Meter(None), PACK_TARGET) as packer:
        entries = [_entry(path, data, packer) for path, data in ordered]
        packer.finish()
    return _write_tree(deps, project.id, entries), upload


def _entry(path: bytes, data: bytes, packer: Packer) -> Entry:
    made = entry_of_stream(path, len(data), iter([bytes(data)]), packer.add)
    return replace(made, kind=Kind.EXECUTABLE) if isinstance(data, Program) else made


def is_file(deps: Deps, project: Project, part: Part) -> bool:
    """False for a folder, and for what is not there."""
    found = TreeReader(ProjectPages(deps.store, deps.pages, project.id), part.commit.tree).stat(part.path)
    return found is not None and found.kind is not Kind.DIRECTORY


def digest_of_files(files: Mapping[str, bytes]) -> str:
    """Equal for equal names, contents and modes."""
    hasher = blake3()
    for path, data in sorted(files.items()):
        program = "+x" if isinstance(data, Program) else ""
        hasher.update(f"{path}\0{blake3(data).hexdigest()}{program}\n".encode())
    return hasher.hexdigest()


def _accept_once(deps: Deps, dataset: Dataset, proposal: Proposal, author: str) -> Commit:
    """The commit of a branch that is made once, whoever is first."""
    try:
        return accept(deps, replace(SYSTEM, name=author), dataset, proposal)
    except RefMoved:
        with deps.db.read() as tx:
            found = refs.head_commit(tx, dataset, proposal.branch)
        if found is None:
            raise
        return found


def _entries(deps: Deps, project_id: str, parts: Sequence[Part]) -> Iterator[Entry]:
    pages = ProjectPages(deps.store, deps.pages, project_id)
    # What lies below `1` comes before what lies below `10`: a slash sorts before digits.
    for part in sorted(parts, key=lambda one: one.into + b"/"):
        reader = TreeReader(pages, part.commit.tree)
        found = _below(reader, part.path)
        for name, entry in found:
            yield replace(entry, path=b"/".join(filter(None, (part.into, name))))


def _below(reader: TreeReader, path: bytes) -> Iterator[tuple[bytes, Entry]]:
    """Entries with their paths below `path`; of a file, itself with its name."""
    single = reader.stat(path) if path else None
    if single is not None and single.kind is not Kind.DIRECTORY:
        yield path.rpartition(b"/")[2], single
        return
    if path and single is None and not reader.is_directory(path):
        raise NotFound(f"The output {path.decode(errors='replace')!r} is not there.", noun="path")
    cut = len(path) + 1 if path else 0
    for entry in reader.entries(path):
        if entry.path != path:
            yield entry.path[cut:], entry


def _write_tree(deps: Deps, project_id: str, entries: Iterable[Entry]) -> str:
    """The root of a tree whose pages are in the lake when this returns."""
    stored = ProjectPages(deps.store, deps.pages, project_id)
    waiting: dict[str, bytes] = {}

    def flush() -> None:
        wanted = promise_pages(deps, project_id, list(waiting))
        stored.put_all({page_id: waiting[page_id] for page_id in wanted})
        waiting.clear()

    def keep(page_id: str, data: bytes) -> None:
        waiting[page_id] = data
        if len(waiting) >= _PAGES_AT_ONCE:
            flush()

    root = build_tree(entries, keep).root
    flush()
    return root


def _owner(deps: Deps, project_id: str, parts: Sequence[Part]) -> str:
    """Whose packs all parts rest on: those of one job, or verified ones, which are read for it if they were not yet."""
    made_by = {str(part.commit.lineage.get("job", "")) for part in parts}
    if len(made_by) == 1 and (job_id := next(iter(made_by))):
        with deps.db.read() as tx:
            job = jobs.get(tx, job_id)
            attempt = next(iter(reversed(placements.of_job(tx, job.id))), None) if job else None
        if attempt is not None:
            return owner_of_placement(attempt.id)
    _verify(deps, project_id, {part.commit.tree for part in parts})
    return NOBODY


def _verify(deps: Deps, project_id: str, trees: Iterable[str]) -> None:
    pages = ProjectPages(deps.store, deps.pages, project_id)
    leaves = {leaf for tree in trees for leaf in leaf_ids(pages, tree)}
    with deps.db.read() as tx:
        others = unverified_of_others(tx, project_id, NOBODY)
        packs_of = blobs.packs_of_pages(tx, project_id, leaves if others else ())
    needed = {pack_id for packs in packs_of.values() for pack_id in packs} & others.keys()
    for pack_id in sorted(needed):
        verify.secure(deps, [others[pack_id]])


def find_commit(deps: Deps, commit_id: str) -> Commit:
    with deps.db.read() as tx:
        found = commits.get(tx, commit_id)
    if found is None:
        raise NotFound(f"Commit {commit_id[:12]} no longer exists.", noun="commit", name=commit_id)
    return found
