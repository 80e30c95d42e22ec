"""Sending again what the server could not find when it was asked to commit: a collection may have removed it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from millpond.errors import Incomplete

log = logging.getLogger(__name__)

Result = TypeVar("Result")
_TRIES = 4


def until_complete(push_and_commit: Callable[[], Result]) -> Result:
    """What `push_and_commit` returns; it is called anew when the server lacks something that was there before.

    It must ask the server what is missing each time. What is there is not sent again, so this ends soon.
    """
    for _ in range(_TRIES - 1):
        try:
            return push_and_commit()
        except Incomplete as error:
            log.info("sending_again reason=%s", error.message)
    return push_and_commit()
