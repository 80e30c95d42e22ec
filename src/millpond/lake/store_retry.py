"""Requests to a store that are tried again where that helps, and what an answer that is no success stands for."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import urlsplit

from millpond.errors import BadFormat, BadRequest, Corrupt, DiskFull, Forbidden, MillError, NotFound, StoreUnavailable
from millpond.retry import TRANSIENT, RetryPolicy, retry

_LONGEST_ADVICE = 30.0

Result = TypeVar("Result")
# Told before each pause, once a request is under way for so long, who does not answer and why.
Waiting = Callable[[str], None]
TOLD_AFTER_SECONDS = 1.0


class Passing(Exception):
    """An error after which the same request may succeed."""

    def __init__(self, reason: str, advice: float = 0.0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.advice = advice


class Tries:
    def __init__(
        self,
        policy: RetryPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
        waiting: Waiting = lambda why: None,
    ) -> None:
        self._policy = policy or RetryPolicy()
        self._sleep = sleep
        self._waiting = waiting

    def again(self, url: str, once: Callable[[str], Result]) -> Result:
        """Call `once` until it succeeds or fails for good; StoreUnavailable when the policy is over."""
        began = time.monotonic()

        def failed(passing: Passing) -> float:
            if time.monotonic() - began >= TOLD_AFTER_SECONDS:
                self._waiting(f"The lake at {urlsplit(url).netloc} keeps failing: {passing.reason}")
            return min(passing.advice, _LONGEST_ADVICE)

        try:
            return retry(lambda: once(url), Passing, self._policy, failed=failed, sleep=self._sleep)
        except Passing as passing:
            raise StoreUnavailable(f"{shown(url)}: {passing.reason}") from passing


def sensible(read: Callable[[], Result]) -> Result:
    """What `read` returns, called once more if that makes no sense: bytes may be damaged on the way, and what the store
    holds decides."""
    try:
        return read()
    except (Corrupt, BadFormat):
        return read()


def failure(status: int, retry_after: str | None, url: str) -> Exception:
    """What an answer that is no success stands for."""
    if status in TRANSIENT:
        advice = float(retry_after) if retry_after and retry_after.isdigit() else 0.0
        return Passing(f"answered {status}", advice)
    return as_mill_error(status, url)


def wrong_length(url: str, came: int, wanted: int, end: int, content_range: str | None) -> Exception:
    """What an answer with another number of bytes than was asked for stands for.

    Fewer are retried, unless the object itself (its size is behind the slash of Content-Range) ends before `end`.
    """
    size = (content_range or "").rpartition("/")[2]
    if came > wanted or (size.isdecimal() and int(size) < end):
        return BadRequest(f"{shown(url)} returned {came} bytes instead of {wanted}.")
    return Passing(f"returned {came} bytes instead of {wanted}")


def as_mill_error(status: int, url: str) -> MillError:
    if status == 403:
        return Forbidden(f"{shown(url)} has expired or is not allowed.", hint="Ask the server for a new URL.")
    if status == 404:
        return NotFound(f"{shown(url)} not found.")
    if status == 507:
        return DiskFull(
            f"The lake at {urlsplit(url).netloc} has no space left.",
            hint="Free space there and try again: the upload continues where it stopped.",
        )
    return BadRequest(f"{shown(url)} returned {status}.")


def shown(url: str) -> str:
    """Without the query: a signature does not belong into messages and logs."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{parts.path}" if parts.netloc else parts.path
