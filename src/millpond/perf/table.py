"""The document's tables: its six tasks, and what was measured here of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millpond.perf.tasks import DOCUMENT, MEASURES, TASKS, Scenario

NOT_RUN = "not run"
Documents = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Row:
    """A task in a scenario: results by the set-up (`1 × local`), or "not run"."""

    task: str
    results: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ScenarioTable:
    scenario: Scenario
    title: str
    setups: tuple[str, ...]
    rows: tuple[Row, ...]
    document: str


def tables(measured: Documents) -> list[ScenarioTable]:
    """A table for each scenario. `measured` are cells as documents, with their `task`; later ones replace earlier ones.

    The document's tasks come first, then those that only this installation has.
    """
    scenarios = [one for one in MEASURES if one is not Scenario.SERVER or _of(measured, one)]
    return [_table(scenario, _of(measured, scenario)) for scenario in scenarios]


def _of(measured: Documents, scenario: Scenario) -> list[Mapping[str, Any]]:
    return [one for one in measured if one["scenario"] == scenario.value]


def _table(scenario: Scenario, found: Documents) -> ScenarioTable:
    setups = tuple(sorted({_setup(one) for one in found}, key=lambda name: (name.split(" × ")[::-1], name)))
    known = {task.name: task.title for task in TASKS if scenario in task.scenarios or scenario is Scenario.SERVER}
    others = {str(one["task"]): str(one["task"]) for one in found if one["task"] not in known}
    rows = []
    for name, title in {**known, **others}.items():
        mine = {_setup(one): _written(one) for one in found if one["task"] == name}
        rows.append(Row(title, {setup: mine.get(setup, NOT_RUN) for setup in setups}))
    measure = MEASURES[scenario]
    return ScenarioTable(scenario, f"{measure.title}, {measure.unit}", setups, tuple(rows), DOCUMENT.get(scenario, ""))


def _setup(one: Mapping[str, Any]) -> str:
    return f"{one['servers']} × {one['storage']}, {one['protocol']}"


def _written(one: Mapping[str, Any]) -> str:
    value = one["value"]
    text = "–" if value is None else f"{value:.4g}"
    return text if one["valid"] else f"{text} INVALID"
