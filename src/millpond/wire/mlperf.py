"""Measurements of model servers by MLCommons' LoadGen, as the tables of TR-4886."""

from __future__ import annotations

from millpond.model.mlperf import Scenario
from millpond.wire.base import Response, Time


class MlperfSetup(Response):
    """`storage`: local, shared, or "as is" for servers that ran already."""

    servers: int
    storage: str
    protocol: str


class MlperfResult(Response):
    """What LoadGen said; `run` keeps its files. `value` is in the unit of the table."""

    run: str
    at: Time
    model: str
    value: float | None
    valid: bool
    reason: str
    p99_ms: float | None
    ready_seconds: float | None
    quality: float | None
    official: bool


class MlperfRow(Response):
    """A task: results in the order of the table's set-ups, null where it was not run. `model` and `dataset` are the
    document's, empty for a task of one's own."""

    task: str
    title: str
    model: str
    dataset: str
    results: list[MlperfResult | None]
    shared_to_local: float | None
    two_to_one: float | None


class MlperfFigure(Response):
    """What the text of TR-4886 says of its figure: it shows the numbers as a picture alone."""

    shared_to_local: str
    two_to_one: str


class MlperfTable(Response):
    scenario: Scenario
    title: str
    unit: str
    higher_is_better: bool
    setups: list[MlperfSetup]
    rows: list[MlperfRow]
    document: MlperfFigure | None


class MlperfTables(Response):
    """`measured`: how many results there are in all tables."""

    measured: int
    tables: list[MlperfTable]
