"""How long files of a request log wait at their site, how much of the disk they take, and when they leave it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from millpond.decide.flows.fields import Fields
from millpond.decide.rate_limits import LEAST_BITS, is_between
from millpond.errors import BadRequest, MillError
from millpond.model.endpoint_spec import DEFAULT_LOG_BYTES, EndpointLog, LogLevel, LogSending
from millpond.model.quantity import (
    format_bandwidth,
    format_bytes,
    format_seconds,
    parse_bandwidth,
    parse_bytes,
    parse_seconds,
)
from millpond.model.rate_limit import DAY_MINUTES, format_time_of_day, parse_between
from millpond.model.time_zone import check_zone

# A file is closed after a minute or 16 MiB: less would lose rows before anybody could take them.
_LEAST_KEEP_SECONDS = 600
_LEAST_BYTES = 100_000_000


@dataclass(frozen=True, slots=True)
class LogRules:
    """What holds for files of one endpoint at a site. Without windows they may leave at any time."""

    keep_seconds: int | None = None
    max_bytes: int | None = None
    windows: tuple[LogSending, ...] = ()
    bytes_per_second: float | None = None

    def is_open(self, at: datetime) -> bool:
        return not self.windows or any(
            one.between is None or is_between(*one.between, one.zone, at) for one in self.windows
        )


def read_log_rules(fields: Fields) -> dict[str, Any]:
    """`keep`, `max` and `send` of the section `log`."""
    keep, most = fields.optional_text("keep"), fields.optional_text("max")
    return {
        "keep_seconds": fields.parsed(("keep",), _keep, keep, None) if keep else None,
        "max_bytes": fields.parsed(("max",), _most, most, DEFAULT_LOG_BYTES) if most else DEFAULT_LOG_BYTES,
        "send": _sending(fields.inside("send")),
    }


def log_document(log: EndpointLog) -> dict[str, Any]:
    """The same as `endpoint.yaml` has it; what was not asked for is left out."""
    found: dict[str, Any] = {}
    if log.keep_seconds is not None:
        found["keep"] = f"{log.keep_seconds}s"
    if log.max_bytes != DEFAULT_LOG_BYTES:
        found["max"] = f"{log.max_bytes}B"
    send: dict[str, Any] = {}
    if log.send.between is not None:
        send = {"between": "-".join(map(format_time_of_day, log.send.between)), "zone": log.send.zone}
    if log.send.bits_per_second is not None:
        send["limit"] = f"{log.send.bits_per_second}bit"
    return found | ({"send": send} if send else {})


def site_rules(log: EndpointLog) -> dict[str, Any]:
    """What the agent of a site is told, by the router's configuration."""
    between = log.send.between
    return {
        "keep_seconds": log.keep_seconds,
        "max_bytes": log.max_bytes,
        "bits_per_second": log.send.bits_per_second,
        "windows": [{"start": between[0], "end": between[1], "zone": log.send.zone}] if between else [],
    }


def router_bytes(logs: Sequence[EndpointLog]) -> int:
    """How much of its own disk the router of these endpoints may take, for files that its agent has not taken yet."""
    return max((one.max_bytes for one in logs if one.level is not LogLevel.NONE), default=DEFAULT_LOG_BYTES)


def rules_of(log: Mapping[str, Any]) -> LogRules:
    """Those that `site_rules` has written. What makes no sense there, as one of another version, has no say."""
    try:
        windows = tuple(
            LogSending((int(one["start"]), int(one["end"])), str(one["zone"])) for one in log.get("windows") or ()
        )
        for one in windows:
            check_zone(one.zone)
        keep, most, bits = (log.get(key) for key in ("keep_seconds", "max_bytes", "bits_per_second"))
        return LogRules(
            int(keep) if keep else None, int(most) if most else None, windows, int(bits) / 8 if bits else None
        )
    except (KeyError, TypeError, ValueError, MillError):
        return LogRules()


def describe_log(log: Mapping[str, Any]) -> str:
    """The section `log` of a written endpoint in a line, for people."""
    parts = [str(log.get("level", LogLevel.NONE.value))]
    if parts[0] == LogLevel.NONE.value:
        return parts[0]
    if log.get("to"):
        parts.append(f"to {log['to']}")
    if log.get("keep"):
        parts.append(f"files wait for at most {_age(str(log['keep']))}")
    if log.get("max"):
        parts.append(f"take at most {format_bytes(parse_bytes(str(log['max'])))}")
    send = log.get("send") or {}
    if send.get("between"):
        parts.append(f"are sent {send['between']} {send['zone']}")
    if send.get("limit"):
        parts.append(f"at most at {format_bandwidth(parse_bandwidth(str(send['limit'])))}")
    return ", ".join(parts)


def _age(text: str) -> str:
    return format_seconds(parse_seconds(text))


def _keep(text: str) -> int:
    return parse_seconds(text, least=_LEAST_KEEP_SECONDS)


def _most(text: str) -> int:
    size = parse_bytes(text)
    if size < _LEAST_BYTES:
        raise BadRequest(f"{text!r} is too little.", hint=f"At least {format_bytes(_LEAST_BYTES)}.")
    return size


def _sending(fields: Fields) -> LogSending:
    fields.only(("between", "zone", "limit"))
    between, zone, limit = (fields.optional_text(key) for key in ("between", "zone", "limit"))
    if zone and not between:
        fields.note(("zone",), "value", "A zone needs a window.", 'Add: between: "22:00-06:00"')
    return LogSending(
        between=fields.parsed(("between",), _window, between, None) if between else None,
        zone=fields.parsed(("zone",), _zone, zone, "UTC") if zone else "UTC",
        bits_per_second=fields.parsed(("limit",), _rate, limit, None) if limit else None,
    )


def _window(text: str) -> tuple[int, int]:
    start, end = parse_between(text)
    if start % DAY_MINUTES == end % DAY_MINUTES:
        raise BadRequest("A window needs some length.", hint="For the whole day leave out between.")
    return start % DAY_MINUTES, end


def _zone(text: str) -> str:
    check_zone(text)
    return text


def _rate(text: str) -> int:
    bits = parse_bandwidth(text)
    if bits < LEAST_BITS:
        raise BadRequest(
            f"A limit of {format_bandwidth(bits)} is too low: connections would time out.",
            hint=f"Set at least {format_bandwidth(LEAST_BITS)}.",
        )
    return bits
