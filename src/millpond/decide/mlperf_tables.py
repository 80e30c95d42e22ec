"""The document's tables: its six tasks, and what was measured here of each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from millpond.model.mlperf import MEASURES, TASKS, Measurement, MlperfRow, MlperfTable, Scenario, Setup, Task
from millpond.model.run import RunView

# What the document compares, by any protocol.
_STORAGES, _SERVERS = ("local", "shared"), (1, 2)
_DEFAULT_PROTOCOL = "http"


def measurement_of(view: RunView) -> Measurement | None:
    """What a run of the experiment keeps; None for the run of a whole matrix, and for one that somebody wrote."""
    params, tags = view.params, view.tags
    try:
        scenario, servers = Scenario(params.get("scenario")), int(params["servers"])
        protocol, storage, task = (str(params[key]) for key in ("protocol", "storage", "task"))
    except (KeyError, ValueError, TypeError):
        return None
    return Measurement(
        run=view.run.id,
        at=view.run.started_at,
        task=task,
        model=str(params.get("model", "")),
        scenario=scenario,
        setup=Setup(protocol, storage, servers),
        value=_metric(view, "value"),
        is_valid=tags.get("mlperf.valid") == "true",
        reason=tags.get("mlperf.reason", ""),
        p99_ms=_metric(view, "p99_ms"),
        ready_seconds=_metric(view, "ready_seconds"),
        quality=_metric(view, "quality"),
        is_official=str(params.get("official", "")).lower() == "true",
    )


def tables(measured: Sequence[Measurement]) -> list[MlperfTable]:
    """A table for each scenario of the document, and for *server* where it was measured. Later ones replace earlier
    ones. The document's tasks come first, then those that only this installation has."""
    return [
        _table(scenario, [one for one in measured if one.scenario is scenario])
        for scenario in MEASURES
        if scenario is not Scenario.SERVER or any(one.scenario is scenario for one in measured)
    ]


def _table(scenario: Scenario, found: Sequence[Measurement]) -> MlperfTable:
    setups = _setups(found)
    known: dict[str, Task | None] = {
        task.name: task for task in TASKS if scenario in task.scenarios or scenario is Scenario.SERVER
    }
    known |= {one.task: None for one in found if one.task not in known}
    newest = {(one.task, one.setup): one for one in found}
    rows = [_row(name, task, {s: newest.get((name, s)) for s in setups}) for name, task in known.items()]
    return MlperfTable(scenario, setups, tuple(rows))


def _setups(found: Sequence[Measurement]) -> tuple[Setup, ...]:
    """Those of the document, by each protocol that was measured, and what else was."""
    protocols = {one.setup.protocol for one in found if one.setup.storage in _STORAGES} or {_DEFAULT_PROTOCOL}
    document = {Setup(p, storage, count) for p in protocols for storage in _STORAGES for count in _SERVERS}
    more = {one.setup for one in found} - document
    by_document = sorted(document, key=lambda one: (one.protocol != _DEFAULT_PROTOCOL, one))
    return (*by_document, *sorted(more))


def _row(name: str, task: Task | None, results: Mapping[Setup, Measurement | None]) -> MlperfRow:
    protocols = dict.fromkeys(setup.protocol for setup in results)
    storages = _STORAGES[::-1]
    shared = [(Setup(p, "shared", 1), Setup(p, "local", 1)) for p in protocols]
    two = [(Setup(p, storage, 2), Setup(p, storage, 1)) for p in protocols for storage in storages]
    return MlperfRow(
        task=name,
        title=task.title if task else name,
        model=task.model if task else "",
        dataset=task.dataset if task else "",
        results=tuple(results.values()),
        shared_to_local=_ratio(results, shared),
        two_to_one=_ratio(results, two),
    )


def _ratio(results: Mapping[Setup, Measurement | None], pairs: Sequence[tuple[Setup, Setup]]) -> float | None:
    """Of the first pair that has both results, as LoadGen accepts them."""
    for above, below in pairs:
        one, other = _valid(results.get(above)), _valid(results.get(below))
        if one is not None and other:
            return one / other
    return None


def _valid(one: Measurement | None) -> float | None:
    return one.value if one is not None and one.is_valid else None


def _metric(view: RunView, key: str) -> float | None:
    found: Any = view.metrics.get(key)
    return found.last if found is not None and math.isfinite(found.last) else None
