"""Imports: objects outside the lake become entries of a commit, registered where they lie or copied."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from millpond.blobs.guarded_http import shown
from millpond.decide.import_plan import ImportPlan, plan_import
from millpond.errors import BadRequest, Incomplete
from millpond.lake.digests import digest_of
from millpond.lake.external import describe, encode_descriptor
from millpond.lake.packer import Packer
from millpond.lake.packs import PACK_TARGET
from millpond.lake.transfer import Meter
from millpond.model.connection import ExternalObject, ProjectConnection
from millpond.model.dataset import Commit, Dataset
from millpond.model.names import DEFAULT_BRANCH, check_ref_name
from millpond.model.people import Actor, Project
from millpond.model.quantity import format_count
from millpond.model.source import SourceObject
from millpond.model.tree import Content, Entry, Kind
from millpond.services.commits.changes.branch import Changes, change_branch
from millpond.services.commits.uploads import uploads as upload_service
from millpond.services.commits.uploads.server import ServerUploader
from millpond.services.datasets.reading import directory_path, reader_of
from millpond.services.deps import Deps
from millpond.services.sources import connections
from millpond.services.sources.copying import Copier, Note, is_same
from millpond.services.sources.place_listing import Looked, Wanted, check_wanted, look


@dataclass(frozen=True, slots=True)
class Order:
    """What to bring where, and what was brought before."""

    connection: ProjectConnection
    wanted: Wanted
    branch: str
    message: str = ""
    copies: bool = False
    source: str | None = None
    before: Mapping[bytes, SourceObject] = field(default_factory=dict)

    @property
    def lineage(self) -> Mapping[str, Any]:
        made = {"connection": self.connection.name, "uri": shown(self.wanted.uri), "copied": self.copies}
        return {"import": made | ({"source": self.source} if self.source else {})}


@dataclass(frozen=True, slots=True)
class Done:
    """`commit` is what the branch is at; `standing` are the entries there that stand for objects of the place.

    Those of `standing` count that are new to the source: what an import registered before is its own from now on.
    """

    commit: Commit | None
    is_new: bool
    plan: ImportPlan
    looked: Looked
    standing: Sequence[SourceObject]

    @property
    def counts(self) -> dict[str, Any]:
        return {
            "added": self.plan.added,
            "changed": self.plan.changed,
            "removed": len(self.plan.removes),
            "unchanged": self.plan.unchanged,
            "bytes": sum(found.size for found in self.looked.objects.values()),
            "skipped_count": self.looked.skipped_count,
            "skipped": [asdict(item) for item in self.looked.skipped],
        }


def import_objects(
    deps: Deps,
    actor: Actor,
    project: Project,
    dataset: Dataset,
    *,
    connection: str,
    uri: str,
    listing: bool = False,
    path: str = "",
    branch: str = DEFAULT_BRANCH,
    message: str = "",
) -> Done:
    """Register what lies at a place as a commit; the branch's newest commit if it holds all of it already.

    Nothing is removed: what is no longer at the place stays as it was imported.
    """
    check_ref_name(branch)
    wanted = Wanted(uri, listing, directory_path(path))
    order = Order(connections.get(deps, project, connection), wanted, branch, message)
    return carry_out(deps, actor, project, dataset, order)


def carry_out(
    deps: Deps,
    actor: Actor,
    project: Project,
    dataset: Dataset,
    order: Order,
    *,
    still_wanted: Callable[[], None] = lambda: None,
    note: Note = lambda found: None,
) -> Done:
    """Look, compare with the branch, and commit the difference. `still_wanted` may raise before the commit.

    `note` is told now and then what was copied, for a run that goes on after this one was cut off.
    """
    check_wanted(order.connection.place, order.wanted)
    with connections.opened_to_list(deps, order.connection) as place:
        looked = look(place, order.connection.place, order.wanted)
        _check_not_emptied(order, looked)
        if not order.copies:
            _skip_unnoticed(looked)
        uploader = ServerUploader(deps, upload_service.create(deps, actor, project))
        copier = Copier(deps, place, uploader, looked.objects, order.before, note, still_wanted)
        work = _Work(deps, actor, dataset, order, looked, uploader, copier, still_wanted)
        try:
            return work.change()
        except Incomplete:  # packs it built on were collected: what they held is sent again
            copier.from_the_beginning = True
            return work.change()


def _check_not_emptied(order: Order, looked: Looked) -> None:
    if order.before and not looked.objects:
        raise BadRequest(
            f"{shown(order.wanted.uri)} is empty now; the {format_count(len(order.before), 'file')} "
            "of the dataset stay.",
            hint="If this is intended, remove the source, and the files with: mill data rm",
        )


def _skip_unnoticed(looked: Looked) -> None:
    for path, found in list(looked.objects.items()):
        if found.size and found.etag is None:
            del looked.objects[path]
            why = (
                "The server of this file sends no strong ETag, so changes would go unnoticed. Copy it "
                "with a source instead."
            )
            looked.skip(found.uri, why)


def _registered(order: Order, path: bytes, found: ExternalObject) -> tuple[Entry, bytes]:
    """The entry that stands for an object where it lies, and its descriptor."""
    if not found.size:
        return Entry(path, Kind.FILE), b""
    descriptor = encode_descriptor(describe(order.connection.name, found))
    return Entry(path, Kind.FILE, found.size, Content.EXTERNAL, digest_of(descriptor)), descriptor


@dataclass
class _Work:
    deps: Deps
    actor: Actor
    dataset: Dataset
    order: Order
    looked: Looked
    uploader: ServerUploader
    copier: Copier
    still_wanted: Callable[[], None]
    put: dict[bytes, Entry] = field(default_factory=dict)
    planned: ImportPlan | None = None
    base: Commit | None = None

    def change(self) -> Done:
        commit = change_branch(
            self.deps, self.actor, self.dataset, branch=self.order.branch, expected=None, plan=self.plan
        )
        assert self.planned is not None
        is_new = self.base is None or commit.id != self.base.id
        return Done(commit, is_new, self.planned, self.looked, list(self._standing()))

    def plan(self, base: Commit | None) -> Changes:
        """Called again for every commit that somebody else makes meanwhile."""
        self.base = base
        reader = reader_of(self.deps, self.dataset, base) if base is not None else None
        planned = plan_import(
            self.looked.objects,
            self.order.before,
            stat=reader.stat if reader is not None else lambda path: None,
            is_current=self._is_current,
        )
        self.planned = planned
        with Packer(self.uploader, Meter(None), PACK_TARGET) as packer:
            self.put = {entry.path: entry for entry in self._entries(planned, packer)}
            packer.finish()
        self.still_wanted()
        return Changes(
            puts=list(self.put.values()),
            removals=planned.removes,
            message=self.order.message or self._message(planned),
            upload_id=self.uploader.upload.id,
            lineage=self.order.lineage,
        )

    def _standing(self) -> Iterator[SourceObject]:
        for path, found in self.looked.objects.items() if self.order.source else ():
            if path in self.put:
                entry = self.put[path]
            elif self.order.copies:
                continue  # unchanged, and so known
            else:
                entry = _registered(self.order, path, found)[0]
            now = SourceObject(path, found.etag, entry.size, entry.digest)
            if self.order.before.get(path) != now:
                yield now

    def _is_current(self, path: bytes, found: ExternalObject, entry: Entry) -> bool:
        if not self.order.copies:
            return entry == _registered(self.order, path, found)[0]
        known = self.order.before.get(path)
        if known is None or not is_same(known, found):
            return False
        return (entry.kind, entry.size, entry.digest) == (Kind.FILE, known.size, known.digest)

    def _entries(self, planned: ImportPlan, packer: Packer) -> Iterator[Entry]:
        if self.order.copies:
            yield from self.copier.entries(planned.puts, packer)
            return
        for path in planned.puts:
            entry, descriptor = _registered(self.order, path, self.looked.objects[path])
            if descriptor:
                packer.add(entry.digest, descriptor)
            yield entry

    def _message(self, planned: ImportPlan) -> str:
        counts = {"added": planned.added, "changed": planned.changed, "removed": len(planned.removes)}
        words = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)
        return f"Import {shown(self.order.wanted.uri)}: {words or 'nothing new'}"
