"""Reads the summary that LoadGen writes after a run."""

from __future__ import annotations

import re
from collections.abc import Mapping

from millpond.model.mlperf import Scenario
from millpond.perf.plan import LoadPlan, LoadResult

_LINE = re.compile(r"^\s*([^:]+?)\s*:\s*(.*?)\s*$")
_NANOSECONDS_PER_MS = 1e6
_VALUES = {
    Scenario.OFFLINE: "samples per second",
    Scenario.SERVER: "completed samples per second",
}


def read_summary(text: str, plan: LoadPlan) -> LoadResult:
    """The result of a run. An unknown or cut-off summary is an invalid result, never an error."""
    said = {
        key.lower(): value for key, value in (match.groups() for match in map(_LINE.match, text.splitlines()) if match)
    }
    is_valid = said.get("result is", "").upper() == "VALID"
    p90 = _ms(said, "90.00 percentile latency (ns)") or _ms(said, "90th percentile latency (ns)")
    p99 = _ms(said, "99.00 percentile latency (ns)") or _ms(said, "99th percentile latency (ns)")
    if plan.scenario is Scenario.SINGLE:
        value = p90
    elif plan.scenario is Scenario.MULTI:
        value = float(plan.streams)
    else:
        value = _number(said.get(_VALUES[plan.scenario]))
    return LoadResult(
        scenario=plan.scenario,
        is_valid=is_valid,
        value=value,
        p50_ms=_ms(said, "50.00 percentile latency (ns)"),
        p90_ms=p90,
        p99_ms=p99,
        samples_per_second=_number(said.get("samples per second") or said.get("completed samples per second")),
        why=() if is_valid else _reasons(text),
    )


def _reasons(text: str) -> tuple[str, ...]:
    """What LoadGen recommends, and which of its conditions were not met."""
    lines = [line.strip().lstrip("*").strip() for line in text.splitlines()]
    unmet = [line for line in lines if re.search(r"satisfied\s*:\s*NO", line)]
    after = lines[lines.index("Recommendations:") + 1 :] if "Recommendations:" in lines else []
    told = []
    for line in after:
        if not line or line.startswith("="):
            break
        told.append(line)
    return (*unmet, *told)


def _ms(said: Mapping[str, str], key: str) -> float | None:
    found = _number(said.get(key))
    return None if found is None else found / _NANOSECONDS_PER_MS


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None
