"""Tables read row by row: Parquet, CSV and JSON lines."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

from ..errors import ServeError

SUFFIXES = (".parquet", ".csv", ".jsonl")
# Rows of a table that are in memory at once.
_ROWS = 4096

Row = dict[str, Any]
Item = TypeVar("Item")
Kept = TypeVar("Kept")


def is_table(path: str) -> bool:
    return path.lower().endswith(SUFFIXES)


def rows(file: IO[bytes], path: str, *, texts: Sequence[str] = ()) -> Iterator[Row]:
    """The rows of a table. Columns named in `texts` are text, also where a CSV has digits. ServeError if unreadable."""
    suffix = Path(path).suffix.lower()
    try:
        if suffix == ".jsonl":
            yield from (row for row in map(json.loads, file) if isinstance(row, dict))
        else:
            with needs_pyarrow():
                batches = _csv(file, texts) if suffix == ".csv" else _parquet(file)
            for batch in batches:
                for start in range(0, batch.num_rows, _ROWS):
                    yield from batch.slice(start, _ROWS).to_pylist()
    except (ValueError, OSError) as error:  # errors of pyarrow are ValueErrors
        raise ServeError(400, f"Cannot read {path} as a table: {error}") from error


def rows_in(folder: Path, prefix: str = "") -> Iterator[Row]:
    """The rows of all tables below a path of a folder, by their paths. ServeError if there is none."""
    start = folder / prefix
    found = [start] if start.is_file() else sorted(one for one in start.rglob("*") if one.is_file())
    paths = [one for one in found if is_table(one.name)]
    if not paths:
        where = f" at {prefix}" if prefix else ""
        raise ServeError(400, f"The reference has no tables{where}. Parquet, CSV and JSON lines are read.")
    for path in paths:
        with path.open("rb") as file:
            yield from rows(file, str(path.relative_to(folder)))


def sampled(items: Iterable[Item], most: int, keep: Callable[[Item], Kept]) -> tuple[list[Kept], int]:
    """At most so many of them, each as likely as any other, and how many there were. The same ones each time.

    `keep` takes of an item what is needed: a request may be large, and there are many.
    """
    kept: list[Kept] = []
    count = 0
    chance = random.Random(0)
    for item in items:
        count += 1
        if len(kept) < most:
            kept.append(keep(item))
        elif (place := chance.randrange(count)) < most:
            kept[place] = keep(item)
    return kept, count


@contextmanager
def needs_pyarrow() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise ServeError(400, "Reading tables needs pyarrow. Run: pip install 'millpond[pandas]'") from error


def _parquet(file: IO[bytes]) -> Iterator[Any]:
    from pyarrow import parquet  # noqa: PLC0415 - an extra

    return iter(parquet.ParquetFile(file).iter_batches(batch_size=_ROWS))


def _csv(file: IO[bytes], texts: Sequence[str]) -> Iterator[Any]:
    import pyarrow  # noqa: PLC0415 - an extra
    import pyarrow.csv  # noqa: PLC0415

    options = pyarrow.csv.ConvertOptions(column_types={name: pyarrow.string() for name in texts})
    return iter(pyarrow.csv.open_csv(file, convert_options=options))
