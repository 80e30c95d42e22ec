"""What server and agent say of themselves, one line an event: as text for people, or as JSON for programs.

Events are logged as `name field=%s …`: the JSON has the name and the fields apart. Every line that is written while a
request is answered has the request's id. Secrets are hidden in both forms.
"""

from __future__ import annotations

import json
import logging
import re
from contextvars import ContextVar
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from millpond.masking import Mask

# The format of the lines, for whoever is started with the environment of a server.
LOG_FORMAT = "MILL_LOG_FORMAT"
# The id of the request that is being answered; empty elsewhere.
REQUEST_ID: ContextVar[str] = ContextVar("millpond_request_id", default="")
# The address that it comes from, as far as proxies are believed; empty elsewhere. The audit log names it.
REQUEST_ADDRESS: ContextVar[str] = ContextVar("millpond_request_address", default="")

TEXT_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"
_EVENT = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)+(?= |$)")
# What `%` formatting fills in: a name before it makes it a field.
_SPEC = re.compile(r"(?:(?P<name>[a-z_]+)=)?%(?:%|[-#0 +]*\d*(?:\.\d+)?(?P<kind>[srdifgx]))")


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


def log_to_stderr(form: LogFormat = LogFormat.TEXT) -> None:
    """Log from now on, with times and without secrets."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if form is LogFormat.JSON else MaskingFormatter(TEXT_FORMAT))
    logging.basicConfig(level=logging.INFO, handlers=[handler])


class MaskingFormatter(logging.Formatter):
    """Hides secrets: tracebacks and messages of foreign libraries may quote a URL."""

    _mask = Mask()

    def format(self, record: logging.LogRecord) -> str:
        return self._masked(super().format(record))

    def _masked(self, text: str) -> str:
        return self._mask.apply(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")


class JsonFormatter(MaskingFormatter):
    """One JSON object a line: `time`, `level`, `logger`, `message`, and `event`, `fields`, `request`, `exception`."""

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": message,
        }
        if event := _EVENT.match(message):
            line["event"] = event[0]
            line["fields"] = _fields(record)
        if request := REQUEST_ID.get():
            line["request"] = request
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        # A secret is hidden in what is written: escaping would keep a mask of text from finding it.
        return self._masked(json.dumps(line, ensure_ascii=False, default=str))


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    """What the format names, with values of JSON as they are and all others as text."""
    if not isinstance(record.msg, str) or not isinstance(record.args, tuple):
        return {}
    specs = [found for found in _SPEC.finditer(record.msg) if found["kind"]]
    if len(specs) != len(record.args):
        return {}
    named = {found["name"]: value for found, value in zip(specs, record.args, strict=True) if found["name"]}
    return {name: one if isinstance(one, bool | int | float | None) else str(one) for name, one in named.items()}
