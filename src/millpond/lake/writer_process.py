"""One process of a crew: takes orders from standard input, and says on standard output how each of them ended.

It ends with whoever started it: at the end of its input, at once, whatever it is writing.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import struct
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO

from millpond.errors import MillError, VolumeProblem
from millpond.lake.fetch_orders import Carrier
from millpond.lake.range_writes import Order
from millpond.lake.target import Target

# One writes while the other reads from the network.
_THREADS = 2
_LENGTH = struct.Struct("<I")
# The number of no order: bytes have come for any.
ARRIVED = 0
_TOLD_BYTES = 1 << 17


def send(pipe: BinaryIO, message: Any) -> None:
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    pipe.write(_LENGTH.pack(len(data)) + data)
    pipe.flush()


def receive(pipe: BinaryIO) -> Any:
    """The next message; None at the end, also in the middle of one."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    data = pipe.read(_LENGTH.unpack(head)[0])
    return pickle.loads(data) if len(data) == _LENGTH.unpack(head)[0] else None


def main() -> None:
    serve(sys.stdin.buffer, sys.stdout.buffer)


def serve(orders: BinaryIO, answers: BinaryIO) -> None:
    """Carry out what comes. Does not return."""
    # Ctrl-C reaches the whole group of processes: the one who started us decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Orders are tuples of thousands of tuples, without cycles: looking for some in them takes its time in vain.
    gc.disable()
    root, read_only, exact_modes = receive(orders)
    lock = threading.Lock()
    with Target.shared(root, read_only=read_only, exact_modes=exact_modes) as into:
        carrier = Carrier(into, _Arrivals(answers, lock))
        pool = ThreadPoolExecutor(_THREADS)
        while (message := receive(orders)) is not None:
            pool.submit(_work, message, carrier, answers, lock)
        os._exit(0)


class _Arrivals:
    """Tells of bytes as they come, a few at a time."""

    def __init__(self, answers: BinaryIO, lock: threading.Lock) -> None:
        self._answers, self._lock = answers, lock
        self._untold = 0

    def __call__(self, size: int) -> None:
        with self._lock:
            self._untold += size
            if abs(self._untold) >= _TOLD_BYTES:
                send(self._answers, (ARRIVED, self._untold, False, "", "", None))
                self._untold = 0


def _work(message: tuple[int, str, Order], carrier: Carrier, answers: BinaryIO, lock: threading.Lock) -> None:
    number, url, order = message
    done, code, text, hint = 0, "", "", None

    def tell(written: int) -> None:
        with lock:
            send(answers, (number, written, False, "", "", None))

    try:
        done = carrier.carry_out(url, order, tell)
    except MillError as error:
        code, text, hint = error.code, error.message, error.hint
    except Exception as error:  # noqa: BLE001 - told to the one who waits
        code, text = VolumeProblem.code, f"{type(error).__name__}: {error}"
    with lock:
        send(answers, (number, done, True, code, text, hint))


if __name__ == "__main__":
    main()
