"""Lines of the server's and the agent's log: text, JSON, and no secrets in either."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from millpond.log_lines import REQUEST_ID, JsonFormatter, MaskingFormatter

TOKEN = "mill_" + "a1B2" * 10


class Lines:
    def __init__(self, formatter: logging.Formatter) -> None:
        self._stream = io.StringIO()
        handler = logging.StreamHandler(self._stream)
        handler.setFormatter(formatter)
        self.logger = logging.Logger("millpond.test")
        self.logger.addHandler(handler)

    @property
    def text(self) -> str:
        return self._stream.getvalue()

    def last(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text.splitlines()[-1])
        return found


@pytest.fixture
def lines() -> Lines:
    return Lines(JsonFormatter())


@pytest.fixture
def request_id() -> Iterator[str]:
    token = REQUEST_ID.set("r1")
    yield "r1"
    REQUEST_ID.reset(token)


@pytest.mark.parametrize("formatter", [MaskingFormatter("%(message)s"), JsonFormatter()])
def test_secrets_are_hidden_in_messages_and_tracebacks(formatter: logging.Formatter) -> None:
    lines = Lines(formatter)
    try:
        raise OSError(f"no route to https://s3/k?X-Amz-Signature={'0f' * 32}")
    except OSError:
        lines.logger.exception("failed with %s", TOKEN)
    assert TOKEN not in lines.text and "0f0f" not in lines.text
    assert "failed with mill_***" in lines.text


def test_an_event_has_its_fields_apart(lines: Lines) -> None:
    lines.logger.info("job_changed job=%s state=%s bytes=%d", "j1", "running", 7)
    line = lines.last()
    assert (line["event"], line["level"], line["logger"]) == ("job_changed", "info", "millpond.test")
    assert line["fields"] == {"job": "j1", "state": "running", "bytes": 7}
    assert line["message"] == "job_changed job=j1 state=running bytes=7"


def test_what_is_no_event_is_a_message(lines: Lines) -> None:
    lines.logger.warning("Retrying in %s s", 3)
    assert "event" not in lines.last() and lines.last()["message"] == "Retrying in 3 s"
    lines.logger.info("loop_stopped loop=%(loop)s", {"loop": "evict"})
    assert lines.last()["fields"] == {}, "formats with a mapping have none"
    lines.logger.info("share_full used=%s at 100%%", 5)
    assert lines.last()["fields"] == {"used": 5}


def test_lines_of_a_request_have_its_id(lines: Lines, request_id: str) -> None:
    lines.logger.info("dataset_created dataset=%s", 'with "quotes"\nand lines')
    assert lines.last()["request"] == request_id
    assert lines.last()["fields"]["dataset"] == 'with "quotes"\nand lines'
    assert lines.text.count("\n") == 1, "one line, whatever it says"


def test_a_traceback_stays_within_its_line(lines: Lines) -> None:
    try:
        raise ValueError("no")
    except ValueError:
        lines.logger.exception("loop_failed loop=%s", "evict")
    assert lines.last()["exception"].endswith("ValueError: no")
