"""Single files of a branch, put or removed as a commit: no working copy, and nothing but these files is sent."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, Literal

from millpond.client.branches import find_ref
from millpond.client.commits import COMMIT_SECONDS
from millpond.client.http import Api
from millpond.client.paths import dataset_path
from millpond.client.retrying_sender import until_complete
from millpond.client.transfer import ApiUploader
from millpond.errors import BadRequest, NotFound
from millpond.lake.branch_retry import on_newest
from millpond.lake.packer import Packer
from millpond.lake.packs import PACK_TARGET
from millpond.lake.stable_read import read_chunks
from millpond.lake.transfer import Meter, Progress
from millpond.model.names import DEFAULT_BRANCH
from millpond.model.tree import Content, Entry, Kind
from millpond.wire.data import Commit, Edit, EditPut

_CONTENTS: Mapping[Content, Literal["nothing", "blob", "chunks"]] = {
    Content.NOTHING: "nothing",
    Content.BLOB: "blob",
    Content.CHUNKS: "chunks",
}


def put_files(
    api: Api,
    project: str,
    dataset: str,
    files: Mapping[str, Path | BinaryIO],
    *,
    branch: str = DEFAULT_BRANCH,
    message: str = "",
    progress: Progress | None = None,
) -> Commit:
    """Commit local files under these paths (text form), beside what the branch holds.

    Streams and pipes are read to their end.
    """
    with _at_rest(files) as steady:

        def push_and_commit() -> Commit:
            meter = Meter(progress)
            with ApiUploader(api, project) as uploader, Packer(uploader, meter, PACK_TARGET) as packer:
                puts = [_put(packer, meter, path, local) for path, local in steady.items()]
                packer.finish()
                meter.finish()
                edit = Edit(upload=uploader.id, branch=branch, message=message, puts=puts)
                return _commit(api, project, dataset, edit)

        return until_complete(push_and_commit)


def remove_paths(
    api: Api,
    project: str,
    dataset: str,
    paths: Sequence[str],
    *,
    branch: str = DEFAULT_BRANCH,
    recursive: bool = False,
    message: str = "",
) -> Commit:
    """Commit without these paths (text form). Directories go with all they hold if `recursive`, else BadRequest."""
    edit = Edit(branch=branch, message=message, removes=list(paths), recursive=recursive)
    return _commit(api, project, dataset, edit)


@contextmanager
def _at_rest(files: Mapping[str, Path | BinaryIO]) -> Iterator[Mapping[str, Path]]:
    """The same with streams in files of their own: a stream is read once, and it may have to be sent twice."""
    with ExitStack() as stack:
        yield {path: _steady(stack, local) for path, local in files.items()}


def _steady(stack: ExitStack, local: Path | BinaryIO) -> Path:
    if not isinstance(local, Path):
        return _copied(stack, local)
    if not _is_pipe(local):
        return local
    with local.open("rb") as pipe:
        return _copied(stack, pipe)


def _is_pipe(local: Path) -> bool:
    try:
        mode = local.stat().st_mode
    except FileNotFoundError as error:
        raise NotFound(f"File not found: {str(local)!r}") from error
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        raise BadRequest(f"{str(local)!r} is neither a file nor a pipe.")
    return stat.S_ISFIFO(mode)


def _copied(stack: ExitStack, stream: BinaryIO) -> Path:
    copy = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mill-put-")), "stream")
    with copy.open("wb") as out:
        shutil.copyfileobj(stream, out)
    return copy


def _put(packer: Packer, meter: Meter, path: str, local: Path) -> EditPut:
    """Send the blobs of one file, following links: it is the content that was asked for."""
    where = os.fsencode(local.resolve())
    folder, _, name = where.rpartition(b"/")
    try:
        entry = read_chunks(folder, name, packer.add).entry
    except FileNotFoundError as error:
        raise NotFound(f"File not found: {str(local)!r}") from error
    meter.add(files=1, bytes=entry.size)
    return _shape(path, entry)


def _shape(path: str, entry: Entry) -> EditPut:
    return EditPut(
        path=path,
        kind="executable" if entry.kind is Kind.EXECUTABLE else "file",
        size=entry.size,
        content=_CONTENTS[entry.content],
        digest=entry.digest.hex() if entry.content is not Content.NOTHING else None,
    )


def _commit(api: Api, project: str, dataset: str, edit: Edit) -> Commit:
    """Each attempt names the commit it goes on top of, so that it may be sent again if the answer is lost."""
    path = f"{dataset_path(project, dataset)}/edits"

    def attempt() -> Commit:
        head = find_ref(api, project, dataset, edit.branch)
        asked = edit.model_copy(update={"expected": head.commit_id if head else None})
        return api.send("POST", path, Commit, asked, idempotent=True, timeout=COMMIT_SECONDS)

    return on_newest(attempt)
