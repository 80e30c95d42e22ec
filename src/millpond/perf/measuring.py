"""Measures scenarios: LoadGen in a process for each server, all at once, and their results as one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from millpond.errors import Invalid
from millpond.model.mlperf import MEASURES, Scenario
from millpond.perf.plan import LoadPlan, LoadResult
from millpond.perf.search import largest
from millpond.perf.servers import MeasuredServer

# Of the highest rate that a first try reached: the server scenario is searched in steps of it.
_STEPS = 20
_LONGER = 1.3


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a scenario on all servers. `runs` are those behind it, one for each server."""

    scenario: Scenario
    value: float | None
    is_valid: bool
    runs: tuple[LoadResult, ...]

    @property
    def reason(self) -> str:
        """Why the result is invalid; "" if it is valid."""
        if self.is_valid:
            return ""
        for run in self.runs:
            if run.errors:
                return f"{run.errors} requests failed: {run.problem}"
            if run.why:
                return run.why[0]
        return "no load was handled in time"


def check_installed() -> None:
    if find_spec("mlperf_loadgen") is None:
        raise Invalid("LoadGen is not installed.", hint="pip install 'millpond[perf]'")


def measure(plan: LoadPlan, servers: Sequence[MeasuredServer]) -> Outcome:
    """Run the plan's scenario on all servers at once; multistream and server search for the highest load."""
    if plan.is_accuracy:
        return _joined(plan, run_all(plan, servers))
    if plan.scenario is Scenario.MULTI:
        return _searched(plan, servers, _streams, most=1 << 12)
    if plan.scenario is Scenario.SERVER and not plan.queries_per_second:
        offline = _joined(plan, run_all(replace(plan, scenario=Scenario.OFFLINE), servers))
        step = max(1.0, (offline.value or 1.0) / len(servers) / _STEPS)
        return _searched(plan, servers, lambda p, n: replace(p, queries_per_second=n * step), most=2 * _STEPS, first=8)
    runs = run_all(plan, servers)
    if plan.scenario is Scenario.OFFLINE and any("Min duration" in why for run in runs for why in run.why):
        # Its one query was too short: it was faster than the first requests let expect.
        seen = max(run.samples_per_second or 0.0 for run in runs)
        runs = run_all(replace(plan, queries_per_second=seen * _LONGER), servers)
    return _joined(plan, runs)


def run_all(plan: LoadPlan, servers: Sequence[MeasuredServer]) -> tuple[LoadResult, ...]:
    """One run of LoadGen for each server, begun together."""
    check_installed()
    started: list[_Driver] = []
    try:
        for number, server in enumerate(servers):
            mine = replace(
                plan, url=server.url(plan.protocol), token=server.token, folder=str(Path(plan.folder) / str(number))
            )
            started.append(_Driver(mine))
        for driver in started:
            driver.wait_until_ready()
        for driver in started:
            driver.begin()
        return tuple(driver.result() for driver in started)
    finally:
        for driver in started:
            driver.close()


class _Driver:
    """The process that measures one server."""

    def __init__(self, plan: LoadPlan) -> None:
        self._plan, self._first = plan, ""
        folder = Path(plan.folder)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "driver.log").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "millpond.perf.driver"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=log, text=True,
            )  # fmt: skip
        self._tell(json.dumps(plan.to_document()))

    def wait_until_ready(self) -> None:
        """Until its samples are loaded, or it has failed."""
        assert self._process.stdout is not None
        self._first = self._process.stdout.readline()

    def begin(self) -> None:
        if self._first == "ready\n":
            self._tell("go")

    def result(self) -> LoadResult:
        assert self._process.stdout is not None
        lines = [self._first, *self._process.stdout]
        code = self._process.wait()
        found = next((line for line in reversed(lines) if line.startswith("{")), None)
        if found is not None:
            return LoadResult.from_document(json.loads(found))
        problem = f"LoadGen ended with {code}: see {self._plan.folder}/driver.log"
        return LoadResult(scenario=self._plan.scenario, is_valid=False, value=None, errors=1, problem=problem)

    def close(self) -> None:
        self._process.kill()
        with suppress(BrokenPipeError), self._process:  # closes its pipes
            pass

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has failed: `result` says how
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()


def _streams(plan: LoadPlan, number: int) -> LoadPlan:
    return replace(plan, streams=number)


def _searched(
    plan: LoadPlan,
    servers: Sequence[MeasuredServer],
    at: Callable[[LoadPlan, int], LoadPlan],
    *,
    most: int,
    first: int = 1,
) -> Outcome:
    """The highest load that all servers handle within the bound."""
    seen: dict[int, Outcome] = {}

    def holds(number: int) -> bool:
        tried = at(plan, number)
        folder = str(Path(plan.folder) / f"load-{number}")
        runs = run_all(replace(tried, folder=folder), servers)
        seen[number] = _joined(plan, runs)
        return seen[number].is_valid and all(_within(run, plan) for run in runs)

    best = largest(holds, first=first, most=most)
    if best:
        return seen[best]
    tried = seen[min(seen)]
    return Outcome(plan.scenario, 0.0, False, tried.runs)


def _within(run: LoadResult, plan: LoadPlan) -> bool:
    return plan.within_ms is None or (run.p99_ms is not None and run.p99_ms <= plan.within_ms)


def _joined(plan: LoadPlan, runs: tuple[LoadResult, ...]) -> Outcome:
    values = [run.value for run in runs if run.value is not None]
    value = None
    if len(values) == len(runs):
        value = sum(values) if MEASURES[plan.scenario].joined == "sum" else sum(values) / len(values)
    return Outcome(plan.scenario, value, all(run.is_valid for run in runs), runs)
