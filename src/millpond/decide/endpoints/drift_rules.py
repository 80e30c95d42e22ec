"""The section `drift` of an endpoint: read and written, when a window is due, and what in a report is too much."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from millpond.decide.flows.fields import Fields, describe
from millpond.errors import BadRequest
from millpond.model.endpoint_spec import MOST_ROWS, EndpointDrift
from millpond.model.names import DatasetRef
from millpond.model.quantity import DAY, parse_seconds

_KEYS = ("reference", "window", "every", "columns", "rows", "alert", "on")
_LEAST_SECONDS, _MOST_SECONDS = 60, 90 * DAY
_LEAST_ROWS = 100
# A router closes a file of its log after a minute at most; so long it may be on its way to the server.
_ON_ITS_WAY_SECONDS = 120


def read_drift(fields: Fields, *, is_logged: bool) -> EndpointDrift | None:
    """None if it names no reference, which is noted. `is_logged`: inputs and outputs are committed to a dataset."""
    fields.only(_KEYS)
    reference = fields.optional_text("reference")
    if reference is None:
        fields.note((), "value", "drift needs a reference.", "Write: drift: {reference: DATASET@REF}")
        return None
    fields.parsed(("reference",), _reference, reference, None)
    if not is_logged:
        fields.note(
            (), "value", "Drift is measured on the request log, which is not kept with inputs and outputs.",
            "Write: log: {level: full, to: DATASET@main}",
        )  # fmt: skip
    standard = EndpointDrift(reference)
    window = _seconds(fields, "window", standard.window_seconds)
    alert = fields.inside("alert")
    alert.only(("psi_max", "p_min"))
    return EndpointDrift(
        reference=reference,
        window_seconds=window,
        every_seconds=_seconds(fields, "every", window),
        columns=fields.texts("columns"),
        rows=fields.number("rows", MOST_ROWS, least=_LEAST_ROWS, most=10 * MOST_ROWS),
        psi_max=_limit(alert, "psi_max", standard.psi_max, most=100.0),
        p_min=_limit(alert, "p_min", standard.p_min, most=1.0),
        on=fields.optional_text("on"),
    )


def drift_document(drift: EndpointDrift) -> dict[str, Any]:
    """The same as `endpoint.yaml` has it."""
    return {
        "reference": drift.reference,
        "window": f"{drift.window_seconds}s",
        "every": f"{drift.every_seconds}s",
        **({"columns": list(drift.columns)} if drift.columns else {}),
        **({"rows": drift.rows} if drift.rows != MOST_ROWS else {}),
        "alert": {"psi_max": drift.psi_max, "p_min": drift.p_min},
        **({"on": drift.on} if drift.on else {}),
    }


def due_window(drift: EndpointDrift, log_seconds: int, now: datetime) -> tuple[datetime, datetime]:
    """The newest window whose requests should be committed by now, where the log is committed every `log_seconds`.

    Windows end at whole multiples of `every`, so that all servers mean the same one.
    """
    settled = now - timedelta(seconds=log_seconds + _ON_ITS_WAY_SECONDS)
    until = datetime.fromtimestamp(int(settled.timestamp()) // drift.every_seconds * drift.every_seconds, UTC)
    return until - timedelta(seconds=drift.window_seconds), until


def next_at(drift: EndpointDrift, log_seconds: int, now: datetime) -> datetime:
    """When the next window is due."""
    _, until = due_window(drift, log_seconds, now)
    return until + timedelta(seconds=drift.every_seconds + log_seconds + _ON_ITS_WAY_SECONDS)


def alerts_of(drift: EndpointDrift, columns: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """A sentence for each column that moved more than it may, those that moved most first."""
    return tuple(
        f"Drift of {name}: PSI {one['psi']:.2f} is above {drift.psi_max:g} (p = {one['p_value']:.2g})."
        for name, one in columns.items()
        if one["level"] != "unknown" and one["psi"] > drift.psi_max and one["p_value"] < drift.p_min
    )


def _reference(text: str) -> DatasetRef:
    found = DatasetRef.parse(text)
    if found.path is not None and ".." in found.path.split("/"):
        raise BadRequest(f"The path of {text!r} leaves the dataset.", hint="Write a path inside it.")
    return found


def _seconds(fields: Fields, key: str, default: int) -> int:
    value = fields.value.get(key)
    if value is None:
        return default
    found: int = fields.parsed((key,), _time, str(value), default)
    return found


def _time(text: str) -> int:
    return parse_seconds(text, least=_LEAST_SECONDS, most=_MOST_SECONDS)


def _limit(fields: Fields, key: str, default: float, *, most: float) -> float:
    value = fields.value.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        fields.note((key,), "value", f"{key} must be a number from 0 to {most:g}, not {describe(value)}.")
        return default
    return float(value)
