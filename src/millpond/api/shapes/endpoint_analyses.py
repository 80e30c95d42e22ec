"""Analyses of request logs as the wire shows them."""

from __future__ import annotations

from typing import Any

from millpond.decide.endpoints.drift_rules import alerts_of
from millpond.model.endpoint import drift_experiment
from millpond.model.endpoint_analysis import Analysis, AnalysisState
from millpond.model.endpoint_spec import EndpointDrift
from millpond.services.endpoints.drift_watch import DriftOverview
from millpond.wire import endpoint_analyses as wire


def drift(value: DriftOverview) -> wire.EndpointDrift:
    asked = value.endpoint.spec.drift
    rule = asked or EndpointDrift("")
    done = next((one for one in value.found if one.state is AnalysisState.DONE), None)
    newest = value.found[0] if value.found else None
    return wire.EndpointDrift(
        reference=asked.reference if asked else None,
        window_seconds=rule.window_seconds,
        every_seconds=rule.every_seconds,
        psi_max=rule.psi_max,
        p_min=rule.p_min,
        experiment=drift_experiment(value.endpoint.name),
        next_at=value.next_at,
        newest=drift_window(done, rule) if done else None,
        pending=drift_window(newest, rule) if newest and newest is not done else None,
        history=[_point(one) for one in value.found],
    )


def drift_window(value: Analysis, rule: EndpointDrift) -> wire.DriftWindow:
    columns: dict[str, dict[str, Any]] = value.report.get("columns", {})
    counts = ("requests", "requests_of", "reference_rows", "reference_rows_of")
    return wire.DriftWindow(
        id=value.id,
        state=value.state,
        since=value.since,
        until=value.until,
        reference=value.asked.get("reference", ""),
        created_by=value.created_by,
        created_at=value.created_at,
        ended_at=value.ended_at,
        job=value.job_id,
        run=value.run_id,
        error=value.error,
        alerts=list(value.alerts),
        **{key: value.report.get(key, 0) for key in counts},
        columns=[
            wire.DriftColumn(column=name, **one, is_alert=bool(alerts_of(rule, {name: one})))
            for name, one in columns.items()
        ],
        unmatched=value.report.get("unmatched", []),
        versions=[
            wire.DriftOfVersion(version=int(number), **one)
            for number, one in value.report.get("versions", {}).items()
            if number.isdecimal()
        ],
    )


def _point(value: Analysis) -> wire.DriftPoint:
    return wire.DriftPoint(
        since=value.since,
        until=value.until,
        state=value.state,
        error=value.error,
        run=value.run_id,
        alerts=len(value.alerts),
        psi={name: one["psi"] for name, one in value.report.get("columns", {}).items()},
    )


def replay(value: Analysis) -> wire.Replay:
    report, asked = value.report, value.asked
    return wire.Replay(
        id=value.id,
        state=value.state,
        model=asked.get("model", ""),
        version=asked.get("version"),
        limit=asked.get("limit", 0),
        since=value.since,
        until=value.until,
        created_by=value.created_by,
        created_at=value.created_at,
        ended_at=value.ended_at,
        job=value.job_id,
        run=value.run_id,
        error=value.error,
        **{key: report.get(key, 0) for key in ("of", "requests", "skipped", "failed", "samples")},
        agreement=report.get("agreement"),
        ms=report.get("ms"),
        logged_ms=report.get("logged_ms"),
        failure=report.get("failure", ""),
        largest_difference=report.get("largest_difference", 0.0),
        different=report.get("different", []),
    )
