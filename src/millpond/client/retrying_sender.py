"""Sending again what the server could not find when it was asked to commit: a collection may have removed it."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from typing import TypeVar

from millpond.errors import Incomplete

log = logging.getLogger(__name__)

Result = TypeVar("Result")
# Somebody may collect again and again without a pause: pauses of our own that grow, and differ, come through at last.
_TRIES = 20
_LONGEST_PAUSE = 2.0


def until_complete(push_and_commit: Callable[[], Result]) -> Result:
    """What `push_and_commit` returns; it is called anew when the server lacks something that was there before.

    It must ask the server what is missing each time. What is there is not sent again, so this ends soon.
    """
    for attempt in range(_TRIES - 1):
        try:
            return push_and_commit()
        except Incomplete as error:
            log.info("sending_again reason=%s", error.message)
            if attempt:
                time.sleep(random.uniform(0, min(0.05 * 2**attempt, _LONGEST_PAUSE)))
    return push_and_commit()
