"""Staging artifacts: entries whose content is in the lake, noted beside their run until a commit holds them.

What is staged is durable: no collection takes its packs (docs/design/013-artifacts-and-lineage.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from sqlalchemy import Connection

from millpond.db import artifacts, commits, datasets, projects, runs, uploads
from millpond.errors import BadPath, BadRequest, Incomplete
from millpond.lake.pages import LeafPage, decode_page
from millpond.lake.reader import TreeReader
from millpond.lake.tree import build_tree
from millpond.model.names import ARTIFACT_DATASET
from millpond.model.path import check_path, to_text
from millpond.model.people import Actor, Project
from millpond.model.run import Run
from millpond.model.tree import NO_DIGEST, Content, Entry, Kind
from millpond.services.commits.checks.leaf import check_leaf
from millpond.services.commits.packs.trust import NAMED, check_packs, scope_of
from millpond.services.commits.pages import ProjectPages
from millpond.services.commits.uploads import uploads as upload_service
from millpond.services.datasets.datasets import ensure_system_dataset
from millpond.services.deps import Deps
from millpond.services.people import access
from millpond.services.runs import runs as run_service
from millpond.wire import runs as wire

MAX_PATH = 1000
_KINDS = {"file": Kind.FILE, "executable": Kind.EXECUTABLE}
_CONTENTS = {"nothing": Content.NOTHING, "blob": Content.BLOB, "chunks": Content.CHUNKS}


def stage(deps: Deps, actor: Actor, project: Project, run_id: str, asked: wire.ArtifactsLogged) -> None:
    """Add files to a run whose content was sent in packs. Durable, listed and readable when it returns.

    Incomplete names content that must be sent (again), BadPath a name that cannot be one.
    """
    with deps.db.read() as tx:
        run = run_service.find(tx, actor, project, run_id)
        upload = upload_service.find(tx, actor, project, asked.upload)
    entries = {entry.path: entry for entry in map(_entry, asked.puts)}
    stage_entries(deps, run, list(entries.values()), owner=upload.owner, upload_id=upload.id)


def stage_entries(deps: Deps, run: Run, entries: Sequence[Entry], *, owner: str, upload_id: str) -> None:
    packs = packs_of(deps, run.project_id, owner, entries)
    with deps.db.read() as tx:
        tree, waiting = newest_tree(tx, run), artifacts.staged_paths(tx, run.id)
        project = None if tree else projects.get(tx, run.project_id)
    if project is not None:
        ensure_system_dataset(deps, project, ARTIFACT_DATASET)  # before the first commit: `.artifacts@RUN` finds it
    reader = TreeReader(ProjectPages(deps.store, deps.pages, run.project_id), tree) if tree else None
    for entry in entries:
        check_place(entry.path, reader, waiting)
        waiting.add(entry.path)
    now = deps.clock.now()
    with deps.db.write() as tx:
        # As where a commit is made visible: no collection changes anything of the project from here on.
        projects.raise_sequence(tx, run.project_id)
        if runs.get(tx, run.id) is None:
            raise access.not_found("run", run.id)
        check_packs(tx, run.project_id, {"": packs})
        uploads.revive(tx, packs)
        uploads.touch(tx, upload_id, now)
        artifacts.stage(tx, run.id, entries, owner=owner, now=now)
    data = {"project": run.project, "id": run.id, "what": "artifact"}
    deps.events.publish(f"run:{run.id}", project_id=run.project_id, data=data)


def packs_of(deps: Deps, project_id: str, owner: str, entries: Sequence[Entry]) -> set[str]:
    """The packs that hold their content, for somebody who may build on them. Incomplete names what is missing."""
    packs: set[str] = set()
    missing: list[bytes] = []
    scope = scope_of(deps, project_id, owner)
    for page_id, page in _leaves(entries):
        leaf = check_leaf(deps, project_id, owner, page_id, page, scope.blobs if scope else None)
        packs |= leaf.packs
        missing += leaf.missing
    if missing:
        raise Incomplete(
            f"The content of these artifacts lacks {len(missing)} blobs that must be sent first.",
            blobs=sorted(digest.hex() for digest in missing)[:NAMED],
        )
    return packs


def newest_tree(tx: Connection, run: Run) -> str | None:
    """What the run's last commit of artifacts holds."""
    dataset = datasets.find(tx, run.project_id, ARTIFACT_DATASET)
    ref = commits.find_ref(tx, dataset.id, run.id) if dataset else None
    commit = commits.get(tx, ref.commit_id) if ref else None
    return commit.tree if commit else None


def check_place(path: bytes, reader: TreeReader | None, waiting: Collection[bytes]) -> None:
    """BadPath where a file would be a directory of another."""
    for parent in _parents(path):
        if parent in waiting or (reader is not None and reader.stat(parent) is not None):
            raise BadPath(f"The artifact {to_text(parent)!r} is a file: nothing can lie below it.")
    below = path + b"/"
    if any(other.startswith(below) for other in waiting) or (reader is not None and reader.holds(path)):
        raise BadPath(f"{to_text(path)!r} is a folder of artifacts and cannot be a file.")


def check_name(path: str) -> bytes:
    """Relative, without empty parts, '.' or '..', printable: it is shown to people and becomes a file elsewhere."""
    checked = check_path(path.encode("utf-8", "surrogateescape"))
    if len(path) > MAX_PATH or not path.isprintable() or "\\" in path:
        raise BadPath(f"{path[:200]!r} cannot name an artifact.", hint="Use a short relative path of plain characters.")
    return checked


def _entry(put: wire.ArtifactPut) -> Entry:
    content = _CONTENTS[put.content]
    if (content is Content.NOTHING) != (put.digest is None) or (content is Content.NOTHING and put.size):
        raise BadRequest(f"The artifact {put.path[:200]!r} has a size without content, or content without a digest.")
    digest = bytes.fromhex(put.digest) if put.digest else NO_DIGEST
    return Entry(check_name(put.path), _KINDS[put.kind], put.size, content, digest)


def _leaves(entries: Sequence[Entry]) -> Iterator[tuple[str, LeafPage]]:
    """The leaves of a tree that holds nothing else: what is checked of a commit is checked of these."""
    pages: dict[str, bytes] = {}
    build_tree(sorted(entries, key=lambda entry: entry.path), pages.__setitem__)
    for page_id, data in pages.items():
        page = decode_page(data)
        if isinstance(page, LeafPage):
            yield page_id, page


def _parents(path: bytes) -> Iterator[bytes]:
    while path := path.rpartition(b"/")[0]:
        yield path
