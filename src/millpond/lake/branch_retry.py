"""Changing a branch that others change at the same moment: tried again on top of what they did."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from millpond.errors import RefMoved
from millpond.retry import RetryPolicy, retry

Result = TypeVar("Result")
# One of a crowd comes through each time, so everybody's turn comes; pauses that grow, and differ, thin it out.
_POLICY = RetryPolicy(attempts=10, first=0.02, longest=2.0, seconds=60.0)


def on_newest(
    attempt: Callable[[], Result], *, policy: RetryPolicy = _POLICY, sleep: Callable[[float], None] = time.sleep
) -> Result:
    """What `attempt` returns; it is called again, and must look at the branch anew, when somebody else was quicker.

    RefMoved if others are quicker for more than a minute.
    """
    return retry(attempt, RefMoved, policy, sleep=sleep)
