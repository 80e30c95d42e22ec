"""Changing a branch that others change at the same moment: tried again on top of what they did."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from millpond.blobs.retry import Patience
from millpond.errors import RefMoved

Result = TypeVar("Result")
# One of a crowd comes through each time, so everybody's turn comes; pauses that grow, and differ, thin it out.
_PATIENCE = Patience(attempts=10, first=0.02, longest=2.0, seconds=60.0)


def on_newest(
    attempt: Callable[[], Result], *, patience: Patience = _PATIENCE, sleep: Callable[[float], None] = time.sleep
) -> Result:
    """What `attempt` returns; it is called again, and must look at the branch anew, when somebody else was quicker.

    RefMoved if others are quicker for more than a minute.
    """
    failed, failed_at = 0, 0.0
    while True:
        try:
            return attempt()
        except RefMoved:
            failed += 1
            now = time.monotonic()
            failed_at = failed_at or now
            if patience.is_over(failed, now - failed_at):
                raise
            sleep(patience.wait(failed - 1, random.random()))
