"""Importing an export at a server: what the project lacks is sent as a sync would send it, and then branches move.

Every step may be repeated: what came before an interruption is there, and a commit that was imported is not made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from millpond.client.commits import branch_head, create_commit
from millpond.client.datasets import create_dataset, get_dataset
from millpond.client.exporting import origin_of
from millpond.client.http import Api
from millpond.client.paths import dataset_path
from millpond.client.transfer import ApiUploader
from millpond.errors import BadName, BadRequest, Conflict, Incomplete, NotFound, RefMoved
from millpond.lake.commits import decode_commit
from millpond.lake.encoding import decode_blob
from millpond.lake.exports.manifest import ExportedCommit, Side
from millpond.lake.exports.reading import ExportFile
from millpond.lake.packer import Packer
from millpond.lake.packs import PACK_TARGET, verify_pack
from millpond.lake.transfer import Meter, Progress
from millpond.model.dataset import DatasetKind
from millpond.model.names import DEFAULT_BRANCH, check_name
from millpond.wire.quick.data import Commit, CommitCreate

# Pages asked for at once, and blobs handed over.
_PAGES = 500
_BLOBS = 1000

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class ImportedCommit:
    """A commit of the file and what stands for it here; `is_new` is False where it had been imported before."""

    exported: ExportedCommit
    project: str
    dataset: str
    branch: str
    commit: Commit
    is_new: bool


@dataclass(frozen=True, slots=True)
class Imported:
    commits: list[ImportedCommit]
    sent: int

    @property
    def is_new(self) -> bool:
        return any(one.is_new for one in self.commits)


@dataclass(frozen=True, slots=True)
class _Target:
    """Where one commit of the file goes; `head` is where that branch is."""

    exported: ExportedCommit
    dataset: str
    branch: str
    head: Commit | None
    done: Commit | None


def import_export(
    api: Api,
    file: ExportFile,
    project: str,
    *,
    dataset: str | None = None,
    branch: str | None = None,
    progress: Progress | None = None,
) -> Imported:
    """Make the commits of an export commits of this project: of `dataset`, or of those of their own names.

    RefMoved if a branch has commits that the exported one does not descend from: nothing has changed then. Conflict if
    the file was made for a site that has more than this one.
    """
    if file.manifest.side is Side.VOLUME:
        raise Conflict(
            f"{file.path.name} holds only what a volume lacked.",
            hint="Import it there: mill data import FILE --volume DIRECTORY. Or export again without --have.",
        )
    names = {one.dataset: dataset or one.dataset for one in file.manifest.commits}
    if dataset is not None and len({one.dataset_id for one in file.manifest.commits}) > 1:
        raise BadRequest(
            "--as names one dataset, but the file holds commits of several.",
            hint="Leave --as out, or export each dataset to a file of its own.",
        )
    for name in names.values():
        _check_name(name)
    for is_last in (False, True):
        try:
            return _import(api, file, project, names, branch, progress)
        except Incomplete as error:
            # A collection may have removed what was there when it was asked for: once more, and it is the file.
            if is_last:
                raise _without_base(file, "this project does not have all of it") from error
    raise AssertionError("unreachable")


def _check_name(name: str) -> None:
    try:
        check_name(name, "dataset")
    except BadName as error:
        raise BadName(f"Cannot import into {name!r}.", hint="Give the dataset another name: --as DATASET") from error


def _import(
    api: Api, file: ExportFile, project: str, names: Mapping[str, str], branch: str | None, progress: Progress | None
) -> Imported:
    meter = Meter(progress)
    targets = [_target(api, file, project, names[one.dataset], branch, one) for one in file.manifest.commits]
    _check_order(file, targets)
    new = [target.exported for target in targets if target.done is None]
    if not new:
        return Imported([_known(project, target) for target in targets], sent=0)
    _check_bases(api, file, project, targets)
    for name in dict.fromkeys(names.values()):
        _ensure_dataset(api, project, name)
    with ApiUploader(api, project) as uploader:
        _send(file, uploader, meter, new)
        made = list(_commit(api, file, project, uploader, targets))
    return Imported(made, meter.finish().sent)


def _known(project: str, target: _Target) -> ImportedCommit:
    assert target.done is not None  # only those that were imported before
    return ImportedCommit(target.exported, project, target.dataset, target.branch, target.done, is_new=False)


def _target(api: Api, file: ExportFile, project: str, dataset: str, branch: str | None, one: ExportedCommit) -> _Target:
    """Where the commit goes, if its branch may move to it."""
    branch = branch or one.branch or DEFAULT_BRANCH
    try:
        head = branch_head(api, project, dataset, branch)
    except NotFound:
        head = None  # the dataset does not exist yet
    if head is None:
        return _Target(one, dataset, branch, None, None)
    names = {head.id, origin_of(head.lineage)}
    if one.id in names:
        return _Target(one, dataset, branch, head, head)
    if names & file.ancestors(one.id):
        return _Target(one, dataset, branch, head, None)
    for commit in _history(api, project, dataset, head.id):
        if one.id in (commit.id, origin_of(commit.lineage)):
            return _Target(one, dataset, branch, head, commit)
    raise RefMoved(
        f"Cannot import {one.dataset}@{one.ref}: {dataset}@{branch} is at {head.id[:12]}, which is not in its history.",
        hint=f"Import it onto another branch, and merge: mill data import {file.path.name} --branch imported",
        head=head.id,
    )


def _check_order(file: ExportFile, targets: list[_Target]) -> None:
    """Of several commits for one branch, each must come after the one before."""
    last: dict[tuple[str, str], ExportedCommit] = {}
    for target in targets:
        one, key = target.exported, (target.dataset, target.branch)
        before = last.get(key)
        if before is not None and before.id not in file.ancestors(one.id):
            raise BadRequest(
                f"{before.dataset}@{before.ref} and {one.dataset}@{one.ref} would both go to {target.dataset}@"
                f"{target.branch}, but neither descends from the other.",
                hint="Export them to files of their own, and import each onto its own --branch.",
            )
        last[key] = one


def _history(api: Api, project: str, dataset: str, ref: str) -> Iterator[Commit]:
    return api.items(f"{dataset_path(project, dataset)}/commits", Commit, ref=ref)


def _check_bases(api: Api, file: ExportFile, project: str, targets: list[_Target]) -> None:
    """Before anything is sent: the file says what it was made on top of."""
    for target in targets:
        base = target.exported.base
        if base is None or target.done is not None:
            continue
        known = (
            {commit.id, origin_of(commit.lineage)}
            for commit in (_history(api, project, target.dataset, target.head.id) if target.head else ())
        )
        if not any(base in names for names in known):
            raise _without_base(file, f"{target.dataset}@{target.branch} does not hold {base[:12]}")


def _without_base(file: ExportFile, why: str) -> Conflict:
    return Conflict(
        f"Cannot import {file.path.name}: it holds only what differs from an earlier commit, and {why}.",
        hint="Import that one first; or export again without --have, or with a list made here: mill data have DATASET",
    )


def _ensure_dataset(api: Api, project: str, name: str) -> None:
    try:
        found = get_dataset(api, project, name)
    except NotFound:
        found = create_dataset(api, project, name)
    if found.kind is not DatasetKind.DATA:
        raise BadRequest(
            f"Cannot import into {project}/{name}: it holds what {found.kind.value} datasets hold.",
            hint="Import under another name: --as DATASET",
        )


def _send(file: ExportFile, uploader: ApiUploader, meter: Meter, commits: list[ExportedCommit]) -> None:
    """Send the blobs and pages that the project lacks. Every byte is checked first: it comes from elsewhere."""
    meter.expect(0, file.pack_bytes, counted=True)
    with Packer(uploader, meter, PACK_TARGET) as packer:
        for pack_id in file.pack_ids:
            pack = file.pack(pack_id)
            for blobs in _batches(_blobs(pack_id, pack), _BLOBS):
                packer.add_all(blobs)
            meter.add(bytes=len(pack))
        packer.flush()
        pages = _Pages(file)
        for one in commits:
            for page_ids in _batches(file.page_ids(one.tree), _PAGES):
                packer.put_all(uploader.page_slots(page_ids), pages)
        packer.finish()


def _blobs(pack_id: str, pack: bytes) -> Iterator[tuple[bytes, bytes]]:
    view = memoryview(pack)
    for place in verify_pack(pack_id, pack):
        stored = view[place.offset : place.offset + place.stored]
        yield place.digest, bytes(decode_blob(place.digest, place.encoding, stored, place.raw))


def _batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    left = iter(items)
    while batch := list(islice(left, size)):
        yield batch


class _Pages(Mapping[str, bytes]):
    """The pages of a file, each read when it is sent."""

    def __init__(self, file: ExportFile) -> None:
        self._file = file

    def __getitem__(self, page_id: str) -> bytes:
        return self._file.page_frame(page_id)

    def __iter__(self) -> Iterator[str]:
        raise TypeError("pages are looked up, not listed")

    def __len__(self) -> int:
        raise TypeError("pages are looked up, not counted")


def _parent(api: Api, file: ExportFile, project: str, target: _Target) -> str | None:
    """For a new branch: the newest commit of the default branch that the exported one descends from."""
    before = file.ancestors(target.exported.id)
    main = branch_head(api, project, target.dataset, DEFAULT_BRANCH)
    for commit in _history(api, project, target.dataset, main.id) if main else ():
        if {commit.id, origin_of(commit.lineage)} & before:
            return commit.id
    return None


def _commit(
    api: Api, file: ExportFile, project: str, uploader: ApiUploader, targets: list[_Target]
) -> Iterator[ImportedCommit]:
    heads = {(target.dataset, target.branch): target.head for target in targets}
    for target in targets:
        one, key = target.exported, (target.dataset, target.branch)
        if target.done is not None:
            yield _known(project, target)
            continue
        document = file.commit_document(one)
        head = heads[key]
        request = CommitCreate(
            upload=uploader.id,
            tree=one.tree,
            branch=target.branch,
            expected=head.id if head else None,
            parent=None if head else _parent(api, file, project, target),
            message=decode_commit(document).message,
            origin=document.decode(),
        )
        commit = heads[key] = create_commit(api, project, target.dataset, request)
        yield ImportedCommit(one, project, *key, commit, is_new=True)
