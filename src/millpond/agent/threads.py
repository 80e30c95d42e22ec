"""Blocking work in daemon threads, which never keep the agent from ending."""

from __future__ import annotations

import _thread
import asyncio
import contextlib
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def in_thread(function: Callable[[], T]) -> T:
    """The result of `function()`, called in a daemon thread of its own.

    Not asyncio.to_thread: a volume that hangs would hold one of a few shared threads for ever, and the agent could
    not end before it. Cancelling the wait does not stop the thread; whoever starts one that is long gives it a way.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def deliver(result: T | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def work() -> None:
        result: T | None = None
        failure: BaseException | None = None
        try:
            result = function()
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop has ended, and with it whoever waited
            loop.call_soon_threadsafe(deliver, result, failure)

    # Not threading.Thread, whose start waits until the thread has begun: everything else would stand still meanwhile.
    _thread.start_new_thread(work, ())
    return await future
