"""Exporting commits: what the lake holds of them in one file, whole on the disk or not there at all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from millpond.client.commits import find_refs
from millpond.client.datasets import get_commit, list_commits, list_refs
from millpond.client.http import Api
from millpond.client.transfer import ApiDownloader
from millpond.client.whole_files import whole_or_nothing
from millpond.errors import BadRequest, NameTaken, NotFound
from millpond.lake.exports.manifest import BaseCommit, ExportedCommit, Have, Manifest, Side, encode_manifest
from millpond.lake.exports.parts import NO_NAME, PartKind, PartWriter
from millpond.lake.exports.trees import KnownTree, add_tree
from millpond.lake.exports.writing import ExportWriter
from millpond.lake.transfer import Meter, Progress
from millpond.model.dataset import RefType
from millpond.model.names import DatasetRef
from millpond.wire.data import Commit

# Commits on other branches that are looked for here, before one is taken as unknown.
_LOOKED_FOR = 50
ORIGIN = "origin"


class WantedRef(NamedTuple):
    project: str
    dataset: str
    ref: str


@dataclass(frozen=True, slots=True)
class Exported:
    """What is in the file; `digest` is of all of it."""

    path: Path
    bytes: int
    digest: str
    manifest: Manifest


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A commit to be exported, its history, and the commit that the other side has of it."""

    wanted: WantedRef
    commit: Commit
    history: list[tuple[str, list[str]]]
    branch: str | None
    base: Commit | None


def export_commits(
    api: Api,
    wanted: Sequence[WantedRef],
    target: Path,
    *,
    have: Have | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Exported:
    """Write commits to the file `target`; only what the other side lacks, where it says what it has.

    NameTaken if the file is there, unless `force`. After any error nothing of it is left; DiskFull says why.
    """
    if target.exists() and not force:
        raise NameTaken(f"{target} already exists.", hint="Name another file, or overwrite it with --force.")
    chosen = sorted(_choose(api, wanted, have), key=lambda one: (one.commit.time, one.commit.id))
    meter = Meter(progress)
    meter.expect(sum(one.commit.files for one in chosen), sum(one.commit.bytes for one in chosen), counted=True)
    with whole_or_nothing(target) as file, ExitStack() as stack:
        parts = PartWriter(file)
        lakes = [stack.enter_context(_lake(api, one.wanted, one.commit)) for one in chosen]
        documents = [lake.commit_document() for lake in lakes]
        manifest = _manifest(chosen, lakes[0].lake_id or "", have.side if have else None)
        parts.write(PartKind.MANIFEST, NO_NAME, encode_manifest(manifest))
        history = {commit: parents for one in chosen for commit, parents in one.history}
        parts.write(PartKind.HISTORY, NO_NAME, json.dumps(list(history.items())).encode())
        for one, document in zip(chosen, documents, strict=True):
            parts.write(PartKind.COMMIT, bytes.fromhex(one.commit.id), document)
        with ExportWriter(parts, meter) as writer:
            for one, lake in zip(chosen, lakes, strict=True):
                known = _known(stack, api, one)
                add_tree(writer, lake, one.commit.tree, known, manifest.side)
            digest = writer.finish()
    meter.finish()
    return Exported(target, parts.size, digest, manifest)


def commits_here(api: Api, wanted: Iterable[WantedRef]) -> Have:
    """What a server has of datasets: the commits of their refs, and those that they were imported as."""
    commits: dict[str, set[str]] = {}
    for project, dataset, _ in wanted:
        for commit_id in {ref.commit_id for ref in list_refs(api, project, dataset)}:
            commit = get_commit(api, project, dataset, commit_id)
            found = commits.setdefault(commit.dataset_id, set())
            found.add(origin_of(commit.lineage) or commit.id)
            found.add(commit.id)
    return Have(Side.SERVER, {dataset: sorted(found) for dataset, found in commits.items()})


def origin_of(lineage: dict[str, object]) -> str | None:
    """The commit of another server that one was imported from."""
    origin = lineage.get(ORIGIN)
    found = origin.get("commit") if isinstance(origin, dict) else None
    return found if isinstance(found, str) else None


def _choose(api: Api, wanted: Sequence[WantedRef], have: Have | None) -> Iterator[_Chosen]:
    seen: set[str] = set()
    for one in wanted:
        commit = get_commit(api, one.project, one.dataset, one.ref)
        if commit.id in seen:
            continue
        seen.add(commit.id)
        if commit.lineage.get("external"):
            raise BadRequest(
                f"Cannot export {one.dataset}@{one.ref}: some of its files are not in the lake, but where they were "
                "imported from.",
                hint="Copy them into the lake first: clone the dataset, and sync the clone to another one.",
            )
        history = [(above.id, above.parents) for above in list_commits(api, one.project, one.dataset, commit.id)]
        branches = {ref.name for ref in find_refs(api, one.project, one.dataset) if ref.type is RefType.BRANCH}
        base = _base(api, one, commit, [above for above, _ in history], have) if have else None
        yield _Chosen(one, commit, history, one.ref if one.ref in branches else None, base)


def _base(api: Api, wanted: WantedRef, commit: Commit, history: Sequence[str], have: Have) -> Commit | None:
    """The nearest commit that both sides have: one before it, or else the newest of another branch."""
    there = have.of(commit.dataset_id)
    for above in history:  # begins with the commit itself
        if above in there:
            return get_commit(api, wanted.project, wanted.dataset, above)
    found: list[Commit] = []
    for other in sorted(there)[:_LOOKED_FOR]:
        try:
            found.append(get_commit(api, wanted.project, wanted.dataset, other))
        except NotFound:
            continue  # of another dataset, or nobody's here any more
    return max(found, key=lambda one: one.time, default=None)


def _manifest(chosen: Sequence[_Chosen], lake: str, side: Side | None) -> Manifest:
    bases = {
        one.base.id: BaseCommit(one.base.id, one.base.tree, one.base.project_id, one.base.dataset_id)
        for one in chosen
        if one.base
    }
    return Manifest(
        lake=lake, commits=[_exported(one) for one in chosen], bases=list(bases.values()), side=side if bases else None
    )


def _exported(one: _Chosen) -> ExportedCommit:
    commit = one.commit
    written = DatasetRef.parse(commit.dataset)
    return ExportedCommit(
        id=commit.id,
        tree=commit.tree,
        project=written.project or one.wanted.project,
        project_id=commit.project_id,
        dataset=written.dataset,
        dataset_id=commit.dataset_id,
        files=commit.files,
        bytes=commit.bytes,
        ref=one.wanted.ref,
        branch=one.branch,
        base=one.base.id if one.base else None,
    )


def _known(stack: ExitStack, api: Api, one: _Chosen) -> KnownTree | None:
    if one.base is None:
        return None
    return KnownTree(stack.enter_context(_lake(api, one.wanted, one.base)), one.base.tree)


def _lake(api: Api, wanted: WantedRef, commit: Commit) -> ApiDownloader:
    return ApiDownloader(api, wanted.project, wanted.dataset, commit.id)
