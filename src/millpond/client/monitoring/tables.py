"""Tables in commits, with what is wrong about them told as errors of the client."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

from millpond.errors import BadRequest
from millpond.serve.errors import ServeError
from millpond.serve.monitoring import tables
from millpond.serve.monitoring.tables import Row, needs_pyarrow


def rows(file: IO[bytes], path: str, *, texts: Sequence[str] = ()) -> Iterator[Row]:
    """The rows of a table. Columns named in `texts` are text, also where a CSV has digits. BadRequest if unreadable."""
    with told_as_bad_request():
        yield from tables.rows(file, path, texts=texts)


def write_parquet(columns: dict[str, list[Any]], target: IO[bytes]) -> None:
    with told_as_bad_request(), needs_pyarrow():
        import pyarrow  # noqa: PLC0415 - an extra
        from pyarrow import parquet  # noqa: PLC0415
    try:
        table = pyarrow.table(columns)
    except (ValueError, TypeError) as error:
        raise BadRequest(f"Values of one column are of different types: {error}") from error
    parquet.write_table(table, target, compression="zstd")


@contextmanager
def told_as_bad_request() -> Iterator[None]:
    try:
        yield
    except ServeError as error:
        raise BadRequest(error.message) from error
