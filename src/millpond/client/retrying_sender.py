"""Sending again what the server could not find when it was asked to commit: a collection may have removed it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from millpond.errors import Incomplete
from millpond.retry import RetryPolicy, retry

log = logging.getLogger(__name__)

Result = TypeVar("Result")
# Somebody may collect again and again without a pause: pauses of our own that grow, and differ, come through at last.
_POLICY = RetryPolicy(attempts=20, first=0.05, longest=2.0)


def until_complete(push_and_commit: Callable[[], Result]) -> Result:
    """What `push_and_commit` returns; it is called anew when the server lacks something that was there before.

    It must ask the server what is missing each time. What is there is not sent again, so this ends soon.
    """

    def failed(error: Incomplete) -> float:
        log.info("sending_again reason=%s", error.message)
        return 0.0

    return retry(push_and_commit, Incomplete, _POLICY, failed=failed)
