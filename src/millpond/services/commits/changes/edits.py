"""Single paths of a branch, put or removed in one commit: nobody needs a working copy, and no whole tree is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from millpond.errors import BadRequest
from millpond.lake.reader import TreeReader
from millpond.model.dataset import Commit, Dataset
from millpond.model.names import DEFAULT_BRANCH, check_ref_name
from millpond.model.path import check_path, from_text, to_text
from millpond.model.people import Actor, Project
from millpond.model.quantity import format_count
from millpond.model.tree import NO_DIGEST, Content, Entry, Kind
from millpond.services.commits.changes.branch import Changes, change_branch
from millpond.services.commits.uploads import uploads as upload_service
from millpond.services.datasets.reading import reader_of
from millpond.services.deps import Deps
from millpond.services.people import access

_KINDS = {"directory": Kind.DIRECTORY, "symlink": Kind.SYMLINK, "file": Kind.FILE, "executable": Kind.EXECUTABLE}
_CONTENTS = {"nothing": Content.NOTHING, "blob": Content.BLOB, "chunks": Content.CHUNKS}


@dataclass(frozen=True, slots=True)
class Put:
    """One entry to add or replace, as text: its content was sent in packs, unless the project has it already."""

    path: str
    kind: str = "file"
    size: int = 0
    content: str = "nothing"
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """Single paths of a branch, changed in one commit."""

    branch: str = DEFAULT_BRANCH
    expected: str | None = None  # the commit the branch must still be at; None: whatever it is at
    message: str = ""
    upload: str | None = None  # whose packs hold new content
    puts: Sequence[Put] = ()
    removes: Sequence[str] = ()
    recursive: bool = False  # a path to remove may be a directory, with everything below it


def edit(deps: Deps, actor: Actor, project: Project, dataset: Dataset, asked: Edit) -> Commit:
    """The commit with these paths put and removed; the branch's newest commit if it holds all that already.

    NotFound for a path to remove that is not there, BadRequest for a directory that is to be removed without
    `recursive`, BadPath where a path would be a directory of another; Incomplete names content that was not sent.
    """
    check_ref_name(asked.branch)
    if not asked.puts and not asked.removes:
        raise BadRequest("Nothing to add or remove.")
    if asked.upload is not None:
        upload_service.get(deps, actor, project, asked.upload)
    puts = sorted((_entry(put) for put in asked.puts), key=lambda entry: entry.path)
    removes = sorted({check_path(from_text(path)) for path in asked.removes})

    def plan(base: Commit | None) -> Changes:
        reader = reader_of(deps, dataset, base) if base is not None else None
        removals = list(_removals(reader, removes, recursive=asked.recursive))
        message = asked.message or _message(puts, removes)
        return Changes(puts=puts, removals=removals, message=message, upload_id=asked.upload)

    return change_branch(deps, actor, dataset, branch=asked.branch, expected=asked.expected, plan=plan)


def _entry(put: Put) -> Entry:
    return Entry(
        path=check_path(from_text(put.path)),
        kind=_KINDS[put.kind],
        size=put.size,
        content=_CONTENTS[put.content],
        digest=bytes.fromhex(put.digest) if put.digest else NO_DIGEST,
    )


def _removals(reader: TreeReader | None, paths: list[bytes], *, recursive: bool) -> Iterator[bytes]:
    """The entries that go: those of these paths, and of directories everything below them."""
    for path in paths:
        if reader is not None and reader.stat(path) is not None:
            yield path
        elif reader is None or not reader.is_directory(path):
            raise access.not_found("path", to_text(path))
        elif not recursive:
            raise BadRequest(
                f"{to_text(path)!r} is a directory.", hint="To remove everything below it, add --recursive."
            )
        else:
            yield from (entry.path for entry in reader.entries(path))


def _message(puts: list[Entry], removes: list[bytes]) -> str:
    """The default message: `Put a.csv`, `Remove 3 paths`."""
    parts = [(f"{verb}", paths) for verb, paths in (("Put", [e.path for e in puts]), ("Remove", removes)) if paths]
    words = [
        f"{verb} {to_text(paths[0]) if len(paths) == 1 else format_count(len(paths), 'path')}" for verb, paths in parts
    ]
    return ", ".join([words[0], *(word.lower() for word in words[1:])])
