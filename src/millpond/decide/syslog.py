"""Audit entries as lines of syslog (RFC 5424). What somebody typed can end no line and close no quotation."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

# Facility 13 (log audit), severity 5 (notice).
_PRIORITY = 13 * 8 + 5
_VERSION = 1
# The number that RFC 5612 keeps for examples: Millpond has none of its own.
_ELEMENT = "millpond@32473"
_NIL = "-"
_LONGEST_HOST, _LONGEST_NAME, _LONGEST_VALUE = 255, 32, 1_000
# Of UDP: more than this is not taken by every receiver, and more than 65,507 bytes no datagram holds.
MOST_DATAGRAM = 8_192
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_OUTSIDE_NAMES = re.compile(r"[^\x21-\x7e]")


def syslog_line(entry: Mapping[str, Any], *, host: str, process: str) -> str:
    """One message without a line end. `entry` is an audit entry as the API shows it; it is the text of the message, as
    JSON of ASCII, and who, what and where from are parameters as well."""
    told = {
        "id": entry["id"], "who": entry["actor"], "what": entry["action"], "subject": entry["subject"],
        "project": entry.get("project"), "from": entry.get("address"), "via": entry.get("via"),
        "request": entry.get("request"),
    }  # fmt: skip
    parameters = " ".join(f'{name}="{_value(str(one))}"' for name, one in told.items() if one is not None)
    header = " ".join(
        (
            f"<{_PRIORITY}>{_VERSION}",
            _moment(entry["at"]),
            _name(host, _LONGEST_HOST),
            "millpond",
            _name(process, 128),
            _name(entry["action"], _LONGEST_NAME),
            f"[{_ELEMENT} {parameters}]",
        )
    )
    return f"{header} {json.dumps(entry, separators=(',', ':'))}"


def counted(line: str) -> bytes:
    """As it goes over TCP (RFC 6587, octet counting): how many bytes, a space, the message."""
    data = line.encode()
    return b"%d %s" % (len(data), data)


def as_datagram(line: str, entry: Mapping[str, Any]) -> bytes:
    """As it goes over UDP. Of one that is too long the values are left out, and the message says so."""
    data = line.encode()
    if len(data) <= MOST_DATAGRAM:
        return data
    head = line[: line.index("] {") + 2]
    short = {key: entry[key] for key in ("id", "at", "actor", "action", "subject") if key in entry}
    return (head + json.dumps({**short, "truncated": True}, separators=(",", ":"))).encode()[:MOST_DATAGRAM]


def _moment(at: str) -> str:
    """To the microsecond, in UTC."""
    moment = datetime.fromisoformat(at).astimezone(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _name(text: str, most: int) -> str:
    return _OUTSIDE_NAMES.sub("_", text)[:most] or _NIL


def _value(text: str) -> str:
    plain = _CONTROL.sub(" ", text[:_LONGEST_VALUE])
    return plain.replace("\\", "\\\\").replace('"', '\\"').replace("]", "\\]")
