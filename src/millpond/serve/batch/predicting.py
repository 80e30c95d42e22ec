"""Predicts one piece after the other, keeps each when it is whole, and goes on after the last one that was kept."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..config import ModelConfig
from ..errors import ServeError
from .pieces import Piece
from .reading import Array, Samples, read

Predict = Callable[[Mapping[str, Array]], Mapping[str, Array]]


@dataclass(frozen=True, slots=True)
class BatchJob:
    """`kept` is where whole pieces are; what is there already is not predicted again."""

    folder: Path
    kept: Path
    config: ModelConfig
    columns: Sequence[str] = ()
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # So many files may be unreadable before it is given up.
    max_errors: int = 0


@dataclass(slots=True)
class Progress:
    """How far it is. `errors` are files that could not be read or predicted, with why."""

    pieces: int = 0
    resumed: int = 0
    samples: int = 0
    errors: list[tuple[str, str]] = field(default_factory=list)


def run(job: BatchJob, pieces: Sequence[Piece], predict: Predict, tell: Callable[[Progress], None]) -> Progress:
    """Predict all pieces. ServeError once more files failed than may."""
    done = Progress()
    job.kept.mkdir(parents=True, exist_ok=True)
    for piece in pieces:
        target = job.kept / piece.name
        if target.exists():
            done.resumed += 1
            done.samples += _rows(target)
            done.errors += _read_errors(target)
        else:
            before = len(done.errors)
            rows = _Rows(job)
            for path in piece.paths:
                _predict_file(job, path, predict, rows, done)
            done.samples += rows.count
            _write(target, rows, done.errors[before:])
        done.pieces += 1
        tell(done)
    return done


class _Rows:
    """Predictions of a piece, as columns."""

    def __init__(self, job: BatchJob) -> None:
        self._job = job
        self.columns: dict[str, list[Any]] = {"source": [], "row": []}
        self.count = 0

    def add(self, samples: Samples, outputs: Mapping[str, Array]) -> None:
        self.columns["source"] += [samples.source] * samples.count
        self.columns["row"] += range(samples.first, samples.first + samples.count)
        for name, array in outputs.items():
            self._column(name).extend(_values(array))
            labels = self._job.labels.get(name)
            if labels and array.ndim == 2 and array.shape[1] <= len(labels):
                best = array.argmax(axis=1)
                self._column(f"{name}.label").extend(labels[index] for index in best)
                self._column(f"{name}.score").extend(array[range(len(best)), best].tolist())
        self.count += samples.count

    def _column(self, name: str) -> list[Any]:
        return self.columns.setdefault(name, [])


def _predict_file(job: BatchJob, path: str, predict: Predict, rows: _Rows, done: Progress) -> None:
    """All rows of a file, or none: what fails half way is not half there."""
    try:
        found = [
            (part, predict(part.inputs))
            for samples in read(job.folder, path, job.config, job.columns)
            for part in _batches(samples, job.config.max_batch_size)
        ]
    except (ServeError, OSError, ValueError, SyntaxError) as error:  # SyntaxError: a broken PNG
        done.errors.append((path, str(error)))
        if len(done.errors) > job.max_errors:
            raise ServeError(400, f"{path}: {error}") from error
        return
    for part, outputs in found:
        rows.add(part, outputs)


def _batches(samples: Samples, size: int) -> Iterator[Samples]:
    """Parts that fit into one request; a model without batches gets one sample at a time, without that dimension."""
    step = max(1, size)
    for at in range(0, samples.count, step):
        inputs = {name: array[at : at + step] for name, array in samples.inputs.items()}
        yield Samples(samples.source, samples.first + at, inputs)


def _values(array: Array) -> list[Any]:
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    found: list[Any] = array.tolist()
    return [value.decode(errors="replace") if isinstance(value, bytes) else value for value in found]


def _write(target: Path, rows: _Rows, errors: Sequence[tuple[str, str]]) -> None:
    """A file of Parquet that is there as a whole or not at all."""
    import pyarrow as pa  # noqa: PLC0415 - loaded by those who write
    import pyarrow.parquet as pq  # noqa: PLC0415

    table = pa.table(rows.columns)
    told = json.dumps([list(one) for one in errors]).encode()
    table = table.replace_schema_metadata({b"millpond.errors": told})
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    pq.write_table(table, beside, compression="zstd")
    with beside.open("rb+") as file:
        os.fsync(file.fileno())
    beside.replace(target)


def _rows(target: Path) -> int:
    import pyarrow.parquet as pq  # noqa: PLC0415 - loaded by those who resume

    return int(pq.read_metadata(target).num_rows)


def _read_errors(target: Path) -> list[tuple[str, str]]:
    import pyarrow.parquet as pq  # noqa: PLC0415 - loaded by those who resume

    found = (pq.read_schema(target).metadata or {}).get(b"millpond.errors", b"[]")
    return [(path, why) for path, why in json.loads(found)]
