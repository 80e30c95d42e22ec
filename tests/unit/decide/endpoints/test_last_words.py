"""The line of a log that says why a process failed."""

from __future__ import annotations

from millpond.decide.endpoints.last_words import last_words

STAMP = "2026-11-18 14:46:15,017"


def test_the_newest_error() -> None:
    log = f"{STAMP} ERROR first\n{STAMP} ERROR cannot load model 'two'\n{STAMP} INFO ending\n\n"
    assert last_words(log) == "cannot load model 'two'"


def test_the_last_line_of_a_traceback() -> None:
    assert (
        last_words("Traceback (most recent call last):\n  x()\nOSError: address in use\n") == "OSError: address in use"
    )


def test_a_line_that_tells_of_no_failure_is_not_its_cause() -> None:
    assert last_words(f"{STAMP} INFO serving 1 model\n") is None


def test_nothing_written() -> None:
    assert last_words("\n \n") is None


def test_a_long_line_is_cut() -> None:
    assert len(last_words("x" * 9000) or "") < 600
