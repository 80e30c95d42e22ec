"""Files that come through the server (at most 64 MiB), and the loose objects of earlier versions: packed and staged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from millpond.db import artifacts, uploads, users
from millpond.errors import BadPath, NotFound
from millpond.lake.packer import Packer
from millpond.lake.packs import PACK_TARGET
from millpond.lake.streaming import entry_of_stream
from millpond.lake.transfer import Meter
from millpond.model.dataset import Upload
from millpond.model.ids import new_id
from millpond.model.run import Run
from millpond.services.commits.uploads.server import ServerUploader
from millpond.services.deps import Deps
from millpond.services.runs.artifact_staging import stage_entries


def stage_bytes(deps: Deps, run: Run, files: Mapping[bytes, bytes], *, owner: str) -> None:
    """Pack these files and stage them, as a client does that sends them itself."""
    stage_streams(deps, run, {path: (len(data), iter([data])) for path, data in files.items()}, owner=owner)


def stage_streams(
    deps: Deps, run: Run, files: Mapping[bytes, tuple[int, Iterator[bytes]]], *, owner: str
) -> None:  # fmt: skip
    """The same for files of any size, each with its size and its pieces."""
    now = deps.clock.now()
    upload = Upload(id=new_id(), project_id=run.project_id, owner=owner, created_at=now, used_at=now)
    with deps.db.write() as tx:
        uploads.insert(tx, upload)
    with Packer(ServerUploader(deps, upload), Meter(None), PACK_TARGET) as packer:
        entries = [entry_of_stream(path, size, pieces, packer.add) for path, (size, pieces) in files.items()]
        packer.finish()
    stage_entries(deps, run, entries, owner=owner, upload_id=upload.id)


def take_in(deps: Deps, run: Run) -> None:
    """Take the run's loose artifacts into the lake, one after the other; object and row go once it is staged.

    One that was logged anew since is newer than the loose one, which goes as it is.
    """
    with deps.db.read() as tx:
        found = artifacts.loose(tx, run.id)
        newer = artifacts.staged_paths(tx, run.id) if found else set()
        author = users.find(tx, run.created_by) if found else None
    for item in found:
        path = item.path.encode()
        if path not in newer:
            with suppress(NotFound):  # a server that is taking it in at the same moment was quicker
                data = deps.store.get(item.key)
                _stage(deps, run, path, data, owner=f"user:{author.id}" if author else f"run:{run.id}")
        with deps.db.write() as tx:
            artifacts.forget_loose(tx, run.id, item.path)
        deps.store.delete(item.key)


def _stage(deps: Deps, run: Run, path: bytes, data: bytes, *, owner: str) -> None:
    """As loose objects, `a` and `a/b` could both be files; in a tree one of them needs another name."""
    try:
        stage_bytes(deps, run, {path: data}, owner=owner)
    except BadPath:
        stage_bytes(deps, run, {path.replace(b"/", b"_") + b".file": data}, owner=owner)
