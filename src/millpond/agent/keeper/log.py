"""The log of a command: what it writes on its way to the disk, and how much of that stays there."""

from __future__ import annotations

import _thread
import os
import sys
import time

from .files import FULL_SECONDS
from .kernel import punch

# How long the last of what the command wrote may take into the log.
DRAIN_SECONDS = 5.0
# How much of it is taken at once: as much as a pipe holds.
PIECE = 1 << 16

_PAGE = os.sysconf("SC_PAGE_SIZE")


class Output:
    """What the command writes, on its way into the log. A pipe and not the file itself: a script that says
    `> /dev/stderr` opens anew whatever stands there, and a file would begin from nothing."""

    def __init__(self, log: int) -> None:
        self.log, self.is_full = log, False
        self.reader, self.writer = os.pipe()
        self.under_way = _thread.allocate_lock()

    def begin(self) -> None:
        """Only now, with the command's process there: one that has threads does not fork well."""
        os.close(self.writer)
        self.under_way.acquire()
        _thread.start_new_thread(self.copy, ())

    def copy(self) -> None:
        try:
            while data := os.read(self.reader, PIECE):
                self.write(data)
        finally:
            self.under_way.release()

    def write(self, data: bytes) -> None:
        """On a disk that is full, the command waits as this does: nothing is lost."""
        while data:
            try:
                data = data[os.write(self.log, data) :]
                self.is_full = False
            except OSError:
                self.is_full = True
                time.sleep(FULL_SECONDS)

    def finish(self) -> None:
        """Nothing of the command is left, so this comes to an end, unless it gave its output away to others."""
        while not self.under_way.acquire(timeout=DRAIN_SECONDS) and self.is_full:
            pass


class LogLimit:
    """Keeps a log from filling the disk: of one that is longer than `most` bytes, what lies between its beginning and
    its end is let go. The file keeps its length, so offsets stay; `log.gap` says between which there is nothing."""

    def __init__(self, log: int, most: int) -> None:
        self.log, self.head = log, most // 2
        self.tail = most - self.head
        self.gap_end = self.head
        self.told = -1
        if most:
            # Made now and written in place later: a full disk has no room for a new file.
            self.told = os.open("log.gap", os.O_WRONLY | os.O_CREAT, 0o600)
            self.tell(0, 0)

    def tell(self, begin: int, end: int) -> None:
        os.pwrite(self.told, f"{begin:019d} {end:019d}\n".encode(), 0)

    def let_go(self) -> None:
        """A few per cent at a time. The reader is told first: it never takes a hole for something the command wrote."""
        if self.told < 0:
            return
        end = (os.fstat(self.log).st_size - self.tail) // _PAGE * _PAGE
        if end < self.gap_end + max(_PAGE, self.tail // 32):
            return
        begin = -(-self.head // _PAGE) * _PAGE
        self.tell(self.head, end)
        self.gap_end = end
        if end > begin and punch(self.log, begin, end - begin) != 0:
            sys.stderr.write("cannot drop the middle of a long log: the file system does not support holes\n")
            self.told = -1
