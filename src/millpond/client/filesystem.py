"""The fsspec file system `mill://project/dataset@ref/path`: pandas, polars, pyarrow and others read datasets in place.

Needs the extra `millpond[fsspec]`; fsspec finds this class by its entry point. Read-only, because commits are.
"""

from __future__ import annotations

import errno
import io
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn
from urllib.parse import unquote

from fsspec.spec import AbstractFileSystem

from millpond.client.credentials import resolve_target
from millpond.client.dataset import Dataset
from millpond.client.datasets import list_datasets
from millpond.client.http import Api
from millpond.client.ranged_file import READ_ONLY, check_mode
from millpond.errors import BadName, BadPath, BadRequest, Forbidden, NotFound, NotSignedIn
from millpond.lake.content import FileContent
from millpond.lake.listing import Listed
from millpond.model.path import from_text, to_text
from millpond.model.tree import Entry, Kind

# A branch is looked up again when nobody has used it for this long: whoever reads on stays at one commit.
_PINNED_SECONDS = 10.0

Info = dict[str, Any]


@dataclass
class _Pinned:
    dataset: Dataset
    used: float


@dataclass(frozen=True, slots=True)
class _Place:
    """What a path names: a file or directory of a dataset; `prefix` is how names of it begin."""

    dataset: Dataset
    prefix: str
    path: bytes

    def name(self, path: bytes) -> str:
        return f"{self.prefix}/{to_text(path)}" if path else self.prefix


class MillFileSystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """`mill://project/dataset@ref/path`; a `/` in a ref is written `%2F`, without a ref `main` is meant.

    Paths are written as everywhere in Millpond: `\\xNN` for bytes that are not UTF-8, `\\\\` for a backslash.
    """

    protocol = "mill"
    root_marker = ""

    def __init__(self, server: str | None = None, **options: Any) -> None:
        """`server` as `MILL_SERVER`; the token comes from `mill login` or `MILL_TOKEN`, never from options."""
        super().__init__(server=server, **options)
        self._server = server
        self._pinned: dict[str, _Pinned] = {}

    def info(self, path: str, **_: Any) -> Info:
        path = self._strip_protocol(path)
        with _os_errors(path):
            if path.count("/") == 0:
                return _directory(path)
            place = self._place(path)
            reader = place.dataset.reader
            end = reader.end_of(place.path) if place.path else b""
            entry = reader.stat(end) if end else None
            if entry is not None and entry.kind != Kind.DIRECTORY:
                return _file(path, entry)
            if entry is not None or (end is not None and reader.is_directory(end)):
                return _directory(path)
            link = reader.stat(place.path)
            if link is None:
                raise NotFound(f"No such file or folder: {path}")
            return {**_file(path, link), "size": 0}  # a link that leads nowhere: it is listed, so it is there

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        path = self._strip_protocol(path)
        with _os_errors(path):
            found = self._projects_or_datasets(path) if path.count("/") == 0 else self._list(path)
        return found if detail else [info["name"] for info in found]

    def find(
        self, path: str, maxdepth: int | None = None, withdirs: bool = False, detail: bool = False, **options: Any
    ) -> Any:
        path = self._strip_protocol(path)
        if maxdepth is not None or withdirs or path.count("/") == 0:
            return super().find(path, maxdepth=maxdepth, withdirs=withdirs, detail=detail, **options)
        with _os_errors(path):
            place = self._place(path)
            reader = place.dataset.reader
            end = (reader.end_of(place.path) if place.path else b"") or b""
            inside = end or not place.path
            entries = reader.beginning_with(end + b"/" if end else b"") if inside else ()
            files = [entry for entry in entries if entry.kind != Kind.DIRECTORY]
        if not files and self.isfile(path):
            return {path: self.info(path)} if detail else [path]
        found = {place.name(place.path + entry.path[len(end) :]): entry for entry in files}
        return {name: _file(name, found[name]) for name in sorted(found)} if detail else sorted(found)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        return self._read([(path, start, end)])[0]

    def cat_ranges(
        self,
        paths: Sequence[str],
        starts: Any,
        ends: Any,
        max_gap: int | None = None,
        on_error: str = "return",
        **options: Any,
    ) -> list[Any]:
        """Ranges of several files; neighbours in the lake are read together, whatever `max_gap` says."""
        first = starts if isinstance(starts, (list, tuple)) else [starts] * len(paths)
        last = ends if isinstance(ends, (list, tuple)) else [ends] * len(paths)
        wanted = list(zip(paths, first, last, strict=True))
        try:
            return list(self._read(wanted))
        except OSError:
            if on_error != "return":
                raise
        return super().cat_ranges(list(paths), list(first), list(last), on_error=on_error, **options)  # type: ignore[no-any-return]

    def modified(self, path: str) -> datetime:
        """When the commit was made."""
        path = self._strip_protocol(path)
        with _os_errors(path):
            return self._place(path).dataset.commit.time

    def checksum(self, path: str) -> str:
        """Equal for equal content."""
        return str(self.info(path).get("digest", ""))

    ukey = checksum

    def invalidate_cache(self, path: str | None = None) -> None:
        """Look branches up again."""
        self._pinned.clear()

    def _open(self, path: str, mode: str = "rb", block_size: int | None = None, **_: Any) -> io.IOBase:
        check_mode(mode)
        with _os_errors(path):
            place = self._place(self._strip_protocol(path))
            return place.dataset.open(to_text(place.path))  # type: ignore[return-value]

    def _read(self, wanted: Sequence[tuple[str, int | None, int | None]]) -> list[bytes]:
        found: dict[int, bytes] = {}
        by_dataset: dict[int, list[tuple[int, FileContent, int, int]]] = {}
        readers = {}
        for number, (path, start, end) in enumerate(wanted):
            with _os_errors(path):
                place = self._place(self._strip_protocol(path))
                reader = readers[id(place.dataset)] = place.dataset.reader
                content = reader.open(place.path)
            low, high, _ = slice(start, end).indices(content.size)
            by_dataset.setdefault(id(place.dataset), []).append((number, content, low, high))
        for key, rows in by_dataset.items():
            read = readers[key].read_many([(content, low, high) for _, content, low, high in rows])
            found.update({row[0]: data for row, data in zip(rows, read, strict=True)})
        return [found[number] for number in range(len(wanted))]

    def _list(self, path: str) -> list[Info]:
        place = self._place(path)
        reader = place.dataset.reader
        end = reader.end_of(place.path) if place.path else b""
        if end is None or not (end == b"" or reader.is_directory(end)):
            return [self.info(path)]
        below = place.path + b"/" if place.path else b""
        return [_listed(place.name(below + item.name), item) for item in reader.listing(end)]

    def _projects_or_datasets(self, path: str) -> list[Info]:
        target = resolve_target(self._server)
        with Api(target.server, target.token) as api:
            found = [(dataset.project, dataset.name) for dataset in list_datasets(api, project=path or None)]
        names = {f"{project}/{name}" if path else project for project, name in found}
        return [_directory(name) for name in sorted(names)]

    def _place(self, path: str) -> _Place:
        project, _, rest = path.partition("/")
        written, _, inner = rest.partition("/")
        if not project or not written:
            raise BadName(f"mill://{path} has no dataset.", hint="Write it as mill://project/dataset@ref/path.")
        return _Place(self._dataset(f"{project}/{unquote(written)}"), f"{project}/{written}", from_text(inner))

    def _dataset(self, written: str) -> Dataset:
        now = time.monotonic()
        pinned = self._pinned.get(written)
        if pinned is None or now - pinned.used > _PINNED_SECONDS:
            pinned = self._pinned[written] = self._pin(written, pinned)
        pinned.used = now
        return pinned.dataset

    def _pin(self, written: str, before: _Pinned | None) -> _Pinned:
        dataset = Dataset(written, server=self._server)
        # What was read before stays useful for as long as the ref has not moved.
        kept = before.dataset if before and before.dataset.commit.id == dataset.commit.id else dataset
        return _Pinned(kept, 0.0)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise io.UnsupportedOperation(READ_ONLY)

    mkdir = makedirs = rmdir = _rm = rm = rm_file = cp_file = mv = touch = pipe_file = put_file = _refuse


def _file(name: str, entry: Entry) -> Info:
    kind = entry.kind.name.lower()
    return {
        "name": name,
        "size": entry.size if entry.kind.is_file else None,
        "type": "file",
        "islink": entry.kind == Kind.SYMLINK,
        "kind": kind,
        "digest": entry.digest.hex(),
    }


def _directory(name: str) -> Info:
    return {"name": name, "size": 0, "type": "directory"}


def _listed(name: str, item: Listed) -> Info:
    return _directory(name) if item.entry is None or item.is_directory else _file(name, item.entry)


@contextmanager
def _os_errors(path: str) -> Iterator[None]:
    """Errors as programs that read files expect them; the words stay."""
    try:
        yield
    except NotFound as error:
        raise FileNotFoundError(errno.ENOENT, error.message, path) from error
    except (Forbidden, NotSignedIn) as error:
        raise PermissionError(errno.EACCES, error.message, path) from error
    except (BadName, BadPath) as error:
        raise OSError(errno.EINVAL, error.message, path) from error
    except BadRequest as error:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path) from error
