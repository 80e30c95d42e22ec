"""`millpond.Dataset`: one commit of a dataset, read where it is or as local files."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from millpond.client.credentials import cache_dir, config_dir, load_credentials, resolve_target
from millpond.client.datasets import get_commit
from millpond.client.http import Api
from millpond.client.lineage import get_lineage
from millpond.client.local_copy import job_input, local_copy
from millpond.client.ranged_file import RangedFile, check_mode
from millpond.client.read_lease import ReadLease
from millpond.client.transfer import ApiDownloader
from millpond.client.used_data import note_use
from millpond.errors import BadName, Forbidden, NotFound
from millpond.lake.blocks import BlockCache
from millpond.lake.content import ContentReader
from millpond.model.lineage import LineageDirection
from millpond.model.names import DEFAULT_BRANCH, DatasetRef
from millpond.model.path import from_text, to_text
from millpond.model.quantity import parse_bytes
from millpond.model.tree import Kind
from millpond.wire.cache import CachedCommit
from millpond.wire.data import Commit
from millpond.wire.lineage import Lineage

# Blobs are fetched whole and kept: this only bounds how often Python is asked.
_BUFFER = 1 << 20
_BLOCK_CACHE = "4GB"


@dataclass(frozen=True, slots=True)
class DatasetEntry:
    """One file. `kind` is `file`, `executable` or `symlink`; `path` is written as everywhere in Millpond."""

    path: str
    size: int
    kind: str


def block_cache(environ: Mapping[str, str] = os.environ) -> BlockCache | None:
    """The user's cache of blocks; MILL_BLOCK_CACHE says how large it may become, 0 that there is none."""
    most = parse_bytes(environ.get("MILL_BLOCK_CACHE") or _BLOCK_CACHE)
    return BlockCache(cache_dir(environ) / ".blocks", most) if most else None


class _Connection:
    """The server and the lake as one process reaches them; closed with the last use."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self._process = os.getpid()

    def __del__(self) -> None:
        # In a forked process the sockets are the parent's still.
        if self._process == os.getpid():
            self.api.close()


class _Reading:
    """One commit as one process reads it."""

    def __init__(self, connection: _Connection, project: str, dataset: str, commit: Commit) -> None:
        self._connection = connection
        self._process = os.getpid()
        self._downloader = ApiDownloader(connection.api, project, dataset, commit.id)
        self.reader = ContentReader(self._downloader, commit.tree, block_cache=block_cache())

    def __del__(self) -> None:
        if self._process == os.getpid():
            self._downloader.close()


class Dataset:
    """A commit of a dataset, as `dataset`, `dataset@ref` or `project/dataset@ref`; pinned when it is first used.

    Without a ref, a job that has the dataset as its input means that commit, everybody else the branch `main`.
    May be used from several threads, after a fork, and pickled: then without the token, which is found anew.
    """

    def __init__(self, name: str, *, server: str | None = None, project: str | None = None) -> None:
        written = DatasetRef.parse(name)
        if written.path is not None:
            raise BadName(
                f"{name!r} includes a path.", hint="Give only the dataset here, and the path when you open a file."
            )
        target = resolve_target(server, written.project or project)
        self.project = target.project
        self.name = written.dataset
        self.ref = written.ref
        self.server = target.server
        self._named_server = server
        self._token = target.token
        self._commit: Commit | None = None
        # By process: after a fork, parent and child must not share connections.
        self._connections: dict[int, _Connection] = {}
        self._readings: dict[int, _Reading] = {}
        self._leases: list[ReadLease] = []

    @property
    def commit(self) -> Commit:
        """The commit that is read: the same for the life of this object, also when a branch moves on."""
        if self._commit is None:
            self._commit = self._find_commit()
        return self._commit

    def files(self, prefix: str = "") -> Iterator[DatasetEntry]:
        """Every file whose path begins with `prefix`, sorted by path; nothing is fetched but the list."""
        for entry in self.reader.beginning_with(from_text(prefix)):
            if entry.kind != Kind.DIRECTORY:
                yield DatasetEntry(to_text(entry.path), entry.size, entry.kind.name.lower())

    def open(self, path: str, mode: str = "rb", *, encoding: str | None = None, newline: str | None = None) -> IO[Any]:
        """One file, seekable, for reading (`rb`, `r`). Only the blobs that are touched are fetched, and checked.

        Links inside the commit are followed. NotFound, or BadRequest for a directory.
        """
        check_mode(mode)
        content = self.reader.open(from_text(path))
        file = io.BufferedReader(RangedFile(lambda: self.reader, content, path), _BUFFER)
        return file if "b" in mode else io.TextIOWrapper(file, encoding or "utf-8", newline=newline)

    def read(self, path: str) -> bytes:
        """The whole content of one file."""
        content = self.reader.open(from_text(path))
        return self.reader.read(content, 0, content.size)

    def path(self) -> Path:
        """A local folder with all the files, not to be changed.

        A job's own input, a mounted volume that has the commit, or a copy in the user's cache, fetched once. What
        lies on a volume is not evicted before `close`, or the end of the process.
        """
        found = local_copy(self._connection().api, self.project, self.name, self.commit, hold=self._hold)
        self._note_use(found.kind)
        return found.path

    def lineage(self, direction: str = "up", *, depth: int = 3, limit: int = 100) -> Lineage:
        """What made this commit (`up`), or what was made from it (`down`); as far as `depth` commits away."""
        way = LineageDirection(direction)
        api = self._connection().api
        return get_lineage(api, self.project, self.name, self.commit.id, way, depth=depth, limit=limit)

    @property
    def reader(self) -> ContentReader:
        """Reads the commit's files; one for each process."""
        found = self._readings.get(os.getpid())
        if found is None:
            made = _Reading(self._connection(), self.project, self.name, self.commit)
            # Of two threads that come here at once, one wins.
            found = self._readings.setdefault(os.getpid(), made)
            self._note_use("lake")
        return found.reader

    def close(self) -> None:
        """Close connections that nothing uses any more, and let the cache evict what `path` found there.

        Using the object again opens new ones.
        """
        for lease in self._leases:
            lease.end()
        self._leases.clear()
        self._readings.clear()
        self._connections.clear()

    def __enter__(self) -> Dataset:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        at = self._commit.id[:12] if self._commit else self.ref
        return f"Dataset('{self.project}/{self.name}{f'@{at}' if at else ''}')"

    def __getstate__(self) -> dict[str, Any]:
        # A pickle may end up anywhere: the token stays out of it.
        own: dict[str, Any] = {"_connections": {}, "_readings": {}, "_leases": [], "_token": None}
        return {**self.__dict__, **own, "_commit": self.commit}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        target = resolve_target(self._named_server)
        found = target.token if target.server == self.server else None
        self._token = found or load_credentials(config_dir()).token_of(self.server)

    def _note_use(self, read_from: str) -> None:
        note_use(f"{self.project}/{self.name}", self.ref, self.commit.id, read_from=read_from)

    def _hold(self, cached: CachedCommit) -> None:
        if not any(lease.is_held and lease.cached_id == cached.id for lease in self._leases):
            self._leases.append(ReadLease(self.server, self._token, cached.id))

    def _connection(self) -> _Connection:
        found = self._connections.get(os.getpid())
        if found is None:
            found = self._connections.setdefault(os.getpid(), _Connection(Api(self.server, self._token)))
        return found

    def _find_commit(self) -> Commit:
        api = self._connection().api
        if self.ref is not None and (pinned := _pinned(f"{self.project}/{self.name}@{self.ref}")):
            return get_commit(api, self.project, self.name, pinned)
        given = job_input(self.name) if self.ref is None else None
        if given is not None:
            try:
                return get_commit(api, self.project, self.name, given.name)
            except (NotFound, Forbidden):
                pass  # another project's dataset of the same name
        return get_commit(api, self.project, self.name, self.ref or DEFAULT_BRANCH)


def _pinned(written: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """The commit that a ref stands for in a job that makes an earlier run again, though the ref has moved on."""
    try:
        found = json.loads(environ.get("MILL_PINNED") or "{}").get(written)
    except (ValueError, AttributeError):
        return None
    return str(found) if found else None
