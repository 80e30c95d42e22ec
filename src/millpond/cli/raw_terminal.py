"""Raw mode of the terminal while `mill bash` runs."""

from __future__ import annotations

import shutil
import signal
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from millpond.client.streams import Stream
from millpond.errors import Unavailable


@contextmanager
def raw_terminal(stream: Stream) -> Iterator[None]:
    """Send every key to the job, and tell it when the window is resized."""

    def resized(_number: int, _frame: object) -> None:
        size = shutil.get_terminal_size()
        with suppress(Unavailable):
            stream.send(f'{{"resize": [{size.columns}, {size.lines}]}}')

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    old = signal.signal(signal.SIGWINCH, resized)
    tty.setraw(descriptor)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        signal.signal(signal.SIGWINCH, old)
