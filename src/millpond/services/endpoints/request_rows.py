"""Rows of request logs as they are committed: Parquet, or JSON lines where pyarrow is not installed.

The lines come from a job. What is not of the expected type is left out; a line that is no row is skipped.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

# Columns and what their values are; `request` and `response` are JSON texts, of requests that were logged in full.
_TEXTS = ("id", "endpoint", "model", "protocol", "token")
_NUMBERS = ("version", "status", "bytes_in", "bytes_out")
_BODIES = ("request", "response")
_MOST_NUMBER = 1 << 53


def lines_by_endpoint(content: bytes) -> dict[str, list[bytes]]:
    """The lines of a router's file that are rows, by the endpoint that they are of."""
    found: dict[str, list[bytes]] = {}
    for line in content.splitlines():
        row = _row(line)
        if row is not None:
            found.setdefault(row["endpoint"], []).append(line)
    return found


def rows_of(content: bytes) -> list[dict[str, Any]]:
    """The rows of such lines."""
    return [row for row in map(_row, content.splitlines()) if row is not None]


def file_of(rows: Sequence[Mapping[str, Any]], digest: str) -> tuple[str, bytes]:
    """Path and content of the file that holds these rows: the same for the same rows."""
    first = datetime.fromtimestamp(rows[0]["time"], UTC)
    base = f"requests/{first:%Y-%m-%d}/{first:%H%M%S}-{digest[:16]}"
    try:
        return f"{base}.parquet", _parquet(rows)
    except ImportError:
        return f"{base}.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict) or not all(isinstance(told.get(key), str) for key in ("id", "endpoint")):
        return None
    moment, milliseconds = _number(told.get("time")), _number(told.get("ms"))
    if moment is None or not 0 <= moment < 1e11:
        return None
    found: dict[str, Any] = {"time": moment, "ms": milliseconds}
    found |= {key: told[key] if isinstance(told.get(key), str) else None for key in _TEXTS}
    found |= {key: None if (number := _number(told.get(key))) is None else int(number) for key in _NUMBERS}
    found |= {key: json.dumps(told[key]) if isinstance(told.get(key), dict) else None for key in _BODIES}
    return found


def _number(value: Any) -> float | None:
    is_one = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MOST_NUMBER
    return float(value) if is_one else None


def _parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    # Not everybody who runs a server logs requests.
    import pyarrow  # noqa: PLC0415
    from pyarrow import parquet  # noqa: PLC0415

    kinds = {
        "id": pyarrow.string(),
        "time": pyarrow.timestamp("us", tz="UTC"),
        **dict.fromkeys(("endpoint", "model"), pyarrow.string()),
        "version": pyarrow.int64(),
        "protocol": pyarrow.string(),
        "status": pyarrow.int64(),
        "ms": pyarrow.float64(),
        "token": pyarrow.string(),
        **dict.fromkeys(("bytes_in", "bytes_out"), pyarrow.int64()),
        **dict.fromkeys(_BODIES, pyarrow.string()),
    }
    columns = {key: [round(row["time"] * 1e6) if key == "time" else row[key] for row in rows] for key in kinds}
    table = pyarrow.table({key: pyarrow.array(columns[key], kind) for key, kind in kinds.items()})
    written = io.BytesIO()
    parquet.write_table(table, written, compression="zstd")
    return written.getvalue()
