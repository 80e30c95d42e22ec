"""Settings of tracing and logging that clients may read and change, and what they may be set to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import ServeError

# Nothing is traced; whoever turns it on is told so.
TRACE: Mapping[str, Any] = {
    "trace_level": ["OFF"],
    "trace_rate": "1000",
    "trace_count": "-1",
    "log_frequency": "0",
    "trace_file": "",
    "trace_mode": "triton",
}
LOG: Mapping[str, Any] = {
    "log_file": "",
    "log_info": True,
    "log_warning": True,
    "log_error": True,
    "log_verbose_level": 0,
    "log_format": "default",
}
# Numbers, which the protocol writes as text, and the least of each.
_LEAST = {"trace_rate": 0, "trace_count": -1, "log_frequency": 0}


def check_trace(changes: Mapping[str, Any]) -> None:
    """400 if a setting is unknown or cannot have that value; None clears one."""
    for key, value in changes.items():
        if key not in TRACE:
            raise ServeError(400, f"trace setting '{key}' is unknown: there are {', '.join(TRACE)}")
        if value is None:
            continue
        if key == "trace_level":
            if value != ["OFF"]:
                raise ServeError(400, "tracing is not supported: trace_level must be OFF")
        elif not isinstance(value, str):
            raise ServeError(400, f"trace setting '{key}' must be a string")
        elif key in _LEAST:
            _check_number(key, value)
        elif value != TRACE[key]:
            raise ServeError(400, f"trace setting '{key}' cannot be changed")


def check_log(changes: Mapping[str, Any]) -> None:
    for key, value in changes.items():
        if key not in LOG:
            raise ServeError(400, f"log setting '{key}' is unknown: there are {', '.join(LOG)}")
        if type(value) is not type(LOG[key]):
            raise ServeError(400, f"log setting '{key}' cannot be {value!r}")
        if key == "log_verbose_level" and value < 0:
            raise ServeError(400, "log_verbose_level must be at least 0")
        if key == "log_format" and value not in ("default", "ISO8601"):
            raise ServeError(400, "log_format must be default or ISO8601")
        if key == "log_file" and value:
            raise ServeError(501, "log_file is not supported: the log goes to standard error")


def _check_number(key: str, value: str) -> None:
    try:
        number = int(value)
    except ValueError:
        raise ServeError(400, f"trace setting '{key}' must be a whole number, not '{value[:40]}'") from None
    if number < _LEAST[key]:
        raise ServeError(400, f"trace setting '{key}' must be at least {_LEAST[key]}")
