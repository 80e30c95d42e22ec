"""Inputs and outputs of logged requests compared with a reference, column by column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from ..errors import ServeError
from .drift import Drift, DriftLevel, drift_of_categories, drift_of_numbers
from .tables import Row, sampled
from .values import Array, by_sample, columns_of, tensors_of

MOST_ROWS = 20_000
# Of a request with more samples than this, so many are compared; longer texts and lists of a table are passed over.
MOST_SAMPLES = 50
_LONGEST = 4096
_SIDES = {"inputs": "request", "outputs": "response"}
_ORDER = (DriftLevel.MUCH, DriftLevel.SOME, DriftLevel.NONE, DriftLevel.UNKNOWN)

# Values by column. Columns of a log begin with `inputs.` or `outputs.`, those of other tables have their own names.
Columns = Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Sample:
    """Columns of at most so many rows, of how many there were."""

    columns: Columns
    rows: int
    of: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """`columns` has those that moved most first; `unmatched` are columns of the log that the reference has not."""

    columns: Mapping[str, Drift]
    unmatched: Sequence[str] = ()
    # Of requests that one version answered, by its number.
    versions: Mapping[int, Comparison] = field(default_factory=dict)
    requests: int = 0

    @property
    def level(self) -> DriftLevel:
        """That of the column that moved most."""
        return next((one.level for one in self.columns.values()), DriftLevel.UNKNOWN)

    @property
    def psi(self) -> float:
        """That of the column that moved most, and 0 where chance explains it."""
        moved = self.level in (DriftLevel.SOME, DriftLevel.MUCH)
        return next(iter(self.columns.values())).psi if moved else 0.0

    @property
    def column(self) -> str:
        return next(iter(self.columns), "")


@dataclass(frozen=True, slots=True)
class LoggedSample:
    """Requests drawn from a log: the columns of each, and the version that answered it."""

    requests: Sequence[tuple[int | None, Columns]]
    of: int

    def columns(self, version: int | None = None) -> Sample:
        """Of all of them, or of those that one version answered."""
        chosen = [columns for number, columns in self.requests if version in (None, number)]
        return Sample(_joined(chosen), len(chosen), self.of if version is None else len(chosen))

    @property
    def versions(self) -> list[int]:
        return sorted({number for number, _ in self.requests if number is not None})


def sample_of_requests(found: Iterable[Row], most: int) -> LoggedSample:
    kept, count = sampled(found, most, lambda row: (row.get("version"), _of_request(row)))
    return LoggedSample(kept, count)


def sample_of_tables(found: Iterator[Row], most: int) -> Sample:
    """Of a request log, or of other tables."""
    first = next(found, {})
    every = chain([first], found) if first else found
    if {"request", "response"} <= set(first):
        return sample_of_requests(every, most).columns()
    kept, count = sampled(every, most, _plain)
    columns: dict[str, Array] = {}
    for name in dict.fromkeys(key for row in kept for key in row):
        values = [row[name] for row in kept if row.get(name) is not None]
        try:
            samples = by_sample(np.array(values))
        except ValueError:  # lists of different lengths
            continue
        if samples.size and samples.dtype.kind in "iufbU":
            columns.update(columns_of(name, samples, is_output=True))
    return Sample(columns, len(kept), count)


def compare(requests: LoggedSample, reference: Sample, columns: Sequence[str] = ()) -> Comparison:
    """`columns` of the reference make up the one input, in this order. ServeError if nothing can be compared."""
    every = requests.columns()
    found = _compared(every, reference, columns)
    if not found:
        raise ServeError(
            400,
            f"No column of the reference fits the log, which has {_some(every.columns)}; the reference has "
            f"{_some(reference.columns)}. Name the columns that make up the input with `columns`.",
        )
    of_versions = {}
    for number in requests.versions:
        answered = requests.columns(number)
        is_all = answered.rows == every.rows
        of_versions[number] = Comparison(
            found if is_all else _compared(answered, reference, columns), requests=answered.rows
        )
    return Comparison(found, sorted(set(every.columns) - set(found)), of_versions, every.rows)


def _compared(logged: Sample, reference: Sample, columns: Sequence[str]) -> dict[str, Drift]:
    pairs = _paired(logged.columns, reference.columns, columns)
    found = {name: _drift(before, logged.columns[name]) for name, before in pairs.items()}
    return dict(sorted(found.items(), key=lambda pair: (_ORDER.index(pair[1].level), -pair[1].psi)))


def _joined(requests: Iterable[Columns]) -> dict[str, Array]:
    columns: dict[str, list[Array]] = {}
    for one in requests:
        for name, values in one.items():
            columns.setdefault(name, []).append(values)
    return {name: np.concatenate(parts) for name, parts in columns.items()}


def _of_request(row: Row) -> dict[str, Array]:
    return {
        f"{side}.{column}": values
        for side, body in _SIDES.items()
        for name, samples in tensors_of(row.get(body), side)
        for column, values in columns_of(name, samples[:MOST_SAMPLES], is_output=side == "outputs")
    }


def _plain(row: Row) -> Row:
    """What of a row of a table can be compared: pictures and long texts would only fill the memory."""
    return {
        name: value
        for name, value in row.items()
        if isinstance(value, int | float | str | list) and (isinstance(value, int | float) or len(value) <= _LONGEST)
    }


def _paired(logged: Columns, reference: Columns, columns: Sequence[str]) -> dict[str, Array]:
    """Values of the reference for each column of the log that it has: by name, or in order where there is one input."""
    by_name = {name: reference.get(name, reference.get(name.partition(".")[2])) for name in logged}
    found = {name: values for name, values in by_name.items() if values is not None}
    inputs = [name for name in logged if name.startswith("inputs.")]
    is_one = len({name.partition("[")[0] for name in inputs}) == 1
    if columns or (is_one and not any(name in found for name in inputs)):
        if missing := [name for name in columns if name not in reference]:
            raise ServeError(400, f"The reference has no column {missing[0]!r}. It has {_some(reference)}.")
        chosen = list(columns) or [name for name, values in reference.items() if values.dtype.kind in "iuf"]
        if columns and not (is_one and len(chosen) == len(inputs)):
            raise ServeError(400, f"{len(chosen)} columns do not make up the inputs {_some(logged)}.")
        if len(chosen) == len(inputs):
            found |= {name: reference[column] for name, column in zip(inputs, chosen, strict=True)}
    return found


def _drift(before: Array, after: Array) -> Drift:
    if before.dtype.kind in "iuf" and after.dtype.kind in "iuf":
        return drift_of_numbers(before.tolist(), after.tolist())
    return drift_of_categories(map(str, before.tolist()), map(str, after.tolist()))


def _some(columns: Iterable[str]) -> str:
    names = list(columns)
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(names[:8]) + more if names else "no columns that can be compared"
