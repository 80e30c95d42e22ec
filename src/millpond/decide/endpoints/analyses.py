"""What an analysis of a request log found, from the report that its job left. Reports come from jobs: nothing in them
is believed to have the right form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from math import isfinite
from typing import Any

from millpond.decide.endpoints.drift_rules import alerts_of
from millpond.model.endpoint_analysis import Analysis, AnalysisKind, AnalysisState
from millpond.model.endpoint_spec import EndpointDrift
from millpond.model.job import Job, JobState
from millpond.serve.monitoring.drift import DriftLevel

_SCHEMAS = {AnalysisKind.DRIFT: "millpond.drift/1", AnalysisKind.REPLAY: "millpond.replay/1"}
_MOST_TEXT = 500
_MOST_ITEMS = 500
_LEVELS = {one.value for one in DriftLevel}
_DRIFT_COUNTS = ("requests", "requests_of", "reference_rows", "reference_rows_of")
_REPLAY_COUNTS = ("requests", "of", "skipped", "failed", "samples", "agreed")


def ended(
    analysis: Analysis, job: Job | None, report: bytes | None, rule: EndpointDrift | None, now: datetime
) -> Analysis:
    """The analysis once its job has ended (None: it is gone) with this report (None: it left none)."""
    found = _read(analysis.kind, report)
    if found is None:
        return replace(analysis, state=AnalysisState.FAILED, ended_at=now, error=_without_report(job))
    error = str(found.get("error") or "")[:_MOST_TEXT]
    cleaned = drift_report(found) if analysis.kind is AnalysisKind.DRIFT else replay_report(found)
    return replace(
        analysis,
        state=AnalysisState.FAILED if error else AnalysisState.DONE,
        ended_at=now,
        error=error,
        report=cleaned,
        alerts=alerts_of(rule, cleaned["columns"]) if rule and analysis.kind is AnalysisKind.DRIFT else (),
    )


def drift_report(told: Mapping[str, Any]) -> dict[str, Any]:
    versions = _mapping(told.get("versions"))
    return {
        **{key: _count(told.get(key)) for key in _DRIFT_COUNTS},
        "columns": {
            name: {
                "level": _level(one.get("level")),
                **{key: _number(one.get(key)) for key in ("psi", "statistic", "p_value")},
                "reason": str(one.get("reason") or "")[:_MOST_TEXT],
            }
            for name, one in _mapping(told.get("columns")).items()
        },
        "unmatched": _texts(told.get("unmatched")),
        "versions": {
            number: {
                "requests": _count(one.get("requests")),
                "level": _level(one.get("level")),
                "psi": _number(one.get("psi")),
                "column": str(one.get("column") or "")[:200],
            }
            for number, one in versions.items()
        },
    }


def replay_report(told: Mapping[str, Any]) -> dict[str, Any]:
    measured = {key: told.get(key) for key in ("agreement", "ms", "logged_ms")}
    return {
        **{key: _count(told.get(key)) for key in _REPLAY_COUNTS},
        **{key: None if value is None else _number(value) for key, value in measured.items()},
        "largest_difference": _number(told.get("largest_difference")),
        "failure": str(told.get("failure") or "")[:_MOST_TEXT],
        "different": _texts(told.get("different")),
    }


def metrics_of(analysis: Analysis) -> dict[str, float]:
    """What its run keeps of it."""
    report = analysis.report
    if analysis.kind is AnalysisKind.REPLAY:
        names = ("requests", "skipped", "failed", "agreement", "ms", "logged_ms", "largest_difference")
        return {name: report[name] for name in names if report.get(name) is not None}
    columns: Mapping[str, Mapping[str, Any]] = report.get("columns", {})
    found = {f"psi/{name}": one["psi"] for name, one in columns.items()}
    found |= {f"p/{name}": one["p_value"] for name, one in columns.items()}
    return {"psi": worst(report)[1], "requests": report["requests"], **found}


def worst(report: Mapping[str, Any], version: int | None = None) -> tuple[DriftLevel, float, str]:
    """Level, PSI and name of the column that moved most, of all requests or of those that one version answered; a PSI
    that chance explains is 0."""
    if version is not None:
        one = report.get("versions", {}).get(str(version))
        return (DriftLevel(one["level"]), one["psi"], one["column"]) if one else (DriftLevel.UNKNOWN, 0.0, "")
    name, first = next(iter(report.get("columns", {}).items()), ("", None))
    if first is None:
        return DriftLevel.UNKNOWN, 0.0, ""
    level = DriftLevel(first["level"])
    return level, first["psi"] if level in (DriftLevel.SOME, DriftLevel.MUCH) else 0.0, name


def _without_report(job: Job | None) -> str:
    if job is None:
        return "Its job was deleted."
    said = "was cancelled" if job.status.state is JobState.CANCELLED else "ended without a report"
    return f"Its job {said}. See why: mill logs {job.id}"


def _read(kind: AnalysisKind, report: bytes | None) -> dict[str, Any] | None:
    try:
        found = json.loads(report or b"")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found.get("schema") == _SCHEMAS[kind] else None


def _mapping(value: Any) -> dict[str, Mapping[str, Any]]:
    items = list(value.items())[:_MOST_ITEMS] if isinstance(value, dict) else []
    return {str(name)[:200]: one for name, one in items if isinstance(one, dict)}


def _texts(value: Any) -> list[str]:
    return [str(one)[:200] for one in value[:_MOST_ITEMS]] if isinstance(value, list) else []


def _level(value: Any) -> str:
    return value if value in _LEVELS else DriftLevel.UNKNOWN.value


def _count(value: Any) -> int:
    return int(_number(value))


def _number(value: Any) -> float:
    is_one = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    return float(value) if is_one and abs(value) < 1e15 else 0.0
